"""`tf.while_loop`: a body repeated as long as a condition holds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stillflow import nest
from stillflow.graph.api import name_scope
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.eager_mode import executing_eagerly
from stillflow.graph.export import export
from stillflow.graph.graph import get_default_graph
from stillflow.graph.graph_keys import GraphKeys
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import TensorShape
from stillflow.ops.constants import constant
from stillflow.ops.control_flow.flows import is_tensor_array
from stillflow.ops.control_flow.shape_invariants import shape_invariant
from stillflow.ops.control_flow.toggles import calls_functions
from stillflow.ops.control_flow.while_build import build_loop
from stillflow.ops.control_flow.while_context import WhileContext


@export("while_loop")
def while_loop(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Any,
    shape_invariants: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
    maximum_iterations: Any = None,
    return_same_structure: bool = False,
) -> Any:
    """Repeats `body` while `cond` holds.

    Both are called once, while the graph is built.

    Args:
      cond: of the loop variables; gives a scalar boolean tensor.
      body: of the loop variables; gives those of the next iteration, of the same structure, types
        and shapes.
      loop_vars: (nested) list or tuple of tensors, or composites or TensorArrays.
      shape_invariants: of the structure of `loop_vars`: a `TensorShape` (or `TypeSpec`) that each
        has in every iteration; by default those of the initial values.
      parallel_iterations: how many iterations may run at the same time.
      back_prop: whether the loop can be differentiated.
      swap_memory: whether values kept for the gradient may be moved to the host's memory.
      name: of the scope.
      maximum_iterations: a scalar; the loop ends after that many iterations.
      return_same_structure: keep a list or tuple of one loop variable as it is.

    Returns:
      The loop variables when the loop has ended.

    Raises:
      TypeError: if an argument is of the wrong type.
      ValueError: if `loop_vars` is empty, or `body` gives another structure or other shapes.

    Example:
      >>> i, total = tf.while_loop(lambda i, s: i < 5, lambda i, s: (i + 1, s + i), [0, 0])
      >>> print(*tf.Session().run([i, total]))
      5 10
    """
    if not callable(cond):
        raise TypeError("cond must be callable.")
    if not callable(body):
        raise TypeError("body must be callable.")
    if parallel_iterations < 1:
        raise TypeError("parallel_iterations must be a positive integer.")
    if calls_functions(get_default_graph()) and not executing_eagerly():
        from stillflow.ops.functional import loops

        return loops.while_loop(
            cond, body, loop_vars, shape_invariants, parallel_iterations, maximum_iterations, name,
            return_same_structure, back_prop,
        )  # fmt: skip
    with name_scope(name, "while", loop_vars):
        if not loop_vars:
            raise ValueError("No loop variables provided")
        if maximum_iterations is not None:
            maximum_iterations = _scalar(maximum_iterations)
            single = len(loop_vars) == 1 and not return_same_structure
            cond, body, loop_vars = _counted(cond, body, loop_vars, maximum_iterations, single)
        if executing_eagerly():
            result = _run(cond, body, loop_vars, return_same_structure)
            return result if maximum_iterations is None else result[1]
        if shape_invariants is not None:
            if maximum_iterations is not None:
                shape_invariants = (TensorShape([]), shape_invariants)
            nest.assert_same_structure(loop_vars, shape_invariants)
            shape_invariants = nest.map_structure(shape_invariant, loop_vars, shape_invariants)
        context = WhileContext(maximum_iterations, parallel_iterations, back_prop, swap_memory)
        if context.outer_context is None:  # contexts inside others are written with these
            get_default_graph().add_to_collection(GraphKeys.WHILE_CONTEXT, context)
        result = build_loop(context, cond, body, loop_vars, shape_invariants, return_same_structure)
        return result if maximum_iterations is None else result[1]


def _run(
    cond: Callable[..., Any], body: Callable[..., Any], loop_vars: Any, keep_single: bool
) -> Tensor | tuple[Any, ...]:
    """Return the loop, where operations run when they are called."""
    unpack = False
    while cond(*loop_vars):
        given = loop_vars
        loop_vars = body(*given)
        if len(given) == 1 and not keep_single and not isinstance(loop_vars, (list, tuple)):
            unpack, loop_vars = True, (loop_vars,)
        nest.assert_same_structure(list(given), list(loop_vars))
    result = nest.map_structure(
        lambda x: x if is_tensor_array(x) else convert_to_tensor(x), loop_vars
    )
    return result[0] if unpack else result


def _scalar(maximum_iterations: Any) -> Tensor:
    tensor = convert_to_tensor(maximum_iterations, name="maximum_iterations")
    if tensor.shape.ndims != 0:
        raise ValueError(f"maximum_iterations must be a scalar, saw shape: {tensor.shape}")
    return tensor


def _counted(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Any,
    maximum: Any,
    single: bool,
) -> tuple[Callable[..., Any], Callable[..., Any], Any]:
    """Return the loop with a counter in front of its variables, and the limit in its condition."""
    from stillflow.ops.math.comparison import logical_and

    counter = constant(0, dtype=maximum.dtype, name="iteration_counter")

    def given(values: Any) -> Any:
        return (values,) if single else values

    return (
        lambda i, values: logical_and(i < maximum, cond(*given(values))),
        lambda i, values: (i + 1, body(*given(values))),
        (counter, loop_vars[0] if single else loop_vars),
    )
