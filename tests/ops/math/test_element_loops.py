"""Square roots and hyperbolic tangents, with the loop in C and without."""

import numpy as np
import pytest
import torch

from stillflow.ops.math import element_loops

pytestmark = pytest.mark.usefixtures("either_way")


@pytest.mark.parametrize("size", [0, 7, 100_003])
@pytest.mark.parametrize("kind", [torch.float32, torch.float64, torch.float16])
def test_are_those_of_each_number(size, kind):
    numbers = torch.rand(size, generator=torch.Generator().manual_seed(1)).to(kind)
    numbers[::3] = 0
    expected = torch.from_numpy(np.sqrt(numbers.numpy()))
    torch.testing.assert_close(element_loops.square_roots(numbers), expected, rtol=1e-6, atol=0)
    assert element_loops.square_roots_(numbers) is numbers
    torch.testing.assert_close(numbers, expected, rtol=1e-6, atol=0)


def test_of_what_has_none():
    numbers = torch.tensor([-1.0, float("inf"), float("nan"), -0.0, 4.0] * 2000)
    found = element_loops.square_roots(numbers)[:5]
    assert found[0].isnan() and found[2].isnan()
    assert found[[1, 3, 4]].tolist() == [float("inf"), 0.0, 2.0]
    assert torch.signbit(found[3])


def test_of_a_tensor_that_is_seen_through_a_permutation():
    numbers = torch.rand(100, 70).T
    torch.testing.assert_close(element_loops.square_roots(numbers), numbers.sqrt())


@pytest.mark.parametrize("size", [0, 7, 100_003])
@pytest.mark.parametrize("kind", [torch.float32, torch.float64, torch.float16])
def test_tangents_are_those_of_each_number(size, kind):
    numbers = (torch.randn(size, generator=torch.Generator().manual_seed(1)) * 3).to(kind)
    numbers[::5] *= 1e-4
    expected = numbers.double().tanh().to(kind)
    torch.testing.assert_close(element_loops.tangents(numbers), expected, rtol=3e-7, atol=0)
    assert element_loops.tangents_(numbers) is numbers
    torch.testing.assert_close(numbers, expected, rtol=3e-7, atol=0)


def test_tangents_at_the_ends():
    numbers = torch.tensor([float("-inf"), -100.0, -0.0, 1e-40, 30.0, float("nan")] * 2000)
    found = element_loops.tangents(numbers)[:6]
    assert found[[0, 1, 4]].tolist() == [-1.0, -1.0, 1.0]
    assert torch.signbit(found[2]) and found[3] == numbers[3] and found[5].isnan()
