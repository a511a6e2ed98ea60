"""Run the examples of docstrings with any TensorFlow.

    python -m tests.docs.name_examples < DOCSTRINGS

DOCSTRINGS is JSON: docstrings by public name. TensorFlow 1.15.5 runs their examples and the
differences are printed, as JSON again.
"""

from __future__ import annotations

import contextlib
import doctest
import faulthandler
import importlib
import json
import logging
import os
import sys
import tempfile
import types
from collections.abc import Iterator
from typing import Any
from unittest import mock

from absl import flags


def examples(docstring: str) -> list[doctest.Example]:
    """Return the lines of input with their output."""
    return doctest.DocTestParser().get_examples(docstring)


def difference(tf: Any, name: str, docstring: str) -> str:
    """Return a description of what the examples of a docstring print otherwise, or ""."""
    module = types.ModuleType("__main__")
    module.tf = tf  # type: ignore[attr-defined]
    test = doctest.DocTest(examples(docstring), {}, name, None, None, docstring)
    test.globs = module.__dict__
    found: list[str] = []
    program = sys.modules["__main__"]
    with alone(tf):
        sys.modules["__main__"] = module  # whose tests `tf.test.main` runs
        try:
            doctest.DocTestRunner(verbose=False).run(test, out=found.append, clear_globs=True)
        finally:
            sys.modules["__main__"] = program
    return "".join(found)


@contextlib.contextmanager
def alone(tf: Any) -> Iterator[None]:
    """Enter an empty graph and an empty folder, and leave flags and logging as they were."""
    for module in ("absl.app", "absl.logging", "absl.testing.absltest"):  # these define flags
        importlib.import_module(module)
    values = flags.FLAGS
    known, parsed, handlers = set(values), values.is_parsed(), logging.root.handlers[:]
    verbosity, folder = tf.logging.get_verbosity(), os.getcwd()
    tf.reset_default_graph()
    try:
        with contextlib.ExitStack() as stack:
            os.chdir(stack.enter_context(tempfile.TemporaryDirectory()))
            stack.callback(os.chdir, folder)
            stack.enter_context(mock.patch.object(faulthandler, "enable"))
            stack.enter_context(mock.patch.object(sys, "argv", ["program"]))
            yield
    finally:
        tf.reset_default_graph()
        tf.logging.set_verbosity(verbosity)
        logging.root.handlers[:] = handlers
        for name in set(values) - known:
            delattr(values, name)
        if not parsed:
            values.unparse_flags()


def main() -> None:
    tf = importlib.import_module("tensorflow")
    docstrings = json.load(sys.stdin)
    found = {name: difference(tf, name, text) for name, text in docstrings.items()}
    json.dump({name: text for name, text in found.items() if text}, sys.stdout)


if __name__ == "__main__":
    main()
