"""Records where TensorFlow 1.15.5 says that iterators are, and what follows there.

python -m tests.data.record_states    # with the interpreter that tests/golden/README.md names
"""

from __future__ import annotations

import base64
import json
import os

import tensorflow as tf

from .saved_pipelines import pipelines, walk

TAKEN = 3
PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "recorded", "states.json")


def main():
    """Write the file."""
    recorded = {}
    for name, make in pipelines(tf).items():
        first, then, state = walk(tf, make, TAKEN)
        recorded[name] = {
            "first": first, "then": then, "state": base64.b64encode(state).decode("ascii"),
        }  # fmt: skip
    with open(PATH, "w") as file:
        json.dump(recorded, file, indent=1, sort_keys=True)
        file.write("\n")


if __name__ == "__main__":
    main()
