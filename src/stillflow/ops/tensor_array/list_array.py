"""TensorArrays that are TensorLists, where branches and loops are functions."""

from __future__ import annotations

from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.api import name_scope
from stillflow.graph.constant_value import constant_value
from stillflow.graph.operation import Operation, Tensor
from stillflow.graph.tensor_shape import as_shape
from stillflow.ops.control_flow.identity_and_group import no_op
from stillflow.ops.math.cast import cast
from stillflow.ops.tensor_array.tensor_array import TensorArray
from stillflow.ops.tensor_list import public as lists
from stillflow.ops.tensor_list.cards import cards as list_cards


class ListTensorArray(TensorArray):
    """A TensorArray whose flow is a TensorList; it has no handle."""

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
        """Make an array, or wrap a TensorList; see `TensorArray` for the arguments.

        TypeError if `flow` is no list, ValueError for arguments that contradict each other.
        """
        assert handle is None
        del clear_after_read, tensor_array_name, colocate_with_first_write_call
        _check_arguments(flow, size, element_shape)
        self._handle = None
        self._dynamic_size = dynamic_size
        self._dtype = dtypes.as_dtype(dtype).base_dtype
        self._element_shape = [as_shape(element_shape)]
        self._infer_shape = infer_shape
        self._colocate_with = None
        self._colocate_with_first_write_call = False
        with name_scope(name, "TensorArrayV2", [size, flow]) as scope:
            if flow is None:
                flow = lists.tensor_list_reserve(element_shape, size, dtype, name=scope)
            self._flow = flow

    def grad(self, source: str, flow: Any = None, name: str | None = None) -> TensorArray:
        """Not supported: gradients of lists are lists."""
        raise NotImplementedError()

    def read(self, index: Any, name: str | None = None) -> Tensor:
        """Return the element at `index`, an int32 scalar."""
        with name_scope(name, "TensorArrayV2Read", [self._flow, index]):
            return lists.tensor_list_get_item(
                self._flow, index, self._dtype, self.element_shape, name=name
            )

    def write(self, index: Any, value: Any, name: str | None = None) -> TensorArray:
        """Return the array with `value` at `index`.

        Raises:
          ValueError: if the shape of `value` does not fit.
        """
        with name_scope(name, "TensorArrayV2Write", [self._flow, index, value]):
            value = self._value(value)
            self._check_element_shape(value.shape)
            flow = lists.tensor_list_set_item(
                self._flow, index, value, bool(self._dynamic_size), name=name
            )
            return self._with_flow(flow)

    def stack(self, name: str | None = None) -> Tensor:
        """All elements, stacked along a new first dimension."""
        with name_scope(name, "TensorArrayV2Stack", [self._flow]):
            return lists.tensor_list_stack(
                self._flow, self._dtype, element_shape=self.element_shape
            )

    def gather(self, indices: Any, name: str | None = None) -> Tensor:
        """Return the elements at `indices` (an int32 vector), stacked along a new first axis."""
        return lists.tensor_list_gather(
            self._flow, indices, self._dtype, self.element_shape, name=name
        )

    def concat(self, name: str | None = None) -> Tensor:
        """All elements, one after the other along their first dimension."""
        known = self.element_shape
        element = [None, *known.dims[1:]] if known else None
        return lists.tensor_list_concat(self._flow, self._dtype, element, name=name)

    def unstack(self, value: Any, name: str | None = None) -> TensorArray:
        """Return the array with the rows of `value` as its elements."""
        with name_scope(name, "TensorArrayUnstack", [self._flow, value]):
            value = self._value(value)
            self._check_element_shape(value.shape[1:])
            return self._with_flow(lists.tensor_list_from_tensor(value, value.shape[1:]))

    def scatter(self, indices: Any, value: Any, name: str | None = None) -> TensorArray:
        """Return the array with the rows of `value` at `indices` (an int32 vector).

        Raises:
          ValueError: if the shape of the rows does not fit.
        """
        with name_scope(name, "TensorArrayScatter", [self._flow, value, indices]):
            value = self._value(value)
            self._check_element_shape(value.shape[1:])
            flow = lists.tensor_list_scatter(
                value, indices, self.element_shape, input_handle=self._flow
            )
            return self._with_flow(flow)

    def split(self, value: Any, lengths: Any, name: str | None = None) -> TensorArray:
        """Return the array with parts of `value` as its elements, cut along the first dimension.

        Raises:
          ValueError: if the shape of the parts does not fit.
        """
        with name_scope(name, "TensorArraySplit", [self._flow, value, lengths]):
            value = self._value(value)
            lengths = cast(lengths, dtypes.int64)
            self._check_parts(value, constant_value(lengths))
            flow = lists.tensor_list_split(value, self.element_shape, lengths, name=name)
            return self._with_flow(flow)

    def size(self, name: str | None = None) -> Tensor:
        """Return the number of elements, an int32 scalar."""
        size: Tensor = list_cards["TensorListLength"](self._flow, name=name)
        return size

    def close(self, name: str | None = None) -> Operation:
        """Return an operation that does nothing: lists need not be given up."""
        return no_op(name=name)


def _check_arguments(flow: Any, size: Any, element_shape: Any) -> None:
    if flow is None:
        if size is None:
            raise ValueError("Size must be provided if flow is not provided")
        return
    if not isinstance(flow, Tensor) or flow.dtype != dtypes.variant:
        raise TypeError("flow must be a variant tensor")
    if size is not None:
        raise ValueError("Cannot provide both a flow and size at the same time")
    if element_shape is not None:
        raise ValueError("Cannot provide both a flow and element_shape at the same time")
