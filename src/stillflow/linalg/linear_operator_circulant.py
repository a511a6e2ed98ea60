"""Circulant matrices, which Fourier transforms make diagonal."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow.distributions.layout import rotate_transpose
from stillflow.graph import dtypes
from stillflow.graph.api import name_scope
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.dtypes import complex64
from stillflow.graph.export import export
from stillflow.graph.operation import Operation, Tensor
from stillflow.graph.tensor_shape import TensorShape
from stillflow.linalg import operator_util
from stillflow.linalg.linear_operator import LinearOperator
from stillflow.ops.arrays import fill
from stillflow.ops.arrays.concat import concat
from stillflow.ops.arrays.sequences import range as range_
from stillflow.ops.arrays.shape import rank as rank_of
from stillflow.ops.arrays.shape import reshape
from stillflow.ops.arrays.shape import shape as shape_of
from stillflow.ops.arrays.slicing import newaxis
from stillflow.ops.debugging.comparisons import assert_less, assert_positive
from stillflow.ops.linalg.decompositions import adjoint as adjoint_of
from stillflow.ops.math import complex
from stillflow.ops.math.cast import cast
from stillflow.ops.math.reductions import reduce_prod, reduce_sum
from stillflow.ops.math.unary import abs as abs_
from stillflow.ops.math.unary import log
from stillflow.ops.signal.fourier import fft, fft2d, fft3d, ifft, ifft2d, ifft3d

_TRANSFORMS = {1: (fft, ifft), 2: (fft2d, ifft2d), 3: (fft3d, ifft3d)}


def to_complex(x: Any) -> Any:
    """`x` as complex numbers of its precision."""
    if x.dtype.is_complex:
        return x
    return cast(x, dtypes.complex128 if x.dtype == dtypes.float64 else complex64)


class _BaseLinearOperatorCirculant(LinearOperator):
    """Circulant matrices whose blocks are circulant again, down to a depth."""

    def __init__(
        self,
        spectrum: Any,
        block_depth: int,
        input_output_dtype: Any = complex64,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = True,
        name: str = "LinearOperatorCirculant",
    ) -> None:
        if block_depth not in _TRANSFORMS:
            raise ValueError(
                f"Expected block_depth to be in {sorted(_TRANSFORMS)}.  Found: {block_depth}."
            )
        self._name, self._block_depth = name, block_depth
        with name_scope(name, values=[spectrum]):
            values = self._spectrum = self._checked_spectrum(spectrum)
            self_adjoint = operator_util.self_adjoint_if_real(
                values,
                is_self_adjoint,
                "A real spectrum always corresponds to a self-adjoint operator.",
            )
            if is_square is False:
                raise ValueError("A [[nested] block] circulant operator is always square.")
            self._block_shape_tensor = shape_of(values)[-block_depth:]
            self._spectrum_complex, self._abs_spectrum = to_complex(values), abs_(values)
            self._conj_spectrum = complex.conj(self._spectrum_complex)
            hints = is_non_singular, self_adjoint, is_positive_definite, True
            super().__init__(dtypes.as_dtype(input_output_dtype), [values], *hints, name=name)

    def _checked_spectrum(self, spectrum: Any) -> Tensor:
        spectrum = convert_to_tensor(spectrum, name="spectrum")
        if spectrum.shape.ndims is not None and spectrum.shape.ndims < self.block_depth:
            raise ValueError(
                f"Argument spectrum must have at least {self.block_depth} dimensions.  Found: "
                f"{spectrum}"
            )
        return spectrum

    @property
    def block_depth(self) -> int:
        """The nesting depth of circulant blocks."""
        return self._block_depth

    def block_shape_tensor(self) -> Tensor:
        """Return the sizes of the nested blocks as a tensor."""
        return self._block_shape_tensor

    @property
    def block_shape(self) -> TensorShape:
        """The static sizes of the nested blocks."""
        return self.spectrum.shape[-self.block_depth :]

    @property
    def spectrum(self) -> Tensor:
        """The eigenvalues, `[..., sizes of the nested blocks]`."""
        return self._spectrum

    # ---- transforms

    def _to_blocks(self, matrix: Any) -> Tensor:
        """Columns `[..., N, R]` as `[R, ..., sizes of the nested blocks]`."""
        vectors = rotate_transpose(matrix, shift=1)
        if vectors.shape.is_fully_defined() and self.block_shape.is_fully_defined():
            sizes: Any = vectors.shape[:-1].concatenate(self.block_shape)
        else:
            sizes = concat((shape_of(vectors)[:-1], self.block_shape_tensor()), 0)
        return reshape(vectors, sizes)

    def _to_columns(self, blocks: Any) -> Tensor:
        depth = self.block_depth
        if blocks.shape.is_fully_defined():
            known = blocks.shape.as_list()
            sizes: Any = [*known[:-depth], np.prod(known[-depth:])]
        else:
            whole = shape_of(blocks)
            outer, inner = whole[:-depth], whole[-depth:]
            sizes = concat((outer, [reduce_prod(inner)]), 0)
        return rotate_transpose(reshape(blocks, sizes), shift=-1)

    def _fft(self, x: Any) -> Tensor:
        return _TRANSFORMS[self.block_depth][0](to_complex(x))

    def _ifft(self, x: Any) -> Tensor:
        return _TRANSFORMS[self.block_depth][1](to_complex(x))

    def convolution_kernel(self, name: str = "convolution_kernel") -> Any:
        """Return the convolution kernel: the inverse transform of the spectrum."""
        with self._name_scope(name):
            return cast(self._ifft(self._spectrum_complex), self.dtype)

    # ---- shapes and assertions

    def _shape(self) -> TensorShape:
        sizes = self._spectrum.shape
        inner = sizes[-self.block_depth :]
        count = np.prod(inner.as_list()) if inner.is_fully_defined() else None
        return sizes[: -self.block_depth].concatenate(TensorShape([count, count]))

    def _shape_tensor(self) -> Any:
        sizes = shape_of(self._spectrum)
        batch, inner = sizes[: -self.block_depth], sizes[-self.block_depth :]
        count = reduce_prod(inner)
        return concat((batch, [count, count]), 0)

    def assert_hermitian_spectrum(self, name: str = "assert_hermitian_spectrum") -> Any:
        """Return an op that fails if the matrix is not real."""
        with self._name_scope(name):
            size: Any = self.domain_dimension_tensor()
            limit = np.finfo(self.dtype.real_dtype.as_numpy_dtype).eps * size
            part = abs_(complex.imag(self.convolution_kernel()))
            return assert_less(part, limit, message="Spectrum was not Hermitian")

    def _assert_non_singular(self) -> Operation:
        return operator_util.assert_no_entries_with_modulus_zero(
            self.spectrum, message="Singular operator:  Spectrum contained zero values."
        )

    def _assert_positive_definite(self) -> Any:
        return assert_positive(
            complex.real(self.spectrum),
            message="Not positive definite:  Real part of spectrum was not all positive.",
        )

    def _assert_self_adjoint(self) -> Any:
        return operator_util.assert_zero_imag_part(
            self.spectrum,
            message="Not self-adjoint:  The spectrum contained non-zero imaginary part.",
        )

    # ---- products and solutions

    def _broadcast(self, x: Any, spectrum: Any) -> tuple[Any, Any]:
        column = concat((self.batch_shape_tensor(), [-1, 1]), axis=0)
        x, columns = operator_util.broadcast_matrix_batch_dims((x, reshape(spectrum, column)))
        batch = shape_of(x)[:-2]
        sizes = concat((batch, self.block_shape_tensor()), axis=0)
        return x, reshape(columns, sizes)

    def _spectrum_of(self, adjoint: bool) -> Tensor:
        return self._conj_spectrum if adjoint else self._spectrum_complex

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        x = adjoint_of(x) if adjoint_arg else x
        spectrum = self._spectrum_of(adjoint)
        x, spectrum = self._broadcast(cast(x, spectrum.dtype), spectrum)
        transformed = self._fft(self._to_blocks(x))
        result = self._to_columns(self._ifft(spectrum * transformed))
        return cast(result, self.dtype)

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        rhs = adjoint_of(rhs) if adjoint_arg else rhs
        rhs, spectrum = self._broadcast(rhs, self._spectrum_of(adjoint))
        transformed = self._fft(self._to_blocks(rhs))
        result = self._to_columns(self._ifft(transformed / spectrum))
        return cast(result, self.dtype)

    @property
    def _inner_axes(self) -> list[int]:
        return [-(i + 1) for i in range(self.block_depth)]

    def _determinant(self) -> Tensor:
        return cast(reduce_prod(self.spectrum, axis=self._inner_axes), self.dtype)

    def _log_abs_determinant(self) -> Any:
        return cast(reduce_sum(log(self._abs_spectrum), axis=self._inner_axes), self.dtype)

    def _diag_part(self) -> Tensor:
        known = self.shape.is_fully_defined()
        sizes: Any = self.shape if known else self.shape_tensor()
        shape = sizes[:-1]
        size = self.domain_dimension.value if known else self.domain_dimension_tensor()
        ones = fill.ones(shape, dtype=self.dtype)
        mean = self.trace() / cast(size, self.dtype)
        return mean[..., newaxis] * ones

    def _trace(self) -> Tensor:
        # The trace is the sum of the eigenvalues.
        if self.spectrum.shape.is_fully_defined():
            count = self.spectrum.shape.ndims
            assert count is not None
            axes: Any = np.arange(count - self.block_depth, count, dtype=np.int32)
        else:
            rank = rank_of(self.spectrum)
            axes = range_(rank - self.block_depth, rank)
        real = reduce_sum(complex.real(self.spectrum), axis=axes)
        if not self.dtype.is_complex:
            return cast(real, self.dtype)
        if self.is_self_adjoint:
            imaginary = fill.zeros_like(real)
        else:
            imaginary = reduce_sum(complex.imag(self.spectrum), axis=axes)
        return cast(complex.complex(real, imaginary), self.dtype)


class _OfDepth(_BaseLinearOperatorCirculant):
    """Circulant matrices of the depth that the class fixes.

    Args:
      spectrum: `[..., sizes of the nested blocks]`, the eigenvalues.
      input_output_dtype: of the operands.
      is_non_singular, is_self_adjoint, is_positive_definite, is_square: see `LinearOperator`.
      name: of the operator.

    Raises:
      ValueError: for too few dimensions, or hints that cannot be.
    """

    _depth = 1

    def _init(self, spectrum: Any, dtype: Any, hints: tuple[Any, Any, Any, Any], name: str) -> None:
        _BaseLinearOperatorCirculant.__init__(self, spectrum, self._depth, dtype, *hints, name=name)


@export("linalg.LinearOperatorCirculant")
class LinearOperatorCirculant(_OfDepth):
    """A batch of circulant matrices; `spectrum` is `[..., N]`."""

    _depth = 1

    def __init__(
        self,
        spectrum: Any,
        input_output_dtype: Any = complex64,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = True,
        name: str = "LinearOperatorCirculant",
    ) -> None:
        hints = (is_non_singular, is_self_adjoint, is_positive_definite, is_square)
        self._init(spectrum, input_output_dtype, hints, name)


@export("linalg.LinearOperatorCirculant2D")
class LinearOperatorCirculant2D(_OfDepth):
    """A batch of block circulant matrices; `spectrum` is `[..., N0, N1]`."""

    _depth = 2

    def __init__(
        self,
        spectrum: Any,
        input_output_dtype: Any = complex64,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = True,
        name: str = "LinearOperatorCirculant2D",
    ) -> None:
        hints = (is_non_singular, is_self_adjoint, is_positive_definite, is_square)
        self._init(spectrum, input_output_dtype, hints, name)


@export("linalg.LinearOperatorCirculant3D")
class LinearOperatorCirculant3D(_OfDepth):
    """A batch of nested block circulant matrices; `spectrum` is `[..., N0, N1, N2]`."""

    _depth = 3

    def __init__(
        self,
        spectrum: Any,
        input_output_dtype: Any = complex64,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = True,
        name: str = "LinearOperatorCirculant3D",
    ) -> None:
        hints = (is_non_singular, is_self_adjoint, is_positive_definite, is_square)
        self._init(spectrum, input_output_dtype, hints, name)
