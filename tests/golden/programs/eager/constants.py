"""Eager execution: tensors for Python values, and the errors for others."""

from __future__ import annotations

import numpy as np
from tests.golden.registry import describe_error, eagerly, program

TYPES = ("float32", "float64", "float16", "int32", "int64", "uint8", "bool", "string", "complex64")


class Pair:
    """A sequence of no type that anybody knows."""

    def __len__(self):
        return 2

    def __getitem__(self, index):
        return [1, 2][index]


VALUES = {
    "whole": 1, "half": 1.5, "truth": True, "text": "a", "bytes": b"a", "imaginary": 1j,
    "wholes": [1, 2], "halves": [1.5, 2], "whole first": [1, 2.5], "truths": [True, False],
    "texts": ["a", b"b"], "imaginaries": [1j, 2j], "nothing": [], "nothing twice": [[], [1]],
    "large": [2**31], "at the end": [-(2**31), 2**31 - 1], "tuples": ((1, 2), (3, 4)),
    "range": range(3), "ranges": [range(2), range(2)], "pair": Pair(),
    "bytearray": bytearray(b"ab"),
    "arrays": [np.array([1, 2]), np.array([3, 4])],
    "arrays and lists": [np.array([1, 2]), [3.5, 4]],
    "float64 arrays": [np.array([1.0, 2.0])], "float32 arrays": [np.array([1.0, 2.0], np.float32)],
    "uint8 arrays": [np.array([1, 2], np.uint8)], "arrays without size": [np.array(1), np.array(2)],
    "float64 first": [np.float64(0.1), 0.1], "float64 second": [0.1, np.float64(0.1)],
    "float16 first": [np.float16(1), 2.0], "int64 first": [np.int64(1), 2],
    "uint8 first": [np.uint8(1), 2], "truths of numpy": [np.bool_(True), True],
    "truth second": [1.0, True], "infinity": [float("inf")], "large half": [1.0, 2**70],
    "array": np.array([1.5, 2.0]), "small array": np.array([1, 2], np.uint8),
    "array of texts": np.array(["a", "bc"]), "float64": np.float64(0.1), "int64": np.int64(1),
}  # fmt: skip

REFUSED = {
    "mixed": [1, "a"], "text first": ["a", 1], "truth first": [True, 1],
    "truth and half": [True, 0.5],
    "truth of numpy": [1, np.bool_(True)], "imaginary first": [1j, 2], "none": None,
    "list of none": [None], "whole and none": [1, None], "set": {1}, "dict": {"a": 1},
    "too large": 2**70, "list of too large": [2**70], "large float": 1e300,
    "uint64": [np.uint64(2**63)],
    "ragged": [[1], [2, 3]], "deeper": [1, [2]], "less deep": [[1], 2],
    "ragged below": [[[1], [2]], [[3], [4, 5]]],
    "ragged arrays": [np.array([1]), np.array([1, 2])], "objects": np.array([1, None], object),
    "date": np.datetime64("2001-01-01"), "function": len,
}  # fmt: skip


def _tried(function, *args, **kwargs):
    """Return a tensor's value, or the error."""
    try:
        tensor = function(*args, **kwargs)
    except Exception as error:
        return describe_error(error)
    return {"dtype": tensor.dtype.name, "value": tensor.numpy()}


@program
def types_of_values(tf):
    return eagerly(tf, lambda tf: {name: _tried(tf.constant, v) for name, v in VALUES.items()})


@program
def values_as_types(tf):
    # NumPy 2 shows its numbers in another way, so that messages with them differ.
    told = {name: value for name, value in VALUES.items()
            if name not in ("pair", "array", "small array", "array of texts", "float64", "int64")

            and " first" not in name and " second" not in name and "numpy" not in name}  # fmt: skip

    def compute(tf):
        return {
            f"{name} as {dtype}": _tried(tf.constant, value, dtype)
            for name, value in told.items()
            for dtype in TYPES
        }

    return eagerly(tf, compute)


@program
def refused_values(tf):
    return eagerly(tf, lambda tf: {name: _tried(tf.constant, v) for name, v in REFUSED.items()})


@program
def values_in_shapes(tf):
    shapes = ([2], [3], [2, 2], [], [1], [3, 1], [0])
    values = {"one": 1, "list of one": [1], "two": [1, 2], "three": [[1], [2], [3]],
              "array": np.array([1, 2]), "text": "a", "texts": ["a", "b"], "truth": True,
              "none": []}  # fmt: skip

    def compute(tf):
        return {
            f"{name} in {shape} by {way}": _tried(make, value, shape=shape, **options)
            for name, value in values.items()
            for shape in shapes
            for way, make, options in (
                ("constant", tf.constant, {}),
                ("constant, verified", tf.constant, {"verify_shape": True}),
                ("constant of v2", tf.compat.v2.constant, {}),
            )
        }

    return eagerly(tf, compute)


@program
def values_as_arguments(tf):
    def compute(tf):
        ones, whole = tf.ones([2]), tf.constant([1, 2])
        arrays = [np.array([1, 2]), np.array([3, 4])]
        return {
            "sum with float64": _tried(lambda: tf.ones([2], tf.float64) + [np.float64(1), 2]),
            "product": _tried(lambda: ones * [1, 2.5]),
            "truths": _tried(lambda: ones + [True, False]),
            "half to wholes": _tried(lambda: whole + 1.5),
            "before": _tried(lambda: 1.5 + whole),
            "text to wholes": _tried(lambda: whole + "a"),
            "arrays": _tried(tf.convert_to_tensor, arrays),
            "stacked": _tried(tf.stack, arrays), "variable": _tried(tf.Variable, arrays),
            "assigned": _tried(lambda: tf.Variable(1).assign(1.5)),
            "tensor": _tried(tf.constant, ones),
            "tensor as its type": _tried(tf.constant, ones, tf.float32),
            "tensor as another type": _tried(tf.constant, ones, tf.int32),
            "tensor in a shape": _tried(tf.constant, ones, shape=[2, 1]),
            "ragged": _tried(lambda: tf.ragged.constant([["a"], [1]])),
            "ragged and none": _tried(lambda: tf.ragged.constant([["a"], [None]])),
        }  # fmt: skip

    return eagerly(tf, compute)
