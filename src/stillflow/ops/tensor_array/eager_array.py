"""`tf.TensorArray` where operations run when they are called: a list of tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow import errors
from stillflow.graph import dtypes
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import as_shape
from stillflow.ops.arrays.concat import concat, stack
from stillflow.ops.arrays.fill import zeros
from stillflow.ops.arrays.splitting import split, unstack
from stillflow.ops.constants import constant
from stillflow.ops.tensor_array.tensor_array import TensorArray, refuse_in_functions


class EagerTensorArray(TensorArray):
    """A list of tensors, which writing changes; tapes see the tensors read from it."""

    def __init__(
        self,
        dtype: Any,
        size: Any = None,
        dynamic_size: bool | None = None,
        clear_after_read: bool | None = None,
        tensor_array_name: str | None = None,
        handle: Any = None,
        flow: Any = None,
        infer_shape: bool = True,
        element_shape: Any = None,
        colocate_with_first_write_call: bool = True,
        name: str | None = None,
    ) -> None:
        del tensor_array_name, flow, name
        if handle is not None:
            raise ValueError(
                "TensorArray handles are not supported when eager execution is enabled."
            )
        if size is None:
            raise ValueError(
                "Size must be declared for TensorArrays when eager execution is enabled."
            )
        self._handle = None
        self._flow = constant(0, dtype=dtypes.int32)
        self._dtype = dtypes.as_dtype(dtype).base_dtype
        self._dynamic_size = dynamic_size or False
        self._infer_shape = infer_shape
        self._element_shape = [as_shape(element_shape)]
        self._colocate_with_first_write_call = colocate_with_first_write_call
        self._clears = clear_after_read is None or clear_after_read
        self._read: set[int] = set()
        self._tensors: list[Any] = [None] * int(size)

    def identity(self) -> TensorArray:
        """Return the same array."""
        return self._with_flow(self._flow)

    def _with_flow(self, flow: Any) -> TensorArray:
        refuse_in_functions()
        return self

    def grad(self, source: str, flow: Any = None, name: str | None = None) -> TensorArray:
        """Raise an error: tapes do not need it.

        Raises:
          NotImplementedError: always.
        """
        raise NotImplementedError(
            "TensorArray.grad is not supported when executing eagerly; eager's gradient "
            "implementation does not use/need this function to compute gradients of operations "
            "that use TensorArrays."
        )

    def _element(self, index: int) -> Tensor:
        """Return an element, zeros where nothing was written."""
        if self._tensors[index] is None:
            self._tensors[index] = zeros(self.element_shape, dtype=self._dtype)
        return self._tensors[index]

    def read(self, index: Any, name: str | None = None) -> Tensor:
        """Return the element at `index`.

        Raises:
          OutOfRangeError: if there is none.
          InvalidArgumentError: if it was given up when it was read before.
        """
        index, size = int(index), len(self._tensors)
        if index < 0:
            message = f"Reading from negative indices (index {index}) is not allowed."
            raise errors.out_of_range(message)
        if index >= size:
            message = f"Tried to read from index {index} but array size is: {size}"
            raise errors.out_of_range(message)
        if self._tensors[index] is None and index in self._read:
            raise errors.invalid_argument(
                f"Could not read index {index} twice because it was cleared after a previous read "
                "(perhaps try setting clear_after_read = false?)"
            )
        value: Tensor = self._element(index)
        if self._clears:
            self._tensors[index] = None
            self._read.add(index)
        return value

    def write(self, index: Any, value: Any, name: str | None = None) -> TensorArray:
        """Return the array with `value` at `index`.

        Raises:
          OutOfRangeError: if there is no such place.
          InvalidArgumentError, ValueError: if the value is of another type or shape.
        """
        index, size = int(index), len(self._tensors)
        if index < 0:
            message = f"Writing to negative indices (index {index}) is not allowed."
            raise errors.out_of_range(message)
        if index >= size and not self._dynamic_size:
            raise errors.out_of_range(
                f"Tried to write to index {index} but array is not resizeable and size is: {size}"
            )
        value = convert_to_tensor(value, preferred_dtype=self._dtype, name="value")
        if value.dtype != self._dtype:
            raise errors.invalid_argument(
                f"TensorArray dtype is {self._dtype.name} but Op is trying to write dtype "
                f"{value.dtype.name}"
            )
        if not self.element_shape.is_compatible_with(value.shape):
            raise ValueError(
                f"Incompatible shape for value ({value.shape}), expected ({self.element_shape})"
            )
        if self._infer_shape:
            self._element_shape[0] = self.element_shape.merge_with(value.shape)
        self._tensors += [None] * (index + 1 - size)
        self._tensors[index] = value
        return self

    def stack(self, name: str | None = None) -> Tensor:
        """All elements, stacked along a new first dimension."""
        if not self._tensors:
            return convert_to_tensor([], dtype=self._dtype)
        return self.gather(range(len(self._tensors)))

    def gather(self, indices: Any, name: str | None = None) -> Tensor:
        """Return the elements at `indices`, stacked along a new first dimension."""
        made: Tensor = stack([self._element(int(index)) for index in np.asarray(indices)])
        return made

    def concat(self, name: str | None = None) -> Tensor:
        """All elements, one after the other along their first dimension.

        Raises:
          InvalidArgumentError: if one is a scalar.
        """
        tensors = [self._element(index) for index in range(len(self._tensors))]
        for index, tensor in enumerate(tensors):
            if not tensor.shape.ndims:
                raise errors.invalid_argument(
                    f"Concat saw a scalar shape at index {index} but requires at least vectors."
                )
        made: Tensor = concat(tensors, 0, name=name or "concat")
        return made

    def unstack(self, value: Any, name: str | None = None) -> TensorArray:
        """Return the array with the rows of `value` as its elements.

        Raises:
          ValueError: if they are too many.
        """
        tensors = unstack(value)
        if len(tensors) > len(self._tensors) and not self._dynamic_size:
            raise ValueError(
                f"Cannot unstack {len(tensors)} tensors into a TensorArray of static size "
                f"{len(self._tensors)}"
            )
        self._tensors = tensors
        return self

    def scatter(self, indices: Any, value: Any, name: str | None = None) -> TensorArray:
        """Return the array with the rows of `value` at `indices`."""
        for index, row in zip(np.asarray(indices), unstack(value), strict=False):
            self.write(index, row)
        return self

    def split(self, value: Any, lengths: Any, name: str | None = None) -> TensorArray:
        """Return the array with parts of `value` as its elements, cut along the first dimension.

        Raises:
          InvalidArgumentError: if the lengths do not fit the value or the array.
        """
        value = convert_to_tensor(value, preferred_dtype=self._dtype, name="value")
        lengths = convert_to_tensor(lengths)
        dims = value.shape.as_list()
        total, count = int(np.sum(lengths.numpy())), len(self._tensors)
        message = None
        if lengths.shape.ndims != 1:
            shown = lengths.shape.as_list()
            message = f"Expected lengths to be a vector, received shape: {shown}"
        elif not dims:
            message = f"Expected value to be at least a vector, but received shape: {dims}"
        elif total != dims[0]:
            message = (
                "Expected sum of lengths to be equal to values.shape[0], but sum of lengths is "
                f"{total} and value's shape is: {dims} "
            )
        elif not self._dynamic_size and lengths.shape[0] != count:
            message = (
                "TensorArray's size is not equal to the size of lengths "
                f"({count} vs. {lengths.shape[0]}), and the TensorArray is not marked as "
                "dynamically resizeable"
            )
        if message is not None:
            raise errors.invalid_argument(message)
        self._tensors = split(value, lengths)
        return self

    def size(self, name: str | None = None) -> Tensor:
        """Return the number of elements."""
        return constant(len(self._tensors))

    def close(self, name: str | None = None) -> Any:
        """Release all elements."""
        self._tensors.clear()
