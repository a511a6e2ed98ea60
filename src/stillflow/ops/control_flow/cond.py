"""`tf.cond`: one of two branches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stillflow import nest
from stillflow.graph import dtypes
from stillflow.graph.api import name_scope
from stillflow.graph.eager_mode import executing_eagerly
from stillflow.graph.evaluate import evaluated
from stillflow.graph.export import export
from stillflow.graph.graph import get_default_graph
from stillflow.graph.graph_keys import GraphKeys
from stillflow.graph.indexed_slices import IndexedSlices
from stillflow.graph.operation import Tensor
from stillflow.ops.control_flow.contexts import CondContext
from stillflow.ops.control_flow.flows import packed
from stillflow.ops.control_flow.identity_and_group import identity
from stillflow.ops.control_flow.switch import merge, switch
from stillflow.ops.control_flow.toggles import calls_functions


@export("cond")
def cond(
    pred: Any,
    true_fn: Callable[[], Any] | None = None,
    false_fn: Callable[[], Any] | None = None,
    strict: bool = False,
    name: str | None = None,
    fn1: Callable[[], Any] | None = None,
    fn2: Callable[[], Any] | None = None,
) -> Any:
    """Return the result of `true_fn()` if `pred` holds when the graph runs, else of `false_fn()`.

    Both functions are called while the graph is built. Operations made outside of them run
    whichever branch is taken. Inside of a `tf.function` an `If` operation is added, whose results
    keep their structure as if `strict` were set.

    Args:
      pred: a scalar boolean tensor.
      true_fn, false_fn: give (nested) tensors of the same structure and types.
      strict: keep lists and tuples of one element as they are.
      name: of the scope.
      fn1, fn2: older names of the functions.

    Raises:
      TypeError: if a function is not callable or `pred` is a Python bool.
      ValueError: if the branches give nothing, or different structures or types.

    Example:
      >>> x = tf.placeholder(tf.int32, [])
      >>> y = tf.cond(x > 0, lambda: x * 10, lambda: -x)
      >>> print(tf.Session().run(y, {x: 3}), tf.Session().run(y, {x: -3}))
      30 3
    """
    if calls_functions(get_default_graph()) and not executing_eagerly():
        from stillflow.ops.functional import branches

        return branches.cond(pred, true_fn, false_fn, name)
    if_true = _given("true_fn", true_fn, "fn1", fn1)
    if_false = _given("false_fn", false_fn, "fn2", fn2)
    for argument, function in (("true_fn", if_true), ("false_fn", if_false)):
        if not callable(function):
            raise TypeError(f"{argument} must be callable.")
    if executing_eagerly():
        result = if_true() if pred else if_false()
        return result if strict else _unpack_single(result)
    with name_scope(name, "cond", [pred]):
        return _build(pred, if_true, if_false, strict)


def _given(argument: str, function: Any, old_argument: str, old: Any) -> Callable[..., Any]:
    """Return the function that is given under its newer or its older name."""
    if function is None and old is None:
        raise TypeError(f"cond(): {argument} argument required")
    if function is not None and old is not None:
        raise TypeError(f"cond(): {argument} and {old_argument} may not be set simultaneously.")
    return function if old is None else old


def _build(pred: Any, true_fn: Any, false_fn: Any, strict: bool) -> Any:
    if isinstance(pred, bool):
        raise TypeError("pred must not be a Python bool")
    false_side, true_side = switch(pred, pred)
    pivot_true = identity(true_side, name="switch_t")
    pivot_false = identity(false_side, name="switch_f")
    pred = identity(pred, name="pred_id")
    for tensor in (true_side, false_side, pivot_true, pivot_false, pred):
        tensor.graph.prevent_fetching(tensor.op)
    context_true = CondContext(pred, pivot_true, branch=1)
    given_true, results_true = _branch(context_true, true_fn, "true_fn")
    context_false = CondContext(pred, pivot_false, branch=0)
    given_false, results_false = _branch(context_false, false_fn, "false_fn")
    if not strict:
        given_true, given_false = _unpack_single(given_true), _unpack_single(given_false)
    _check_structures(given_true, given_false, results_true, results_false)
    if not results_true:
        raise ValueError("true_fn and false_fn must return at least one result.")
    flat_true = nest.flatten(results_true, expand_composites=True)
    flat_false = nest.flatten(results_false, expand_composites=True)
    for x, y in zip(flat_true, flat_false, strict=True):
        if x.dtype.base_dtype != y.dtype.base_dtype:
            raise ValueError(
                "Outputs of true_fn and false_fn must have the same type: "
                f"{x.dtype.name}, {y.dtype.name}"
            )
    merges = [merge(pair)[0] for pair in zip(flat_false, flat_true, strict=True)]
    if context_true.outer_context is None:
        graph = get_default_graph()
        graph.add_to_collection(GraphKeys.COND_CONTEXT, context_true)
        graph.add_to_collection(GraphKeys.COND_CONTEXT, context_false)
    result = packed(given_true, merges)
    return result if strict else _unpack_single(result)


def _branch(context: CondContext, function: Any, which: str) -> tuple[Any, Any]:
    try:
        context.Enter()
        given, results = context.BuildCondBranch(function)
        if given is None:
            raise ValueError(f"{which} must have a return value.")
        context.ExitResult(results)
    finally:
        context.Exit()
    return given, results


def _unpack_single(result: Any) -> Any:
    if isinstance(result, (list, tuple)) and len(result) == 1:
        return result[0]
    return result


def _check_structures(given_true: Any, given_false: Any, *results: Any) -> None:
    try:
        nest.assert_same_structure(given_true, given_false, expand_composites=True)
        return
    except (TypeError, ValueError):
        # Slices indexed by int32 on one side and int64 on the other are brought together.
        nest.map_structure(_cast_indices, given_true, given_false)
        nest.map_structure(_cast_indices, *results)
    try:
        nest.assert_same_structure(given_true, given_false, expand_composites=True)
    except TypeError as error:
        raise TypeError(f"Incompatible return types of true_fn and false_fn: {error}") from None
    except ValueError as error:
        raise ValueError(f"Incompatible return values of true_fn and false_fn: {error}") from None


def _cast_indices(a: Any, b: Any) -> None:
    from stillflow.ops.math.cast import cast

    both = isinstance(a, IndexedSlices) and isinstance(b, IndexedSlices)
    if both and a.indices.dtype != b.indices.dtype:
        a._indices = cast(a.indices, dtypes.int64)
        b._indices = cast(b.indices, dtypes.int64)


def smart_cond(
    pred: Any,
    true_fn: Callable[[], Any] | None = None,
    false_fn: Callable[[], Any] | None = None,
    name: str | None = None,
) -> Any:
    """`cond`, or just one branch where `pred` is known while the graph is built."""
    if not callable(true_fn):
        raise TypeError("`true_fn` must be callable.")
    if not callable(false_fn):
        raise TypeError("`false_fn` must be callable.")
    value = smart_constant_value(pred)
    if value is not None:
        return true_fn() if value else false_fn()
    return cond(pred, true_fn=true_fn, false_fn=false_fn, name=name)


def smart_constant_value(pred: Any) -> Any:
    """Return the truth of a bool, 0, 1, or a tensor of known value; None for other tensors.

    It is an array for a tensor that is no scalar.
    """
    if pred in (0, 1) if not isinstance(pred, Tensor) else False:
        return bool(pred)
    if isinstance(pred, bool):
        return pred
    if isinstance(pred, Tensor):
        value = evaluated(pred)
        return value if value is None or value.ndim else bool(value)
    raise TypeError(
        f"`pred` must be a Tensor, or a Python bool, or 1 or 0. Found instead: {type(pred)}"
    )
