"""Pickles of arrays, of every protocol, and of nothing else."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from stillflow.util import pickles

ARRAYS = [
    np.arange(6.0).reshape(2, 3), np.asfortranarray(np.eye(3, dtype=np.float32)), np.float32(2.5),
    np.array([b"a", None], object),
]  # fmt: skip


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("index", range(len(ARRAYS)))
def test_arrays_come_back_from_every_protocol(index: int, protocol: int) -> None:
    value = ARRAYS[index]
    back = pickles.loads(pickle.dumps(value, protocol), pickles.ARRAYS, "a pickle of arrays")
    np.testing.assert_array_equal(back, value)
    assert np.asarray(back).dtype == np.asarray(value).dtype


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_anything_else_is_refused_by_name(protocol: int) -> None:
    with pytest.raises(pickle.UnpicklingError, match="is no part of a pickle of arrays"):
        pickles.loads(pickle.dumps(print, protocol), pickles.ARRAYS, "a pickle of arrays")
