"""TensorArrays during a run: lists of tensors, each written once.

Elements are kept without copies. A gradient array sums the values written to one place, and reads
as zeros where nothing was written.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from math import prod
from typing import Any

from stillflow import errors
from stillflow.graph import dims as shapes
from stillflow.graph import dtypes
from stillflow.graph.dims import Dims, shape_text
from stillflow.graph.dtypes import DType
from stillflow.graph.lazy import torch
from stillflow.ops.kernels import zeros

# States of an element.
ABSENT, WRITTEN, READ, CLEARED = range(4)

_counter = itertools.count()
_MESSAGE_NAMES = {"float16": "half", "float32": "float", "float64": "double"}


refuse = errors.invalid_argument


def type_name(dtype: DType) -> str:
    """Return a type as the messages of kernels name it."""
    return _MESSAGE_NAMES.get(dtype.name, dtype.name)


class ArrayStore:
    """The elements of one TensorArray.

    Args:
      name: shown in messages.
      dtype: the type of the elements.
      size: how many there are.
      element_dims: the static shape of the elements.
      dynamic_size: whether writing beyond the end makes the array longer.
      clear_after_read: whether an element is given up when it is read.
      identical: whether all elements have the same shape.
    """

    __slots__ = (
        "cleared_after_read", "closed", "dtype", "dynamic", "element", "exact", "grads",
        "identical", "is_grad", "marked_size", "name", "no_grads", "own", "shapes", "states",
        "values", "whole",
    )  # fmt: skip

    def __init__(
        self,
        name: str,
        dtype: DType,
        size: int,
        element_dims: Dims,
        dynamic_size: bool = False,
        clear_after_read: bool = True,
        identical: bool = False,
    ) -> None:
        if size < 0:
            raise refuse("Size should be >= 0.")
        self.name = name
        self.dtype = dtype
        self.dynamic = dynamic_size
        self.cleared_after_read = clear_after_read
        self.identical = identical
        self.values: list[Any] = [None] * size
        self.whole: torch.Tensor | None = None  # its rows are the elements while `values` are None
        self.shapes: list[Any] = [()] * size
        self.states = bytearray(size)
        self.closed = False
        self.is_grad = False
        self.no_grads = False
        self.marked_size = -1
        self.own: set[int] = set()  # elements whose memory is this array's alone
        self.grads: dict[bytes, ArrayStore] = {}
        self.set_element(element_dims)

    @classmethod
    def numbered(cls, name: str, *args: Any) -> ArrayStore:
        """Return an array under a name that no other has."""
        return cls(f"{name}_{next(_counter)}", *args)

    # Old graphs have references to arrays; the value of one is the array itself.
    value = property(lambda self: self)

    def set_element(self, element_dims: Dims) -> None:
        self.element = element_dims
        self.exact = element_dims if shapes.is_known(element_dims) else None

    def check(self, dtype: DType, task: str = "requested dtype") -> None:
        """Raise an error for an element type other than the array's."""
        if dtype is not self.dtype and dtype != self.dtype:
            raise refuse(
                f"TensorArray dtype is {type_name(self.dtype)} but Op {task} {type_name(dtype)}."
            )

    def check_open(self) -> None:
        if self.closed:
            raise refuse(f"TensorArray {self.name} has already been closed.")

    def size(self) -> int:
        self.check_open()
        return len(self.values)

    def whole_size(self) -> int:
        """Return the number of elements for packing or concatenating the array."""
        self.check_open()
        return self.marked_size if self.is_grad else len(self.values)

    def close(self) -> None:
        """Release all elements."""
        self.values, self.states, self.shapes = self.values[:0], bytearray(), []
        self.whole = None
        self.closed = True

    # ---- writing

    def write(self, index: int, value: Any) -> None:
        """Put a value into place `index`.

        Raises:
          InvalidArgumentError: if there is no such place, it is taken, or the shape does not fit.
        """
        states = self.states
        if 0 <= index < len(states) and not states[index] and value.shape == self.exact:
            self.values[index] = value
            self.shapes[index] = self.exact
            states[index] = WRITTEN
            return
        self._part()
        if self.is_grad and self._write_first(index, value):
            return
        self.check_open()
        if index < 0 or (not self.dynamic and index >= len(states)):
            raise refuse(
                f"TensorArray {self.name}: Tried to write to index {index} but array is not "
                f"resizeable and size is: {len(states)}"
            )
        if index >= len(states):
            self._grow(index + 1)
        shape = tuple(value.shape)
        self._check_shape(index, shape)
        state = self.states[index]
        if state >= READ or (state and not self.is_grad):
            reason = "read" if state >= READ else "written to"
            raise self._cannot_write(index, f"it has already been {reason}.")
        if state:
            self._add(index, value, shape)
            return
        self.values[index] = value
        self.shapes[index] = shape
        self.states[index] = WRITTEN

    def _write_first(self, index: int, value: Any) -> bool:
        """Put the first gradient in its place, which the element's shape was kept for."""
        fits = 0 <= index < len(self.states) and self.states[index] == WRITTEN
        if fits and self.values[index] is None and value.shape == self.shapes[index]:
            if self.exact is not None and self.exact != value.shape:
                return False
            self.values[index] = value
            return True
        return False

    def _cannot_write(self, index: int, reason: str) -> errors.InvalidArgumentError:
        return refuse(
            f"TensorArray {self.name}: Could not write to TensorArray index {index} because "
            f"{reason}"
        )

    def _grow(self, size: int) -> None:
        more = size - len(self.values)
        self.values += [None] * more
        self.shapes += [()] * more
        self.states += bytes(more)

    def _check_shape(self, index: int, shape: tuple[int, ...]) -> None:
        if not shapes.is_compatible(self.element, shape):
            raise self._cannot_write(
                index,
                f"the value shape is {shape_text(shape)} which is incompatible with the "
                f"TensorArray's inferred element shape: {shape_text(self.element)} (consider "
                "setting infer_shape=False).",
            )
        if self.identical and self.exact is None:
            self.set_element(shape)

    def _add(self, index: int, value: Any, shape: tuple[int, ...]) -> None:
        """Add a value to its place in a gradient array."""
        if shape != self.shapes[index]:
            raise refuse(
                f"TensorArray {self.name}: Could not aggregate to TensorArray index {index} "
                f"because the existing shape is {shape_text(self.shapes[index])} but the new "
                f"input shape is {shape_text(shape)}."
            )
        before = self.values[index]
        if before is None or not prod(shape):
            self.values[index] = value
            return
        if index in self.own:
            before.add_(value)
        else:  # the first value is shared with its producer
            self.values[index] = before + value
            self.own.add(index)
        self.no_grads = True

    def write_many(self, indices: Sequence[int], values: Any) -> None:
        """Put values, or the rows of a tensor, into places."""
        if not isinstance(values, torch.Tensor) or not self._write_whole(indices, values):
            for index, value in zip(indices, values, strict=True):
                self.write(index, value)

    def _write_whole(self, indices: Sequence[int], rows: torch.Tensor) -> bool:
        """Keep a tensor as the whole array, if that is all there is to do."""
        shape, count = tuple(rows.shape[1:]), len(self.values)
        fresh = bytes([WRITTEN if self.is_grad else ABSENT]) * count
        fits = count == len(rows) > 0 and self._are_all(indices) and self.states == fresh
        fits = fits and self.whole is None and all(each is None for each in self.values)
        fits = fits and self.shapes == [shape if self.is_grad else ()] * count
        if fits and self.exact is None and self.identical:
            self._check_shape(0, shape)
        if not fits or self.exact != (None if self.is_grad and self.exact is None else shape):
            return False
        self.whole, self.shapes, self.states = rows, [shape] * count, bytearray([WRITTEN]) * count
        return True

    def _are_all(self, indices: Sequence[int]) -> bool:
        return list(indices) == list(range(len(self.values)))

    def _part(self) -> None:
        """Make elements of the tensor that is the whole array."""
        if self.whole is not None:
            self.values, self.whole = list(self.whole.unbind()), None

    # ---- reading

    def read(self, index: int) -> Any:
        """Return the value at place `index`; zeros where a gradient was never written.

        Raises:
          InvalidArgumentError: if there is no such element, or it was cleared.
        """
        values = self.values
        if 0 <= index < len(values):
            value = values[index]
            if value is not None and self.cleared_after_read:
                values[index] = None
                self.states[index] = CLEARED
                return value
            if value is not None:
                return self._read(index, value)
        return self._read_absent(index)

    def read_many(self, indices: Sequence[int]) -> Any:
        """Return the values at some places: a list, or a tensor whose rows they are."""
        whole = self.whole
        if whole is None or not self._are_all(indices):
            return [self.read(index) for index in indices]
        cleared = self.cleared_after_read
        self.whole = None if cleared else whole
        self.states = bytearray([CLEARED if cleared else READ]) * len(self.values)
        return whole

    def peek(self, indices: Sequence[int], dtype: DType) -> Any:
        """Return the same without reading them; None where reading could raise an error."""
        if self.whole is not None and self.dtype == dtype and self._are_all(indices):
            return self.whole
        self._part()
        twice = self.cleared_after_read and len(set(indices)) != len(indices)
        if self.closed or self.dtype != dtype or twice:
            return None
        values, size = self.values, len(self.values)
        found = [values[index] if 0 <= index < size else None for index in indices]
        return None if any(value is None for value in found) else found

    def _read(self, index: int, value: Any) -> Any:
        if self.cleared_after_read:
            self.values[index] = None
            self.states[index] = CLEARED
        else:
            self.states[index] = READ
        self.own.discard(index)  # who reads it may keep it
        return value

    def _read_absent(self, index: int) -> torch.Tensor:
        self.check_open()
        if self.whole is not None:
            self._part()
            return self.read(index)
        size = len(self.values)
        if index < 0 or (not self.is_grad and index >= size):
            raise refuse(f"Tried to read from index {index} but array size is: {size}")
        if index >= size or not self.states[index]:
            shape = self._shape_of_absent(index)
            if index >= size:
                self._grow(index + 1)
            for place in range(min(size, index), index + 1):
                if not self.states[place] and (place >= size or place == index):
                    self.shapes[place] = shape
                    self.states[place] = WRITTEN
        if self.states[index] == CLEARED:
            raise refuse(
                f"TensorArray {self.name}: Could not read index {index} twice because it was "
                "cleared after a previous read (perhaps try setting clear_after_read = false?)."
            )
        value = self.values[index]
        if value is None and self.dtype == dtypes.string:
            raise refuse("tensor_array::TensorSetZero type not supported: string")
        if value is None:
            value = zeros(self.shapes[index], self.dtype)
            self.values[index] = value
        return self._read(index, value)

    def _shape_of_absent(self, index: int) -> tuple[int, ...]:
        if self.is_grad and index < len(self.shapes) and self.shapes[index]:
            shape: tuple[int, ...] = self.shapes[index]
            return shape
        if self.exact is None:
            raise refuse(
                f"TensorArray {self.name}: Could not read from TensorArray index {index}.  "
                "Furthermore, the element shape is not fully defined: "
                f"{shape_text(self.element)}.  It is possible you are working with a resizeable "
                "TensorArray and stop_gradients is not allowing the gradients to be written.  "
                "If you set the full element_shape property on the forward TensorArray, the "
                "proper all-zeros tensor will be returned instead of incurring this error."
            )
        return self.exact

    # ---- gradients

    def gradient(self, source: bytes, lead: tuple[int, ...] | None = None) -> ArrayStore:
        """Return the array of gradients for one call of `tf.gradients`, made at first use.

        Args:
          source: names that call.
          lead: dimensions that gradients have before those of the elements.
        """
        self.dynamic = False  # writing more would need more gradients
        self.check_open()
        if self.no_grads:
            raise refuse(
                f"Unable to create a gradients TensorArray for {self.name}.  Perhaps you used "
                "the multiple_writes_aggregate flag on a previous write?  Gradient calculation "
                "is impossible when multiple writes are performed to the same index."
            )
        found = self.grads.get(source)
        if found is None:
            found = self.grads[source] = self._new_gradient(source, lead or ())
        return found

    def _new_gradient(self, source: bytes, lead: tuple[int, ...]) -> ArrayStore:
        element = None if self.element is None else (*lead, *self.element)
        name = f"{self.name}@{source.decode()}"
        grad = ArrayStore(name, self.dtype, len(self.values), element, identical=self.identical)
        grad.is_grad = True
        grad.marked_size = self.marked_size
        for index, state in enumerate(self.states):
            if state:
                grad.shapes[index] = (*lead, *self.shapes[index])
                grad.states[index] = WRITTEN
        return grad
