"""Sums of many tensors."""

from __future__ import annotations

import numpy as np
import pytest

import stillflow as tf


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.int64])
def test_sums_of_many_integers_wrap_around_in_their_own_type(session, dtype):
    values = [np.iinfo(dtype).max - n for n in range(20)]
    total = tf.add_n([tf.placeholder_with_default(dtype(value), []) for value in values])
    found = session.run(total)
    assert found == np.array(values, dtype).sum(dtype=dtype)
    assert found.dtype == dtype
    assert found.shape == ()
