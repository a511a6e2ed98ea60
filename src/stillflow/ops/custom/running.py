"""Kernels of libraries on run-time values: torch's memory goes in and out without copies.

The outputs of a kernel usually have the shapes of the call before with inputs of the same shapes,
so their memory is offered with the call; for other shapes the kernel asks for it.
"""

from __future__ import annotations

import ctypes
import itertools
import weakref
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from stillflow import errors
from stillflow.graph import dtypes
from stillflow.graph.arrays import Array
from stillflow.graph.dtypes import DType, as_dtype
from stillflow.graph.lazy import torch
from stillflow.ops.custom.choice import kernel_for
from stillflow.ops.custom.inference import write_node
from stillflow.ops.custom.interface import ALLOCATE, ALLOCATED, NOTHING, OFFERED, Call, Interface
from stillflow.ops.custom.messages import Reader, Writer, handle_message
from stillflow.ops.kernels import torch_type

_MOST_SHAPES = 64  # of inputs, for which the shapes of outputs are remembered
_MOST_MISSES = 16  # from then on a kernel asks for the memory of each output
_RANK = 8  # the highest rank of an output whose memory is offered


class Resources:
    """The objects that a library's kernels share in one session."""

    def __init__(self, interface: Interface) -> None:
        self._destroy, self.address = interface.destroy_resources, interface.make_resources()

    def __del__(self) -> None:
        self._destroy(self.address)


class Kernel:
    """A kernel object of a library, made once for a node and a session.

    Raises:
      tf.errors.OpError: if its constructor fails.
    """

    def __init__(self, node: Any, library: Any, device: str, resources: Resources) -> None:
        interface = library.interface
        number = kernel_for(node, device, library.kernels)
        request, made = _making(node, device), ctypes.c_void_p()
        address = ctypes.byref(made)
        code = interface.make(number, request, len(request), resources.address, address)
        if code:
            raise _error(code, interface)
        self.resources, self.name = resources, node.name
        self.address, self._destroy = made.value, interface.destroy

    def __del__(self) -> None:
        if getattr(self, "address", None):
            self._destroy(self.address)


def _error(code: int, interface: Interface) -> errors.OpError:
    kind = errors.exception_type_from_error_code(code)
    error: errors.OpError = kind(None, None, interface.text())
    return error


def _making(node: Any, device: str) -> bytes:
    """Return the message of which a kernel is made."""
    from stillflow.graph.build import arg_length

    writer = Writer()
    write_node(writer, node)
    writer.text(device)
    signature = node.op.card.signature
    for args, tensors in ((signature.inputs, node.inputs), (signature.outputs, node.outputs)):
        position = 0
        writer.number(len(args))
        for arg in args:
            writer.text(arg.name)
            count = arg_length(signature, arg, node.op.attrs)
            writer.number(count)
            for tensor in tensors[position : position + count]:
                number = tensor.dtype.base_dtype.as_datatype_enum
                writer.number(number + 100 if arg.is_ref else number)
            position += count
    return writer.finish()


def kernel(node: Any, library: Any) -> Call:
    """Return the kernel part of a library's cards."""
    device = "GPU" if str(node.device).startswith("cuda") else "CPU"
    resources = node.resource(
        lambda: Resources(library.interface), kind="custom operations", name=library.interface.path
    )
    made = node.own_state(lambda: Kernel(node, library, device, resources))
    return node.call(Runner(node, made, library.interface).run, *node.inputs)


class _Frame:
    """The words of one call: inputs, offers, results. A thread has it to itself.

    Attributes:
      places: where the addresses of inputs stand among the words.
      offer_places: where those of offered outputs stand.
      makers: allocators of the memory of each output; None where the kernel asks for it.
    """

    def __init__(self, inputs: int, outputs: int, room: int, number: int) -> None:
        self.inputs: Any = (ctypes.c_int64 * max(room, 1))()
        self.offers: Any = (ctypes.c_int64 * ((2 + _RANK) * max(outputs, 1)))(*([0, -1] * outputs))
        self.results: Any = (ctypes.c_int64 * (inputs + outputs + 1))()
        self.call: Any = Call(
            ctypes.addressof(self.inputs), ctypes.addressof(self.offers),
            ctypes.addressof(self.results), 0, 0, number, _allocate,
        )  # fmt: skip
        self.address = ctypes.addressof(self.call)
        self.runner: Any = None
        self.places: list[int] = []
        self.offer_places: list[int] = []
        self.makers: list[Callable[[], Any] | None] = [None] * outputs
        self.allocated: dict[int, Any] = {}
        self.failure: BaseException | None = None

    def write_inputs(self, inputs: Sequence[tuple[int, Any]]) -> None:
        words: list[int] = []
        self.places = []
        for address, shape in inputs:
            self.places.append(len(words))
            words += (address, len(shape), *shape)
        self.inputs[: len(words)] = words

    def write_offers(self, shapes: Sequence[tuple[int, ...] | None]) -> None:
        words: list[int] = []
        self.offer_places = []
        for shape in shapes:
            self.offer_places.append(len(words))
            words += (0, -1) if shape is None else (0, len(shape), *shape)
        self.offers[: len(words)] = words


# By the number that kernels hand back; a runner keeps its frames.
_frames: weakref.WeakValueDictionary[int, _Frame] = weakref.WeakValueDictionary()
_numbers = itertools.count(1)


def _memory(user: int, output: int, dtype: int, rank: int, sizes: Any) -> int:
    """Memory for an output whose shape nobody foresaw."""
    frame = _frames[user]
    try:
        shape = [sizes[at] for at in range(rank)]
        made = torch.empty(shape, dtype=torch_type(as_dtype(dtype)), device=frame.runner.device)
    except Exception as error:  # no exception passes through C
        frame.failure = error
        return 0
    frame.allocated[output] = made
    return int(made.data_ptr())


_allocate = ALLOCATE(_memory)


class Runner:
    """Calls a kernel.

    Args:
      node: the node that it runs.
      made: its kernel object.
      interface: its library.
    """

    def __init__(self, node: Any, made: Kernel, interface: Interface) -> None:
        self._kernel, self._interface, self._run = made, interface, interface.run
        self._address, self._name, self.device = made.address, node.name, node.device
        self._readers = [reader_for(tensor.dtype) for tensor in node.inputs]
        self._plain = not any(self._readers)
        self._has_references = any(tensor.dtype._is_ref_dtype for tensor in node.inputs)
        self._types = [_torch_type(tensor.dtype) for tensor in node.outputs]
        self._misses = 0
        self._ready: dict[Any, list[_Frame]] = {}  # frames for inputs of these shapes

    def run(self, *values: Any) -> Any:
        """Return the outputs of the kernel for run-time values."""
        if not self._plain:
            return self._run_any(values)
        frames = self._ready.get(tuple([value.shape for value in values]))
        if frames is None:
            return self._run_any(values)
        try:
            frame = frames.pop()
        except IndexError:
            return self._run_any(values)
        kept: Any = None
        words, results = frame.inputs, frame.results
        for at, value in zip(frame.places, values):
            if not value.is_contiguous():
                kept = (kept, value := value.contiguous())
            words[at] = value.data_ptr()
        outputs: list[Any] = []
        words = frame.offers
        for at, make in zip(frame.offer_places, frame.makers):
            if make is None:
                outputs.append(None)
            else:
                value = make()
                outputs.append(value)
                words[at] = value.data_ptr()
        try:
            code = self._run(self._address, frame.address)
            if code:
                raise self._failure(frame, code)
            for at, value in enumerate(outputs):
                if results[at] != OFFERED:
                    outputs[at] = self._output(frame, at, value, values)
        finally:
            if frame.allocated:
                frame.allocated = {}
            frames.append(frame)
        return outputs[0] if len(outputs) == 1 else outputs or None

    def _run_any(self, values: Sequence[Any]) -> Any:
        """Run where nobody knows the outputs' shapes yet."""
        kept: list[Any] = []
        inputs = [
            _read_numbers(value, kept) if reader is None else reader(value, kept)
            for reader, value in zip(self._readers, values)
        ]
        frame = self._frame(sum(2 + len(shape) for _, shape in inputs))
        frame.write_inputs(inputs)
        code = self._run(self._address, frame.address)
        if code:
            raise self._failure(frame, code)
        outputs = [self._output(frame, at, None, values) for at in range(len(self._types))]
        if self._has_references:
            self._replace(frame, values)
        for end in kept:
            if callable(end):
                end()
        if self._plain and self._misses < _MOST_MISSES:
            self._prepare(frame, tuple([value.shape for value in values]), outputs)
        return outputs[0] if len(outputs) == 1 else outputs or None

    def _failure(self, frame: _Frame, code: int) -> BaseException:
        failure, frame.failure = frame.failure, None
        return failure or _error(code, self._interface)

    def _frame(self, room: int = 0) -> _Frame:
        number = next(_numbers)
        frame = _Frame(len(self._readers), len(self._types), room, number)
        frame.runner = self
        _frames[number] = frame
        return frame

    def _output(self, frame: _Frame, at: int, offered: Any, values: Sequence[Any]) -> Any:
        how = frame.results[at]
        if how == OFFERED:
            return offered
        if how == ALLOCATED:
            if offered is not None:  # another shape than the last time
                self._misses += 1
                if self._misses >= _MOST_MISSES:
                    self._ready = {}
            return frame.allocated[at]
        if how == NOTHING:
            raise errors.internal(f"Missing {at}-th output from {{{{node {self._name}}}}}")
        return values[-1 - how] if how < 0 else take(self._interface, how)

    def _prepare(self, frame: _Frame, key: Any, outputs: Sequence[Any]) -> None:
        """Make a frame ready for the next call with inputs of the same shapes."""
        shapes: list[Any] = []
        for at, (value, dtype) in enumerate(zip(outputs, self._types)):
            known = dtype is not None and frame.results[at] == ALLOCATED and value.dim() <= _RANK
            shapes.append(tuple(value.shape) if known else None)
            if known:
                make = partial(torch.empty, shapes[-1], dtype=dtype)
                on_host = str(self.device) == "cpu"
                frame.makers[at] = make if on_host else partial(make, device=self.device)
        frame.write_offers(shapes)
        frame.allocated.clear()
        if key not in self._ready and len(self._ready) >= _MOST_SHAPES:
            self._ready = {}
        self._ready.setdefault(key, []).append(frame)

    def _replace(self, frame: _Frame, values: Sequence[Any]) -> None:
        """Give variables the tensors that the kernel replaced theirs with."""
        from stillflow.ops.variables.reference import set_value

        for at, handle in enumerate(values):
            address = frame.results[len(self._types) + at]
            if address:
                set_value(handle, take(self._interface, address))


# ---- inputs that are no plain numbers: (value, what lives as long as the call) -> address, shape

_Read = Callable[[Any, list[Any]], tuple[int, Any]]


def reader_for(dtype: DType) -> _Read | None:
    """Return the function that hands an input to a kernel; None for numbers."""
    base = dtype.base_dtype
    if dtype._is_ref_dtype:
        return _read_string_reference if base == dtypes.string else _read_reference
    if base == dtypes.string:
        return _read_strings
    if base == dtypes.resource:
        return _read_handle
    if base == dtypes.variant:
        return _read_variant
    return _read_complex if base.is_complex else None


def _read_numbers(value: Any, kept: list[Any]) -> tuple[int, Any]:
    value = value.contiguous()
    kept.append(value)
    return value.data_ptr(), value.shape


def _read_complex(value: Any, kept: list[Any]) -> tuple[int, Any]:
    value = value.resolve_conj().resolve_neg().contiguous()
    kept.append(value)
    return value.data_ptr(), value.shape


def _read_reference(handle: Any, kept: list[Any]) -> tuple[int, Any]:
    """Return a variable's own memory, or that of a copy which is written back."""
    value = handle.read()
    if not value.is_contiguous():
        copy = value.contiguous()
        kept.append(lambda: value.copy_(copy))
        return copy.data_ptr(), copy.shape
    kept.append(value)
    return value.data_ptr(), value.shape


def _read_string_reference(handle: Any, kept: list[Any]) -> tuple[int, Any]:
    return _read_strings(handle.read(), kept)


def _read_strings(value: Any, kept: list[Any]) -> tuple[int, Any]:
    items = [item.encode() if isinstance(item, str) else item for item in value.ravel().tolist()]
    return _pieces(items, kept), value.shape


def _pieces(items: Sequence[bytes], kept: list[Any]) -> int:
    """Return the address of a table of the addresses and lengths of texts."""
    text = np.frombuffer(b"".join(items) + b"\0", np.uint8)
    table = np.zeros((len(items) + 1, 2), np.int64)
    table[:-1, 1] = [len(item) for item in items]
    table[1:, 0] = np.cumsum(table[:-1, 1])
    table[:, 0] += text.ctypes.data
    kept += [text, table]
    return int(table.ctypes.data)


class Handle:
    """A resource handle that a library's kernel made."""

    def __init__(self, parts: Sequence[Any]) -> None:
        self.parts = tuple(parts)
        self.message = handle_message(parts)

    def __repr__(self) -> str:
        return f"<resource {self.parts[2]}>"


def _read_handle(value: Any, kept: list[Any]) -> tuple[int, Any]:
    if not isinstance(value, Handle):
        # A variable or a table of this package: it has a name, and no object in the library.
        name = getattr(value, "name", "") or type(value).__name__
        value = Handle(("", "localhost", str(name), type(value).__name__, 0))
    return _pieces([value.message], kept), ()


def _read_variant(value: Any, kept: list[Any]) -> tuple[int, Any]:
    raise errors.unimplemented("Kernels of libraries cannot be given variants")


# ---- outputs in the library's memory


def take(interface: Interface, address: int) -> Any:
    """Return the value of a tensor of the library, which is released."""
    try:
        reader = interface.content(address)
        dtype = as_dtype(reader.number())
        shape: Any = reader.shape()
        if dtype == dtypes.string:
            return _read_texts(reader, shape)
        if dtype == dtypes.resource:
            return Handle([*(reader.text() for _ in range(4)), reader.number()])
        value = torch.empty(shape, dtype=torch_type(dtype))
        if value.numel():
            size = value.numel() * value.element_size()
            ctypes.memmove(value.data_ptr(), reader.number(), size)
        return value
    finally:
        interface.release(address)


def _read_texts(reader: Reader, shape: tuple[int, ...]) -> Array:
    array = np.empty(shape, object)
    flat = array.reshape(-1)
    for at in range(flat.size):
        flat[at] = reader.bytes()
    return array


def _torch_type(dtype: DType) -> torch.dtype | None:
    return None if dtype.base_dtype.torch_name is None else torch_type(dtype)
