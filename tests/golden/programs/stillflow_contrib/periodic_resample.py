"""Tensors that grow along some dimensions by what is taken from another one."""

from __future__ import annotations

import numpy as np
from tests.golden.registry import Run, program

VALUES = np.arange(48, dtype=np.float32).reshape([2, 3, 8])


@program
def shapes(tf):
    resample = tf.contrib.periodic_resample.periodic_resample
    return Run({
        "rows": resample(VALUES[0], [6, None]),
        "columns": resample(VALUES[0], [None, 16], name="columns"),
        "cube": resample(VALUES, [4, 6, None]),
        "not_whole": resample(VALUES.astype(np.int64), [3, 3, None]),
        "middle": resample(VALUES.astype(np.float64), [2, None, 16]),
        "unknown": resample(tf.placeholder_with_default(VALUES, [None, None, None]),
                            [None, 6, 8]),
    })


@program
def gradients(tf):
    values = tf.constant(VALUES)
    found = tf.contrib.periodic_resample.periodic_resample(values, [4, 3, None])
    weights = tf.constant(np.cos(np.arange(48, dtype=np.float32)).reshape([4, 3, 4]))
    return Run({"found": found, "gradients": tf.gradients(found * weights, values)})


def _fails(name, values, shape):
    def refused(tf):
        found = tf.contrib.periodic_resample.periodic_resample(
            tf.placeholder_with_default(values, None), shape)
        return Run({"found": found}, fails=True)

    refused.__name__, refused.__module__ = name, __name__
    return program(refused)


too_small = _fails("too_small", VALUES, [1, 3, None])
nothing_free = _fails("nothing_free", VALUES, [2, 3, 8])
too_much_free = _fails("too_much_free", VALUES, [None, 3, None])
other_rank = _fails("other_rank", VALUES, [4, None])
nothing_left = _fails("nothing_left", VALUES, [20, 30, None])


@program
def static_shapes_of_what_does_not_fit(tf):
    resample = tf.contrib.periodic_resample.periodic_resample
    cases = [((3,), [1, 2, 2]), ((2, 3, 4), [None, None, 4]), ((2, 3, 4), [4, 3, 4]),
             ((4,), [2, None]), ((2, 3), [None, 0]), ((2, 3), [4, 6]), ((0, 3), [2, None])]
    for shape, wanted in cases:
        resample(tf.zeros(shape), wanted)
    return Run({})
