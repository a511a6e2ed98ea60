"""The gradient of the singular value decomposition."""

from __future__ import annotations

from typing import Any

from stillflow.graph import dims
from stillflow.graph.api import control_dependencies
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.ops.arrays.fill import zeros_like
from stillflow.ops.arrays.shape import expand_dims, shape
from stillflow.ops.arrays.transpose import matrix_transpose
from stillflow.ops.linalg.decompositions import adjoint, svd
from stillflow.ops.linalg.diagonal import eye, matrix_diag, matrix_set_diag
from stillflow.ops.linalg.matmul import matmul
from stillflow.ops.math.unary import reciprocal, square


def gradient(node: Node, grad_s: Any, grad_u: Any, grad_v: Any) -> Tensor:
    """Build the gradient, for wide matrices by that of their transposes."""
    a = node.inputs[0]
    grad_s_matrix: Any = matrix_diag(grad_s)
    if not node.compute_uv:
        _, u, v = svd(a, compute_uv=True)
        result = matmul(u, matmul(grad_s_matrix, v, adjoint_b=True))
        result.set_shape(a.shape)
        return result
    if a.dtype.is_complex:
        raise NotImplementedError(
            "SVD gradient is not implemented for complex types and compute_uv=True."
        )
    whole, m, n = _sizes(a, grad_u, grad_v)
    u, v = node.outputs[1], node.outputs[2]
    transposed = m > n
    if transposed:
        m, n, u, v, grad_u, grad_v = n, m, v, u, grad_v, grad_u
    with control_dependencies([grad_s, grad_u, grad_v]):
        if node.full_matrices and abs(m - n) > 1:
            raise NotImplementedError(
                "svd gradient is not implemented for abs(m - n) > 1 when full_matrices is True"
            )
        result = _terms(node, grad_s_matrix, u, v, grad_u, grad_v, m, n)
        if transposed:
            result = matrix_transpose(result)
        result.set_shape(whole)
        return result


def _sizes(a: Any, grad_u: Any, grad_v: Any) -> tuple[Any, int, int]:
    sizes, left, right = a._dims, grad_u._dims, grad_v._dims
    m = dims.merge_dim(None if sizes is None else sizes[-2], None if left is None else left[-2])
    n = dims.merge_dim(None if sizes is None else sizes[-1], None if right is None else right[-2])
    if m is None or n is None:
        raise NotImplementedError(
            "SVD gradient has not been implemented for input with unknown inner matrix shape."
        )
    batch = None if sizes is None else sizes[:-2]
    return (None if batch is None else (*batch, m, n)), m, n


def _terms(
    node: Node, grad_s_matrix: Any, u: Any, v: Any, grad_u: Any, grad_v: Any, m: int, n: int
) -> Tensor:
    s: Any = node.outputs[0]
    s_matrix = matrix_diag(s)
    squares: Any = square(s)
    s_shape: Any = shape(s)
    identity = eye(s_shape[-1], batch_shape=s_shape[:-1], dtype=s.dtype)
    gaps: Any = expand_dims(squares, -2) - expand_dims(squares, -1) + identity
    f: Any = matrix_set_diag(reciprocal(gaps), zeros_like(s))
    s_inverse = matrix_diag(reciprocal(s))
    v1, grad_v1 = v[..., :, :m], grad_v[..., :, :m]
    u_gu = matmul(u, grad_u, adjoint_a=True)
    v_gv = matmul(v1, grad_v1, adjoint_a=True)
    f_u, f_v = f * u_gu, f * v_gv
    inner: Any = (
        grad_s_matrix + matmul(f_u + adjoint(f_u), s_matrix) + matmul(s_matrix, f_v + adjoint(f_v))
    )
    first: Any = matmul(u, matmul(inner, v1, adjoint_b=True))
    if m == n:
        return first
    gv1_t: Any = matrix_transpose(grad_v1)
    second: Any = gv1_t - matmul(matmul(gv1_t, v1), v1, adjoint_b=True)
    if node.full_matrices:
        v2, grad_v2 = v[..., :, m:n], grad_v[..., :, m:n]
        second -= matmul(matmul(v1, grad_v2, adjoint_a=True), v2, adjoint_b=True)
    return first + matmul(matmul(u, s_inverse), second)
