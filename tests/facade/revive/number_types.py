"""Results of NumPy's operators before NumPy 2; run under NumPy 1 it prints number_types.json."""

from __future__ import annotations

import json
import operator

import numpy as np

NUMBERS = [
    "True", "5", "-1", "300", "2.5", "1e300", "2j", "np.uint8(200)", "np.int8(-3)", "np.int32(7)",
    "np.int64(-300)", "np.int64(2**40)", "np.uint64(3)", "np.float16(2)", "np.float32(3)",
    "np.float64(2)", "np.float64('nan')", "np.complex128(2)", "np.array(2.0)",
]  # fmt: skip
ARRAYS = ["bool", "uint8", "int8", "int32", "int64", "float16", "float32", "complex64"]
OPERATORS = ["add", "mul"]


def operands():
    """Give pairs of operands, at least one of them NumPy's, as expressions."""
    for number in NUMBERS:
        for kind in ARRAYS:
            yield number, f"np.ones(2, {kind!r})"
        for other in NUMBERS:
            if "np." in number or "np." in other:
                yield number, other


def types(function):
    """Return {operation: {left: {right: the type of what `function` gives, or of its error}}}."""
    found = {}
    for name in OPERATORS:
        for left, right in operands():
            for first, second in ((left, right), (right, left)):
                try:
                    with np.errstate(all="ignore"):
                        given = function(getattr(operator, name), eval(first), eval(second))
                    kind = str(np.asarray(given).dtype)
                except (TypeError, ValueError, ArithmeticError) as error:
                    kind = type(error).__name__
                found.setdefault(name, {}).setdefault(first, {})[second] = kind
    return found


if __name__ == "__main__":
    print(json.dumps(types(lambda function, left, right: function(left, right))))
