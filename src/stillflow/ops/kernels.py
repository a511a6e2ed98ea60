"""Helpers for kernels that move elements without looking at them."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from stillflow.graph import dtypes
from stillflow.graph.arrays import Array
from stillflow.graph.dtypes import DType
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.ops import native_calls

# NumPy's own function, where the launcher wraps it for programs: shapes are made in every step.
_plain_array: Any = inspect.unwrap(np.array)
# torch moves these only as the signed integers of the same width.
_SIGNED = {
    dtypes.uint16: "int16", dtypes.uint32: "int32", dtypes.uint64: "int64",
}  # fmt: skip


def torch_type(dtype: DType) -> torch.dtype:
    """Return the torch dtype of a type's values."""
    return getattr(torch, dtype.base_dtype.torch_name or "none")


def type_of(value: Any) -> DType:
    """Return the type of a run-time value: a torch tensor, or an array of strings."""
    if isinstance(value, np.ndarray):
        return dtypes.as_dtype(value.dtype)
    return dtypes.as_dtype(str(value.dtype).removeprefix("torch."))


def is_object(node: Node, index: int = 0) -> bool:
    """Return True if an input's values are numpy object arrays: strings."""
    return node.dtype(index) == dtypes.string


def is_handle(dtype: DType) -> bool:
    """Return True if values are Python objects rather than arrays: resources and variants."""
    return dtype in (dtypes.resource, dtypes.variant)


def either(node: Node, for_numbers: Any, for_strings: Any, index: int = 0) -> Any:
    """Return the function for torch tensors or that for object arrays, by an input's type."""
    if is_handle(node.dtype(index)):
        return lambda *args: _single(for_strings(*args))
    return for_strings if is_object(node, index) else for_numbers


def _single(handles: Any) -> Any:
    """Return the handle of an array without dimensions; other arrays as they are."""
    return handles[()] if isinstance(handles, np.ndarray) and not handles.ndim else handles


def zeros(shape: tuple[int, ...], dtype: DType, device: Any = None) -> torch.Tensor | Array:
    """Return a run-time value of zeros, or of empty strings."""
    if dtype == dtypes.string:
        return np.full(shape, b"", object)
    return torch.zeros(shape, dtype=torch_type(dtype), device=device)


def zeros_of(value: Any) -> torch.Tensor:
    """Zeros in the shape of a run-time value; of lists and optionals, zeros of their parts."""
    if isinstance(value, torch.Tensor):
        return torch.zeros_like(value)
    if isinstance(value, np.ndarray):
        return np.full(value.shape, b"", object)
    return value.zeros_like()


def copied(value: Any) -> torch.Tensor | Array:
    """Return a run-time value in memory of its own."""
    return value.copy() if isinstance(value, np.ndarray) else value.clone()


def has_one_owner(tensor: torch.Tensor) -> bool:
    """Return True if one tensor of Python's has its memory alone; False if torch does not tell."""
    count_owners = getattr(torch._C, "_storage_Use_Count", None)
    # Two: the tensor, and the storage that is asked for here.
    return count_owners is not None and count_owners(tensor.untyped_storage()._cdata) <= 2


# Values of such sizes in bytes are kept, so many together.
LARGE, _KEPT = 1 << 20, 1 << 28


class Memory:
    """Memory of large results, which is used again once nobody has it; threads may share it.

    New pages of 100 MB take as long as the sum of two ranks.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: list[torch.Tensor] = []  # used last at the end

    def empty(self, count: int, like: torch.Tensor) -> torch.Tensor:
        """Return a vector of unknown values, of the dtype and device of `like`."""
        if like.device.type != "cpu" or count * like.itemsize < LARGE:
            return like.new_empty(count)
        with self._lock:
            for at, kept in enumerate(self._kept):
                if len(kept) == count and kept.dtype == like.dtype and has_one_owner(kept):
                    self._kept.append(self._kept.pop(at))
                    return kept.view(-1)
            made = like.new_empty(count)
            if has_one_owner(made):  # else torch does not tell when it is free
                self._kept.append(made)
            while sum(each.nbytes for each in self._kept) > _KEPT:
                del self._kept[0]
            return made.view(-1)


def moving(dtype: DType, function: Callable[..., Any], count: int = 1) -> Callable[..., Any]:
    """Make a torch function that only moves elements work for all types.

    The first `count` arguments, and the result or results, are of the type `dtype`.
    """
    signed = _SIGNED.get(dtype.base_dtype)
    if signed is None:
        return function
    inner, outer = getattr(torch, signed), torch_type(dtype)

    def moved(*args: Any, **kwargs: Any) -> torch.Tensor:
        seen = [arg.view(inner) for arg in args[:count]]
        result = function(*seen, *args[count:], **kwargs)
        if isinstance(result, (tuple, list)):
            return tuple(part.view(outer) for part in result)
        return result.view(outer)

    return moved


def as_signed(x: Any) -> torch.Tensor:
    """Return a torch tensor of unsigned integers as signed ones of the same bits.

    Others unchanged.
    """
    if x.dtype in (torch.uint16, torch.uint32, torch.uint64):
        return x.view((None, torch.int16, torch.int32, None, torch.int64)[x.element_size() // 2])
    return x


def flip(x: Any, axes: Any) -> torch.Tensor:
    """`torch.flip` for all types."""
    signed = as_signed(x)
    return signed.flip(axes) if signed is x else signed.flip(axes).view(x.dtype)


def ints(value: Any) -> list[int]:
    """Return a run-time integer vector (or scalar) as a list."""
    items = value.tolist()
    return items if isinstance(items, list) else [items]


def index_tensor(values: Any, dtype: DType) -> torch.Tensor:
    """Integers as a torch tensor; such small vectors live on the CPU, as TF's host memory."""
    if native_calls.compiling():
        return torch.tensor(values, dtype=torch_type(dtype))
    return torch.from_numpy(int_array(values, dtype))  # in a third of the time


def index_maker(dtype: DType) -> Callable[[Any], torch.Tensor]:
    """Return `index_tensor` of one type, for kernels that a step runs dozens of times."""
    kind, compiling, from_numpy = (
        dtype.as_numpy_dtype,
        torch.compiler.is_compiling,
        torch.from_numpy,
    )

    def make(values: Any) -> torch.Tensor:
        return (
            index_tensor(values, dtype) if compiling() else from_numpy(_plain_array(values, kind))
        )

    return make


def int_array(values: Any, dtype: DType) -> np.ndarray:
    """Integers as a numpy array of an index type."""
    return _plain_array(values, dtype.as_numpy_dtype)


def order_only() -> None:
    """Return the kernel of operations that only order others."""
