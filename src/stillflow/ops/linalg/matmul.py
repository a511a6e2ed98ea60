"""Matrix products: of matrices, of batches of matrices, with hints of sparsity."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from stillflow.graph import dims, dtypes
from stillflow.graph.api import name_scope
from stillflow.graph.card import op
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.lazy import LazyModule, torch
from stillflow.graph.node import Call, Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Gradients, Kernel, OutputDims
from stillflow.graph.traits import Cost
from stillflow.ops.arrays import shape as shapes
from stillflow.ops.dispatch import dispatchable
from stillflow.ops.math.cast import cast
from stillflow.ops.math.complex import conj
from stillflow.ops.math.kernels import NUMBER, element_wise
from stillflow.ops.nn.precision import precise_on_cpu
from stillflow.ops.samples import Bad, Sample, Samples

if TYPE_CHECKING:
    from stillflow.ops.arrays import transpose as transposes
    from stillflow.ops.linalg import diagonal as diagonals
    from stillflow.ops.math import reductions
else:
    diagonals = LazyModule("stillflow.ops.linalg.diagonal")
    reductions = LazyModule("stillflow.ops.math.reductions")
    transposes = LazyModule("stillflow.ops.arrays.transpose")

# ---- two matrices

mat_mul_op = op(
    """
    MatMul(a: T, b: T) -> product: T
    transpose_a: bool = false
    transpose_b: bool = false
    T: {bfloat16, half, float, double, int32, int64, complex64, complex128}
""",
    gpu_types="fractions",
    cost=Cost("product"),
    latency="long",
    batching="vmap",
)

sparse_mat_mul_op = op(
    """
    SparseMatMul(a: Ta, b: Tb) -> product: float
    transpose_a: bool = false
    transpose_b: bool = false
    a_is_sparse: bool = false
    b_is_sparse: bool = false
    Ta: {float, bfloat16} = float
    Tb: {float, bfloat16} = float
""",
    latency="long",
)


@mat_mul_op.shape
@sparse_mat_mul_op.shape
def mat_mul_shape(node: Node) -> Any:
    if node.planning:
        check_matrices(node.dims(0), node.dims(1), node.transpose_a, node.transpose_b)
    a, b = dims.with_rank(node.dims(0), 2), dims.with_rank(node.dims(1), 2)
    rows, inner_a = reversed(a) if node.transpose_a else a
    inner_b, columns = reversed(b) if node.transpose_b else b
    dims.merge_dim(inner_a, inner_b)
    return (rows, columns)


def check_matrices(a: Any, b: Any, transpose_a: bool, transpose_b: bool) -> None:
    """Raise ValueError, as TF's kernel does, for known shapes that cannot be multiplied."""
    for i, shape in enumerate((a, b)):
        if shape is not None and len(shape) != 2:
            raise ValueError(
                f"In[{i}] is not a matrix. Instead it has shape {dims.to_string(shape)}"
            )
    if a is None or b is None:
        return
    inner = a[0 if transpose_a else 1], b[1 if transpose_b else 0]
    if None not in inner and inner[0] != inner[1]:
        raise ValueError(
            f"Matrix size-incompatible: In[0]: {dims.to_string(a)}, In[1]: {dims.to_string(b)}"
        )


# Loops that add products up know these functions.
def mm_ta(a: Any, b: Any) -> torch.Tensor:
    return torch.mm(a.t(), b)


def mm_tb(a: Any, b: Any) -> torch.Tensor:
    return torch.mm(a, b.t())


def mm_ta_tb(a: Any, b: Any) -> torch.Tensor:
    return torch.mm(a.t(), b.t())


def _product(node: Node) -> Callable[..., Any]:
    """Return the function that multiplies two matrices as the node's attributes say."""
    if node.transpose_a:
        return mm_ta_tb if node.transpose_b else mm_ta
    return mm_tb if node.transpose_b else torch.mm


def _checked(node: Node, multiply: Any) -> Call | Callable[..., Any]:
    """Check shapes at run time that are unknown when the plan is made, with TF's messages."""
    if dims.is_known(node.dims(0)) and dims.is_known(node.dims(1)):
        return node.call(multiply, *node.inputs)
    transposes_ = node.transpose_a, node.transpose_b

    def run(a: Any, b: Any) -> torch.Tensor:
        check_matrices(tuple(a.shape), tuple(b.shape), *transposes_)
        return multiply(a, b)

    return run


@mat_mul_op.kernel
def mat_mul_kernel(node: Node) -> Kernel:
    return _checked(node, precise_on_cpu(node, _product(node), 2))


@sparse_mat_mul_op.kernel
def sparse_mat_mul_kernel(node: Node) -> Kernel:
    multiply = _product(node)
    return _checked(node, lambda a, b: multiply(a.float(), b.float()))


@mat_mul_op.gradient
def mat_mul_gradient(node: Node, grad: Tensor) -> Gradients:
    if 1 in node.skipped:
        return _gradient_of_first(node, grad, conj(node.inputs[1])), None
    if 0 in node.skipped:
        return None, _gradient_of_second(node, grad, conj(node.inputs[0]))
    a, b = conj(node.inputs[0]), conj(node.inputs[1])
    return _gradient_of_first(node, grad, b), _gradient_of_second(node, grad, a)


def _gradient_of_first(node: Node, grad: Tensor, b: Tensor) -> Tensor:
    if node.transpose_a:
        return mat_mul_op(b, grad, transpose_a=node.transpose_b, transpose_b=True)
    return mat_mul_op(grad, b, transpose_b=not node.transpose_b)


def _gradient_of_second(node: Node, grad: Tensor, a: Tensor) -> Tensor:
    if node.transpose_b:
        return mat_mul_op(grad, a, transpose_a=True, transpose_b=node.transpose_a)
    return mat_mul_op(a, grad, transpose_a=not node.transpose_a)


@sparse_mat_mul_op.gradient
def sparse_mat_mul_gradient(node: Node, grad: Tensor) -> Gradients:
    a, b = node.inputs
    sparse = {
        a: node.a_is_sparse,
        b: node.b_is_sparse,
        grad: not grad.holds_value and grad.op.type == "ReluGrad",
    }

    def product(x: Tensor, y: Tensor, like: Tensor, ta: bool = False, tb: bool = False) -> Tensor:
        is_sparse = sparse[x], sparse[y]
        if tb:
            y = transposes.transpose(y)
        result = matmul(x, y, transpose_a=ta, a_is_sparse=is_sparse[0], b_is_sparse=is_sparse[1])
        return result if result.dtype == like.dtype else cast(result, like.dtype)

    if node.transpose_a and node.transpose_b:
        return product(b, grad, a, ta=True, tb=True), product(grad, a, b, ta=True, tb=True)
    if node.transpose_a:
        return product(b, grad, a, tb=True), product(a, grad, b)
    if node.transpose_b:
        return product(grad, b, a), product(grad, a, b, ta=True)
    return product(grad, b, a, tb=True), product(a, grad, b, ta=True)


_A = np.array([[1.0, -2.0, 0.5], [3.0, 0.25, -1.0]], np.float32)
_B = np.array([[0.5, 1.0], [-1.0, 2.0], [0.0, 3.0]], np.float32)


@mat_mul_op.samples
@sparse_mat_mul_op.samples
def mat_mul_samples() -> Samples:
    yield Sample(_A, _B)
    yield Sample(_A, _A, transpose_b=True)
    yield Sample(_A, _A, transpose_a=True)
    yield Sample(_A, _B, transpose_a=True, transpose_b=True)
    yield Bad(_A, _A, match="must be equal|size-incompatible")
    yield Bad(_A[0], _B, match="rank 2|not a matrix")


# ---- batches of matrices

batch_mat_mul_op = op(
    f"""
    BatchMatMul(x: T, y: T) -> output: T
    T: {NUMBER}
    adj_x: bool = false
    adj_y: bool = false
""",
    gpu_types="fractions",
    cost=Cost("product"),
    latency="long",
    batching="vmap",
)
batch_mat_mul_v2_op = op(
    batch_mat_mul_op.text.replace("BatchMatMul(", "BatchMatMulV2("),
    gpu_types="fractions",
    cost=Cost("product"),
    latency="long",
    batching="vmap",
)


@batch_mat_mul_op.shape
def batch_mat_mul_shape(node: Node) -> OutputDims:
    return _batch_shape(node, dims.merge)


@batch_mat_mul_v2_op.shape
def batch_mat_mul_v2_shape(node: Node) -> OutputDims:
    return _batch_shape(node, dims.broadcast)


def _batch_shape(node: Node, combine: Any) -> tuple[int | None, ...] | None:
    x, y = node.dims(0), node.dims(1)
    if node.planning:
        _check_batches(node, x, y, combine)
    dims.with_rank_at_least(x, 2)
    dims.with_rank_at_least(y, 2)
    rows, inner_x = (None, None) if x is None else (x[-1:-3:-1] if node.adj_x else x[-2:])
    inner_y, columns = (None, None) if y is None else (y[-1:-3:-1] if node.adj_y else y[-2:])
    dims.merge_dim(inner_x, inner_y)
    batch = combine(None if x is None else x[:-2], None if y is None else y[:-2])
    return None if batch is None else (*batch, rows, columns)


def _check_batches(node: Node, x: Any, y: Any, combine: Any) -> None:
    """Raise the errors of TF's kernel, with its messages."""
    for i, shape in enumerate((x, y)):
        if shape is not None and len(shape) < 2:
            raise ValueError(f"In[{i}] ndims must be >= 2: {len(shape)}")
    if not (dims.is_known(x) and dims.is_known(y)):
        return
    both = f"{dims.to_string(x)} {dims.to_string(y)}"
    inner = (x[-2] if node.adj_x else x[-1], y[-1] if node.adj_y else y[-2])
    if inner[0] != inner[1]:
        raise ValueError(
            f"In[0] mismatch In[1] shape: {inner[0]} vs. {inner[1]}: {both} "
            f"{int(node.adj_x)} {int(node.adj_y)}"
        )
    try:
        combine(x[:-2], y[:-2])
    except ValueError:
        raise ValueError(
            "In[0] and In[1] must have compatible batch dimensions: "
            f"{dims.to_string(x)} vs. {dims.to_string(y)}"
        ) from None


def _adjoint(x: Any) -> torch.Tensor:
    return x.mH if x.is_complex() else x.mT


def _matmul_ax(x: Any, y: Any) -> torch.Tensor:
    return torch.matmul(_adjoint(x), y)


def _matmul_ay(x: Any, y: Any) -> torch.Tensor:
    return torch.matmul(x, _adjoint(y))


def _matmul_ax_ay(x: Any, y: Any) -> torch.Tensor:
    return torch.matmul(_adjoint(x), _adjoint(y))


def bmm_ta(x: Any, y: Any) -> torch.Tensor:
    return torch.bmm(x.mT, y)


def bmm_tb(x: Any, y: Any) -> torch.Tensor:
    return torch.bmm(x, y.mT)


def bmm_ta_tb(x: Any, y: Any) -> torch.Tensor:
    return torch.bmm(x.mT, y.mT)


def _is_plain(node: Node) -> bool:
    """Return True if the inputs are real and are equally many matrices, in one batch each.

    For such, `torch.bmm` needs no checks of `torch.matmul` at every call.
    """
    x, y = node.dims(0), node.dims(1)
    if x is None or y is None or len(x) != 3 or len(y) != 3 or node.T.is_complex:
        return False
    return x[0] is not None and x[0] == y[0]


@batch_mat_mul_op.kernel
@batch_mat_mul_v2_op.kernel
def batch_mat_mul_kernel(node: Node) -> Kernel:
    if _is_plain(node):
        functions = (torch.bmm, bmm_tb, bmm_ta, bmm_ta_tb)
    else:
        functions = (torch.matmul, _matmul_ay, _matmul_ax, _matmul_ax_ay)
    multiply = functions[2 * node.adj_x + node.adj_y]
    return node.call(precise_on_cpu(node, multiply, 2), *node.inputs)


@batch_mat_mul_op.gradient
def batch_mat_mul_gradient(node: Node, grad: Tensor) -> tuple[Tensor, Tensor]:
    x, y = node.inputs
    if node.adj_x and node.adj_y:
        return (
            matmul(y, grad, adjoint_a=True, adjoint_b=True),
            matmul(grad, x, adjoint_a=True, adjoint_b=True),
        )
    if node.adj_x:
        return matmul(y, grad, adjoint_b=True), matmul(x, grad)
    if node.adj_y:
        return matmul(grad, y), matmul(grad, x, adjoint_a=True)
    return matmul(grad, y, adjoint_b=True), matmul(x, grad, adjoint_a=True)


@batch_mat_mul_v2_op.gradient
def batch_mat_mul_v2_gradient(node: Node, grad: Tensor) -> Gradients:
    grad_x, grad_y = batch_mat_mul_gradient(node, grad)
    x, y = node.inputs
    if dims.same(x._dims, y._dims):
        return grad_x, grad_y
    sx, sy = shapes.shape(x), shapes.shape(y)
    rx, ry = shapes.broadcast_gradient_args_op(sx[:-2], sy[:-2])
    return (
        shapes.reshape(reductions.reduce_sum(grad_x, rx), sx),
        shapes.reshape(reductions.reduce_sum(grad_y, ry), sy),
    )


@batch_mat_mul_op.samples
@batch_mat_mul_v2_op.samples
def batch_mat_mul_samples() -> Samples:
    x = np.stack([_A, _A + 1.0])
    y = np.stack([_B, _B - 1.0])
    yield Sample(x, y)
    yield Sample(x, x, adj_y=True)
    yield Sample(x, x, adj_x=True)
    yield Sample(x, y, adj_x=True, adj_y=True)
    yield Bad(x, x, match="must be equal|mismatch")


# ---- vector products

cross_op = op("""
    Cross(a: T, b: T) -> product: T
    T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64}
""")


@cross_op.shape
def cross_shape(node: Node) -> OutputDims:
    a = dims.with_rank_at_least(node.dims(0), 1)
    b = dims.with_rank_at_least(node.dims(1), 1)
    shape = dims.merge(a, b)
    if shape is not None:
        dims.with_value(shape[-1], 3)
    return shape


def _cross_numpy(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    a1, a2, a3 = np.moveaxis(a, -1, 0)
    b1, b2, b3 = np.moveaxis(b, -1, 0)
    return np.stack([a2 * b3 - a3 * b2, a3 * b1 - a1 * b3, a1 * b2 - a2 * b1], -1)


def _cross(a: Any, b: Any) -> torch.Tensor:
    return torch.linalg.cross(a, b, dim=-1)


@cross_op.kernel
def cross_kernel(node: Node) -> Kernel:
    return element_wise(node, _cross, _cross_numpy)


@cross_op.gradient
def cross_gradient(node: Node, grad: Tensor) -> Gradients:
    u, v = node.inputs
    return cross(v, grad), cross(grad, u)


@cross_op.samples
def cross_samples() -> Samples:
    yield Sample(_A, _A + np.array([1.0, 0.0, 2.0], np.float32))
    yield Bad(_B, _B, match="must be 3")


# ---- public functions


@export("linalg.matmul", "matmul")
@dispatchable
def matmul(
    a: Any,
    b: Any,
    transpose_a: bool = False,
    transpose_b: bool = False,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    name: str | None = None,
) -> Tensor:
    """Return the product of matrices.

    Of tensors of higher rank, of the matrices in their last two axes.

    Args:
      a: a tensor of shape `[..., n, k]`.
      b: a tensor of the same type, of shape `[..., k, m]`; leading axes are broadcast.
      transpose_a, transpose_b: swap the last two axes first.
      adjoint_a, adjoint_b: swap them and take the complex conjugate.
      a_is_sparse, b_is_sparse: hints that most elements of a matrix are zero.
      name: of the operation.

    Returns:
      A tensor of shape `[..., n, m]`.

    Raises:
      ValueError: if a matrix is to be both transposed and conjugated, or sizes do not fit.

    Example:
      >>> print(tf.Session().run(tf.matmul([[1, 2]], [[3], [4]])))
      [[11]]
      >>> tf.matmul(tf.ones([8, 2, 3]), tf.ones([8, 4, 3]), transpose_b=True).shape.as_list()
      [8, 2, 4]
    """
    with name_scope(name, "MatMul", [a, b]) as scope:
        if transpose_a and adjoint_a:
            raise ValueError("Only one of transpose_a and adjoint_a can be True.")
        if transpose_b and adjoint_b:
            raise ValueError("Only one of transpose_b and adjoint_b can be True.")
        a = convert_to_tensor(a, name="a")
        b = convert_to_tensor(b, name="b")
        batched = any(x._dims is None or len(x._dims) > 2 for x in (a, b))
        if batched and not a_is_sparse and not b_is_sparse:
            # These ops conjugate transposed matrices, so a mere transpose conjugates twice.
            a = conj(a) if transpose_a else a
            b = conj(b) if transpose_b else b
            return batch_mat_mul_v2_op(
                a, b, adj_x=adjoint_a or transpose_a, adj_y=adjoint_b or transpose_b, name=scope
            )
        a = conj(a) if adjoint_a else a
        b = conj(b) if adjoint_b else b
        flags = {
            "transpose_a": adjoint_a or transpose_a, "transpose_b": adjoint_b or transpose_b,
        }  # fmt: skip
        if _wants_sparse(a.dtype, b.dtype, a_is_sparse or b_is_sparse):
            flags.update(a_is_sparse=a_is_sparse, b_is_sparse=b_is_sparse)
            return _sparse_product(a, b, scope, flags)
        return mat_mul_op(a, b, name=scope, **flags)


def _sparse_product(a: Tensor, b: Tensor, name: str, flags: dict[str, bool]) -> Tensor:
    product = sparse_mat_mul_op(a, b, name=name, **flags)
    if a.dtype == b.dtype == dtypes.bfloat16:
        product = cast(product, dtypes.bfloat16)
    return product


def _wants_sparse(a: Any, b: Any, hinted: bool) -> bool:
    """Return True if SparseMatMul is used: on request, and for products of mixed types."""
    kinds = (dtypes.bfloat16, dtypes.float32)
    if hinted and a in kinds and b in kinds:
        return True
    return dtypes.bfloat16 in (a, b) and a != b


@export("sparse_matmul")
@dispatchable
def sparse_matmul(
    a: Any,
    b: Any,
    transpose_a: bool = False,
    transpose_b: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    name: str | None = None,
) -> Tensor:
    """Return the float32 product of two matrices of float32 or bfloat16; see `matmul`."""
    return sparse_mat_mul_op(
        a,
        b,
        transpose_a=transpose_a,
        transpose_b=transpose_b,
        a_is_sparse=a_is_sparse,
        b_is_sparse=b_is_sparse,
        name=name,
    )


@export("linalg.matvec")
@dispatchable
def matvec(
    a: Any,
    b: Any,
    transpose_a: bool = False,
    adjoint_a: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    name: str | None = None,
) -> Tensor:
    """Return the product of matrices `[..., n, k]` and vectors `[..., k]`; see `matmul`."""
    with name_scope(name, "MatVec", [a, b]):
        output = matmul(
            a,
            shapes.expand_dims(b, axis=-1),
            transpose_a=transpose_a,
            adjoint_a=adjoint_a,
            a_is_sparse=a_is_sparse,
            b_is_sparse=b_is_sparse,
        )
        return shapes.squeeze(output, axis=-1)


@export("linalg.cross", "cross")
@dispatchable
def cross(a: Any, b: Any, name: str | None = None) -> Tensor:
    """Return the vector products of the triples in the last axes of `a` and `b`."""
    return cross_op(a, b, name=name)


@export("linalg.trace", "trace")
@dispatchable
def trace(x: Any, name: str | None = None) -> Tensor:
    """Return the sums of the diagonals of the matrices in the last two axes of `x`."""
    with name_scope(name, "Trace", [x]) as scope:
        x = convert_to_tensor(x, name="x")
        return reductions.reduce_sum(diagonals.matrix_diag_part(x), [-1], name=scope)
