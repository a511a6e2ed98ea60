"""Load TensorFlow's unit tests as the launcher loads programs: repaired for today's NumPy.

    python -m stillflow tools/conformance_worker.py KIT/conformance.py worker ...

The kit compiles a test file by itself, so that it can leave out the call of ``test.main()``; the
launcher's repairs (docs/revived.md) reach the file here.  Everything else is the kit's.
"""

from __future__ import annotations

import ast
import importlib.util
import os
import sys
from types import CodeType, ModuleType

from stillflow.facade.revive import sources


def compiled(tree: ast.Module, path: str, *_: object, **__: object) -> CodeType:
    """Compile the tree of a test file as the launcher compiles a program."""
    with open(path, "rb") as file:
        return sources.completed(tree, file.read(), path)


def _loaded(path: str) -> ModuleType:
    """Import the kit; it compiles test files by our function."""
    spec = importlib.util.spec_from_file_location("conformance", path)
    assert spec is not None and spec.loader is not None
    kit = importlib.util.module_from_spec(spec)
    vars(kit)["compile"] = compiled
    spec.loader.exec_module(kit)
    return kit


def main(arguments: list[str]) -> None:
    """Run the kit's worker: the path of the kit, its command, the arguments of the command."""
    path, command, *rest = arguments
    if command != "worker":
        raise SystemExit(f"conformance_worker runs the command worker, not {command}")
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry) != here]
    _loaded(path).worker_main(rest)


if __name__ == "__main__":
    main(sys.argv[1:])
