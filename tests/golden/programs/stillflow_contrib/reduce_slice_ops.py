"""Slices of a tensor, reduced."""

from __future__ import annotations

import numpy as np
from tests.golden.registry import Run, internal_module, program, raised

ROWS = np.array([[1, 2, 3], [40, 50, 60], [-7, 8, 9], [10, 20, 30]], np.float32)
PAIRS = [[0, 1], [1, 1], [0, 3], [2, 9], [3, 2]]
KINDS = ("sum", "prod", "max", "min")


def _reductions(tf):
    module = internal_module(
        tf, "contrib.reduce_slice_ops", "contrib.reduce_slice_ops.python.ops.reduce_slice_ops")
    return {kind: getattr(module, "reduce_slice_" + kind) for kind in KINDS}


def _all(tf, *given):
    return {kind: reduce(*given) for kind, reduce in _reductions(tf).items()}


@program
def rows(tf):
    return Run({"pairs": _all(tf, ROWS, PAIRS, 0), "int64": _all(tf, ROWS, np.int64(PAIRS), 0),
                "named": _reductions(tf)["sum"](ROWS, PAIRS, 0, name="named")})


@program
def places_in_a_row(tf):
    vector = tf.constant(ROWS[:, 0])
    return Run({"some": _all(tf, vector, [0, 2, 2, 4], 0), "one": _all(tf, vector, [3], 0),
                "none": _all(tf, vector, np.zeros([0], np.int32), 0)})


@program
def unknown_shapes(tf):
    data = tf.placeholder_with_default(np.stack([ROWS, ROWS + 1]), None)
    pairs = tf.placeholder_with_default(PAIRS, None)
    column = tf.placeholder_with_default([[0], [1], [3]], None)
    axis = tf.placeholder_with_default(np.int64(1), [])
    return Run({"pairs": _all(tf, data, pairs, 1), "column": _all(tf, data, column, 2),
                "first": _all(tf, data, pairs, 0), "axis": _all(tf, data, pairs, axis),
                "known_data": _all(tf, ROWS, pairs, axis)})


@program
def types(tf):
    numbers = ROWS[:3, :2] / 3
    reals = ("float64", "float16", "int32", "int64", "int8", "int16", "uint8", "uint16")
    found = {name: _all(tf, tf.constant(numbers.astype(name)), [[0, 3], [1, 1]], 0)
             for name in reals}
    for name in ("complex64", "complex128"):
        found[name] = {kind: _reductions(tf)[kind](
            tf.constant((numbers * (1 + 2j)).astype(name)), [[0, 3], [1, 1]], 0)
            for kind in ("sum", "prod")}
    return Run(found)


@program
def not_finite(tf):
    values = np.array([[1, 0], [np.nan, 0], [2, 0], [np.inf, 0], [-np.inf, 0], [np.nan, 0]],
                      np.float32)
    return Run(_all(tf, values, [[0, 2], [0, 3], [1, 2], [4, 5], [3, 4], [0, 6], [4, 6]], 0))


@program
def refused(tf):
    reduce = _reductions(tf)["sum"]
    rows = tf.constant(ROWS)
    return Run(facts={
        "scalar": raised(reduce, 1.0, PAIRS, 0),
        "indices": raised(reduce, ROWS, 3, 0),
        "indices_cube": raised(reduce, ROWS, [PAIRS], 0),
        "width": raised(reduce, ROWS, [[1, 2, 3]], 0),
        "axis": raised(reduce, ROWS, [0, 1], 1),
        "axes": raised(reduce, ROWS, PAIRS, [0]),
        "gradient": raised(tf.gradients, reduce(rows, PAIRS, 0), rows),
    })
