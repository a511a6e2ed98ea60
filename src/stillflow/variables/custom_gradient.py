"""`tf.custom_gradient`: functions that define their gradient."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from stillflow import nest
from stillflow.graph import tapes
from stillflow.graph.api import control_dependencies
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.eager_mode import executing_eagerly
from stillflow.graph.export import export
from stillflow.graph.gradient_registry import RegisterGradient, gradient_function
from stillflow.graph.graph import get_default_graph
from stillflow.graph.operation import Operation, Tensor
from stillflow.ops.control_flow.identity_and_group import identity, identity_n
from stillflow.platform import tf_logging as logging
from stillflow.util import tf_decorator, tf_inspect
from stillflow.variables.resource_variable import is_resource_variable
from stillflow.variables.variable_scope import get_variable_scope

_VARIABLES = ("VariableV2", "VarHandleOp")
_numbers = itertools.count()
_Params = ParamSpec("_Params")
_Result = TypeVar("_Result")


_NO_VARIABLES = (
    "If using @custom_gradient with a function that uses variables, then grad_fn must accept a "
    "keyword argument 'variables'."
)
_NOT_FOR_EACH = "Must return gradient for each variable from @custom_gradient grad_fn."


@export("custom_gradient", "contrib.eager.custom_gradient")
def custom_gradient(f: Callable[_Params, tuple[_Result, Any]]) -> Callable[_Params, _Result]:
    """Make a function use a gradient of its own.

    Args:
      f: takes tensors; gives the result and a function that takes the gradients of the result
        and gives those of the arguments. If `f` uses variables, that function also takes
        `variables` and gives a second list, of their gradients.

    Returns:
      A function of the same arguments that gives the result.

    Raises:
      TypeError: when called, if variables are used that are no resource variables, or the
        gradient function does not take them.
    """

    def decorated(*args: Any, **kwargs: Any) -> Any:
        if executing_eagerly():
            return _call_now(f, args, kwargs)
        if kwargs:
            raise ValueError(
                "The custom_gradient decorator currently supports keywords "
                "arguments only when eager execution is enabled."
            )
        return _call(f, [convert_to_tensor(arg) for arg in args])

    function: Callable[_Params, _Result] = tf_decorator.make_decorator(f, decorated)
    return function


def _call(f: Callable[..., Any], args: list[Tensor]) -> Any:
    name = f"CustomGradient-{next(_numbers)}"
    before = _all_variables()
    with tapes.recording(tapes.Tape()) as tape:
        result, grad_fn = f(*args)
    for variable in _all_variables() - before:
        if not is_resource_variable(variable):
            raise TypeError(
                "All variables used by a function wrapped with @custom_gradient must be "
                "`ResourceVariable`s. Ensure that no `variable_scope` is created with "
                "`use_resource=False`."
            )
    variables = get_dependent_variables(args, result)
    variables += [v for v in tape.watched_variables() if not _among(v, [*variables, *args])]
    _check_signature(grad_fn, variables)
    flat = nest.flatten(result)

    def of_inputs(*grads: Any) -> list[Any]:
        outer = grads[: len(flat)]
        if not variables:
            return [None] * len(flat) + nest.flatten(grad_fn(*outer))
        of_args, of_variables = grad_fn(*outer, variables=variables)
        if len(of_variables) != len(variables):
            raise ValueError(_NOT_FOR_EACH)
        return [None] * len(flat) + nest.flatten(of_args) + list(of_variables)

    RegisterGradient(name)(lambda _, *grads: of_inputs(*grads))
    with get_default_graph().gradient_override_map({"IdentityN": name}):
        tensors = identity_n([*flat, *args, *variables])
    originals = [convert_to_tensor(item) for item in (*flat, *args, *variables)]
    tapes.record(f.__name__, tensors, originals, of_inputs)
    return nest.pack_sequence_as(result, tensors[: len(flat)])


def _call_now(f: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> Tensor:
    """Call in eager execution: only tapes know the custom gradient."""
    with tapes.recording(tapes.Tape()) as tape:
        result, grad_fn = f(*args, **kwargs)
    given = [*args, *kwargs.values()]
    variables = [v for v in tape.watched_variables() if not _among(v, given)]
    if variables and not _takes_variables(grad_fn):
        raise TypeError(_NO_VARIABLES)
    results = [identity(x) for x in nest.flatten(result)]

    def of_inputs(*grads: Any) -> list[Any]:
        if not variables:
            of_args, of_variables = grad_fn(*grads), []
        else:
            of_args, of_variables = grad_fn(*grads, variables=variables)
        if len(of_variables) != len(variables):
            raise ValueError(_NOT_FOR_EACH)
        flat = nest.flatten(of_args)
        if len(flat) != len(args):
            raise ValueError(
                "custom_gradient function expected to return", len(args), "gradients but returned",
                len(flat), "instead.",
            )  # fmt: skip
        return flat + list(of_variables)

    inputs = [convert_to_tensor(x) for x in (*args, *variables)]
    tapes.record(f.__name__, results, inputs, of_inputs)
    return nest.pack_sequence_as(result, results)


def _among(variable: Any, values: list[Any]) -> bool:
    return any(variable is value for value in values)


def _all_variables() -> set[Any]:
    scope = get_variable_scope()
    return {*scope.global_variables(), *scope.local_variables()}


def _takes_variables(grad_fn: Callable[..., Any]) -> bool:
    """Return True if a gradient function takes variables: it can have a custom gradient as well."""
    spec = tf_inspect.getfullargspec(grad_fn)
    return "variables" in spec.args or bool(spec.varkw)


def _check_signature(grad_fn: Callable[..., Any], variables: list[Any]) -> None:
    takes = _takes_variables(grad_fn)
    if variables and not takes:
        raise TypeError(_NO_VARIABLES)
    if takes and not variables:
        if not get_variable_scope().use_resource:
            raise TypeError(
                "If using @custom_gradient with a function that uses variables, the enclosing "
                "variable scope must have use_resource=True."
            )
        logging.warn(
            "@custom_gradient grad_fn has 'variables' in signature, but no ResourceVariables "
            "were used on the forward pass."
        )


def get_dependent_variables(input_ops: Any, output_ops: Any) -> list[Any]:
    """Return the trainable variables that `output_ops` depend on, but those behind `input_ops`."""
    ends = nest.flatten(nest.map_structure(identity, output_ops))
    stop = {arg.op for arg in nest.flatten(input_ops)}
    seen: dict[Operation, None] = {}
    pending = [end.op for end in ends]
    while pending:
        op = pending.pop()
        if op in seen or op in stop:
            continue
        seen[op] = None
        if op.type in _VARIABLES or _passes_gradients(op):
            pending.extend(tensor.op for tensor in op.inputs)
    trainable = {
        part.op: part
        for variable in get_default_graph().get_collection("variables")
        if variable.trainable
        for part in (variable.values if getattr(variable, "is_distributed", False) else [variable])
    }
    return [trainable[op] for op in seen if op in trainable]


def _passes_gradients(op: Operation) -> bool:
    try:
        return gradient_function(op) is not None
    except LookupError:
        return False


@export("recompute_grad")
def recompute_grad(f: Callable[..., Any]) -> Callable[..., Any]:
    """Make a function recompute its intermediate values for its gradient.

    Args:
      f: takes tensors and gives one; variables it uses have to be resource variables.
    """

    @custom_gradient
    def recomputing(*args: Any) -> tuple[Any, Callable[..., Any]]:
        def grad(dresult: Any, variables: Any = None) -> tuple[Any, Any]:
            from stillflow.eager.backprop import GradientTape

            used = list(variables or ())
            with GradientTape() as tape:
                tape.watch([*args, *used])
                with control_dependencies([dresult]):
                    again = f(*args)
            grads = tape.gradient(again, [*args, *used], output_gradients=[dresult])
            return grads[: len(args)], grads[len(args) :]

        return f(*args), grad

    return recomputing


@export("grad_pass_through")
def grad_pass_through(f: Callable[..., Any]) -> Callable[..., Any]:
    """Make a function hand gradients on as if it were the identity."""

    @custom_gradient
    def call(*args: Any, **kwargs: Any) -> tuple[Any, Callable[..., Any]]:
        def grad(*grads: Any, **options: Any) -> tuple[Any, ...]:
            variables = options.get("variables")
            return grads if variables is None else (grads, [None] * len(variables))

        return f(*args, **kwargs), grad

    return functools.wraps(f)(call)
