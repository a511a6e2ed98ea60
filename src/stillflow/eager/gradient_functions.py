"""Functions that give the gradients of Python functions: the older way to use a tape."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from stillflow import nest
from stillflow.eager.tape_gradients import tape_gradients
from stillflow.graph import tapes
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.ops.control_flow.identity_and_group import identity
from stillflow.ops.gradients.gradients import UnconnectedGradients
from stillflow.util import tf_inspect
from stillflow.variables.resource_variable import is_resource_variable

Function = Callable[..., Any]


def _reject_none(result: Any, f: Function) -> None:
    if result is None:
        name = getattr(f, "__name__", repr(f))
        raise ValueError(
            "Cannot differentiate a function that returns None; did you forget to return a value "
            f"from {name}?"
        )


def _gradients(
    tape: tapes.Tape, target: Any, sources: Sequence[Any], given: Any = None
) -> list[Tensor]:
    """Return the gradients of a structure of targets by tensors and variables."""
    handles = [source.handle if is_resource_variable(source) else source for source in sources]
    targets = nest.flatten(target)
    return tape_gradients(tape, targets, handles, sources, given, UnconnectedGradients.NONE)


@export("contrib.eager.implicit_value_and_gradients")
def implicit_val_and_grad(f: Function) -> Function:
    """Return a function with the result of `f`, and its gradient by the variables that `f` reads.

    Args:
      f: gives a tensor.

    Returns:
      A function of the same arguments that gives the value and pairs (gradient, variable). It
      raises ValueError if `f` gives None or reads no trainable variable.
    """

    def grad_fn(*args: Any, **kwds: Any) -> tuple[Any, list[tuple[Any, Any]]]:
        with tapes.recording(tapes.Tape()) as tape:
            value = f(*args, **kwds)
            _reject_none(value, f)
        variables = tape.watched_variables()
        if not variables:
            raise ValueError(
                "No trainable variables were accessed while the function was being computed."
            )
        grads = _gradients(tape, value, variables)
        return value, list(zip(grads, variables, strict=True))

    return grad_fn


@export("contrib.eager.implicit_gradients")
def implicit_grad(f: Function) -> Function:
    """Return a function that gives the gradient of `f` by the variables that it reads, as pairs."""
    both = implicit_val_and_grad(f)

    def grad_fn(*args: Any, **kwds: Any) -> Any:
        return both(*args, **kwds)[1]

    return grad_fn


@export("contrib.eager.gradients_function")
def gradients_function(f: Function, params: Any = None) -> Function:
    """Return a function that gives the gradients of `f` by some of its arguments.

    Args:
      f: takes tensors and gives a scalar tensor.
      params: names or positions of those arguments; all by default.
    """
    both = val_and_grad_function(f, params)

    def decorated(*args: Any, **kwds: Any) -> Any:
        return both(*args, **kwds)[1]

    return decorated


@export("contrib.eager.value_and_gradients_function")
def val_and_grad_function(f: Function, params: Any = None) -> Function:
    """Return a function with the result of `f`, and its gradients by some of its arguments.

    Args:
      f: takes tensors and gives a tensor.
      params: names or positions of those arguments; all by default.

    Returns:
      A function of the same arguments, and of `dy`, the gradient of the value. It raises
      ValueError for another keyword.
    """
    with_vjp = make_vjp(f, params)

    def decorated(*args: Any, dy: Any = None, **others: Any) -> tuple[Any, Any]:
        if others:
            raise ValueError("Functions to be differentiated cannot receive keyword arguments.")
        value, vjp = with_vjp(*args)
        return value, vjp(dy)

    return decorated


def make_vjp(f: Function, params: Any = None, persistent: bool = True) -> Function:
    """Return a function with the result of `f`, and a function from its gradient to the arguments'.

    `params` are names or positions of the arguments whose gradients are wanted, all by default; if
    `persistent`, that function may be called more than once.
    """

    def decorated(*args: Any) -> tuple[Tensor, Callable[..., Any]]:
        positions = _positions(f, params, args)
        given = list(args)
        sources: list[Any] = []
        for i in positions:
            given[i] = convert_to_tensor(given[i])
            if any(given[i] is source for source in sources):
                given[i] = identity(given[i])
            sources.append(given[i])
        with tapes.recording(tapes.Tape(persistent)) as tape:
            for source in sources:
                tape.watch(source)
            result = f(*given)
            _reject_none(result, f)
            result = nest.map_structure(identity, result)

        def vjp(dy: Any = None) -> list[Tensor]:
            given = None if dy is None else [convert_to_tensor(x) for x in nest.flatten(dy)]
            return _gradients(tape, result, sources, given)

        return result, vjp

    return decorated


def _positions(f: Function, params: Any, args: Sequence[Any]) -> Sequence[int]:
    """Return the positions of the arguments that are meant."""
    try:
        names = tf_inspect.getfullargspec(f).args
    except TypeError as error:
        if params is None:
            return range(len(args))
        if all(isinstance(x, int) for x in params):
            return list(params)
        raise ValueError(
            "Either callable provided is not a function or could not inspect its arguments by "
            f"name: {f}. Original error: {error}"
        ) from error
    if params is None:
        if not names:
            return range(len(args))
        return range(len(names) - (names[0] == "self"))
    if all(isinstance(x, str) for x in params):
        return [names.index(name) for name in params]
    if all(isinstance(x, int) for x in params):
        return list(params)
    raise ValueError(f"params must be all strings or all integers; got {params}.")
