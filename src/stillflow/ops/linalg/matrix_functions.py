"""Functions of matrices: square root, logarithm, exponential."""

from __future__ import annotations

from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.api import name_scope
from stillflow.graph.card import op
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Gradients, Kernel
from stillflow.graph.traits import Cost
from stillflow.ops.arrays.concat import concat
from stillflow.ops.arrays.select import where
from stillflow.ops.arrays.shape import reshape, size
from stillflow.ops.arrays.shape import shape as shape_of
from stillflow.ops.arrays.slicing import newaxis, slice_
from stillflow.ops.arrays.tile import tile
from stillflow.ops.arrays.transpose import matrix_transpose
from stillflow.ops.constants import constant
from stillflow.ops.control_flow.while_loop import while_loop
from stillflow.ops.linalg.decompositions import in_float32, square_shape
from stillflow.ops.linalg.diagonal import eye
from stillflow.ops.linalg.matmul import matmul
from stillflow.ops.linalg.operands import square_matrix
from stillflow.ops.linalg.solvers import matrix_solve
from stillflow.ops.math.binary import add, maximum, subtract
from stillflow.ops.math.binary import pow as pow_
from stillflow.ops.math.cast import cast
from stillflow.ops.math.comparison import less
from stillflow.ops.math.reductions import reduce_max, reduce_prod, reduce_sum
from stillflow.ops.math.unary import abs as abs_
from stillflow.ops.math.unary import floor, log

_FIELD = "T: {double, float, half, complex64, complex128}"

matrix_square_root_op = op(
    f"MatrixSquareRoot(input: T) -> output: T\n{_FIELD}", apple="none", cost=Cost("matrices")
)
matrix_square_root_op.shape(square_shape)
matrix_square_root_op.check(square_matrix)
matrix_logarithm_op = op(
    "MatrixLogarithm(input: T) -> output: T\nT: {complex64, complex128}",
    apple="none",
    cost=Cost("matrices"),
)
matrix_logarithm_op.shape(square_shape)
matrix_logarithm_op.check(square_matrix)
matrix_exponential_op = op(f"MatrixExponential(input: T) -> output: T\n{_FIELD}", apple="none")
matrix_exponential_op.shape(square_shape)
matrix_exponential_op.check(square_matrix)


def _by_eigenvalues(matrix: Any, function: Any) -> tuple[Any, Any]:
    """Return a function of complex matrices, and of which of them it is one.

    Matrices without a basis of eigenvectors are not supported: their eigenvectors combine to
    another matrix.
    """
    values, vectors = torch.linalg.eig(matrix)
    inverse, _ = torch.linalg.inv_ex(vectors)
    again = (vectors * values.unsqueeze(-2)) @ inverse
    result = (vectors * function(values).unsqueeze(-2)) @ inverse
    return result, _is_near(again, matrix)[..., None, None]


def _is_near(one: Any, other: Any) -> torch.Tensor:
    """Return True if matrices are equal but for rounding."""
    if not other.numel():
        return torch.ones(other.shape[:-2], dtype=torch.bool, device=other.device)
    rounding = 1000 * other.shape[-1] * torch.finfo(other.dtype).eps
    return (one - other).abs().amax((-2, -1)) <= rounding * other.abs().amax((-2, -1))


def _is_odd(matrix: Any) -> torch.Tensor:
    """Return True for matrices with non-finite numbers, whose functions are unknown."""
    return ~matrix.isfinite().flatten(-2).all(-1)[..., None, None]


def _finite(matrix: Any) -> torch.Tensor:
    """Return the matrices, and zeros for those that are odd."""
    odd = _is_odd(matrix)
    return matrix.masked_fill(odd, 0) if bool(odd.any()) else matrix


def _iterated_root(matrix: Any) -> torch.Tensor:
    """Square roots by the iteration of Denman and Beavers; NaN where it finds none."""
    identity = torch.eye(matrix.shape[-1], dtype=matrix.dtype, device=matrix.device)
    root, inverse = matrix, identity.expand_as(matrix)
    for _ in range(60):
        # Both at once: each steps by the other's inverse.
        next_root = (root + torch.linalg.inv_ex(inverse)[0]) / 2
        inverse = (inverse + torch.linalg.inv_ex(root)[0]) / 2
        done, root = bool(_is_near(next_root, root).all()), next_root
        if done:
            break
    found = _is_near(root @ root, matrix)[..., None, None]
    return root.masked_fill(~found, float("nan"))


def _root_of_complex(matrix: Any) -> torch.Tensor:
    result, fits = _by_eigenvalues(matrix, torch.sqrt)
    return result if bool(fits.all()) else torch.where(fits, result, _iterated_root(matrix))


def _iterated_logarithm(matrix: Any) -> torch.Tensor:
    """Logarithms by square roots, taken until a short series will do."""
    identity = torch.eye(matrix.shape[-1], dtype=matrix.dtype, device=matrix.device)
    root, count = matrix, 0
    while count < 60 and bool(((root - identity).abs().amax((-2, -1)) > 0.1).any()):
        root, count = _iterated_root(root), count + 1
    ratio = (root - identity) @ torch.linalg.inv_ex(root + identity)[0]
    power, square, total = ratio, ratio @ ratio, torch.zeros_like(ratio)
    for odd in range(1, 24, 2):
        total, power = total + power / odd, power @ square
    return total * 2.0 ** (count + 1)


@matrix_square_root_op.kernel
def matrix_square_root_kernel(node: Node) -> Kernel:
    def run(matrix: Any) -> torch.Tensor:
        if matrix.is_complex():
            root = _root_of_complex(_finite(matrix))
            return root.masked_fill(_is_odd(matrix), float("nan"))
        root = _root_of_complex(_finite(matrix).to(matrix.dtype.to_complex()))
        # A negative eigenvalue has no root among the real numbers.
        lost = ~_is_near(root.real @ root.real, _finite(matrix))[..., None, None]
        return root.real.masked_fill(lost | _is_odd(matrix), float("nan")).contiguous()

    return in_float32(run)


@matrix_logarithm_op.kernel
def matrix_logarithm_kernel(node: Node) -> Kernel:
    def run(matrix: Any) -> torch.Tensor:
        result, fits = _by_eigenvalues(_finite(matrix), torch.log)
        if not bool(fits.all()):
            result = torch.where(fits, result, _iterated_logarithm(_finite(matrix)))
        return result.masked_fill(_is_odd(matrix), float("nan"))

    return run


@matrix_exponential_op.kernel
def matrix_exponential_kernel(node: Node) -> Kernel:
    return in_float32(torch.linalg.matrix_exp)


@export("linalg.sqrtm", "matrix_square_root")
def matrix_square_root(input: Any, name: str | None = None) -> Tensor:
    """Matrices whose squares are `input`."""
    result: Tensor = matrix_square_root_op(input, name=name)
    return result


@export("linalg.logm")
def matrix_logarithm(input: Any, name: str | None = None) -> Tensor:
    """Return the matrix logarithms of complex matrices."""
    result: Tensor = matrix_logarithm_op(input, name=name)
    return result


# ---- the gradient of the square root


def _kronecker(a: Any, b: Any) -> Any:
    """Return the Kronecker products of square matrices of one batch."""
    a_shape, b_shape = shape_of(a), shape_of(b)
    rows_a, rows_b = a_shape[-1], b_shape[-1]
    batch = slice_(a_shape, [0], [subtract(size(a_shape), 2)])
    wide_a = concat([batch, [rows_a], [1], [rows_a], [1]], 0)
    wide_b = concat([batch, [1], [rows_b], [1], [rows_b]], 0)
    a, b = reshape(a, wide_a), reshape(b, wide_b)
    rows = rows_a * rows_b
    return reshape(a * b, concat([batch, [rows], [rows]], 0))


@matrix_square_root_op.gradient
def matrix_square_root_gradient(node: Node, grad: Any) -> Gradients:
    # With S the root, dA = dS S + S dS: a Sylvester equation, solved as a linear system.
    root: Any = node.outputs[0]
    shape = shape_of(root)
    rows = shape[-1]
    count = reduce_prod(shape[0:-2])
    identity = reshape(eye(rows, dtype=root.dtype), [-1])
    identity = reshape(tile(identity, [count]), shape)
    transposed = matrix_transpose(root)
    first = _kronecker(identity, transposed)
    second = _kronecker(root, identity)
    system = add(first, second)
    batch = slice_(shape, [0], [subtract(size(shape), 2)])
    column = concat([batch, [rows * rows], [1]], 0)
    rhs = reshape(matrix_transpose(grad), column)
    solution = reshape(matrix_solve(system, rhs), shape)
    return matrix_transpose(solution)


# ---- the exponential

# Coefficients of the numerators of Pade approximants of exp, lowest power first; those of the
# denominators differ in the signs of odd powers (Higham, 2005).
_PADE: dict[int, list[float]] = {
    3: [120.0, 60.0, 12.0],
    5: [30240.0, 15120.0, 3360.0, 420.0, 30.0],
    7: [17297280.0, 8648640.0, 1995840.0, 277200.0, 25200.0, 1512.0, 56.0],
    9: [
        17643225600.0,
        8821612800.0,
        2075673600.0,
        302702400.0,
        30270240.0,
        2162160.0,
        110880.0,
        3960.0,
        90.0,
    ],
    13: [
        64764752532480000.0,
        32382376266240000.0,
        7771770303897600.0,
        1187353796428800.0,
        129060195264000.0,
        10559470521600.0,
        670442572800.0,
        33522128640.0,
        1323241920.0,
        40840800.0,
        960960.0,
        16380.0,
        182.0,
    ],
}
# Up to which 1-norms the lower orders are exact in single and double precision, and from which
# on matrices are halved.
_SINGLE = ((3, 5, 7), (4.258730016922831e-1, 1.880152677804762e0), 3.925724783138660)
_DOUBLE = (
    (3, 5, 7, 9, 13),
    (1.495585217958292e-2, 2.539398330063230e-1, 9.504178996162932e-1, 2.097847961257068e0),
    5.371920351148152,
)


def _pade(matrix: Any, order: int) -> tuple[Any, Any]:
    """Return the odd and the even part of the numerator of order below 13."""
    b = [constant(number, matrix.dtype) for number in _PADE[order]]
    identity = _identity(matrix)
    powers = [matmul(matrix, matrix)]
    while 2 * len(powers) < order - 1:
        # A^4 is the square of A^2; higher ones are multiplied by A^2.
        powers.append(matmul(powers[-1], powers[0]))
    top = len(powers)
    odd = powers[-1]
    for i in range(top - 1, 0, -1):
        odd = odd + b[2 * i + 1] * powers[i - 1]
    odd = odd + b[1] * identity
    odd = matmul(matrix, odd)
    even = b[2 * top] * powers[-1]
    for i in range(top - 1, 0, -1):
        even = even + b[2 * i] * powers[i - 1]
    return odd, even + b[0] * identity


def _pade13(matrix: Any) -> tuple[Any, Any]:
    b = [constant(number, matrix.dtype) for number in _PADE[13]]
    identity = _identity(matrix)
    a2 = matmul(matrix, matrix)
    a4 = matmul(a2, a2)
    a6 = matmul(a4, a2)

    def plus(total: Any, degree: int, *powers: Any) -> Any:
        """`total`, and the powers times every second coefficient from `degree` down."""
        for place, power in enumerate(powers):
            total = total + b[degree - 2 * place] * power
        return total

    high = plus(a6, 11, a4, a2)
    odd = matmul(matrix, plus(matmul(a6, high), 7, a6, a4, a2, identity))
    high = plus(b[12] * a6, 10, a4, a2)
    return odd, plus(matmul(a6, high), 6, a6, a4, a2, identity)


def _identity(matrix: Any) -> Tensor:
    rows = shape_of(matrix)[-2]
    return eye(rows, batch_shape=shape_of(matrix)[:-2], dtype=matrix.dtype)


def _by_norm(norm: Any, limits: tuple[float, ...], cases: list[Any]) -> Tensor:
    """Select for each matrix the first case whose limit is above its norm, else the last."""
    limit = constant(limits[0], norm.dtype)
    below = less(norm, limit)
    rest = cases[1] if len(limits) == 1 else _by_norm(norm, limits[1:], cases[1:])
    return where(below, cases[0], rest)


def _precision(dtype: Any) -> Any:
    if dtype in (dtypes.float16, dtypes.float32, dtypes.complex64):
        return _SINGLE
    if dtype in (dtypes.float64, dtypes.complex128):
        return _DOUBLE
    raise ValueError(f"tf.linalg.expm does not support matrices of type {dtype}")


@export("linalg.expm")
def matrix_exponential(input: Any, name: str | None = None) -> Tensor:
    """Return the exponentials of square matrices, by scaling, Pade approximants and squaring.

    Args:
      input: `[..., N, N]`, real or complex.

    Raises:
      ValueError: for other types.
    """
    with name_scope(name, "matrix_exponential", [input]):
        given: Any = convert_to_tensor(input, name="input")
        if given.shape[-2:] == [0, 0]:
            return given
        batch = given.shape[:-2]
        if not batch.is_fully_defined():
            batch = shape_of(given)[:-2]
        matrices = reshape(given, concat(([-1], shape_of(given)[-2:]), axis=0))
        norm = _one_norm(matrices)
        numerator, denominator, squarings = _approximant(matrices, norm)
        quotient = matrix_solve(denominator, numerator)
        result = _square_repeatedly(quotient, squarings, norm.dtype)
        if matrices.shape.is_fully_defined():
            sizes = batch.concatenate(result.shape[-2:])
        else:
            sizes = concat((batch, shape_of(result)[-2:]), axis=0)
        return reshape(result, sizes)


def _one_norm(matrices: Any) -> Tensor:
    """Return the largest sum of the absolute values of a column."""
    columns = reduce_sum(abs_(matrices), axis=size(shape_of(matrices)) - 2)
    return reduce_max(columns, axis=-1)


def _approximant(matrix: Any, norm: Any) -> tuple[Any, Any, Any]:
    """Numerator and denominator, and how often each result is to be squared."""
    orders, limits, largest = _precision(matrix.dtype)
    most = constant(largest, norm.dtype)
    halvings_needed = log(norm / most) / log(constant(2.0, norm.dtype))
    squarings = maximum(floor(halvings_needed), 0)
    parts = [_pade(matrix, order) for order in orders[:-1]]
    halvings = pow_(constant(2.0, dtype=matrix.dtype), cast(squarings, matrix.dtype))
    scaled = matrix / halvings[..., newaxis, newaxis]
    parts.append(_pade13(scaled) if orders[-1] == 13 else _pade(scaled, orders[-1]))
    odd = _by_norm(norm, limits, [part[0] for part in parts])
    even = _by_norm(norm, limits, [part[1] for part in parts])
    return odd + even, -odd + even, squarings


def _square_repeatedly(result: Any, squarings: Any, dtype: Any) -> Tensor:
    most = reduce_max(squarings)

    def squared(i: Any, r: Any) -> tuple[Any, Any]:
        return i + 1, where(less(i, squarings), matmul(r, r), r)

    count = constant(0.0, dtype)
    return while_loop(lambda i, r: less(i, most), squared, [count, result])[1]
