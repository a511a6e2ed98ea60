"""`assertAlmostEqual` of NumPy's numbers and Python's.

Its difference of a float32 and a Python number was a float64 before NumPy 2, and is a float32
since, whose rounding alone can exceed the seven places that are compared.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from stillflow.facade.revive.after import after_import


def activate() -> None:
    """Patch Python's test cases when they are imported."""
    after_import("unittest.case", _patch)


def _patch(case: ModuleType) -> None:
    for name in ("assertAlmostEqual", "assertNotAlmostEqual"):
        setattr(case.TestCase, name, _in_double(getattr(case.TestCase, name)))


def _in_double(plain: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(plain)
    def compared(self: Any, first: Any, second: Any, *args: Any, **kwargs: Any) -> None:
        if isinstance(first, (float, int)):
            second = _double(second)
        elif isinstance(second, (float, int)):
            first = _double(first)
        plain(self, first, second, *args, **kwargs)

    return compared


def _double(value: Any) -> Any:
    numpy = sys.modules.get("numpy")
    is_number = numpy is not None and isinstance(value, (numpy.float32, numpy.float16))
    return numpy.float64(value) if numpy is not None and is_number else value
