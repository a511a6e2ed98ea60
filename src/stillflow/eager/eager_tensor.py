"""Tensors that know their values, as those of operations that ran when they were called."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

from stillflow.eager.from_values import NOT_GIVEN, held_and_type
from stillflow.graph import dtypes
from stillflow.graph.arrays import Array
from stillflow.graph.dtypes import DType
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import TensorShape, shape_from_dims
from stillflow.ops.value_arrays import to_array
from stillflow.runtime.devices.devices import gpus

_numbers = itertools.count()
_Numbers = torch.Tensor
_ONE_BOOL = dtypes.bool._type_enum, ()
HANDLES = (dtypes.resource, dtypes.variant)


class _KindOfHandle:
    """Kind of a tensor that holds a handle, whose resource may be known later."""

    def __get__(self, tensor: Any, owner: Any) -> tuple[Any, ...]:
        kind = tensor.dtype._type_enum, tensor._handle_dims, tensor._handle_dtype
        return (*kind, True) if getattr(tensor._held, "reshaped", False) else kind


def _meaningless(what: str) -> Any:
    def refuse(self: Any) -> Any:
        raise AttributeError(f"Tensor.{what} is meaningless when eager execution is enabled.")

    return property(refuse)


class EagerTensor(Tensor):
    """A tensor with a value.

    Args:
      held: the run-time value: a torch tensor, an array of bytes, or a handle; with a device, any
        value that can become a tensor.
      dtype: the type of its elements; with a device, its number in `types.proto` or None.
      device: the name of a device, where a program makes tensors by this class.
    """

    holds_value = True
    # A kernel's key, hashable: the type, and the shape or the resource of a handle.
    _kind: Any = _KindOfHandle()
    __hash__ = object.__hash__  # by identity, without a call of Python's

    op = _meaningless("op")
    graph = _meaningless("graph")
    name = _meaningless("name")
    value_index = _meaningless("value_index")
    _op, _value_index = op, value_index
    home = None

    def __init__(self, held: Any, dtype: Any = None, device: Any = NOT_GIVEN) -> None:
        if dtype.__class__ is not DType or device is not NOT_GIVEN:
            held, dtype = held_and_type(held, device, dtype)
        self._held = held
        self.dtype = dtype
        self._id = next(_numbers)
        if type(held) is _Numbers or dtype not in HANDLES or isinstance(held, np.ndarray):
            self._kind = dtype._type_enum, tuple(held.shape)

    @property
    def _dims(self) -> tuple[int, ...]:  # type: ignore[override]
        kind = self._kind
        return kind[1] if len(kind) == 2 else ()

    @property
    def shape(self) -> TensorShape:
        """The shape, all of it known."""
        return shape_from_dims(self._dims)

    def set_shape(self, shape: Any) -> None:
        """Check a shape that the caller knows.

        Raises:
          ValueError: if the tensor has another one.
        """
        if not self.shape.is_compatible_with(shape):
            raise ValueError(f"Tensor's shape {self.shape} is not compatible with supplied shape "
                             f"{shape}")  # fmt: skip

    def consumers(self) -> Any:
        """Refused: nothing is waiting for the value.

        Raises:
          NotImplementedError: always.
        """
        raise NotImplementedError(
            "Tensor.consumers is meaningless when eager execution is enabled."
        )

    # ---- the value

    def _array(self) -> Array | None:
        """Return the value as an array that may share the tensor's memory; None for handles."""
        return None if self.dtype in HANDLES else to_array(self._held)

    def _content(self) -> bytes | tuple[bytes, ...]:
        """Return the value as something hashable, which is kept: for values that choose kernels."""
        found = self.__dict__.get("_bytes")
        if found is None:
            array = to_array(self._held)
            is_text = array.dtype.hasobject
            found = self._bytes = tuple(array.ravel().tolist()) if is_text else array.tobytes()
        return found

    def _numpy(self) -> Array:
        array = self._array()
        if array is None:
            raise ValueError(
                f"Cannot convert a Tensor of dtype {self.dtype.name} to a NumPy array."
            )
        return array[()]

    def numpy(self) -> Any:
        """Return a copy of the value, an array or a scalar of numpy."""
        value = self._numpy()
        return value.copy() if type(value) is np.ndarray else value

    def __array__(self, dtype: Any = None, copy: Any = None) -> Array:
        del copy
        array = self._array()
        return array.copy() if dtype is None else array.astype(dtype)  # type: ignore[union-attr]

    def __bool__(self) -> bool:
        if self._kind == _ONE_BOOL and type(self._held) is _Numbers:
            return self._held.item()
        return bool(self._numpy())

    __nonzero__ = __bool__

    def __int__(self) -> int:
        return int(self._numpy())

    def __float__(self) -> float:
        return float(self._numpy())

    def __complex__(self) -> complex:
        return complex(self._numpy())

    def __index__(self) -> int:
        value = self._numpy()
        if value.dtype == bool:  # NumPy's truth values are no numbers any more
            return int(value)
        return int(value.__index__())

    def __round__(self, digits: int = 0) -> float | int:
        return round(float(self), digits) if digits else round(float(self))

    def __len__(self) -> int:
        dims = self._dims
        if not dims:
            raise TypeError("Scalar tensor has no `len()`")
        return int(dims[0])

    def __iter__(self) -> Iterator[Tensor]:
        if not self._dims:
            raise TypeError("Cannot iterate over a scalar tensor.")
        return (self[i] for i in range(len(self)))

    def __format__(self, spec: str) -> str:
        array = self._array()
        if array is None:  # a variant or resource
            return format(str(self), spec)
        return format(np.asarray(array) if self._dims else array.item(), spec)

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Array, str]]:
        return _unpickled, (self.numpy(), self.dtype.name)

    def __copy__(self) -> EagerTensor:
        return self

    def __deepcopy__(self, memo: Any) -> EagerTensor:
        held = self._held
        clone = held.clone() if hasattr(held, "clone") else copy.deepcopy(held, memo)
        return EagerTensor(clone, self.dtype)

    # ---- text forms

    def _text(self, show: Any) -> str:
        if self.dtype in HANDLES:
            return "<unprintable>"
        with np.printoptions(legacy="1.25"):
            text: str = show(self._numpy())
        return f"\n{text}" if "\n" in text else text

    def __str__(self) -> str:
        return f"tf.Tensor({self._text(str)}, shape={self.shape}, dtype={self.dtype.name})"

    def __repr__(self) -> str:
        return (
            f"<tf.Tensor: id={self._id}, shape={self.shape}, dtype={self.dtype.name}, "
            f"numpy={self._text(repr)}>"
        )

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self._dims)

    @property
    def device(self) -> str:
        """The name of the device that holds the value."""
        kind = getattr(getattr(self._held, "device", None), "type", "cpu")
        index = getattr(getattr(self._held, "device", None), "index", None) or 0
        return f"/job:localhost/replica:0/task:0/device:{_KINDS.get(kind, 'GPU')}:{index}"

    backing_device = device

    def cpu(self) -> EagerTensor:
        """Return the same value in the memory of the host."""
        held = self._held
        return EagerTensor(held.cpu() if hasattr(held, "cpu") else held, self.dtype)

    def gpu(self, gpu_index: int = 0) -> EagerTensor:
        """Return the same value in the memory of a GPU.

        Raises:
          RuntimeError: if there is none.
        """
        there = gpus()
        if gpu_index >= len(there):
            raise RuntimeError(
                f"Error copying tensor to device: /job:localhost/replica:0/task:0/device:GPU:"
                f"{gpu_index}. /job:localhost/replica:0/task:0/device:GPU:{gpu_index} unknown "
                "device."
            )
        return EagerTensor(self._held.to(there[gpu_index].torch_name), self.dtype)

    def eval(self, feed_dict: Any = None, session: Any = None) -> Any:
        """Refused: there is no session.

        Raises:
          NotImplementedError: always.
        """
        raise NotImplementedError(
            "eval is not supported when eager execution is enabled, is .numpy() what you're "
            "looking for?"
        )


_KINDS = {"cpu": "CPU"}


def _unpickled(value: Any, dtype: str) -> Tensor:
    from stillflow.graph.conversion import convert_to_tensor

    return convert_to_tensor(value, dtype=dtypes.as_dtype(dtype))
