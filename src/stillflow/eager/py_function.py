"""`tf.py_function`: a Python function of tensors with values, as an operation of a graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from stillflow.eager.backprop import GradientTape
from stillflow.graph.arrays import Array
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.dtypes import DType, as_dtype
from stillflow.graph.eager_mode import executing_eagerly
from stillflow.graph.export import export
from stillflow.graph.lazy import torch
from stillflow.graph.operation import Tensor
from stillflow.ops.py_func import call_python, check_callable, eager_py_func_op, functions
from stillflow.variables.base import Variable

if TYPE_CHECKING:
    from stillflow.eager.immediate import ImmediateGraph

_RETURNED_VARIABLE = (
    "Attempting to return a variable from an eagerly executed py_func. Only numeric data "
    "structures like Tensors or NumPy arrays should be returned; to return the value of a "
    "variable, make sure to obtain the Tensor backing it by calling `.read_value()` on the "
    "variable in question: "
)


class _KeptToken(bytes):
    """The token of a function, which keeps it."""

    function: Any


class _EagerFunction:
    """Function of eager tensors, and the data of its calls that its gradient needs.

    A gradient may give None, for zero; `types` are of the results.
    """

    def __init__(
        self, function: Callable[..., Any], types: Sequence[DType], is_gradient: bool = False
    ) -> None:
        self._function, self._types, self._is_gradient = function, types, is_gradient
        self._differentiated = False
        self._token = b""
        self._calls: list[tuple[ImmediateGraph, GradientTape, list[Tensor], list[Tensor]]] = []

    def apply(self, inputs: Sequence[Any], name: str | None = None) -> Any:
        """Return the operation that calls the function: the list of its results."""
        if executing_eagerly():
            return self._apply_now(inputs, name)
        token = functions.insert(self)
        self._token = token.encode()
        return eager_py_func_op(inputs, token=token, Tout=list(self._types), name=name)

    def _apply_now(self, inputs: Sequence[Any], name: str | None) -> Sequence[Tensor]:
        """Run the operation now. Only tapes keep the function and its gradient's data.

        So the kernel is not kept, either: no second call could use it.
        """
        from stillflow.eager.calls import Call
        from stillflow.eager.immediate import context

        tensors = [convert_to_tensor(value) for value in inputs]
        self._differentiated = True  # perhaps, later
        self._token = token = _KeptToken(functions.add(self).encode())
        token.function = self
        attrs = {"token": token, "Tin": [t.dtype for t in tensors], "Tout": list(self._types)}
        return context().run(Call(eager_py_func_op, attrs, self._types), tensors, name)

    def run(self, inputs: Sequence[Any], types: Sequence[DType]) -> tuple[list[Any], list[Any]]:
        """Call it on run-time values of these types; gives the results and their types."""
        from stillflow.eager.immediate import context, held_by

        graph = context()
        outputs = call_python(self._call, (graph, [_owned(value) for value in inputs], types))
        return [_owned(held_by(t)) for t in outputs], [t.dtype for t in outputs]

    def _call(
        self, graph: ImmediateGraph, values: Sequence[Any], types: Sequence[DType]
    ) -> list[Tensor]:
        with graph.as_default(), GradientTape() as tape:
            inputs = [graph.tensor(v, dtype) for v, dtype in zip(values, types, strict=True)]
            tape.watch([tensor for tensor in inputs if tensor.dtype.is_floating])
            outputs = self._converted(self._function(*inputs))
        if self._differentiated:
            self._calls.append((graph, tape, inputs, outputs))  # type: ignore[arg-type]
        return outputs

    def _converted(self, results: Any) -> list[Tensor]:
        if results is None:
            return []
        if isinstance(results, (tuple, list)):
            return [self._tensor(r, t) for r, t in zip(results, self._types, strict=False)]
        return [self._tensor(results, self._types[0])]

    def _tensor(self, result: Any, dtype: DType) -> Tensor:
        if isinstance(result, Variable):
            raise RuntimeError(f"{_RETURNED_VARIABLE}{result}")
        if result is None and self._is_gradient:
            result = 0
        return convert_to_tensor(result, dtype=dtype)

    def gradient(self, types: Sequence[DType]) -> _EagerFunction:
        """Return the gradients' function for the last call that has none yet."""
        self._differentiated = True
        return _EagerFunction(self._gradients, types, is_gradient=True)

    def _gradients(self, *grads: Any) -> list[Any]:
        from stillflow.eager.immediate import held_by

        if not self._calls:
            raise KeyError(bytes(self._token))
        graph, tape, inputs, outputs = self._calls.pop()
        with graph.as_default():
            given = [graph.tensor(held_by(grad), grad.dtype) for grad in grads]
            found: list[Any] = tape.gradient(outputs, inputs, output_gradients=given)
            dense: list[Any] = [None if g is None else convert_to_tensor(g) for g in found]
        return [None if grad is None else grad.numpy() for grad in dense]


def _owned(value: Any) -> torch.Tensor | Array:
    return value.clone() if isinstance(value, torch.Tensor) else value


@export("py_function", "contrib.eager.py_func")
def py_function(func: Callable[..., Any], inp: Any, Tout: Any, name: str | None = None) -> Any:
    """Return an operation that calls a Python function on tensors with values in every step.

    Operations called in the function run at once. It can be differentiated, once.

    Args:
      func: takes one tensor per input, with methods like `numpy()`; gives a tensor or array, a
        list or tuple of them, or None.
      inp: a list of tensors.
      Tout: the type of the result, or a list of types, empty for None.
      name: of the operation.

    Returns:
      A tensor of unknown shape, or a list of them if `Tout` is one.

    Raises:
      ValueError: if `func` is not callable.
    """
    check_callable(func)
    several = isinstance(Tout, (list, tuple))
    types = [as_dtype(kind) for kind in (Tout if several else [Tout])]
    result = _EagerFunction(func, types).apply(inp, name)
    return result if several else result[0]
