"""Whole recurrent networks on CPUs: gradients, lengths, dropout, errors."""

from __future__ import annotations

import numpy as np
import pytest

import stillflow as tf
from stillflow.ops.recurrent.cudnn import forward_ops
from stillflow.ops.recurrent.cudnn_layout import GATES, Layout

TIME, BATCH, INPUTS, UNITS = 4, 2, 3, 2
DIRECTIONS = {"unidirectional": 1, "bidirectional": 2}


def _given(mode, direction, layers=2, projection=0, kind=np.float64):
    rng = np.random.RandomState(1)
    layout = Layout(mode, layers, UNITS, INPUTS, DIRECTIONS[direction], projection)
    x = rng.randn(TIME, BATCH, INPUTS).astype(kind)
    h = rng.randn(layout.parts, BATCH, layout.state).astype(kind)
    c = rng.randn(layout.parts, BATCH, UNITS).astype(kind) if mode == "lstm" else np.zeros(0, kind)
    return x, h, c, (rng.randn(layout.size) * 0.6).astype(kind)


@pytest.mark.parametrize("mode", sorted(GATES))
@pytest.mark.parametrize("direction", sorted(DIRECTIONS))
@pytest.mark.parametrize("version", ["", "V2", "V3"])
def test_gradients_agree_with_differences(mode, direction, version):
    with tf.Graph().as_default(), tf.Session():
        given = [tf.constant(part) for part in _given(mode, direction)]
        lengths = [tf.constant([TIME, 2])] if version == "V3" else []
        outputs = forward_ops[version](*given, *lengths, rnn_mode=mode, direction=direction)
        loss = tf.reduce_sum(outputs[0] ** 2) + tf.reduce_sum(outputs[1])
        if mode == "lstm":
            loss += tf.reduce_sum(outputs[2] ** 2)
        for part, start in zip(given, _given(mode, direction), strict=True):
            dims = part.shape.as_list()
            error = tf.test.compute_gradient_error(part, dims, loss, [], start, delta=1e-6)
            assert error < 1e-5


def test_a_projection_shrinks_the_state():
    with tf.Graph().as_default(), tf.Session() as session:
        given = [tf.constant(part) for part in _given("lstm", "bidirectional", projection=1)]
        lengths = tf.fill([BATCH], TIME)
        made = forward_ops["V3"](*given, lengths, direction="bidirectional", num_proj=1)
        shapes = [value.shape for value in session.run(made[:3])]
        assert shapes == [(TIME, BATCH, 2), (4, BATCH, 1), (4, BATCH, UNITS)]


@pytest.mark.parametrize("direction", sorted(DIRECTIONS))
def test_what_lies_behind_the_ends_does_not_count(direction):
    x, h, c, params = _given("lstm", direction)
    with tf.Graph().as_default(), tf.Session() as session:
        lengths = tf.constant([2, 3])
        whole = forward_ops["V3"](x, h, c, params, lengths, direction=direction)
        found = session.run(whole[:3])
        turned = forward_ops["V3"](
            *(tf.transpose(part, [1, 0, 2]) for part in (x, h, c)), params, lengths,
            direction=direction, time_major=False,
        )  # fmt: skip
        for one, other in zip(found, session.run(turned[:3]), strict=True):
            np.testing.assert_allclose(one, other.transpose(1, 0, 2))
        for row, length in enumerate((2, 3)):
            alone = forward_ops[""](
                x[:length, row : row + 1], h[:, row : row + 1], c[:, row : row + 1], params,
                direction=direction,
            )  # fmt: skip
            outputs, last_h, last_c = session.run(alone[:3])
            np.testing.assert_allclose(found[0][:length, row : row + 1], outputs)
            np.testing.assert_allclose(found[1][:, row : row + 1], last_h)
            np.testing.assert_allclose(found[2][:, row : row + 1], last_c)
            assert not found[0][length:, row].any()


@pytest.mark.parametrize("lengths", [[0, 2], [-1, 2], [5, 2]])
def test_lengths_beyond_the_time_axis_are_refused(lengths):
    with tf.Graph().as_default(), tf.Session() as session:
        made = forward_ops["V3"](*_given("lstm", "unidirectional"), lengths)
        with pytest.raises(tf.errors.InvalidArgumentError, match="lengths must be between 1 and"):
            session.run(made[0])


def test_dropout_is_the_same_in_the_gradient_and_absent_in_inference():
    x, h, c, params = _given("lstm", "unidirectional")
    with tf.Graph().as_default(), tf.Session() as session:
        given = tf.constant(x)
        trains = forward_ops[""](given, h, c, params, dropout=0.999, seed=1)
        rests = forward_ops[""](given, h, c, params, dropout=0.999, is_training=False)
        plain = forward_ops[""](given, h, c, params)
        dropped, kept, full = session.run([trains[0], rests[0], plain[0]])
        np.testing.assert_allclose(kept, full)
        assert not np.allclose(dropped, full)
        outputs, gradient = session.run([trains[0], tf.gradients(trains[0], given)[0]])
        assert not gradient.any()  # nothing of the input reaches the second layer
        again = session.run(trains[0])
        assert outputs.shape == again.shape
        with pytest.raises(ValueError, match="To use CudnnRNN in gradients, is_training must be"):
            tf.gradients(rests[0], given)


@pytest.mark.parametrize("mode", sorted(GATES))
@pytest.mark.parametrize("direction", sorted(DIRECTIONS))
def test_inputs_that_skip_their_weights_are_those_of_weights_one(mode, direction):
    sizes = (mode, 2, UNITS, UNITS, DIRECTIONS[direction])
    plain, skipping = Layout(*sizes), Layout(*sizes, skips=True)
    x, h, c, _ = _given(mode, direction)
    rng = np.random.RandomState(2)
    weights = [rng.randn(rows, columns) for rows, columns in _shapes(skipping)]
    biases = rng.randn(plain.parts * plain.biases * UNITS)
    ones = iter([np.eye(UNITS)] * len(weights))
    with_ones = [next(ones) if not part.size else part for part in weights]
    both = (weights, with_ones)
    params = [np.concatenate([*(part.ravel() for part in parts), biases]) for parts in both]
    assert [len(vector) for vector in params] == [skipping.size, plain.size]
    with tf.Graph().as_default(), tf.Session() as session:
        given, how = tf.constant(x[..., :UNITS]), {"rnn_mode": mode, "direction": direction}
        skipped = forward_ops[""](given, h, c, params[0], input_mode="skip_input", **how)
        linear = forward_ops[""](given, h, c, params[1], **how)
        for one, other in zip(skipped[:3], linear[:3], strict=True):
            np.testing.assert_allclose(*session.run([one, other]))
        grads = [tf.gradients(outputs[0], given)[0] for outputs in (skipped, linear)]
        np.testing.assert_allclose(*session.run(grads))


def _shapes(layout):
    return [shape for part in range(layout.parts) for shape in layout.weights(part)]


def test_float16_is_computed():
    given = _given("gru", "unidirectional", kind=np.float16)
    with tf.Graph().as_default(), tf.Session() as session:
        half = forward_ops[""](*given, rnn_mode="gru")[0]
        single = forward_ops[""](*(part.astype(np.float32) for part in given), rnn_mode="gru")[0]
        assert half.dtype == tf.float16
        np.testing.assert_allclose(*session.run([half, single]), atol=2e-3)


def test_vectors_of_another_size_and_other_inputs_are_refused():
    x, h, c, params = _given("lstm", "unidirectional")
    with tf.Graph().as_default(), tf.Session() as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="Invalid params shape"):
            session.run(forward_ops[""](x, h, c, params[:-1])[0])
        with pytest.raises(tf.errors.InvalidArgumentError, match="skip_input needs inputs of size"):
            session.run(forward_ops[""](x, h, c, params, input_mode="skip_input")[0])
        with pytest.raises(ValueError, match="Shape must be rank 3 but is rank 2"):
            forward_ops[""](x[0], h, c, params)


@pytest.mark.parametrize("mode", sorted(GATES))
def test_gradients_on_a_gpu_are_those_of_the_host(cuda, mode):
    with tf.Graph().as_default():
        given = [tf.constant(part) for part in _given(mode, "bidirectional", kind=np.float32)]
        outputs = forward_ops["V2"](*given, rnn_mode=mode, direction="bidirectional")
        wanted = tf.gradients(tf.reduce_sum(outputs[0] ** 2), [given[0], given[3]])
        with tf.Session(config=tf.ConfigProto(device_count={"GPU": 0})) as session:
            expected = session.run(wanted)
        with tf.Session() as session:
            for found, other in zip(session.run(wanted), expected, strict=True):
                np.testing.assert_allclose(found, other, rtol=1e-3, atol=1e-4)
