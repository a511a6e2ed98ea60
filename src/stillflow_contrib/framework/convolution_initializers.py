"""Orthogonal initializers of convolution kernels (Xiao et al., 2018; Wang et al., 2020)."""

from __future__ import annotations

import itertools
from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.ops.arrays.fill import zeros
from stillflow.ops.arrays.scatter import scatter_nd
from stillflow.ops.arrays.shape import expand_dims
from stillflow.ops.arrays.stack import stack
from stillflow.ops.arrays.transpose import matrix_transpose
from stillflow.ops.linalg.matmul import matmul
from stillflow.ops.math.binary import multiply
from stillflow.ops.math.cast import cast
from stillflow.ops.random.basic import random_normal
from stillflow.variables.initializers import Initializer, float_dtype, orthogonal_matrix

# The matrices of a kernel by their position in it: a tuple of one index for each dimension.
_Blocks = dict[tuple[int, ...], Any]

_NUMBERS = {1: "three", 2: "four", 3: "five"}


@export("contrib.framework.convolutional_delta_orthogonal")
class ConvolutionDeltaOrthogonal(Initializer):
    """Zeros, but for an orthogonal matrix in the middle: a convolution that keeps norms.

    Args:
      gain: a factor.
      seed: of the random matrix.
      dtype: of the kernel.
    """

    def __init__(self, gain: float = 1.0, seed: Any = None, dtype: Any = dtypes.float32) -> None:
        self.gain, self.seed = gain, seed
        self.dtype = float_dtype(dtype)

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
        dtype = self.dtype if dtype is None else dtype
        if not 3 <= len(shape) <= 5:
            raise ValueError(
                "The tensor to initialize must be at least three-dimensional and at most "
                "five-dimensional"
            )
        if shape[-2] > shape[-1]:
            raise ValueError("In_filters cannot be greater than out_filters.")
        q = orthogonal_matrix([shape[-1], shape[-1]], dtype, self.seed)
        q = q[: shape[-2], :]
        q *= cast(self.gain, dtype=dtype)
        middle = [[(size - 1) // 2 for size in shape[:-2]]]
        return scatter_nd(middle, expand_dims(q, 0), shape)


class _ConvolutionOrthogonal(Initializer):
    """A kernel composed of projections, so that the convolution is an orthogonal map.

    Args:
      gain: a factor.
      seed: of the first random matrix; each one after it gets the next seed.
      dtype: of the kernel.
    """

    _rank: int

    def __init__(self, gain: float = 1.0, seed: Any = None, dtype: Any = dtypes.float32) -> None:
        self.gain, self.seed = gain, seed
        self.dtype = float_dtype(dtype)

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
        dtype = self.dtype if dtype is None else dtype
        if len(shape) != self._rank + 2:
            raise ValueError(f"The tensor to initialize must be {_NUMBERS[self._rank]}-dimensional")
        if shape[-2] > shape[-1]:
            raise ValueError("In_filters cannot be greater than out_filters.")
        if any(size != shape[0] for size in shape[: self._rank]):
            raise ValueError("Kernel sizes must be equal.")
        kernel = self._kernel(shape[0], shape[-2], shape[-1])
        kernel *= cast(self.gain, dtype=dtype)
        return kernel

    def _block(self, eye: Any, projections: list[Any]) -> _Blocks:
        """Return the kernel of size 2 that projections make."""
        raise NotImplementedError

    def _kernel(self, size: int, inputs: int, outputs: int) -> Any:
        orthogonal = self._orthogonal_matrix(outputs)[0:inputs, :]
        if size == 1:
            for _ in range(self._rank):
                orthogonal = expand_dims(orthogonal, 0)
            return orthogonal
        blocks = self._random_block(outputs)
        for _ in range(size - 2):
            blocks = self._convolve(blocks, self._random_block(outputs))
        for position in itertools.product(range(size), repeat=self._rank):
            blocks[position] = matmul(orthogonal, blocks[position])
        return _stacked(blocks, size, self._rank)

    def _orthogonal_matrix(self, size: int) -> Tensor:
        return orthogonal_matrix([size, size], self.dtype, self._next_seed())

    def _next_seed(self) -> Any:
        seed = self.seed
        if seed:
            self.seed = seed + 1
        return seed

    def _projection(self, size: int) -> Tensor:
        """Return a random orthogonal projection, as a symmetric matrix."""
        q = self._orthogonal_matrix(size)
        mask = cast(random_normal([size], seed=self._next_seed()) > 0, self.dtype)
        half = multiply(q, mask)
        return matmul(half, matrix_transpose(half))

    def _random_block(self, size: int) -> _Blocks:
        from stillflow.ops.linalg.diagonal import eye

        projections = [self._projection(size) for _ in range(self._rank)]
        return self._block(eye(size, dtype=self.dtype), projections)

    def _convolve(self, left: _Blocks, right: _Blocks) -> _Blocks:
        """Return the kernel of one convolution after the other."""
        sizes = [max(position[0] for position in blocks) + 1 for blocks in (left, right)]
        matrix = left[(0,) * self._rank].shape.as_list()
        result: _Blocks = {}
        for position in itertools.product(range(sum(sizes) - 1), repeat=self._rank):
            total = zeros(matrix, self.dtype)
            ranges = [range(min(sizes[0], index + 1)) for index in position]
            for first in itertools.product(*ranges):
                second = tuple(i - j for i, j in zip(position, first, strict=True))
                if all(index < sizes[1] for index in second):
                    total += matmul(left[first], right[second])
            result[position] = total
        return result


def _stacked(blocks: _Blocks, size: int, rank: int, prefix: tuple[int, ...] = ()) -> Any:
    if len(prefix) == rank:
        return blocks[prefix]
    return stack([_stacked(blocks, size, rank, (*prefix, index)) for index in range(size)])


@export("contrib.framework.convolutional_orthogonal_1d")
class ConvolutionOrthogonal1D(_ConvolutionOrthogonal):
    """An orthogonal kernel of a 1-D convolution; arguments as in ConvolutionDeltaOrthogonal."""

    _rank = 1

    def _block(self, eye: Any, projections: list[Any]) -> _Blocks:
        (p,) = projections
        return {(0,): p, (1,): eye - p}


@export("contrib.framework.convolutional_orthogonal_2d")
class ConvolutionOrthogonal2D(_ConvolutionOrthogonal):
    """An orthogonal kernel of a 2-D convolution; arguments as in ConvolutionDeltaOrthogonal."""

    _rank = 2

    def _block(self, eye: Any, projections: list[Any]) -> _Blocks:
        p, q = projections
        return {
            (0, 0): matmul(p, q),
            (0, 1): matmul(p, eye - q),
            (1, 0): matmul(eye - p, q),
            (1, 1): matmul(eye - p, eye - q),
        }


@export("contrib.framework.convolutional_orthogonal_3d")
class ConvolutionOrthogonal3D(_ConvolutionOrthogonal):
    """An orthogonal kernel of a 3-D convolution; arguments as in ConvolutionDeltaOrthogonal."""

    _rank = 3

    def _block(self, eye: Any, projections: list[Any]) -> _Blocks:
        def chosen(index: int, p: Any) -> Any:
            return index * p + (1 - index) * (eye - p)

        blocks: _Blocks = {}
        for position in itertools.product((0, 1), repeat=3):
            first, second, third = (
                chosen(index, p) for index, p in zip(position, projections, strict=True)
            )
            blocks[position] = matmul(matmul(first, second), third)
        return blocks


# The names by which internal modules know them.
convolutional_delta_orthogonal = ConvolutionDeltaOrthogonal
convolutional_orthogonal_1d = ConvolutionOrthogonal1D
convolutional_orthogonal_2d = ConvolutionOrthogonal2D
convolutional_orthogonal_3d = ConvolutionOrthogonal3D
