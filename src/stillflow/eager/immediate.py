"""Operations that run when they are called.

While the `ImmediateGraph` is the default graph, calling an op's card converts the arguments, finds
the kernel for their types and shapes (`eager/calls.py`) and runs it; the results are
`EagerTensor`s, which hold their values. Nothing is kept but kernels: values last as long as their
tensors, and variables as long as their handles. Tapes record what they watch: it can be
differentiated.
"""

from __future__ import annotations

import contextlib
import math
import random
from collections.abc import Sequence
from typing import Any

import torch

from stillflow.eager.arguments import converted, resolve
from stillflow.eager.calls import Call, as_eager_error, frozen
from stillflow.eager.eager_tensor import EagerTensor
from stillflow.graph import tapes
from stillflow.graph.arrays import as_array
from stillflow.graph.build import result_structure
from stillflow.graph.card import Card
from stillflow.graph.dtypes import DType, as_dtype
from stillflow.graph.eager_mode import EagerContext
from stillflow.graph.operation import Operation, Tensor
from stillflow.ops.exits import at_work
from stillflow.runtime.denormals import flushed
from stillflow.runtime.resources import Resources
from stillflow.runtime.values import from_array

_MAXINT32 = 2**31 - 1
_MOST_NUMBERS = 4096  # that are kept as run-time values
_InferenceMode = torch._C._InferenceMode


class EagerOperation(Operation):
    """What ran, for the gradient of it and for those that look at its attributes."""

    _control_inputs: Any = ()
    _values = None
    _varies = False
    _control_flow_context = None
    _original_op = None
    _device = ""
    _frames: Any = ()
    _id = 0

    def __init__(
        self,
        card: Card,
        graph: Any,
        attrs: dict[str, Any],
        inputs: Sequence[Tensor],
        outputs: Sequence[Tensor],
    ) -> None:
        self.card, self.graph, self.attrs = card, graph, attrs
        self.type = self.name = card.name
        self._inputs, self._outputs = list(inputs), list(outputs)


class ImmediateGraph(EagerContext):
    """Runs each operation that is called, and keeps nothing but kernels."""

    def __init__(self) -> None:
        super().__init__()
        self.switch_to_thread_local()
        self.state = Resources(lambda op: "cpu", from_array)
        self._calls: dict[Any, Call] = {}
        self._numbers: dict[Any, tuple[Any, DType]] = {}
        self._drawn = random.Random()

    # ---- seeds

    @property
    def seed(self) -> int | None:
        """The seed of operations that have none of their own."""
        return self._seed

    @seed.setter
    def seed(self, seed: int | None) -> None:
        self._seed = seed
        self._drawn = random.Random(seed)
        self._calls.clear()  # and with them the streams of random operations
        self.state.forget("op state", "")

    def next_op_seed(self) -> int:
        """The seed of an operation that has none: the next number of the context's own."""
        return self._drawn.randint(0, _MAXINT32)

    # ---- values

    def constant(self, array: Any, dtype: DType) -> EagerTensor:
        """A tensor of an array, which nobody else changes."""
        if not isinstance(array, torch.Tensor) and 0 in array.strides:
            array = array.copy()
        return EagerTensor(from_array(array), dtype)

    def number(self, value: bool | int | float, dtype: Any) -> EagerTensor:
        """A tensor of a number, whose run-time value is made once."""
        key = (value, type(value), dtype, value == 0 and math.copysign(1, value))
        found = self._numbers.get(key)
        if found is None:
            array = as_array(value, dtype)
            kind = as_dtype(array.dtype if dtype is None else dtype).base_dtype
            if len(self._numbers) >= _MOST_NUMBERS:
                self._numbers.clear()
            found = self._numbers[key] = from_array(array), kind
        return EagerTensor(*found)

    def tensor(self, value: Any, dtype: DType) -> EagerTensor:
        """A tensor for a run-time value."""
        return EagerTensor(value, dtype)

    def control_dependencies(self, control_inputs: Any) -> Any:
        """Nothing to wait for: whatever was called has run."""
        for item in control_inputs or ():
            if callable(item) and not isinstance(item, Tensor):
                item()
        return contextlib.nullcontext()

    def colocate_with(self, op: Any, ignore_existing: bool = False) -> Any:
        """Nothing to place: values are where they are."""
        del op, ignore_existing
        return contextlib.nullcontext()

    def unique_name(self, name: str, mark_as_used: bool = True) -> str:
        """`name` under the current scope; names need not be unique here."""
        del mark_as_used
        return f"{self._name_stack}/{name}" if self._name_stack else name

    def _enter_name_scope(self, name: str | None) -> tuple[str, str]:
        if not name:
            return "", ""
        stack = name[:-1] if name[-1] == "/" else self.unique_name(name)
        return stack, stack + "/"

    # ---- operations

    def call(
        self, card: Card, inputs: Sequence[Any], attrs: dict[str, Any], name: str | None
    ) -> Any:
        """Runs an op.

        Args:
          card: the op.
          inputs: one value per input argument of the signature; a list for list arguments.
          attrs: attributes by name.
          name: what an error calls the operation.

        Raises:
          tf.errors.OpError: if it is refused or fails.
        """
        lengths: Any = None
        for value in inputs:
            if type(value) is not EagerTensor:
                inputs, lengths = converted(card, inputs, attrs)
                break
        try:
            key = (card, lengths, *attrs.items(), *[tensor.dtype for tensor in inputs])
            call = self._calls.get(key)
        except TypeError:  # a list, say
            key = (card, lengths, frozen(list(attrs.items())), *[t.dtype for t in inputs])
            call = self._calls.get(key)
        if call is None:
            call = self._calls[key] = resolve(card, inputs, lengths, attrs, name)
        outputs = self.run(call, inputs, name)
        if len(outputs) == 1 and card.gives_one:
            return outputs[0]
        return result_structure(card, call.attrs, outputs, [] if card.signature.outputs else None)

    def run(self, call: Call, tensors: Sequence[Any], name: str | None = None) -> list[EagerTensor]:
        """Runs a call on tensors; gives its outputs, and shows them to the tapes.

        Raises:
          tf.errors.OpError: if it is refused or fails.
        """
        with at_work, flushed, _InferenceMode(True):
            try:
                values, data = self._compute(call, tensors)
            except Exception as error:
                raise as_eager_error(error, call.card.name, name) from error
        types = call.output_types
        if len(types) == 1:
            outputs = [EagerTensor(values, types[0])]
        else:
            made = values if types else ()
            outputs = [EagerTensor(v, t) for v, t in zip(made, types, strict=True)]
        if data is not None:
            for tensor, (dims, dtype) in zip(outputs, data, strict=True):
                tensor._handle_dims, tensor._handle_dtype = dims, dtype
        for tape in tapes.active.tapes:
            if tape.should_record(tensors):
                op = EagerOperation(call.card, self, call.attrs, tensors, outputs)
                tapes.record_operation(op)
                break
        return outputs

    def _compute(self, call: Call, tensors: Sequence[EagerTensor]) -> Any:
        held = [tensor._held for tensor in tensors]
        function, data = call.kernel(self, self.state, tensors, held)
        card = call.card
        for index in card.writes[: len(held)]:
            unshare(held[index])
        for index in card.keeps:
            if index >= len(held):  # cards of any number of inputs name many
                break
            held[index] = _own(held[index])
        return function(*held), data

    def add_op(
        self,
        card: Card,
        inputs: list[Any],
        attrs: dict[str, Any],
        output_types: list[DType],
        name: str,
        device: bool = True,
    ) -> Operation:
        """Runs an operation whose attributes are already checked."""
        del device
        for tensor in inputs:
            held_by(tensor)
        call = Call(card, attrs, output_types)
        outputs = self.run(call, inputs, name)
        return EagerOperation(card, self, attrs, inputs, outputs)


def _own(value: Any) -> Any:
    """A value in memory of its own, for what keeps it and may change it in place."""
    return value.clone() if isinstance(value, torch.Tensor) else value


# Counts the owners of memory: two while one tensor of Python's has it.
_owners_of = getattr(torch._C, "_storage_Use_Count", None)
_OWNERS = 2


def unshare(handle: Any) -> None:
    """Gives a variable that is about to change memory of its own, if others have it too."""
    value = getattr(handle, "value", None)
    if not isinstance(value, torch.Tensor):
        return
    alone = _owners_of is not None and (
        _owners_of(value.untyped_storage()._cdata) <= _OWNERS and value.is_contiguous()
    )
    if not alone:
        handle.value = value.clone(memory_format=torch.contiguous_format)


def held_by(tensor: Any) -> Any:
    """The run-time value of a tensor: a torch tensor, an array of bytes, or a handle.

    Raises:
      RuntimeError: if it is of a graph that runs in sessions, and has none.
    """
    if not isinstance(tensor, EagerTensor):
        raise RuntimeError(
            f"Attempting to capture a symbolic tensor without building a function: {tensor}"
        )
    return tensor._held


_the_context: ImmediateGraph | None = None


def context() -> ImmediateGraph:
    """The one context of operations that run when they are called."""
    global _the_context
    if _the_context is None:
        _the_context = ImmediateGraph()
    return _the_context


def forget_context() -> None:
    """Lets the next use of eager execution begin anew, with its seeds and its state."""
    global _the_context
    _the_context = None
