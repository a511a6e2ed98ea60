"""Element-wise ops of two inputs: the shape of the result, and gradients summed back."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from stillflow.graph import dims
from stillflow.graph.api import control_dependencies
from stillflow.graph.graph import get_default_graph
from stillflow.graph.lazy import LazyModule
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.ops.forward_declarations import reduce_sum

# Looked up late, for start-up time: gradients and shapes that are not known need them.
if TYPE_CHECKING:
    from stillflow.ops.arrays import broadcast as broadcasts
    from stillflow.ops.arrays import shape as shapes
else:
    broadcasts = LazyModule("stillflow.ops.arrays.broadcast")
    shapes = LazyModule("stillflow.ops.arrays.shape")


def broadcast_shape(node: Node) -> tuple[int | None, ...] | None:
    """Return the shape rule of element-wise ops with broadcasting."""
    try:
        return dims.broadcast(node.dims(0), node.dims(1))
    except ValueError:
        if node.planning:
            first, second = dims.to_string(node.dims(0)), dims.to_string(node.dims(1))
            raise ValueError(f"Incompatible shapes: {first} vs. {second}") from None
        raise


def chain_rule(
    node: Node, grad: Any, partials: Callable[[Tensor, Tensor], tuple[Any, Any]]
) -> tuple[Any, Any]:
    """Return the gradients of both inputs from the partial derivatives, None for one that is None.

    `partials` builds the derivatives of the two inputs, after `grad`.
    """
    targets = summing_targets(*node.inputs)
    with control_dependencies([grad]):
        found = partials(*node.inputs)
        return tuple(  # type: ignore[return-value]
            None if partial is None else target.reduce(partial * grad)
            for target, partial in zip(targets, found, strict=True)
        )


class Target:
    """Shape of one input's gradient, and the axes along which the input was broadcast."""

    def __init__(self, shape: Any, axes: Any, must_reduce: bool) -> None:
        self.shape, self.axes, self.must_reduce = shape, axes, must_reduce

    def reduce(self, grad: Tensor) -> Tensor:
        """`grad` summed to the input's shape; for gradients that `must_reduce`."""
        return shapes.reshape(reduce_sum.value(grad, self.axes), self.shape)

    def fit(self, grad: Tensor) -> Tensor:
        """`grad` in the input's shape."""
        return self.reduce(grad) if self.must_reduce else grad


def summing_targets(x: Tensor, y: Tensor) -> tuple[Target, Target]:
    """Return for both inputs of a broadcasting op the targets of their gradient at run time."""
    return _found_by_run(shapes.shape(x), shapes.shape(y))


def _found_by_run(sx: Tensor, sy: Tensor) -> tuple[Target, Target]:
    rx, ry = shapes.broadcast_gradient_args_op(sx, sy)
    return Target(sx, rx, True), Target(sy, ry, True)


def broadcast_targets(x: Tensor, y: Tensor, grad: Any) -> tuple[Target, Target]:
    """Return for both inputs of a broadcasting op the targets of their gradient.

    With static shapes the axes are found while the graph is built, once per pair of shapes and
    graph, and nothing needs reducing where an input has the gradient's shape.
    """
    if not isinstance(grad, Tensor):
        return summing_targets(x, y)
    if not (dims.is_known(x._dims) and dims.is_known(y._dims)):
        return _found_by_run(*(shapes.shape_internal(t, optimize=False) for t in (x, y)))
    cache = get_default_graph().__dict__.setdefault("_broadcast_axes", {})
    key = (x._dims, y._dims)
    if key not in cache:
        shapes.broadcast_gradient_args_op(x._dims, y._dims)
        cache[key] = tuple(map(tuple, broadcasts.reduced_axes(*key)))
    rx, ry = cache[key]
    return (
        Target(x._dims, rx, x._dims != grad._dims),
        Target(y._dims, ry, y._dims != grad._dims),
    )


def same_known_shapes(x: Tensor, y: Tensor, grad: Any) -> bool:
    """Return True if inputs and gradient have one static shape, so that nothing is summed."""
    if not isinstance(grad, Tensor):
        return False
    return x._dims == y._dims == grad._dims and dims.is_known(x._dims)


def only_first(node: Node) -> bool:
    """Return True if only the first input's gradient is wanted and the second is a scalar."""
    return 1 in node.skipped and node.dims(1) == ()


def reduce_wanted(
    node: Node, grad: Any, of_x: Callable[[], Any], of_y: Callable[[], Any]
) -> tuple[Any, Any]:
    """Return the gradients of both inputs in the inputs' shapes.

    None for one that is not wanted.
    """
    x, y = node.inputs
    to_x, to_y = broadcast_targets(x, y, grad)
    return (
        None if 0 in node.skipped else to_x.fit(of_x()),
        None if 1 in node.skipped else to_y.fit(of_y()),
    )
