"""Decompositions of matrices, and functions of one matrix."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from stillflow import errors
from stillflow.graph import dims
from stillflow.graph.api import control_dependencies
from stillflow.graph.card import op
from stillflow.graph.export import export
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Gradients, Kernel, OutputDims
from stillflow.graph.traits import Cost
from stillflow.ops.arrays.concat import concat
from stillflow.ops.arrays.fill import zeros_like
from stillflow.ops.arrays.shape import expand_dims, reshape, shape
from stillflow.ops.arrays.transpose import matrix_transpose
from stillflow.ops.dispatch import dispatchable
from stillflow.ops.linalg.bands import matrix_band_part
from stillflow.ops.linalg.diagonal import eye, matrix_diag, matrix_diag_part, matrix_set_diag
from stillflow.ops.linalg.matmul import matmul
from stillflow.ops.linalg.operands import one_matrix, square_matrix
from stillflow.ops.math.complex import real
from stillflow.ops.math.unary import reciprocal
from stillflow.ops.samples import Bad, Sample, Samples

FIELD = "T: {double, float, half, complex64, complex128}"


def square_shape(node: Node) -> tuple[int | None, ...] | None:
    matrix = dims.with_rank_at_least(node.dims(0), 2)
    if matrix is None:
        return None
    size = dims.merge_dim(matrix[-2], matrix[-1])
    return (*matrix[:-2], size, size)


def _scalars_shape(node: Node) -> tuple[int | None, ...] | None:
    matrix = dims.with_rank_at_least(node.dims(0), 2)
    if matrix is None:
        return None
    dims.merge_dim(matrix[-1], matrix[-2])
    return matrix[:-2]


def adjoint(matrix: Any, name: str | None = None) -> Tensor:
    """Return the conjugate transpose."""
    return adjoint_public(matrix, name)


def in_float32(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compute in single precision: torch's linear algebra does not support half precision."""

    def run(*matrices: Any) -> Any:
        if matrices[0].dtype != torch.float16:
            return function(*matrices)
        result = function(*[m.float() if m.is_floating_point() else m for m in matrices])
        if isinstance(result, (tuple, list)):
            return [r.half() if r.is_floating_point() else r for r in result]
        return result.half()

    return run


def _spd() -> np.ndarray:
    x = np.random.RandomState(0).randn(2, 3, 3)
    return x @ x.transpose(0, 2, 1) + 3 * np.eye(3)


_SQUARE = np.array([[[2.0, 1.0, 0.5], [0.3, 3.0, 1.0], [0.2, 0.1, 4.0]]] * 2)
_BAD = Bad(np.zeros((2, 3), np.float32), match="Dimensions must be equal")
TRAITS: Any = {"apple": "none", "cost": Cost("matrices")}

# ---- Cholesky

cholesky_op = op(f"Cholesky(input: T) -> output: T\n{FIELD}", **TRAITS)
cholesky_op.shape(square_shape)
cholesky_op.check(square_matrix)


@cholesky_op.kernel
def cholesky_kernel(node: Node) -> Kernel:
    return in_float32(_cholesky)


def _cholesky(matrix: Any) -> torch.Tensor:
    return cholesky_factor(
        matrix, "Cholesky decomposition was not successful. The input might not be valid."
    )


def cholesky_factor(matrix: Any, refusal: str) -> torch.Tensor:
    """Return Cholesky factors of lower triangles; InvalidArgumentError unless pivots are positive.

    NaN passes, and fills all later elements.
    """
    result, info = torch.linalg.cholesky_ex(matrix)
    if not matrix.numel() or not bool(info.any()):
        return result
    for where in info.nonzero().tolist():
        result[tuple(where)] = _column_by_column(matrix[tuple(where)], refusal)
    return result


def _column_by_column(matrix: Any, refusal: str) -> torch.Tensor:
    """One factor, going on behind pivots that are NaN as torch does not."""
    factor = torch.zeros_like(matrix)
    for k in range(matrix.shape[-1]):
        row = factor[k, :k]
        pivot = matrix[k, k].real - (row.abs() ** 2).sum()
        if bool(pivot <= 0):
            raise errors.invalid_argument(refusal)
        if bool(pivot.isnan()):
            factor[k:, k:] = torch.full_like(matrix[k:, k:], float("nan")).tril()
            return factor
        factor[k, k] = pivot.sqrt()
        below = matrix[k + 1 :, k] - factor[k + 1 :, :k] @ row.conj()
        factor[k + 1 :, k] = below / pivot.sqrt()
    return factor


@cholesky_op.gradient
def cholesky_gradient(node: Node, grad: Tensor) -> Gradients:
    from stillflow.ops.linalg.solvers import matrix_triangular_solve

    factor: Any = node.outputs[0]
    rows, batch = shape(factor)[-1], shape(factor)[:-2]
    identity = eye(rows, batch_shape=batch, dtype=factor.dtype)
    inverse = matrix_triangular_solve(factor, identity)
    middle = matmul(factor, grad, adjoint_a=True)
    middle = matrix_set_diag(middle, 0.5 * matrix_diag_part(middle))
    middle = matrix_band_part(middle, -1, 0)
    result: Any = matmul(matmul(inverse, middle, adjoint_a=True), inverse)
    result += adjoint(result, name=None)
    return result * 0.5


@cholesky_op.samples
def cholesky_samples() -> Samples:
    yield Sample(_spd(), grad=False)
    yield _BAD


# ---- determinants

matrix_determinant_op = op(
    "MatrixDeterminant(input: T) -> output: T\nT: {half, float, double, complex64, complex128}",
    **TRAITS,
)
matrix_determinant_op.shape(_scalars_shape)
matrix_determinant_op.check(square_matrix)


def _sign_and_logarithm(matrix: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """Return a determinant's sign and logarithm; the sign is 0 if the logarithm is not finite."""
    sign, value = torch.linalg.slogdet(matrix)
    odd = ~value.isfinite()
    infinite = torch.where(value > 0, float("inf"), float("-inf")).to(value.dtype)
    return sign.masked_fill(odd, 0), torch.where(odd, infinite, value)


@matrix_determinant_op.kernel
def matrix_determinant_kernel(node: Node) -> Kernel:
    def run(matrix: Any) -> torch.Tensor:
        value = torch.linalg.det(matrix)
        if bool(value.isfinite().all()):
            return value
        sign, logarithm = _sign_and_logarithm(matrix)
        return sign * logarithm.exp()

    return in_float32(run)


@matrix_determinant_op.gradient
def matrix_determinant_gradient(node: Node, grad: Any) -> Gradients:
    inverse: Any = matrix_inverse(node.inputs[0], adjoint=True)
    value: Any = node.outputs[0]
    return reshape(grad * value, concat([shape(value), [1, 1]], 0)) * inverse


@matrix_determinant_op.samples
def matrix_determinant_samples() -> Samples:
    yield Sample(_SQUARE)
    yield _BAD


log_matrix_determinant_op = op(
    "LogMatrixDeterminant(input: T) -> (sign: T, log_abs_determinant: T)\n"
    "T: {half, float, double, complex64, complex128}",
    **TRAITS,
)


log_matrix_determinant_op.check(square_matrix)


@log_matrix_determinant_op.shape
def log_matrix_determinant_shape(node: Node) -> OutputDims:
    return [_scalars_shape(node)] * 2


@log_matrix_determinant_op.kernel
def log_matrix_determinant_kernel(node: Node) -> Kernel:
    def run(matrix: Any) -> tuple[torch.Tensor, torch.Tensor]:
        sign, value = _sign_and_logarithm(matrix)
        return sign, value.to(matrix.dtype)

    return in_float32(run)


@log_matrix_determinant_op.gradient
def log_matrix_determinant_gradient(node: Node, _: Any, grad: Any) -> Gradients:
    inverse: Any = matrix_inverse(node.inputs[0], adjoint=True)
    factors: Any = reshape(grad, concat([shape(node.outputs[1]), [1, 1]], 0))
    return factors * inverse


@log_matrix_determinant_op.samples
def log_matrix_determinant_samples() -> Samples:
    yield Sample(_SQUARE, grad=False)


# ---- inverse

matrix_inverse_op = op(
    f"MatrixInverse(input: T) -> output: T\nadjoint: bool = false\n{FIELD}", **TRAITS
)
matrix_inverse_op.shape(square_shape)
matrix_inverse_op.check(square_matrix)


def check_invertible(info: Any, numel: int, what: str = "Input") -> None:
    if numel and bool(info.any()):
        raise errors.invalid_argument(f"{what} is not invertible.")


def check_pivots(matrix: Any, result: Any, what: str = "Input") -> None:
    """Raise an error for singular matrices that only a first pivot of NaN shows in `result`."""
    if result.numel() and not bool(result.isfinite().all()):
        packed, _, _ = torch.linalg.lu_factor_ex(matrix)
        check_invertible(packed[..., 0, 0].isnan(), packed.numel(), what)


@matrix_inverse_op.kernel
def matrix_inverse_kernel(node: Node) -> Kernel:
    transposed = node.adjoint

    def inverse(matrix: Any) -> torch.Tensor:
        matrix = matrix.mH if transposed else matrix
        result, info = torch.linalg.inv_ex(matrix)
        check_invertible(info, matrix.numel())
        check_pivots(matrix, result)
        return result.contiguous()

    return in_float32(inverse)


@matrix_inverse_op.gradient
def matrix_inverse_gradient(node: Node, grad: Tensor) -> Gradients:
    inverse = node.outputs[0]
    product: Any = matmul(inverse, matmul(grad, inverse, adjoint_b=True), adjoint_a=True)
    return -product


@matrix_inverse_op.samples
def matrix_inverse_samples() -> Samples:
    yield Sample(_SQUARE)
    yield Sample(_SQUARE, adjoint=True, grad=False)
    yield _BAD


# ---- QR

qr_op = op(f"Qr(input: T) -> (q: T, r: T)\nfull_matrices: bool = false\n{FIELD}", **TRAITS)

qr_op.check(one_matrix)


@qr_op.shape
def qr_shape(node: Node) -> OutputDims:
    matrix = dims.with_rank_at_least(node.dims(0), 2)
    if matrix is None:
        return [None, None]
    *batch, rows, columns = matrix
    inner = rows if node.full_matrices else dims.minimum(rows, columns)
    return [(*batch, rows, inner), (*batch, inner, columns)]


@qr_op.kernel
def qr_kernel(node: Node) -> Kernel:
    mode = "complete" if node.full_matrices else "reduced"
    return in_float32(lambda matrix: [m.contiguous() for m in torch.linalg.qr(matrix, mode)])


@qr_op.gradient
def qr_gradient(node: Node, dq: Any, dr: Any) -> Gradients:
    from stillflow.ops.linalg.solvers import matrix_triangular_solve

    q, r = node.outputs
    if q.dtype.is_complex:
        raise NotImplementedError(f"QrGrad not implemented for dtype: {q.dtype}")
    sizes = r._dims
    if sizes is None or None in sizes[-2:]:
        raise NotImplementedError("QrGrad not implemented with dynamic shapes.")
    if sizes[-2] != sizes[-1]:
        raise NotImplementedError(
            "QrGrad not implemented when ncols > nrows or full_matrices is true and ncols != nrows."
        )

    def solve(x: Any) -> Tensor:
        return adjoint(matrix_triangular_solve(r, adjoint(x), lower=False, adjoint=False))

    qdq: Any = matmul(q, dq, adjoint_a=True)
    qdq_part = qdq - adjoint(qdq)
    rdr: Any = matmul(r, dr, adjoint_b=True)
    rdr_part = rdr - adjoint(rdr)
    lower = matrix_band_part(qdq_part + rdr_part, -1, 0)
    first: Any = matmul(q, dr + solve(lower))
    return first + solve(dq - matmul(q, qdq))


@qr_op.samples
def qr_samples() -> Samples:
    yield Sample(_SQUARE, grad=False)
    yield Sample(_SQUARE[:, :2], full_matrices=True, grad=False)


# ---- symmetric eigenvalues

self_adjoint_eig_v2_op = op(
    f"SelfAdjointEigV2(input: T) -> (e: T, v: T)\ncompute_v: bool = true\n{FIELD}", **TRAITS
)

self_adjoint_eig_v2_op.check(square_matrix)


@self_adjoint_eig_v2_op.shape
def self_adjoint_eig_v2_shape(node: Node) -> OutputDims:
    matrix = square_shape(node)
    values = None if matrix is None else matrix[:-1]
    return [values, matrix if node.compute_v else _left_out(node)]


def _left_out(node: Node) -> tuple[int, ...]:
    """Return the shape of an output that is not computed: a scalar, where shape rules say none."""
    return () if node.planning else (0,)


@self_adjoint_eig_v2_op.kernel
def self_adjoint_eig_v2_kernel(node: Node) -> Kernel:
    compute = node.compute_v

    def run(matrix: Any) -> tuple[torch.Tensor, torch.Tensor]:
        values, vectors = _eigenvalues(matrix, compute)
        if vectors is None:
            vectors = matrix.new_zeros(())
        return values.to(matrix.dtype), vectors.contiguous()

    return in_float32(run)


def _eigenvalues(matrix: Any, compute: bool) -> Any:
    """Eigenvalues, and eigenvectors or None; those of numbers that are not finite are unknown."""
    odd = ~matrix.tril().isfinite().flatten(-2).all(-1)
    if bool(odd.any()):
        return _odd_eigenvalues(matrix, odd, compute)
    if not compute:
        return torch.linalg.eigvalsh(matrix), None
    return torch.linalg.eigh(matrix)


def _odd_eigenvalues(matrix: Any, odd: Any, compute: bool) -> tuple[torch.Tensor, None]:
    """Infinite numbers on the diagonal leave the vectors as they are; others find no end."""
    size = matrix.shape[-1]
    identity = torch.eye(size, dtype=matrix.dtype, device=matrix.device)
    lower = matrix.tril(-1)
    diagonal = matrix.diagonal(dim1=-2, dim2=-1).real
    if size > 1 and not bool(lower.isfinite().all() & ~diagonal.isnan().any()):
        raise errors.invalid_argument(
            "Self-adjoint eigen decomposition was not successful. The input might not be valid."
        )
    values, vectors = _eigenvalues(torch.where(odd[..., None, None], identity, matrix), compute)
    unknown = diagonal if size == 1 else torch.full_like(values, float("nan"))
    return torch.where(odd[..., None], unknown, values), vectors


@self_adjoint_eig_v2_op.gradient
def self_adjoint_eig_v2_gradient(node: Node, grad_e: Any, grad_v: Any) -> Gradients:
    e: Any = node.outputs[0]
    with control_dependencies([grad_e, grad_v]):
        if node.compute_v:
            v = node.outputs[1]
            gaps: Any = expand_dims(e, -2) - expand_dims(e, -1)
            f: Any = matrix_set_diag(reciprocal(gaps), zeros_like(e))
            inner: Any = matrix_diag(grad_e) + f * matmul(v, grad_v, adjoint_a=True)
            result: Any = matmul(v, matmul(inner, v, adjoint_b=True))
        else:
            _, v = self_adjoint_eig(node.inputs[0])
            result = matmul(v, matmul(matrix_diag(grad_e), v, adjoint_b=True))
        result = matrix_band_part(result + adjoint(result), -1, 0)
        return matrix_set_diag(result, 0.5 * matrix_diag_part(result))


@self_adjoint_eig_v2_op.samples
def self_adjoint_eig_v2_samples() -> Samples:
    yield Sample(_spd(), grad=False)
    yield Sample(_spd(), compute_v=False, grad=False)


# ---- singular values

svd_op = op(
    "Svd(input: T) -> (s: T, u: T, v: T)\n"
    f"compute_uv: bool = true\nfull_matrices: bool = false\n{FIELD}",
    **TRAITS,
)

svd_op.check(one_matrix)


@svd_op.shape
def svd_shape(node: Node) -> OutputDims:
    matrix = dims.with_rank_at_least(node.dims(0), 2)
    if matrix is None:
        return [None] * 3 if node.compute_uv else [None, _left_out(node), _left_out(node)]
    *batch, rows, columns = matrix
    inner = dims.minimum(rows, columns)
    if not node.compute_uv:
        return [(*batch, inner), _left_out(node), _left_out(node)]
    left, right = (rows, columns) if node.full_matrices else (inner, inner)
    return [(*batch, inner), (*batch, rows, left), (*batch, columns, right)]


@svd_op.kernel
def svd_kernel(node: Node) -> Kernel:
    compute, full = node.compute_uv, node.full_matrices

    def run(matrix: Any) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        odd = ~matrix.isfinite().flatten(-2).all(-1)[..., None]
        if bool(odd.any()):
            matrix = matrix.masked_fill(odd[..., None], 0)
        if not compute:
            s = torch.linalg.svdvals(matrix).masked_fill(odd, float("nan"))
            return s.to(matrix.dtype), matrix.new_zeros(()), matrix.new_zeros(())
        u, s, vh = torch.linalg.svd(matrix, full_matrices=full)
        unknown = [m.masked_fill(odd[..., None], float("nan")) for m in (u, vh.mH.resolve_conj())]
        s = s.masked_fill(odd, float("nan"))
        return s.to(matrix.dtype), *[m.contiguous() for m in unknown]

    return in_float32(run)


@svd_op.gradient
def svd_gradient(node: Node, grad_s: Any, grad_u: Any, grad_v: Any) -> Gradients:
    from stillflow.ops.linalg.svd_gradient import gradient

    return gradient(node, grad_s, grad_u, grad_v)


@svd_op.samples
def svd_samples() -> Samples:
    yield Sample(_SQUARE[:, :2], grad=False)
    yield Sample(_SQUARE[:, :2], full_matrices=True, grad=False)
    yield Sample(_SQUARE, compute_uv=False, grad=False)


@export("linalg.cholesky", "cholesky")
@dispatchable
def cholesky(input: Any, name: str | None = None) -> Tensor:
    """Return the lower-triangular factor L of Hermitian positive-definite matrices: `L @ L^H`."""
    result: Tensor = cholesky_op(input, name=name)
    return result


@export("linalg.det", "matrix_determinant")
@dispatchable
def matrix_determinant(input: Any, name: str | None = None) -> Tensor:
    """Return the determinants of square matrices."""
    result: Tensor = matrix_determinant_op(input, name=name)
    return result


@export("linalg.slogdet")
def log_matrix_determinant(input: Any, name: str | None = None) -> Any:
    """Sign and logarithm of the absolute determinant."""
    return log_matrix_determinant_op(input, name=name)


@export("linalg.logdet")
@dispatchable
def logdet(matrix: Any, name: str | None = None) -> Tensor:
    """Return the logarithm of the determinant of Hermitian positive-definite matrices."""
    from stillflow.graph.api import name_scope
    from stillflow.ops.math.reductions import reduce_sum
    from stillflow.ops.math.unary import log

    with name_scope(name, "logdet", [matrix]):
        factor = cholesky_op(matrix)
        diagonal = log(real(matrix_diag_part(factor)))
        return 2.0 * reduce_sum(diagonal, axis=[-1])


@export("linalg.adjoint")
@dispatchable
def adjoint_public(matrix: Any, name: str | None = None) -> Tensor:
    """Return the conjugate transpose of matrices."""
    from stillflow.graph.api import name_scope
    from stillflow.graph.conversion import convert_to_tensor

    with name_scope(name, "adjoint", [matrix]):
        return matrix_transpose(convert_to_tensor(matrix, name="matrix"), conjugate=True)


@export("linalg.inv", "matrix_inverse")
@dispatchable
def matrix_inverse(input: Any, adjoint: bool = False, name: str | None = None) -> Tensor:
    """Return the inverses of square matrices, or of their adjoints."""
    result: Tensor = matrix_inverse_op(input, adjoint=adjoint, name=name)
    return result


@export("linalg.qr", "qr")
def qr(input: Any, full_matrices: bool = False, name: str | None = None) -> Any:
    """Return the QR decompositions of matrices."""
    return qr_op(input, full_matrices=full_matrices, name=name)


@export("linalg.eigh", "self_adjoint_eig")
def self_adjoint_eig(tensor: Any, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Eigenvalues, ascending, and eigenvectors of Hermitian matrices."""
    values, vectors = self_adjoint_eig_v2_op(tensor, compute_v=True, name=name)
    return values, vectors


@export("linalg.eigvalsh", "self_adjoint_eigvals")
def self_adjoint_eigvals(tensor: Any, name: str | None = None) -> Tensor:
    """Return the eigenvalues of Hermitian matrices, ascending."""
    values, _ = self_adjoint_eig_v2_op(tensor, compute_v=False, name=name)
    return values


@export("linalg.svd", "svd")
def svd(
    tensor: Any, full_matrices: bool = False, compute_uv: bool = True, name: str | None = None
) -> Tensor | tuple[Tensor, Tensor, Tensor]:
    """Singular values, and singular vectors u and v if asked: `u @ diag(s) @ v^H`."""
    s, u, v = svd_op(tensor, compute_uv=compute_uv, full_matrices=full_matrices, name=name)
    return (real(s), u, v) if compute_uv else real(s)
