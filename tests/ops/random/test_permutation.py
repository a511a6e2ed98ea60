from __future__ import annotations

import numpy as np
import pytest
import torch

from stillflow import native
from stillflow.ops.random import native_kernels
from stillflow.ops.random.permutation import permutation
from stillflow.ops.random.philox import Philox


def swapped_one_by_one(stream: Philox, size: int) -> list[int]:
    items = list(range(size))
    for i, word in enumerate(stream.words(size - 1).tolist()):
        j = i + word % (size - i)
        items[i], items[j] = items[j], items[i]
    return items


@pytest.mark.usefixtures("either_way")
@pytest.mark.parametrize("size", [2, 3, 4, 5, 6, 10, 97, 256, 257, 258, 1000])
def test_order_is_that_of_the_swaps(size: int) -> None:
    for seed in range(1, 30 if size < 100 else 3):
        stream = Philox.from_seeds(seed, size)
        assert permutation(stream, size).tolist() == swapped_one_by_one(stream, size)


@pytest.mark.parametrize("dtype", ["bool", "uint8", "float16", "int32", "float32", "complex64"])
def test_elements_are_swapped_like_their_order(dtype: str) -> None:
    if native.library() is None:
        pytest.skip("the loops in C were not built")
    stream = Philox(2**64 - 1, 2**64 - 30, 2**64 - 1)  # where the counter's words are carried
    values = torch.arange(300).to(getattr(torch, dtype))
    before = values.clone()
    assert native_kernels.takes_shuffle(values)
    found = native_kernels.shuffled(values, stream)
    assert torch.equal(found, values[swapped_one_by_one(stream, 300)])
    assert torch.equal(values, before)


def test_only_elements_in_a_row_are_swapped() -> None:
    values = torch.from_numpy(np.arange(8))
    assert not native_kernels.takes_shuffle(values.reshape(4, 2))
    assert not native_kernels.takes_shuffle(values[::2])
    assert not native_kernels.takes_shuffle(values.to(torch.complex128))
