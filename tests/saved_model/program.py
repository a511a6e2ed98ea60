"""Command line of the programs of this folder. Runs under Python 3.7 as well."""

from __future__ import annotations

import importlib
import json
import os
import sys
import tempfile

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "recorded")


def main(write, use, recorded):
    """Write SavedModels, uses them, or, with TensorFlow, record what comes of both.

    Args:
      write: a function of a module and a directory that writes there.
      use: a function of a module and a directory that returns the facts.
      recorded: the file of what comes of both with TensorFlow.
    """
    if sys.argv[1] == "record":
        tf = importlib.import_module("tensorflow")
        with tempfile.TemporaryDirectory() as directory, open(recorded, "w") as file:
            write(tf, directory)
            json.dump(use(tf, directory), file, indent=1, sort_keys=True)
            file.write("\n")
        return
    tf = importlib.import_module(sys.argv[2])
    if sys.argv[1] == "write":
        write(tf, sys.argv[3])
    else:
        print(json.dumps(use(tf, sys.argv[3])))


def plain(found):
    """Return facts in the form after writing to a file and reading."""
    return json.loads(json.dumps(found, default=lambda value: value.tolist(), sort_keys=True))
