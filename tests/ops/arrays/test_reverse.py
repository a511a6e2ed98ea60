"""Sequences that are reversed as far as they go."""

from __future__ import annotations

import numpy as np
import pytest

import stillflow as tf


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.bool_, np.complex64, object])
@pytest.mark.parametrize(("batch", "seq"), [(0, 1), (1, 0), (0, 2), (2, 1), (1, 2)])
def test_each_sequence_is_reversed_up_to_its_length(batch, seq, dtype):
    x = np.arange(60).reshape(3, 4, 5).astype(dtype) if dtype is not object else np.array(
        [str(number).encode() for number in range(60)], object
    ).reshape(3, 4, 5)  # fmt: skip
    lengths = np.random.RandomState(1).randint(0, x.shape[seq] + 1, x.shape[batch])
    expected = x.copy()
    for number, length in enumerate(lengths):
        taken = np.moveaxis(x, (batch, seq), (0, 1))[number]
        np.moveaxis(expected, (batch, seq), (0, 1))[number, :length] = taken[:length][::-1]
    with tf.Graph().as_default(), tf.Session() as session:
        found = session.run(tf.reverse_sequence(x, lengths, seq_axis=seq, batch_axis=batch))
    assert found.dtype == x.dtype
    assert found.tolist() == expected.tolist()
