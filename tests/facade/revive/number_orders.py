"""Comparisons of NumPy's numbers before NumPy 2; under NumPy 1 it prints number_orders.json."""

from __future__ import annotations

import json
import operator
import warnings

import numpy as np

PYTHON = ["True", "0.5", "0.1", "1e99", "7", "16777217", "2j"]
NUMBERS = [
    "np.float16(0.1)", "np.float32(0.1)", "np.float32(16777216)", "np.float32('inf')",
    "np.float64(0.1)", "np.float64(1e99)", "np.int32(7)", "np.int64(16777217)", "np.uint8(7)",
    "np.array(0.1, 'float32')", "np.complex64(0.1)",
]  # fmt: skip
ARRAYS = [f"np.array([0.1, 7, 'inf'], {kind!r})" for kind in ("float16", "float32", "float64")]
ARRAYS += ["np.array([7, 16777217], 'int32')", "np.array([7, 3], 'uint8')"]
OPERATORS = ["eq", "lt", "ge"]


def operands():
    """Give pairs of operands, at least one of them NumPy's, as expressions."""
    for number in PYTHON + NUMBERS:
        for other in NUMBERS + ARRAYS:
            yield number, other


def outcomes(function):
    """Return {operation: {left: {right: its value, or the class of its error or warning}}}."""
    found = {}
    for name in OPERATORS:
        for left, right in operands():
            for first, second in ((left, right), (right, left)):
                try:
                    with warnings.catch_warnings():
                        warnings.simplefilter("error")
                        given = function(getattr(operator, name), eval(first), eval(second))
                    value = np.asarray(given).tolist()
                except (TypeError, ValueError, ArithmeticError, Warning) as error:
                    value = type(error).__name__
                found.setdefault(name, {}).setdefault(first, {})[second] = value
    return found


if __name__ == "__main__":
    print(json.dumps(outcomes(lambda function, left, right: function(left, right))))
