"""Test modules as pytest loads them.

Pytest rewrites the assertions of test modules with a loader of its own, which comes before ours.
A test module that the old world has to be brought back for is compiled by us instead; its
assertions say less when they fail.
"""

from __future__ import annotations

import os
from types import CodeType, ModuleType
from typing import Any

from stillflow.facade.revive import code_cache, sources
from stillflow.facade.revive.after import after_import


def activate() -> None:
    """Patch pytest when it is imported."""
    after_import("_pytest.assertion.rewrite", _patch)


def _patch(rewrite: ModuleType) -> None:
    plain = getattr(rewrite, "_rewrite_test", None)
    if plain is None or not hasattr(rewrite, "PYC_TAIL"):
        return

    def rewritten(fn: Any, config: Any) -> tuple[Any, CodeType]:
        state, code = plain(fn, config)
        path = os.fspath(fn)
        if not sources.own(path):
            return state, code
        with open(fn, "rb") as file:
            source = file.read()
        repaired = sources.compiled(source, path, packaged=True)
        unchanged = compile(source, path, "exec", dont_inherit=True)
        return state, code if repaired == unchanged else repaired

    rewrite._rewrite_test = rewritten  # type: ignore[attr-defined]
    # Pytest keeps the code next to the tests: runs without us must not find ours, nor code with
    # other repairs of the sources.
    version = code_cache.version((bool(os.environ.get(sources.PYTHON2)),))
    rewrite.PYC_TAIL = f".stillflow-{version}{rewrite.PYC_TAIL}"  # type: ignore[attr-defined]
