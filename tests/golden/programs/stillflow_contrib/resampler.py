"""Images looked up at any places, and the gradients of that."""

from __future__ import annotations

import numpy as np
from tests.golden.registry import Run, program

DATA = np.sin(np.arange(72, dtype=np.float64)).reshape([2, 3, 4, 3])
WARP = np.array([[[0.3, 1.6], [-0.4, 2.7], [5, 0.5], [3, 2], [-1, 0], [3.9, 2.9]],
                 [[1.2, 0.7], [2.4, 2.6], [0.1, -3], [0, 0], [1.5, -0.99], [2, 1]]])


def _resampled(tf, dtype):
    data, warp = tf.constant(DATA.astype(dtype)), tf.constant(WARP.astype(dtype))
    found = tf.contrib.resampler.resampler(data, warp)
    weights = tf.constant(np.cos(np.arange(36)).reshape([2, 6, 3]).astype(dtype))
    return {"found": found, "gradients": tf.gradients(found * weights, [data, warp])}


@program
def single_precision(tf):
    return Run(_resampled(tf, np.float32))


@program
def double_precision(tf):
    return Run(_resampled(tf, np.float64))


@program(rtol=1e-2, atol=1e-2, reason="sums of halves in another order")
def half_precision(tf):
    return Run(_resampled(tf, np.float16))


@program
def places_of_any_rank(tf):
    look = tf.contrib.resampler.resampler
    return Run({
        "one": look(DATA, WARP[:, 0], name="one"),
        "grid": look(DATA, WARP.reshape([2, 2, 3, 2])),
        "none": look(DATA, WARP[:, :0]),
        "unknown": look(tf.placeholder_with_default(DATA, None),
                        tf.placeholder_with_default(WARP, [None, None, 2])),
    })


def _fails(name, data, warp):
    def refused(tf):
        found = tf.contrib.resampler.resampler(tf.placeholder_with_default(data, None),
                                               tf.placeholder_with_default(warp, None))
        return Run({"found": found}, fails=True)

    refused.__name__, refused.__module__ = name, __name__
    return program(refused)


rank_of_data = _fails("rank_of_data", DATA[0], WARP)
rank_of_warp = _fails("rank_of_warp", DATA, WARP[0, 0])
width_of_warp = _fails("width_of_warp", DATA, np.ones([2, 3, 3]))
batches_differ = _fails("batches_differ", DATA, WARP[:1])
