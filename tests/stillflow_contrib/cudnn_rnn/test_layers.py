"""Networks as layers: the cells that compute the same, and checkpoints of both."""

from __future__ import annotations

import numpy as np
import pytest

import stillflow as tf
from stillflow.runtime.devices.devices import gpu_count

cudnn = tf.contrib.cudnn_rnn
SOFT = tf.ConfigProto(allow_soft_placement=True)
# cuDNN computes tanh and the like with fewer digits.
CLOSE = {"rtol": 1e-3, "atol": 5e-5} if gpu_count() else {"rtol": 1e-5, "atol": 1e-6}
X = np.random.RandomState(0).randn(5, 2, 4).astype(np.float32)

NETWORKS = {
    "lstm": (cudnn.CudnnLSTM, lambda: cudnn.CudnnCompatibleLSTMCell(3)),
    "gru": (cudnn.CudnnGRU, lambda: cudnn.CudnnCompatibleGRUCell(3)),
    "tanh": (cudnn.CudnnRNNTanh, lambda: tf.nn.rnn_cell.BasicRNNCell(3)),
    "relu": (cudnn.CudnnRNNRelu, lambda: tf.nn.rnn_cell.BasicRNNCell(3, activation=tf.nn.relu)),
}


def _layer(make, direction, bias=0.25):
    layer = make(
        2, 3, direction=direction, kernel_initializer=tf.random_normal_initializer(seed=2),
        bias_initializer=tf.constant_initializer(bias), name="net",
    )  # fmt: skip
    return layer, layer(X, training=True)


def _cells(cell, direction):
    x = tf.constant(X)
    with tf.variable_scope("net"):
        if direction == "unidirectional":
            stacked = tf.nn.rnn_cell.MultiRNNCell([cell(), cell()])
            return tf.nn.dynamic_rnn(stacked, x, time_major=True, dtype=tf.float32)[0]
        outputs, _, _ = tf.contrib.rnn.stack_bidirectional_dynamic_rnn(
            [cell(), cell()], [cell(), cell()], x, time_major=True, dtype=tf.float32
        )
        return outputs


@pytest.mark.parametrize("kind", sorted(NETWORKS))
@pytest.mark.parametrize("direction", ["unidirectional", "bidirectional"])
def test_cells_restore_what_networks_saved_and_compute_the_same(kind, direction, tmp_path):
    make, cell = NETWORKS[kind]
    with tf.Graph().as_default(), tf.Session(config=SOFT) as session:
        _, (outputs, _) = _layer(make, direction)
        session.run(tf.global_variables_initializer())
        expected = session.run(outputs)
        path = tf.train.Saver().save(session, str(tmp_path / "network"))
    with tf.Graph().as_default(), tf.Session() as session:
        outputs = _cells(cell, direction)
        saver = tf.train.Saver()
        saver.restore(session, path)
        np.testing.assert_allclose(session.run(outputs), expected, **CLOSE)
        path = saver.save(session, str(tmp_path / "cells"))
    with tf.Graph().as_default(), tf.Session(config=SOFT) as session:
        layer, (outputs, _) = _layer(make, direction, bias=9.0)
        tf.train.Saver([layer.saveable]).restore(session, path)
        np.testing.assert_allclose(session.run(outputs), expected, **CLOSE)


def test_a_network_trains():
    with tf.Graph().as_default(), tf.Session(config=SOFT) as session:
        _, (outputs, (h, c)) = _layer(cudnn.CudnnLSTM, "bidirectional")
        loss = tf.reduce_mean((outputs - 0.5) ** 2) + 0.0 * tf.reduce_sum(h * c)
        step = tf.train.AdamOptimizer(0.1).minimize(loss)
        session.run(tf.global_variables_initializer())
        before = session.run(loss)
        for _ in range(20):
            session.run(step)
        assert session.run(loss) < 0.3 * before


@pytest.mark.parametrize("projection", [None, 2])
def test_conversions_are_each_others_inverse(projection):
    make = cudnn.CudnnParamsFormatConverterLSTM
    with tf.Graph().as_default(), tf.Session(config=SOFT) as session:
        converter = make(2, 3, 4, num_proj=projection, direction="bidirectional")
        state = projection or 3
        rng = np.random.RandomState(5)
        rows = [4 + state] * 2 + [3 * state] * 2
        weights = [rng.randn(n, 12).astype(np.float32) for n in rows]
        biases = [rng.randn(12).astype(np.float32) for _ in rows]
        projections = [rng.randn(3, 2).astype(np.float32) for _ in rows] if projection else None
        opaque = converter.tf_canonical_to_opaque([*weights, *biases], projections)
        found = session.run(converter.opaque_to_tf_canonical(opaque))
        given = [weights, biases, projections] if projection else [weights, biases]
        for made, wanted in zip(found, given, strict=True):
            for one, other in zip(made, wanted, strict=True):
                np.testing.assert_allclose(one, other, rtol=1e-6)


def test_sizes_are_unknown_before_the_layer_is_built():
    layer = cudnn.CudnnGRU(2, 3)
    with pytest.raises(ValueError, match="'input_size' is unknown since layer has not been built"):
        layer.input_size  # noqa: B018 - asking is what fails
    with pytest.raises(RuntimeError, match="canonical_weight_shapes invoked before input shape"):
        layer.canonical_weight_shapes  # noqa: B018


def test_networks_without_a_layer():
    from stillflow_contrib.cudnn_rnn import networks

    with tf.Graph().as_default(), tf.Session(config=SOFT) as session:
        network = networks.CudnnGRU(1, 3, 4)
        size = int(session.run(network.params_size()))
        params = tf.random_normal([size], seed=1)
        outputs, last = network(X, tf.zeros([1, 2, 3]), params)
        found, state = session.run([outputs, last])
        np.testing.assert_allclose(found[-1], state[0])
        again = network.canonical_to_params(*network.params_to_canonical(params))
        same = session.run(tf.reduce_all(tf.equal(again, params)))
        assert same
        with pytest.raises(ValueError, match="Invalid rnn_mode: x, expect one of"):
            networks.cudnn_rnn(X, X, X, params, True, "x")
