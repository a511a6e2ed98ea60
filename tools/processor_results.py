"""Results of many kinds, to be compared between processors.

    python tools/processor_results.py OUT.npz

`tools/processors.py --results` runs it as every processor that this one can be, and says which
results are equal to the bit.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

import stillflow as tf

SIZE = 1 << 14
NUMBERS = np.random.Generator(np.random.PCG64(3)).uniform(0.01, 4, (SIZE, 2)).astype(np.float32)
X, Y = NUMBERS.T.copy()
MATRIX = X.reshape(128, 128)
IMAGES = X.reshape(4, 16, 32, 8)
FILTERS = Y[: 3 * 3 * 8 * 16].reshape(3, 3, 8, 16)


def _elementwise(function: Callable[..., Any], *given: np.ndarray) -> Callable[[], Any]:
    return lambda: function(*map(tf.constant, given or (X,)))


def _photo() -> Any:
    """Return a JPEG that is encoded and decoded: whole numbers in between."""
    pixels = (MATRIX[:, :, None] * [60, 30, 60]).astype(np.uint8)
    return tf.image.decode_jpeg(tf.image.encode_jpeg(tf.constant(pixels)))


def _batch_norm() -> Any:
    scale, offset = tf.constant(Y[:8]), tf.constant(X[:8])
    return tf.nn.fused_batch_norm(IMAGES, scale, offset)[0]


def _recurrent() -> Any:
    cell = tf.nn.rnn_cell.LSTMCell(16, initializer=tf.glorot_uniform_initializer(seed=1))
    outputs, _ = tf.nn.dynamic_rnn(cell, IMAGES[:, :, 0], dtype=tf.float32)
    return outputs


def _trained(optimizer: str, *arguments: float) -> Callable[[], Any]:
    """Return a variable after ten steps, each of which sees the loss of the one before."""

    def build() -> Any:
        weights = tf.get_variable("weights", initializer=Y[:128].reshape(128, 1) * 0.1)
        loss = tf.reduce_mean(tf.square(tf.matmul(tf.constant(MATRIX), weights) - 1.0))
        step = getattr(tf.train, optimizer)(*arguments).minimize(loss)
        return [step] * 10, weights

    return build


RESULTS: dict[str, Callable[[], Any]] = {
    "random_uniform": lambda: tf.random_uniform([SIZE], seed=1),
    "random_uniform (int32)": lambda: tf.random_uniform([SIZE], 0, 1000, tf.int32, seed=1),
    "random_normal": lambda: tf.random_normal([SIZE], seed=1),
    "truncated_normal": lambda: tf.truncated_normal([SIZE], seed=1),
    "random_shuffle": lambda: tf.random_shuffle(X, seed=1),
    "random_gamma": lambda: tf.random_gamma([SIZE], 0.7, seed=1),
    "add": _elementwise(tf.add, X, Y),
    "multiply": _elementwise(tf.multiply, X, Y),
    "divide": _elementwise(tf.divide, X, Y),
    "sqrt (many)": _elementwise(tf.sqrt),
    "sqrt (few)": _elementwise(tf.sqrt, X[:100]),
    "rsqrt": _elementwise(tf.rsqrt),
    "exp": _elementwise(tf.exp),
    "log": _elementwise(tf.log),
    "pow": _elementwise(tf.pow, X, Y),
    "sin": _elementwise(tf.sin),
    "tanh": _elementwise(tf.tanh),
    "sigmoid": _elementwise(tf.sigmoid),
    "erf": _elementwise(tf.erf),
    "lgamma": _elementwise(tf.lgamma),
    "digamma": _elementwise(tf.digamma),
    "igamma": _elementwise(tf.igamma, X, Y),
    "zeta": _elementwise(tf.zeta, X + 1, Y),
    "cast to half": lambda: tf.cast(X, tf.float16),
    "reduce_sum": _elementwise(tf.reduce_sum),
    "reduce_sum (rows)": lambda: tf.reduce_sum(MATRIX, 1),
    "reduce_max": _elementwise(tf.reduce_max),
    "reduce_sum (int64)": lambda: tf.reduce_sum(np.arange(SIZE)),
    "cumsum": _elementwise(tf.cumsum),
    "segment_sum": lambda: tf.segment_sum(X, np.arange(SIZE) // 100),
    "matmul": lambda: tf.matmul(MATRIX, MATRIX),
    "matmul (double)": lambda: tf.matmul(MATRIX.astype(np.float64), MATRIX.astype(np.float64)),
    "conv2d": lambda: tf.nn.conv2d(IMAGES, FILTERS, 1, "SAME"),
    "max_pool": lambda: tf.nn.max_pool(IMAGES, 2, 2, "SAME"),
    "avg_pool": lambda: tf.nn.avg_pool(IMAGES, 2, 2, "SAME"),
    "batch_norm": _batch_norm,
    "softmax": lambda: tf.nn.softmax(MATRIX),
    "relu": _elementwise(tf.nn.relu),
    "LSTM": _recurrent,
    "resize_bilinear": lambda: tf.image.resize_bilinear(IMAGES, [23, 31]),
    "resize_bicubic": lambda: tf.image.resize_bicubic(IMAGES, [23, 31]),
    "JPEG": _photo,
    "FFT": lambda: tf.fft(tf.complex(X, Y)),
    "cholesky": lambda: tf.cholesky(tf.matmul(MATRIX, MATRIX, True) + 100 * tf.eye(128)),
    "singular values": lambda: tf.svd(MATRIX, compute_uv=False),
    "sort": lambda: tf.contrib.framework.sort(X),
    "string_to_hash_bucket": lambda: tf.string_to_hash_bucket_fast(tf.as_string(X), 1000),
    "GradientDescent": _trained("GradientDescentOptimizer", 0.001),
    "Momentum": _trained("MomentumOptimizer", 0.001, 0.9),
    "Adam": _trained("AdamOptimizer", 0.01),
    "Adagrad": _trained("AdagradOptimizer", 0.01),
    "RMSProp": _trained("RMSPropOptimizer", 0.01),
    "Ftrl": _trained("FtrlOptimizer", 0.01),
}  # fmt: skip


def compute(build: Callable[[], Any]) -> np.ndarray:
    """One result, in a graph of its own."""
    with tf.Graph().as_default(), tf.Session() as session:
        built = build()
        steps, fetched = built if isinstance(built, tuple) else ((), built)
        session.run(tf.global_variables_initializer())
        for step in steps:
            session.run(step)
        return np.asarray(session.run(fetched))


if __name__ == "__main__":
    np.savez(sys.argv[1], **{name: compute(build) for name, build in RESULTS.items()})
