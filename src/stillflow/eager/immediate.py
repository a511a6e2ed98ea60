"""Operations that run when they are called.

While the `ImmediateGraph` is the default graph, calling an op's card converts the arguments, finds
the kernel for their types and shapes (`eager/calls.py`) and runs it; the results are
`EagerTensor`s, which hold their values. Only kernels are kept: values last as long as their
tensors, and variables as long as their handles. Tapes record watched computations, to be
differentiated.
"""

from __future__ import annotations

import contextlib
import math
import random
from collections.abc import Sequence
from threading import get_ident
from typing import Any

import numpy as np
import torch

from stillflow.eager import callbacks
from stillflow.eager.arguments import (
    Arguments,
    TensorForList,
    converted,
    kind_of,
    read,
    resolve,
    unpacked,
)
from stillflow.eager.calls import MOST, Call, Kernel, Kernels, as_eager_error, frozen
from stillflow.eager.eager_tensor import EagerTensor
from stillflow.eager.places import places_of
from stillflow.graph import eager_mode, tapes
from stillflow.graph.arrays import as_array
from stillflow.graph.build import add_node, graph_of, has_symbolic, result_structure
from stillflow.graph.card import Card
from stillflow.graph.dtypes import DType, as_dtype, string
from stillflow.graph.eager_arrays import as_eager_array
from stillflow.graph.eager_mode import EagerContext
from stillflow.graph.operation import Operation, Tensor
from stillflow.ops.kernels import has_one_owner
from stillflow.ops.values import from_array
from stillflow.runtime.host.denormals import flushed
from stillflow.runtime.plan.shape_policy import Recent
from stillflow.runtime.resources import Resources
from stillflow.util.interpreter_exit import MAIN_THREAD, at_work

_MAXINT32 = 2**31 - 1
_NOTHING = contextlib.nullcontext()
_flush = torch.set_flush_denormal
_InferenceMode = torch._C._InferenceMode


def _key(card: Card, lengths: Any, attrs: dict[str, Any], kinds: list[Any]) -> tuple[Any, ...]:
    """Return the key of a kernel, except for values of tensors."""
    key = (card, lengths, *attrs, *attrs.values(), *kinds)
    try:
        hash(key)
    except TypeError:  # a list, say
        return (card, lengths, *attrs, frozen(list(attrs.values())), *kinds)
    return key


class EagerOperation(Operation):
    """Record of an executed operation, for its gradient and for users of its attributes."""

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
    """Executor of each called operation, which keeps nothing but kernels."""

    def __init__(self) -> None:
        super().__init__()
        self.switch_to_thread_local()
        self.places = places_of(self)
        device_of = (lambda op: "cpu") if self.places is None else self.places.in_functions
        self.state = Resources(device_of, from_array)
        self.state.several = self.places is not None
        self._calls: dict[Any, Call] = {}
        self._kernels = Kernels(MOST)
        self._arguments: Recent[Any, Arguments] = Recent(MOST)
        self._numbers: Recent[Any, tuple[Any, DType]] = Recent(MOST)
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
        self._kernels.clear()
        self._arguments.clear()
        self.state.forget("op state", "")

    def next_op_seed(self) -> int:
        """Return the seed of an operation that has none: the next number of the context's own."""
        return self._drawn.randint(0, _MAXINT32)

    # ---- values

    def constant(self, array: Any, dtype: DType) -> EagerTensor:
        """Return a tensor of an array, which nobody else changes."""
        if not isinstance(array, torch.Tensor) and 0 in array.strides:
            array = array.copy()
        held = from_array(array)
        if self.places is not None and isinstance(held, torch.Tensor):
            held = held.to(self.places.of_constant(dtype))
        return EagerTensor(held, dtype)

    def number(self, value: bool | int | float, dtype: Any) -> EagerTensor:
        """Return a tensor of a number, whose run-time value is made once."""
        key = (value, type(value), dtype, value == 0 and math.copysign(1, value))
        found = self._numbers[key]
        if found is None:
            array = as_eager_array(value, dtype)
            kind = as_dtype(array.dtype if dtype is None else dtype).base_dtype
            found = from_array(array), kind
            self._numbers.put(key, found)
        return EagerTensor(*found)

    def filled(self, value: Any, dims: Sequence[int], dtype: DType) -> EagerTensor:
        """Return a tensor of these sizes, with the same value everywhere."""
        if dtype is string:
            return self.constant(np.broadcast_to(as_array(value, dtype), dims), dtype)
        held = self.number(value, dtype)._held
        if not dims:
            return EagerTensor(held, dtype)
        if self.places is not None:
            held = held.to(self.places.of_constant(dtype))
        return EagerTensor(held.expand(dims).contiguous(), dtype)

    def tensor(self, value: Any, dtype: DType) -> EagerTensor:
        """Return a tensor for a run-time value."""
        return EagerTensor(value, dtype)

    def control_dependencies(self, control_inputs: Any) -> Any:
        """Return an empty context: all called operations have run."""
        for item in control_inputs or ():
            if type(item) is not EagerTensor and callable(item) and not isinstance(item, Tensor):
                item()
        return _NOTHING

    def colocate_with(self, op: Any, ignore_existing: bool = False) -> Any:
        """Nothing to place: values are where they are."""
        del op, ignore_existing
        return _NOTHING

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
        """Run an op.

        Args:
          card: the op.
          inputs: one value per input argument of the signature; a list for list arguments.
          attrs: attributes by name.
          name: what an error calls the operation.

        Raises:
          tf.errors.OpError: if it is invalid or fails.
        """
        kernel = None
        kinds: list[Any] = []
        for tensor in inputs:
            if (kind := getattr(tensor, "_kind", None)) is None:
                break  # not all are tensors that hold values
            kinds.append(kind)
        else:
            try:
                kernel = self._kernel(card, inputs, None, attrs, kinds, name)
            except TensorForList:
                pass  # a list is expected
        if kernel is None:  # outside of `except`, whose error would keep the frames of callers
            return self._call_with_plain(card, inputs, attrs, name)
        return self._results(kernel, inputs, name)

    def _call_with_plain(
        self, card: Card, inputs: Sequence[Any], attrs: dict[str, Any], name: str | None
    ) -> Any:
        """Run an op some of whose arguments have to become tensors, or are lists."""
        inputs = [read(value) for value in inputs]
        if card.takes_lists:
            inputs = unpacked(card, inputs)
        kinds = [kind_of(value) for value in inputs]
        is_placed = self.places is not None  # which depends on more
        key = None if is_placed or None in kinds else _key(card, None, attrs, kinds)
        found = self._arguments[key]
        if found is None:
            if has_symbolic(inputs) and (graph := graph_of(inputs)) is not self:
                return add_node(graph, card, inputs, attrs, name)
            tensors, lengths = converted(card, inputs, attrs)
        else:
            tensors, lengths = found.tensors(inputs, self.number), found.lengths
            if found.kernel is not None:
                return self._results(found.kernel, tensors, name)
        kernel = self._kernel(card, tensors, lengths, attrs, [t._kind for t in tensors], name)
        if found is None and key is not None:
            found = Arguments(card, inputs, tensors, lengths, kernel)
            if found.last:
                self._arguments.put(key, found)
        return self._results(kernel, tensors, name)

    def _results(self, kernel: Kernel, tensors: Sequence[Any], name: str | None) -> Any:
        outputs = self._run(kernel, tensors, name)
        card = kernel.card
        if kernel.gives is not None and card.gives_one:
            return outputs[0]
        nothing: list[Any] | None = [] if card.signature.outputs else None
        return result_structure(card, kernel.attrs, outputs, nothing)

    def _kernel(
        self,
        card: Card,
        tensors: Sequence[Any],
        lengths: Any,
        attrs: dict[str, Any],
        kinds: list[Any],
        name: str | None,
    ) -> Kernel:
        """Return the kernel for a call.

        A new one shares the op's state with those of other shapes.
        """
        if self.places is not None:
            kinds = [*kinds, *self.places.key(tensors)]
        key = _key(card, lengths, attrs, kinds)
        kernel = self._kernels.find(key, tensors)
        if kernel is None:
            types = [tensor.dtype for tensor in tensors]
            call_key = (card, lengths, frozen(list(attrs.items())), *types)
            call = self._calls.get(call_key)
            if call is None:
                call = self._calls[call_key] = resolve(card, tensors, lengths, attrs, name)
            kernel = self._made(call, tensors, name)
            self._kernels.keep(key, tensors, kernel)
        return kernel

    def _made(self, call: Call, tensors: Sequence[Any], name: str | None) -> Kernel:
        with at_work, flushed, _InferenceMode(True):
            try:
                return call.kernel(self, self.state, tensors)
            except Exception as error:
                raise as_eager_error(error, call.card.name, name) from error

    def run(self, call: Call, tensors: Sequence[Any], name: str | None = None) -> list[EagerTensor]:
        """Run a call on tensors; give its outputs, and show them to the tapes.

        Raises:
          tf.errors.OpError: if it is invalid or fails.
        """
        return self._run(self._made(call, tensors, name), tensors, name)

    def _run(
        self, kernel: Kernel, tensors: Sequence[Any], name: str | None = None
    ) -> list[EagerTensor]:
        held = [tensor._held for tensor in tensors]
        if get_ident() != MAIN_THREAD:
            with at_work:
                values = _compute(kernel, held, name)
        else:
            values = _compute(kernel, held, name)
        if kernel.gives is not None:
            outputs = [EagerTensor(values, kernel.gives)]
        else:
            outputs = _several(kernel, values)
        tapes_now = tapes.active.tapes
        if tapes_now:
            for tape in tapes_now:
                if tape.should_record(tensors):
                    op = EagerOperation(kernel.card, self, kernel.attrs, tensors, outputs)
                    tapes.record_operation(op)
                    break
        if callbacks.active:
            callbacks.tell(kernel.card.name, tensors, kernel.attrs, outputs, name)
        return outputs

    def add_op(
        self,
        card: Card,
        inputs: list[Any],
        attrs: dict[str, Any],
        output_types: list[DType],
        name: str,
        device: bool = True,
    ) -> Operation:
        """Run an operation whose attributes are already checked."""
        del device
        for tensor in inputs:
            held_by(tensor)
        call = Call(card, attrs, output_types)
        outputs = self.run(call, inputs, name)
        return EagerOperation(card, self, attrs, inputs, outputs)


def _compute(kernel: Kernel, held: list[Any], name: str | None) -> Any:
    """Return the results of a kernel.

    It runs under `Flushed` and `torch.inference_mode`; see there.
    """
    if kernel.touches:
        card = kernel.card
        for index in card.writes:
            if index < len(held):  # cards of any number of inputs name many
                unshare(held[index])
        for index in card.keeps:
            if index < len(held):
                held[index] = _own(held[index])
    _flush(True)
    try:
        with _InferenceMode(True):
            return kernel.function(*held)
    except Exception as error:
        raise as_eager_error(error, kernel.card.name, name) from error
    finally:
        _flush(False)


def _several(kernel: Kernel, values: Any) -> list[EagerTensor]:
    """Return the outputs of a kernel that gives none, several, or handles."""
    types = kernel.output_types
    made = (values,) if len(types) == 1 else values if types else ()
    outputs = [EagerTensor(v, t) for v, t in zip(made, types, strict=True)]
    if kernel.data is not None:
        for tensor, (dims, dtype) in zip(outputs, kernel.data, strict=True):
            tensor._handle_dims, tensor._handle_dtype = dims, dtype
    return outputs


def _own(value: Any) -> Any:
    """Return a copy of a value, for an owner that keeps it and may change it in place."""
    return value.clone() if isinstance(value, torch.Tensor) else value


def unshare(handle: Any) -> None:
    """Give a variable that is about to change its own memory, if it is shared."""
    value = getattr(handle, "value", None)
    if not isinstance(value, torch.Tensor):
        return
    if not (has_one_owner(value) and value.is_contiguous()):
        handle.value = value.clone(memory_format=torch.contiguous_format)


def held_by(tensor: Any) -> Any:
    """Return the run-time value of a tensor: a torch tensor, an array of bytes, or a handle.

    RuntimeError if it is of a graph that runs in sessions, and has none.
    """
    if not isinstance(tensor, EagerTensor):
        raise RuntimeError(
            f"Attempting to capture a symbolic tensor without building a function: {tensor}"
        )
    return tensor._held


_the_context: ImmediateGraph | None = None


def context() -> ImmediateGraph:
    """Return the one context of operations that run when they are called."""
    global _the_context
    if _the_context is None:
        _the_context = ImmediateGraph()
    return _the_context


eager_mode.context.provide(context)


def forget_context() -> None:
    """Reset eager execution, with its seeds and its state."""
    global _the_context
    _the_context = None


eager_mode.forget_context.provide(forget_context)
