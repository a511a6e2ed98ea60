"""Sums, means, products and other reductions of tensors, and sums of several tensors."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from stillflow.graph import dims, dtypes
from stillflow.graph.api import colocate_with, device, name_scope
from stillflow.graph.card import Card, op
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.graph import get_default_graph
from stillflow.graph.lazy import LazyModule
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Gradients, Kernel
from stillflow.graph.sparse_tensor import SparseTensor
from stillflow.graph.static_value import static_value
from stillflow.graph.traits import Cost
from stillflow.ops import forward_declarations
from stillflow.ops.arrays import fill as fills
from stillflow.ops.arrays import sequences
from stillflow.ops.arrays import shape as shapes
from stillflow.ops.constants import constant
from stillflow.ops.control_flow import identity_and_group as control
from stillflow.ops.dispatch import dispatchable
from stillflow.ops.math import any_all, binary
from stillflow.ops.math import reduction_kernels as kernels
from stillflow.ops.math.add_n import accumulate_n as accumulate_n
from stillflow.ops.math.add_n import add_n as add_n
from stillflow.ops.math.binary import maximum, sub_op
from stillflow.ops.math.cast import cast
from stillflow.ops.math.comparison import equal, is_finite_op, not_equal_op
from stillflow.ops.math.complex import conj
from stillflow.ops.math.division import divide, truediv
from stillflow.ops.math.kernels import ANY_NUMBER
from stillflow.ops.math.unary import exp_op, log_op, sqrt_op, square_op
from stillflow.ops.samples import Bad, Sample, Samples
from stillflow.util.renamed import renamed_argument

if TYPE_CHECKING:
    from stillflow.ops.arrays import concat as joins
    from stillflow.ops.arrays import gather as gathers
    from stillflow.ops.arrays import select as selects
    from stillflow.ops.arrays import tile as tiles
    from stillflow.ops.arrays import transpose as transposes
    from stillflow.ops.arrays import unique as sets
else:
    gathers = LazyModule("stillflow.ops.arrays.gather")
    joins = LazyModule("stillflow.ops.arrays.concat")
    selects = LazyModule("stillflow.ops.arrays.select")
    sets = LazyModule("stillflow.ops.arrays.unique")
    tiles = LazyModule("stillflow.ops.arrays.tile")
    transposes = LazyModule("stillflow.ops.arrays.transpose")

_SIGNATURE = f"""(input: T, reduction_indices: Tidx) -> output: T
    keep_dims: bool = false
    T: {ANY_NUMBER}
    Tidx: {{int32, int64}} = int32
"""


def _reduction_op(
    name: str, kernel_of: Callable[..., Any], in_numpy: Callable[..., Any] | None, **options: Any
) -> Card:
    """Return the card of a reduction; `kernel_of(dtype)` says how it is computed."""
    card = op(name + _SIGNATURE, **options, numbers=("reduction_indices",))
    card.shape(kernels.reduction_shape)
    if in_numpy is not None:
        card.value(kernels.known_reduction(in_numpy))
    card.kernel(lambda node: kernels.reduction_kernel(node, *kernel_of(node.T)))
    card.samples(_samples)
    return card


def _samples() -> Samples:
    x = np.array([[1.0, -2.0, 3.5], [0.5, 4.0, -1.5]], np.float32)
    for axes in ([0], [1], [-1], [0, 1]):
        yield Sample(x, np.array(axes, np.int32), fixed=(1,))
    # TF cannot differentiate a product along axes given as int64.
    yield Sample(x, np.int64(1), fixed=(1,), grad=False, keep_dims=True)
    yield Sample(x, np.int32(1), fixed=(1,), keep_dims=True)
    yield Sample(x, np.array([], np.int32), fixed=(1,))
    yield Bad(x, np.array([2], np.int32), match="Invalid reduction dimension")


def _extreme(largest: bool) -> Callable[..., Any]:
    return lambda dtype: kernels.extreme_of(dtype, largest)


sum_op = _reduction_op(
    "Sum", kernels.sum_of, np.sum, cost=Cost(counts="first input"), batching="vmap"
)
mean_op = _reduction_op(
    "Mean", kernels.mean_of, None, cost=Cost(counts="first input"), batching="vmap"
)
prod_op = _reduction_op(
    "Prod", kernels.product_of, np.prod, cost=Cost(counts="first input"), batching="vmap"
)
max_op = _reduction_op(
    "Max", _extreme(True), np.max, cost=Cost(counts="first input"), batching="vmap"
)
min_op = _reduction_op(
    "Min", _extreme(False), np.min, cost=Cost(counts="first input"), batching="vmap"
)
euclidean_norm_op = _reduction_op(
    "EuclideanNorm", kernels.euclidean_norm_of, None, differentiable=False
)

_LOGIC = """(input: bool, reduction_indices: Tidx) -> output: bool
    keep_dims: bool = false
    Tidx: {int32, int64} = int32
"""

all_op = op("All" + _LOGIC, numbers=("reduction_indices",), batching="vmap")
any_op = op("Any" + _LOGIC, numbers=("reduction_indices",), batching="vmap")

for _card, _in_numpy in ((all_op, np.all), (any_op, np.any)):
    _card.shape(kernels.reduction_shape)
    _card.value(kernels.known_reduction(_in_numpy))


@all_op.kernel
def all_kernel(node: Node) -> Kernel:
    return kernels.reduction_kernel(node, any_all.every, any_all.every_of_all)


@any_op.kernel
def any_kernel(node: Node) -> Kernel:
    return kernels.reduction_kernel(node, any_all.some, any_all.some_of_all)


@all_op.samples
@any_op.samples
def logic_samples() -> Samples:
    x = np.array([[True, False, True], [True, True, True]])
    for axes in ([0], [1], [0, 1]):
        yield Sample(x, np.array(axes, np.int32), fixed=(1,))


# ---- gradients


def reduced_shape(input_shape: Any, axes: Any) -> Tensor:
    """Return the shape after a reduction along `axes` that keeps them with size 1, as a tensor."""
    input_shape = cast(input_shape, dtypes.int32)
    axes = cast(axes, dtypes.int32)
    rank = shapes.size(input_shape)
    axes = (axes + rank) % rank
    axes_shape = shapes.shape(axes)
    return forward_declarations.dynamic_stitch_op.value(
        [sequences.range(rank), axes], [input_shape, fills.fill(axes_shape, 1)]
    )


def _safe_shape_div(x: Any, y: Any) -> Any:
    """`x // y`, but 0 where both are 0."""
    return x // maximum(y, 1)


def _kept_and_tiled(shape: tuple[int, ...], axes: tuple[int, ...]) -> Any:
    """Return a static shape reduced along `axes`, and how often that is repeated to fill it again.

    The nodes that compute this are added once per graph; the values are known at once.
    """
    cache = get_default_graph().__dict__.setdefault("_reduced_shapes", {})
    if (shape, axes) not in cache:
        reduced_shape(shape, axes)
        reduced = {axis % len(shape) for axis in axes}
        kept = tuple([1 if i in reduced else size for i, size in enumerate(shape)])
        _safe_shape_div(shape, kept)
        cache[shape, axes] = kept, tuple([n // max(k, 1) for n, k in zip(shape, kept)])
    return cache[shape, axes]


@sum_op.gradient
def sum_gradient(node: Node, grad: Tensor) -> Gradients:
    return _spread(node, grad), None


def _spread(node: Node, grad: Tensor) -> Tensor:
    """Return the gradient repeated along the axes that were summed."""
    x = node.inputs[0]
    shape = x._dims
    if shape is not None:
        axes = static_value(node.inputs[1])
        if axes is not None:
            rank = len(shape)
            if axes.tolist() == list(range(rank)):
                grad = shapes.reshape(grad, [1] * rank)
                if None in shape:
                    return tiles.tile(grad, shapes.shape(x))
                sizes = list(shape)  # from which eager execution finds a kernel sooner
                return tiles.tile(
                    grad, sizes if x.holds_value else constant(shape, dtype=dtypes.int32)
                )
            if dims.is_known(shape):
                kept, scaling = _kept_and_tiled(shape, tuple(axes.reshape(-1).tolist()))
                return tiles.tile(shapes.reshape(grad, kept), scaling)
    input_shape = shapes.shape(x)
    with colocate_with(input_shape):
        kept = reduced_shape(input_shape, node.inputs[1])
        scaling = _safe_shape_div(input_shape, kept)
    return tiles.tile(shapes.reshape(grad, kept), scaling)


@mean_op.gradient
def mean_gradient(node: Node, grad: Tensor) -> Gradients:
    sum_grad = _spread(node, grad)
    x, y = node.inputs[0], node.outputs[0]
    if dims.is_known(x._dims) and dims.is_known(y._dims):
        count = prod(x._dims) // max(prod(y._dims), 1)
        factor = constant(count, dtype=sum_grad.dtype)
    else:
        before, after = shapes.shape(x), shapes.shape(y)
        factor = _safe_shape_div(reduce_prod(before), reduce_prod(after))
    return truediv(sum_grad, cast(factor, sum_grad.dtype)), None


@max_op.gradient
@min_op.gradient
def extreme_gradient(node: Node, grad: Tensor) -> Gradients:
    """Return the gradient goes to the selected elements, in equal parts if there are several."""
    input_shape = shapes.shape(node.inputs[0])
    kept = reduced_shape(input_shape, node.inputs[1])
    y = shapes.reshape(node.outputs[0], kept)
    grad = shapes.reshape(grad, kept)
    indicators = cast(equal(y, node.inputs[0]), grad.dtype)
    selected = shapes.reshape(reduce_sum(indicators, node.inputs[1]), kept)
    return divide(indicators, selected) * grad, None


@prod_op.gradient
def prod_gradient(node: Node, grad: Tensor) -> Gradients:
    """Return the products of all elements but one: cumulative ones from both sides."""
    x = node.inputs[0]
    input_shape = shapes.shape(x)
    axes = shapes.reshape(node.inputs[1], [-1])
    kept = reduced_shape(input_shape, node.inputs[1])
    scaling = _safe_shape_div(input_shape, kept)
    grad = tiles.tile(shapes.reshape(grad, kept), scaling)
    with device("/cpu:0"):
        rank = shapes.rank(x)
        axes = (axes + rank) % rank
        reduced = cast(axes, dtypes.int32)
        other, _ = sets.setdiff1d(sequences.range(0, rank), reduced)
        perm = joins.concat([reduced, other], 0)
        reduced_num = reduce_prod(gathers.gather(input_shape, reduced))
        other_num = reduce_prod(gathers.gather(input_shape, other))
    permuted = transposes.transpose(x, perm)
    permuted_shape = shapes.shape(permuted)
    matrix = shapes.reshape(permuted, (reduced_num, other_num))
    left = forward_declarations.cumprod.value(matrix, axis=0, exclusive=True)
    right = forward_declarations.cumprod.value(matrix, axis=0, exclusive=True, reverse=True)
    y = shapes.reshape(conj(left) * conj(right), permuted_shape)
    out = grad * transposes.transpose(y, transposes.invert_permutation(perm))
    return shapes.reshape(out, input_shape), None


# ---- public functions


def reduction_axes(x: Any, axis: Any, older_axis: Any = None) -> Any:
    """Return the axes to reduce: those given, or all of them."""
    if older_axis is not None:
        if axis is not None:
            raise ValueError("Can't specify both axis' and 'reduction_indices'.")
        axis = older_axis
    if axis is not None:
        return axis
    if isinstance(x, Tensor) and x.holds_value:
        return tuple(range(len(x._dims or ())))
    if isinstance(x, Tensor) and x._dims is not None:
        return constant(np.arange(len(x._dims)), dtype=dtypes.int32)
    if isinstance(x, SparseTensor) and dims.is_known(x.dense_shape._dims):
        return constant(np.arange(x.dense_shape._dims[0]), dtype=dtypes.int32)
    return sequences.range(0, shapes.rank(x))


def _scalar_if_whole(keepdims: Any, axis: Any, output: Tensor) -> Tensor:
    if not keepdims and axis is None and not dims.is_known(output._dims):
        output.set_shape(())
    return output


def _reduce(card: Card, x: Any, axis: Any, keepdims: Any, name: str | None) -> Tensor:
    keepdims = False if keepdims is None else keepdims
    result = card(x, reduction_axes(x, axis), keep_dims=keepdims, name=name)
    return _scalar_if_whole(keepdims, axis, result)


_DOC = """{what} along axes of a tensor.

Args:
  input_tensor: {takes}.
  axis: an axis or several; by default all of them.
  keepdims: keep the reduced axes, with size 1.
  name: of the operation.
  reduction_indices, keep_dims: older names of `axis` and `keepdims`.

Returns:
  A tensor of the same type without the reduced axes.

Raises:
  ValueError: if an axis does not exist, or an argument is given under both its names.
"""
_EXAMPLE = """
Example:
  >>> x = {x}
  >>> print(tf.Session().run(tf.{name}(x)), tf.Session().run(tf.{name}(x, axis=1)))
  {result}
"""


def _public(
    name: str, what: str, function: Callable[..., Tensor], takes: str = "a tensor of numbers",
    example: tuple[str, str] | None = None,
) -> Callable[..., Any]:  # fmt: skip
    """Return the public form of a reduction, with the argument names of TF 1.

    Args:
      name: of the function.
      what: first words of its docstring.
      function: of the tensor, the axes, `keepdims` and a name.
      takes: description of the tensor.
      example: a tensor, and its reductions along all axes and along the second, as text.
    """

    def reduce(
        input_tensor: Any,
        axis: Any = None,
        keepdims: bool | None = None,
        name: str | None = None,
        reduction_indices: Any = None,
        keep_dims: bool | None = None,
    ) -> Tensor:
        axes = renamed_argument("axis", axis, "reduction_indices", reduction_indices)
        kept = renamed_argument("keepdims", keepdims, "keep_dims", keep_dims)
        return function(input_tensor, axes, kept, name)

    reduce.__name__ = reduce.__qualname__ = name
    reduce.__doc__ = _DOC.format(what=what, takes=takes)
    if example is not None:
        reduce.__doc__ += _EXAMPLE.format(name=name, x=example[0], result=example[1])
    return dispatchable(reduce)


def _of(card: Card) -> Callable[..., Tensor]:
    return lambda x, axis, keepdims, name: _reduce(card, x, axis, keepdims, name)


def _logsumexp(x: Any, axis: Any, keepdims: Any, name: str | None) -> Tensor:
    keepdims = False if keepdims is None else keepdims
    x = convert_to_tensor(x)
    with name_scope(name, "ReduceLogSumExp", [x]):
        raw_max = reduce_max(x, axis=axis, keepdims=True)
        # Taking the largest out keeps the exponentials in range; it must not be infinite.
        my_max = control.stop_gradient(
            selects.where(is_finite_op(raw_max), raw_max, fills.zeros_like(raw_max))
        )
        result = log_op(reduce_sum(exp_op(sub_op(x, my_max)), axis, keepdims=keepdims))
        if not keepdims:
            my_max = shapes.reshape(my_max, shapes.shape(result))
        result = binary.add_op(result, my_max)
        return _scalar_if_whole(keepdims, axis, result)


_BOOLS = "a tensor of bools"
_X = "[[1, 2], [3, 4]]"

reduce_sum = export("math.reduce_sum", "reduce_sum")(
    _public("reduce_sum", "The sum", _of(sum_op), example=(_X, "10 [3 7]"))
)
reduce_mean = export("math.reduce_mean", "reduce_mean")(
    _public(
        "reduce_mean", "The mean", _of(mean_op),
        example=("[[1.0, 2.0], [3.0, 6.0]]", "3.0 [1.5 4.5]"),
    )
)  # fmt: skip
reduce_prod = export("math.reduce_prod", "reduce_prod")(
    _public("reduce_prod", "The product", _of(prod_op), example=(_X, "24 [ 2 12]"))
)
forward_declarations.prod_op.provide(prod_op)
forward_declarations.reduce_sum.provide(reduce_sum)
reduce_max = export("math.reduce_max", "reduce_max")(
    _public("reduce_max", "The maximum", _of(max_op), example=(_X, "4 [2 4]"))
)
reduce_min = export("math.reduce_min", "reduce_min")(
    _public("reduce_min", "The minimum", _of(min_op), example=(_X, "1 [1 3]"))
)
reduce_all = export("math.reduce_all", "reduce_all")(
    _public(
        "reduce_all", "Whether all elements are true,", _of(all_op), _BOOLS,
        ("[[True, True], [False, True]]", "False [ True False]"),
    )
)  # fmt: skip
reduce_any = export("math.reduce_any", "reduce_any")(
    _public(
        "reduce_any", "Whether any element is true,", _of(any_op), _BOOLS,
        ("[[False, False], [False, True]]", "True [False  True]"),
    )
)  # fmt: skip
reduce_logsumexp = export("math.reduce_logsumexp", "reduce_logsumexp")(
    _public("reduce_logsumexp", "The logarithm of the sum of exponentials", _logsumexp)
)


@export("math.reduce_euclidean_norm")
@dispatchable
def reduce_euclidean_norm(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """Return the square root of the sum of squares along axes (all of them by default)."""
    return _reduce(euclidean_norm_op, input_tensor, axis, keepdims, name)


@export("math.reduce_variance")
@dispatchable
def reduce_variance(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """Return the mean of squared differences from the mean, along axes (all of them by default)."""
    with name_scope(name or "reduce_variance"):
        means = reduce_mean(input_tensor, axis=axis, keepdims=True)
        squared = square_op(input_tensor - means)
        return reduce_mean(squared, axis=axis, keepdims=keepdims)


@export("math.reduce_std")
@dispatchable
def reduce_std(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """Return the square root of the variance along axes (all of them by default)."""
    with name_scope(name or "reduce_std"):
        return sqrt_op(reduce_variance(input_tensor, axis=axis, keepdims=keepdims))


@export("math.count_nonzero", "count_nonzero")
@dispatchable
def count_nonzero(
    input_tensor: Any = None,
    axis: Any = None,
    keepdims: bool | None = None,
    dtype: Any = dtypes.int64,
    name: str | None = None,
    reduction_indices: Any = None,
    keep_dims: bool | None = None,
    input: Any = None,
) -> Tensor:
    """Return the number of elements along axes (default: all) other than 0 or the empty string.

    Args:
      input_tensor: a tensor of numbers, bools or strings.
      axis: an axis or several.
      keepdims: keep the reduced axes, with size 1.
      dtype: of the result.
      name: of the scope.
      reduction_indices, keep_dims, input: older names of `axis`, `keepdims`, `input_tensor`.
    """
    keepdims = renamed_argument("keepdims", keepdims, "keep_dims", keep_dims)
    x = renamed_argument("input", input, "input_tensor", input_tensor)
    axis = renamed_argument("axis", axis, "reduction_indices", reduction_indices)
    with name_scope(name, "count_nonzero", [x]):
        x = convert_to_tensor(x, name="input")
        zero = fills.zeros([], dtype=x.dtype)
        nonzero = cast(not_equal_op(x, zero), dtypes.int64)
        return cast(reduce_sum(nonzero, axis=axis, keepdims=bool(keepdims)), dtype=dtype)
