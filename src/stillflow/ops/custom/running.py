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
from stillflow.ops.custom.choice import device_for, kernel_for
from stillflow.ops.custom.device_memory import call_on, copied
from stillflow.ops.custom.inference import counts, write_node
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
        # The arguments that are in the host's memory: for a kernel of the host all of them.
        self.on_host = library.kernels[number].host_memory if device == "GPU" else None
        request, made = _making(node, device), ctypes.c_void_p()
        address = ctypes.byref(made)
        code = interface.make(number, request, len(request), resources.address, address)
        if code:
            raise _error(code, interface)
        self.resources, self.name = resources, node.name
        self.address, self._destroy = made.value, interface.destroy
        self._cancel = interface.cancel

    def cancel(self, error: errors.OpError) -> None:
        """Tell runs that wait that the session is closed."""
        self._cancel(self.address)

    def __del__(self) -> None:
        if getattr(self, "address", None):
            self._destroy(self.address)


def _error(code: int, interface: Interface) -> errors.OpError:
    kind = errors.exception_type_from_error_code(code)
    error: errors.OpError = kind(None, None, interface.text())
    return error


def _making(node: Any, device: str) -> bytes:
    """Return the message of which a kernel is made."""
    writer = Writer()
    write_node(writer, node)
    writer.text(device)
    writer.number((torch.device(node.device).index or 0) if device == "GPU" else -1)
    signature = node.op.card.signature
    for args, tensors in ((signature.inputs, node.inputs), (signature.outputs, node.outputs)):
        lengths = counts(node, args)
        writer.arguments(lengths)
        references = [arg.is_ref for arg, (_, count) in zip(args, lengths) for _ in range(count)]
        for tensor, is_ref in zip(tensors, references):
            number = tensor.dtype.base_dtype.as_datatype_enum
            writer.number(number + 100 if is_ref else number)
    return writer.finish()


def _places(node: Any, made: Kernel) -> list[list[Any]]:
    """Return the devices of the memory of inputs and of outputs, as a kernel takes and gives it."""
    signature, host = node.op.card.signature, torch.device("cpu")
    return [
        [
            host if made.on_host is None or name in made.on_host else torch.device(node.device)
            for name, count in counts(node, args)
            for _ in range(count)
        ]
        for args in (signature.inputs, signature.outputs)
    ]


def _watched(node: Any, made: Kernel) -> Kernel:
    """Have the end of a node's session cancel what its kernel waits for."""
    node.waits().session.watch(made.cancel)
    return made


def kernel(node: Any, library: Any) -> Call:
    """Return the kernel part of a library's cards."""
    device = device_for(node, library.kernels)
    resources = node.resource(
        lambda: Resources(library.interface), kind="custom operations", name=library.interface.path
    )
    made = node.own_state(lambda: _watched(node, Kernel(node, library, device, resources)))
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
            ctypes.addressof(self.results), -1, 0, 0, number, _allocate,
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
        device = frame.runner.places[output]
        make = torch.empty if str(device) == "cpu" else torch.zeros
        made = make(shape, dtype=torch_type(as_dtype(dtype)), device=device)
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

    Attributes:
      places: the device of the memory of each output that the kernel gives.
    """

    def __init__(self, node: Any, made: Kernel, interface: Interface) -> None:
        self._kernel, self._interface, self._run = made, interface, interface.run
        self._address, self._name = made.address, node.name
        self.device = torch.device(node.device)
        inputs, self.places = _places(node, made)
        self._readers = [
            reader_for(tensor.dtype, away=place != self.device)
            for tensor, place in zip(node.inputs, inputs)
        ]
        self._on_gpu = made.on_host is not None
        self._plain = not any(self._readers) and self.device.type == "cpu"
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
        if self._on_gpu:
            code = self._run_on_gpu(frame, kept)
        else:
            code = self._run(self._address, frame.address)
        if code:
            raise self._failure(frame, code)
        outputs = [self._output(frame, at, None, values) for at in range(len(self._types))]
        if self.device.type != "cpu":
            outputs = [self._moved(output) for output in outputs]
        if self._has_references:
            self._replace(frame, values)
        for end in kept:
            if callable(end):
                end()
        if self._plain and self._misses < _MOST_MISSES:
            self._prepare(frame, tuple([value.shape for value in values]), outputs)
        return outputs[0] if len(outputs) == 1 else outputs or None

    def _run_on_gpu(self, frame: _Frame, kept: Sequence[Any]) -> int:
        with call_on(self.device, kept, frame.allocated) as stream:
            frame.call.device, frame.call.stream = self.device.index or 0, stream
            return int(self._run(self._address, frame.address))

    def _moved(self, output: Any) -> Any:
        return output.to(self.device) if torch.is_tensor(output) else output

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


def reader_for(dtype: DType, away: bool) -> _Read | None:
    """Return the function that hands an input to a kernel; None for numbers.

    Args:
      dtype: the input's type.
      away: True for numbers of a GPU that the kernel takes in the host's memory.
    """
    base = dtype.base_dtype
    if dtype._is_ref_dtype and base == dtypes.string:
        return _read_string_reference
    if dtype._is_ref_dtype:
        return partial(_read_reference, away=away)
    if base == dtypes.string:
        return _read_strings
    if base == dtypes.resource:
        return _read_handle
    if base == dtypes.variant:
        return _read_variant
    if away:
        return _read_on_host
    return _read_complex if base.is_complex else None


def _read_numbers(value: Any, kept: list[Any]) -> tuple[int, Any]:
    value = value.contiguous()
    kept.append(value)
    return value.data_ptr(), value.shape


def _read_on_host(value: Any, kept: list[Any]) -> tuple[int, Any]:
    return _read_complex(value.cpu(), kept)


def _read_complex(value: Any, kept: list[Any]) -> tuple[int, Any]:
    value = value.resolve_conj().resolve_neg().contiguous()
    kept.append(value)
    return value.data_ptr(), value.shape


def _read_reference(handle: Any, kept: list[Any], away: bool) -> tuple[int, Any]:
    """Return a variable's own memory, or that of a copy which is written back."""
    value = handle.read()
    if away or not value.is_contiguous():
        copy = (value.cpu() if away else value).contiguous()
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
        start, device, base = (reader.number() for _ in range(3))
        if device >= 0:
            return copied(base, start - base, shape, torch_type(dtype))
        value = torch.empty(shape, dtype=torch_type(dtype))
        if value.numel():
            ctypes.memmove(value.data_ptr(), start, value.numel() * value.element_size())
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
