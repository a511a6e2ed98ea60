from __future__ import annotations

import numpy as np
import pytest

import stillflow as tf


def run(build: object, *args: object) -> np.ndarray:
    with tf.Graph().as_default(), tf.Session() as session:
        return session.run(build(*args))  # type: ignore[operator,no-any-return]


def test_a_longer_transform_pads_with_zeros() -> None:
    x = np.random.RandomState(0).randn(2, 5).astype(np.float32)
    found = run(lambda: tf.signal.rfft(x, [8]))
    np.testing.assert_allclose(found, np.fft.rfft(x, 8), atol=1e-5)


@pytest.mark.parametrize("rank", [1, 2])
def test_gradients_of_real_transforms_are_those_of_differences(rank: int) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        shape = [3, 4][-rank:]
        x = tf.constant(np.random.RandomState(1).randn(*shape).astype(np.float32))
        forward = {1: tf.signal.rfft, 2: tf.signal.rfft2d}[rank](x)
        power = tf.reduce_sum(tf.square(tf.abs(forward)))
        gradient = tf.gradients(power, x)[0]
        step = np.zeros(shape, np.float32)
        step.flat[1] = 1e-2
        value = session.run(x)
        up = session.run(power, {x: value + step})
        down = session.run(power, {x: value - step})
        np.testing.assert_allclose(
            session.run(gradient).flat[1], (up - down) / 2e-2, rtol=1e-2, atol=1e-2
        )


@pytest.mark.parametrize("kind", [2, 3])
def test_the_inverse_cosine_transform_gives_the_samples_back(kind: int) -> None:
    x = np.arange(6, dtype=np.float32)

    def there_and_back() -> tf.Tensor:
        return tf.signal.idct(tf.signal.dct(x, type=kind, norm="ortho"), type=kind, norm="ortho")

    np.testing.assert_allclose(run(there_and_back), x, atol=1e-5)


def test_frames_overlap_and_add_up_again() -> None:
    x = np.arange(8, dtype=np.float32)
    frames = run(lambda: tf.signal.frame(x, 4, 2))
    np.testing.assert_array_equal(frames, [x[0:4], x[2:6], x[4:8]])
    total = run(lambda: tf.signal.overlap_and_add(frames, 2))
    np.testing.assert_array_equal(total, x * [1, 1, 2, 2, 2, 2, 1, 1])


def test_a_short_time_transform_is_undone_by_its_window() -> None:
    x = np.random.RandomState(2).randn(32).astype(np.float32)

    def there_and_back() -> tf.Tensor:
        window = tf.signal.inverse_stft_window_fn(4)
        spectrum = tf.signal.stft(x, frame_length=8, frame_step=4)
        return tf.signal.inverse_stft(spectrum, 8, 4, window_fn=window)

    np.testing.assert_allclose(run(there_and_back)[4:-4], x[4:-4], atol=1e-5)


def test_mel_weights_refuse_edges_above_half_the_rate() -> None:
    with pytest.raises(ValueError, match="Nyquist"), tf.Graph().as_default():
        tf.signal.linear_to_mel_weight_matrix(upper_edge_hertz=5000.0)


def test_a_transform_longer_than_its_input_is_refused_while_running() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        length = tf.placeholder(tf.int32, [1])
        result = tf.raw_ops.RFFT(input=np.zeros(3, np.float32), fft_length=length)
        with pytest.raises(tf.errors.InvalidArgumentError, match="must have length of at least 4"):
            session.run(result, {length: [4]})
