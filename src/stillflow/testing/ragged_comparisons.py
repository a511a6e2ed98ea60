"""Assertions about ragged tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow.graph.operation import Tensor

# ruff: noqa: N815 - the names are unittest's


def is_ragged(value: Any) -> bool:
    """Return True if a value is a ragged tensor, or the value of one."""
    return hasattr(value, "nested_row_splits")


class RaggedComparisons:
    """Assertions of `tf.test.TestCase` for ragged tensors."""

    assertEqual: Any
    assertAllClose: Any
    evaluate: Any

    def _GetPyList(self, a: Any) -> Any:
        """Return a tensor or value of either kind as nested lists."""
        if isinstance(a, Tensor) or hasattr(a, "consumers"):
            a = self.evaluate(a)
        if is_ragged(a):
            return a.to_list()
        if isinstance(a, (list, tuple)):
            return [self._GetPyList(item) for item in a]
        return a.tolist() if isinstance(a, np.ndarray) else a

    def _assertRaggedEqual(self, a: Any, b: Any, msg: Any) -> None:
        self.assertEqual(self._GetPyList(a), self._GetPyList(b), msg)
        self._assert_same_ragged_rank(a, b, msg)

    def _assertRaggedClose(self, a: Any, b: Any, rtol: float, atol: float, msg: Any = None) -> None:
        self._lists_close(self._GetPyList(a), self._GetPyList(b), rtol, atol, msg, "value")
        self._assert_same_ragged_rank(a, b, msg)

    def _lists_close(self, a: Any, b: Any, rtol: float, atol: float, msg: Any, path: str) -> None:
        self.assertEqual(type(a), type(b))
        if not isinstance(a, list):
            self.assertAllClose(a, b, rtol, atol, f"{path}: {msg}")
            return
        self.assertEqual(len(a), len(b), f"Length differs for {path}")
        for index, (left, right) in enumerate(zip(a, b)):
            self._lists_close(left, right, rtol, atol, msg, f"{path}[{index}]")

    def _assert_same_ragged_rank(self, a: Any, b: Any, msg: Any) -> None:
        if not any(isinstance(item, (list, tuple)) for item in (a, b)):
            ranks = [item.ragged_rank if is_ragged(item) else 0 for item in (a, b)]
            self.assertEqual(*ranks, msg)
