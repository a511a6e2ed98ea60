"""Generator of tools/raw_ops.txt: the functions of `tf.raw_ops`, by the op cards.

The build of a wheel writes its stubs from the sources alone, which show no card that a function
makes. So the table is kept, a line for each function, an asterisk at outputs that are lists:

    Svd(*, input, compute_uv=True, full_matrices=False, name=None) -> s u v

    python tools/raw_ops_table.py            write it (make tables)
    python tools/raw_ops_table.py --check    fail if it is not up to date
"""

from __future__ import annotations

import inspect
import sys
from pathlib import Path

from stillflow.cli.stubbing.signatures import default_text
from stillflow.graph.card import find
from stillflow.ops import raw_ops

TARGET = Path(__file__).resolve().parent / "raw_ops.txt"


def line(name: str) -> str:
    """Return the line of an operation."""
    parameters = inspect.signature(raw_ops.lookup(name)).parameters.values()
    given = [
        x.name if x.default is x.empty else f"{x.name}={default_text(x.default)}"
        for x in parameters
    ]  # fmt: skip
    card = find(name)
    outputs = [f"{x.name}{'*' * x.is_list}" for x in card.signature.outputs] if card else []
    return " ".join([f"{name}(*, {', '.join(given)}) ->", *outputs])


def main(arguments: list[str]) -> int:
    text = "".join(f"{line(name)}\n" for name in raw_ops.names())
    if "--check" in arguments:
        return int(TARGET.read_text(encoding="ascii") != text)
    TARGET.write_text(text, encoding="ascii")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
