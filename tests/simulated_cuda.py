"""A GPU that is not there: tensors that say they are on one, and compute on the host.

A GPU rejects much that a CPU does: operands on two devices, host memory behind a pointer, NumPy
views, products of integers. Tests that run inside `simulated_cuda` get the same errors with true
numbers, on any machine. It cannot show rounding, speed, and faults of the drivers.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import cache
from types import SimpleNamespace
from typing import Any
from unittest import mock

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves, tree_map

from stillflow.runtime.devices.devices import pretend_gpus

aten = torch.ops.aten

# Copies between devices, and indices that are brought to the device of what they index.
_ACROSS = {aten.copy_.default, aten._to_copy.default, aten.index.Tensor}
_PUTS = {aten.index_put.default, aten.index_put_.default, aten._index_put_impl_.default}
# No kernels for whole numbers, which the CPU has.
_OF_FLOATS = {
    aten.mm.default, aten.addmm.default, aten.bmm.default, aten.baddbmm.default, aten.mv.default,
    aten.addmv.default, aten.dot.default, aten.vdot.default, aten.convolution.default,
    aten.avg_pool2d.default, aten.avg_pool3d.default, aten.max_pool2d_with_indices.default,
    aten.max_pool3d_with_indices.default, aten.reflection_pad1d.default,
    aten.reflection_pad2d.default, aten.replication_pad1d.default, aten.replication_pad2d.default,
    aten.im2col.default, aten.col2im.default,
}  # fmt: skip
# No kernels at all.
_OF_HOST = ("mkldnn", "onednn", "quantized", "prepacked", "mkldnn_prepacked")
_MISSING = {"histogram", "_histogramdd_from_bin_cts", "mkldnn_reorder_conv2d_weight"}
# What Apple's GPUs have no numbers of, and what PyTorch says then.
_NOT_OF_APPLE = {
    torch.float64: "Cannot convert a MPS Tensor to float64 dtype as the MPS framework doesn't "
    "support float64. Please use float32 instead.",
    **{
        dtype: f"Trying to convert {name} to the MPS backend but it does not have support for that "
        "dtype."
        for dtype, name in (
            (torch.complex128, "ComplexDouble"), (torch.uint16, "UInt16"), (torch.uint32, "UInt32"),
            (torch.uint64, "UInt64"),
        )
    },
}  # fmt: skip
# Sums by index, which Metal's atomic operations do not support for int64; kernels missing in
# PyTorch there.
_ATOMIC = {
    aten.index_put.default, aten.index_put_.default, aten._index_put_impl_.default,
    aten.index_add.default, aten.index_add_.default, aten.scatter_add.default,
    aten.scatter_add_.default, aten.scatter_reduce.two, aten.scatter_reduce_.two,
}  # fmt: skip
_ACCUMULATING = {aten.index_put.default, aten.index_put_.default, aten._index_put_impl_.default}
_NOT_IMPLEMENTED_BY_APPLE = ("linalg_", "_linalg_", "cholesky", "segment_reduce", "_cdist_backward")
# What waits for the device, which a captured graph must not.
_WAITS = {
    aten._local_scalar_dense.default, aten.nonzero.default, aten.masked_select.default,
    aten._unique2.default, aten.unique_consecutive.default, aten.unique_dim.default,
}  # fmt: skip


class _Capturing(threading.local):
    """The graphs that a thread captures: others compute meanwhile."""

    def __init__(self) -> None:
        self.graphs: list[SimulatedGraph] = []


_capturing = _Capturing()


def _histc(values: torch.Tensor, bins: int, least: int, most: int) -> torch.Tensor:
    """Count whole numbers from 0 to bins - 1, each in a bin of its own, as a GPU does."""
    assert (least, most) == (0, bins) and not values.is_floating_point()
    return torch.bincount(values, minlength=bins).to(values.dtype)


# What CUDA has kernels for and a CPU has not.
_KERNELS = {aten.histc.default: _histc}


class CudaTensor(torch.Tensor):
    """A tensor on a simulated device; `held` has its numbers.

    To torch it is on the meta device, the only one of an accelerator that each build of it has.
    """

    held: torch.Tensor
    place: torch.device
    device = property(lambda self: self.place)
    is_cuda = property(lambda self: self.place.type == "cuda")
    is_mps = property(lambda self: self.place.type == "mps")

    @staticmethod
    def __new__(cls, held: torch.Tensor, device: torch.device) -> CudaTensor:
        _require_type(held.dtype, device)
        with torch.inference_mode(False):  # its views may be used anywhere
            made = torch.Tensor._make_wrapper_subclass(
                cls, held.shape, strides=held.stride(), storage_offset=held.storage_offset(),
                dtype=held.dtype, device="meta",
            )  # fmt: skip
        made.held, made.place = held, device
        return made

    __torch_function__ = torch._C._disabled_torch_function_impl

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        with torch._C.DisableTorchFunction():
            if _is_composite(func.name()):  # of others, which inference mode leaves to this
                return func.decompose(*args, **(kwargs or {}))
            return _computed(func, args, kwargs or {})

    def numpy(self, *, force: bool = False) -> Any:
        if force:
            return self.held.numpy(force=True)
        raise TypeError(f"can't convert {self.device} device type tensor to numpy")

    def __array__(self, dtype: Any = None) -> Any:
        return self.numpy()

    def tolist(self) -> Any:
        return _fetched(self).tolist()

    def data_ptr(self) -> int:
        raise AssertionError("memory of a GPU is handed to a loop on the host")

    def untyped_storage(self) -> Any:
        return self.held.untyped_storage()

    def __repr__(self, **_: Any) -> str:
        return f"CudaTensor({self.held}, {self.device})"


@cache
def _is_composite(name: str) -> bool:
    return bool(torch._C._dispatch_has_kernel_for_dispatch_key(name, "CompositeImplicitAutograd"))


def _computed(func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """Return the result of the device's kernel, or raise its error."""
    tensors = _tensors((args, kwargs))
    there = [tensor for tensor in tensors if isinstance(tensor, CudaTensor)]
    _check(func, tensors, there, args)
    wrapped = {id(tensor.held): tensor for tensor in there}
    wanted = kwargs.get("device")
    device = there[0].place if wanted in (None, torch.device("meta")) else torch.device(wanted)
    if wanted is not None:
        kwargs = {**kwargs, "device": "cpu"}
    held = [tensor.held.shape for tensor in there]
    inner_args, inner_kwargs = tree_map(_inner, (args, kwargs))
    for graph in _capturing.graphs:
        graph.note(func, (inner_args, inner_kwargs))
    result = _KERNELS.get(func, func)(*inner_args, **inner_kwargs)
    if held != [tensor.held.shape for tensor in there]:
        raise NotImplementedError(f"the simulated device does not resize in place: {func}")

    def outer(value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        if id(value) in wrapped:
            return wrapped[id(value)]
        return value if device.type == "cpu" else CudaTensor(value, device)

    if func is aten.copy_.default and not isinstance(args[0], CudaTensor):
        return args[0]
    given = tree_map(outer, result)
    for graph in _capturing.graphs:
        graph.record(func, (inner_args, inner_kwargs), result)
    return given


def _tensors(tree: Any) -> list[torch.Tensor]:
    return [leaf for leaf in tree_leaves(tree) if isinstance(leaf, torch.Tensor)]


def _inner(value: Any) -> Any:
    return value.held if isinstance(value, CudaTensor) else value


def _require_type(dtype: torch.dtype, device: torch.device) -> None:
    if device.type == "mps" and dtype in _NOT_OF_APPLE:
        raise TypeError(_NOT_OF_APPLE[dtype])


def _check_of_apple(func: Any, args: Any, name: str, tensors: list[torch.Tensor]) -> None:
    """Raise what Apple's GPUs raise beyond what CUDA does."""
    if name.startswith(_NOT_IMPLEMENTED_BY_APPLE):
        raise NotImplementedError(
            f"The operator '{func.name()}' is not currently implemented for the MPS device."
        )
    adds = func in _ATOMIC and (func not in _ACCUMULATING or (len(args) > 3 and args[3]))
    if adds and tensors[0].dtype is torch.int64:
        raise RuntimeError(f"{name} with int64 is not supported by MPS: no atomic addition")


def _check(func: Any, tensors: list[torch.Tensor], there: list[CudaTensor], args: Any) -> None:
    """Raise what a GPU raises for operands that its kernel does not take."""
    name = func._schema.name.partition("::")
    if there and there[0].is_mps:
        _check_of_apple(func, args, name[2], tensors)
    if name[0] in _OF_HOST or name[2] in _MISSING:
        raise NotImplementedError(f"Could not run '{func}' with arguments from the 'CUDA' backend.")
    whole = not (there[0].is_floating_point() or there[0].is_complex()) if there else False
    if func in _OF_FLOATS and whole:
        raise RuntimeError(f'"{name[2]}_cuda" not implemented for {there[0].dtype}')
    larger = [tensor for tensor in tensors if tensor.dim() or func in _ACROSS]
    if _capturing.graphs and (func in _WAITS or not all(isinstance(t, CudaTensor) for t in larger)):
        raise RuntimeError("operation not permitted when stream is capturing")
    if func in _ACROSS:
        return
    devices = {tensor.place for tensor in there}
    hosts = [tensor for tensor in tensors if not isinstance(tensor, CudaTensor)]
    if func in _PUTS:
        value = tensors[-1]
        hosts = [tensor for tensor in hosts if tensor is value and value.dim() > 0]
    elif torch.Tag.pointwise in func.tags or func in (aten.fill_.Tensor, aten.masked_fill.Tensor):
        hosts = [tensor for tensor in hosts if tensor.dim() > 0]
        written = [a for a, s in zip(tensors, func._schema.arguments, strict=False)
                   if s.alias_info is not None and s.alias_info.is_write]  # fmt: skip
        hosts += [tensor for tensor in written if not isinstance(tensor, CudaTensor)]
    if hosts or len(devices) > 1:
        found = sorted({str(tensor.device) for tensor in (*hosts, *there)})
        raise RuntimeError(
            f"Expected all tensors to be on the same device, but found at least two devices, "
            f"{' and '.join(found)}! ({func})"
        )


def _cuda(device: Any) -> torch.device | None:
    """Return a device, if it is one of those that are simulated."""
    if isinstance(device, (str, torch.device)) and str(device).startswith(("cuda", "mps")):
        found = torch.device(device)
        return torch.device(found.type, found.index or 0)
    return None


def _fetched(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.held.clone() if isinstance(tensor, CudaTensor) else tensor


class _Placing(TorchFunctionMode):
    """Function mode that creates tensors on the simulated device."""

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = dict(kwargs or {})
        kwargs.pop("non_blocking", None)
        kwargs.pop("pin_memory", None)
        if func is torch.Tensor.to or func is torch.Tensor.cuda:
            places = [place for place in map(_place, (*args[1:], *kwargs.values())) if place]
            if func is torch.Tensor.cuda:
                places = places or [torch.device("cuda", 0)]
            if places:
                return _brought(args, kwargs, places[0])
            return func(*args, **kwargs)
        device = _cuda(kwargs.get("device"))
        if device is None:
            return func(*_with_numbers(func, args), **kwargs)
        kwargs["device"] = "cpu"
        made = func(*args, **kwargs)
        for graph in _capturing.graphs:  # zeros are written at each replay
            graph.record(func, (args, kwargs), made)
        return CudaTensor(made, device) if type(made) is torch.Tensor else made


def _with_numbers(func: Any, args: Any) -> Any:
    """Return arguments with tensors instead of numbers that torch would copy to the meta device."""
    if func not in (torch.where, torch.Tensor.where, torch.Tensor.__setitem__):
        return args
    there = next((a for a in args if isinstance(a, CudaTensor)), None)
    if there is None:
        return args
    if func is torch.Tensor.__setitem__:
        value = args[2]
        if not isinstance(value, (bool, int, float, complex)):
            return args
        return *args[:2], CudaTensor(torch.tensor(value, dtype=there.dtype), there.place)
    numbers = [a for a in args if isinstance(a, (bool, int, float, complex))]
    tensors = [a for a in args[1:] if isinstance(a, torch.Tensor)]
    dtype = torch.result_type(tensors[0], numbers[0]) if tensors and numbers else None
    return tuple(
        torch.tensor(a, dtype=dtype) if isinstance(a, (bool, int, float, complex)) else a
        for a in args
    )


def _place(argument: Any) -> torch.device | None:
    return argument.device if isinstance(argument, CudaTensor) else _cuda(argument)


def _brought(args: Any, kwargs: Any, device: torch.device) -> torch.Tensor:
    """Call `tensor.to(device, ...)`."""
    tensor = args[0]
    dtypes = [a for a in (*args[1:], *kwargs.values()) if isinstance(a, torch.dtype)]
    others = [a for a in args[1:] if isinstance(a, torch.Tensor)]
    dtype = (dtypes or [other.dtype for other in others] or [tensor.dtype])[0]
    if tensor.device == device and tensor.dtype == dtype:
        return tensor
    if _capturing.graphs and not isinstance(tensor, CudaTensor):
        raise RuntimeError("operation not permitted when stream is capturing")
    if isinstance(tensor, CudaTensor):
        return tensor.to(dtype) if tensor.device == device else CudaTensor(
            tensor.held.to(dtype).clone(), device)  # fmt: skip
    return CudaTensor(tensor.detach().to(dtype).clone(), device)


class SimulatedGraph:
    """`torch.cuda.CUDAGraph`: the kernels of a captured function, run again on the same memory."""

    def __init__(self) -> None:
        self._calls: list[tuple[Any, Any, Any]] = []
        self._before: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}

    def note(self, func: Any, given: Any) -> None:
        """Remembers what a kernel is about to change: nothing is computed while it is captured."""
        if any(a.alias_info is not None and a.alias_info.is_write for a in func._schema.arguments):
            for tensor in _tensors(given):
                self._before.setdefault(tensor.data_ptr(), (tensor, tensor.clone()))

    def end(self) -> None:
        for tensor, before in self._before.values():
            tensor.copy_(before)

    def record(self, func: Any, given: Any, result: Any) -> None:
        self._calls.append((func, given, result))

    def replay(self) -> None:
        for func, (args, kwargs), result in self._calls:
            again = _KERNELS.get(func, func)(*args, **kwargs)
            for old, new in zip(_tensors(result), _tensors(again), strict=True):
                if old.data_ptr() != new.data_ptr():
                    old.copy_(new)


class SimulatedEvent:
    """`torch.cuda.Event`, as part of a graph."""

    def __init__(self, enable_timing: bool, external: bool) -> None:
        assert enable_timing and external
        self._time = 0

    def record(self) -> None:
        for graph in _capturing.graphs:
            graph.record(self._note, ((), {}), None)

    def _note(self) -> None:
        self._time = time.perf_counter_ns()

    def synchronize(self) -> None:
        assert self._time

    def elapsed_time(self, other: SimulatedEvent) -> float:
        return (other._time - self._time) / 1e6


@contextlib.contextmanager
def _captured(graph: SimulatedGraph, **_: Any) -> Iterator[None]:
    _capturing.graphs.append(graph)
    try:
        yield
    finally:
        _capturing.graphs.pop().end()


def _answers_of_cuda(count: int) -> dict[str, Any]:
    return {
        "is_available": lambda: True,
        "is_initialized": lambda: True,
        "device_count": lambda: count,
        "synchronize": lambda device=None: None,
        "get_device_properties": lambda device: SimpleNamespace(
            name="simulated", major=9, minor=0, total_memory=1 << 30
        ),
        "current_stream": lambda device=None: SimpleNamespace(
            synchronize=lambda: None, cuda_stream=0
        ),
        "set_per_process_memory_fraction": lambda fraction, device=None: None,
        "memory_allocated": lambda device=None: 0,
        "memory_reserved": lambda device=None: 0,
        "mem_get_info": lambda device=None: (1 << 30, 1 << 30),
        "max_memory_allocated": lambda device=None: 0,
        "CUDAGraph": SimulatedGraph,
        "Event": SimulatedEvent,
        "is_current_stream_capturing": lambda: bool(_capturing.graphs),
        "graph": _captured,
        "graph_pool_handle": lambda: (0, 1),
        "device": contextlib.nullcontext,
    }


def _answers_of_apple() -> dict[str, Any]:
    return {
        "synchronize": lambda: None,
        "recommended_max_memory": lambda: 1 << 30,
        "current_allocated_memory": lambda: 0,
        "driver_allocated_memory": lambda: 0,
        "set_per_process_memory_fraction": lambda fraction: None,
    }


def simulated_cuda(count: int = 1) -> contextlib.AbstractContextManager[None]:
    """Simulate CUDA devices, "cuda:0" to count - 1, within the context."""
    return _simulated(torch.cuda, _answers_of_cuda(count), pretend_gpus(count, "cuda:{}"))


def simulated_mps() -> contextlib.AbstractContextManager[None]:
    """Simulate Apple's GPU, "mps:0", with its limits, within the context."""
    return _simulated(torch.mps, _answers_of_apple(), pretend_gpus(1, "mps:{}"))


@contextlib.contextmanager
def _simulated(module: Any, answers: dict[str, Any], gpus: Any) -> Iterator[None]:
    run: Any = threading.Thread._bootstrap_inner  # type: ignore[attr-defined]

    def run_there(self: threading.Thread) -> None:
        with _Placing():
            run(self)

    with contextlib.ExitStack() as stack:
        for name, answer in answers.items():
            stack.enter_context(mock.patch.object(module, name, answer))
        stack.enter_context(mock.patch.object(threading.Thread, "_bootstrap_inner", run_there))
        stack.enter_context(gpus)
        stack.enter_context(_Placing())
        forget_eager_context()
        stack.callback(forget_eager_context)
        yield


def forget_eager_context() -> None:
    """Make eager execution look for devices again."""
    immediate = sys.modules.get("stillflow.eager.immediate")
    if immediate is not None:
        immediate.forget_context()
