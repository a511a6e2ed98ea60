"""Functions on lists of tensors, as programs call them in `tensorflow.python.ops.list_ops`."""

from __future__ import annotations

from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import Dimension, TensorShape
from stillflow.ops.tensor_list.cards import cards


def element_shape_input(shape: Any) -> Any:
    """Return a shape as the ops take it: -1 for unknown sizes."""
    if isinstance(shape, Tensor):
        return shape
    if isinstance(shape, TensorShape):
        shape = shape.as_list() if shape else None
    if shape is None:
        return -1
    if not shape:
        return convert_to_tensor(shape, dtype=dtypes.int32)
    sizes = [size.value if isinstance(size, Dimension) else size for size in shape]
    return [-1 if size is None else size for size in sizes]


def empty_tensor_list(
    element_shape: Any, element_dtype: Any, max_num_elements: Any = None, name: str | None = None
) -> Tensor:
    """Return a list without elements, of at most `max_num_elements` if that is not None."""
    made: Tensor = cards["EmptyTensorList"](
        element_shape_input(element_shape),
        -1 if max_num_elements is None else max_num_elements,
        element_dtype=element_dtype,
        name=name,
    )
    return made


def tensor_list_reserve(
    element_shape: Any, num_elements: Any, element_dtype: Any, name: str | None = None
) -> Tensor:
    """Return a list of `num_elements` elements that are not set."""
    made: Tensor = cards["TensorListReserve"](
        element_shape_input(element_shape), num_elements, element_dtype=element_dtype, name=name
    )
    return made


def tensor_list_from_tensor(tensor: Any, element_shape: Any, name: str | None = None) -> Tensor:
    """Return a list of the rows of a tensor."""
    made: Tensor = cards["TensorListFromTensor"](
        tensor, element_shape_input(element_shape), name=name
    )
    return made


def tensor_list_get_item(
    input_handle: Any,
    index: Any,
    element_dtype: Any,
    element_shape: Any = None,
    name: str | None = None,
) -> Tensor:
    """Return the element at `index`, an int32 scalar; zeros if it was never set."""
    made: Tensor = cards["TensorListGetItem"](
        input_handle,
        index,
        element_shape_input(element_shape),
        element_dtype=element_dtype,
        name=name,
    )
    return made


def tensor_list_pop_back(input_handle: Any, element_dtype: Any, name: str | None = None) -> Any:
    """Return the list without its last element, and that element."""
    return cards["TensorListPopBack"](input_handle, -1, element_dtype=element_dtype, name=name)


def tensor_list_gather(
    input_handle: Any,
    indices: Any,
    element_dtype: Any,
    element_shape: Any = None,
    name: str | None = None,
) -> Tensor:
    """Return the elements at `indices` (an int32 vector), along a new first dimension."""
    made: Tensor = cards["TensorListGather"](
        input_handle,
        indices,
        element_shape_input(element_shape),
        element_dtype=element_dtype,
        name=name,
    )
    return made


def tensor_list_scatter(
    tensor: Any,
    indices: Any,
    element_shape: Any = None,
    input_handle: Any = None,
    name: str | None = None,
) -> Tensor:
    """Return a list with a tensor's rows at `indices`: a new one, or a changed `input_handle`."""
    made: Tensor
    if input_handle is not None:
        made = cards["TensorListScatterIntoExistingList"](input_handle, tensor, indices, name=name)
    else:
        element = element_shape_input(element_shape)
        made = cards["TensorListScatterV2"](tensor, indices, element, -1, name=name)
    return made


def tensor_list_stack(
    input_handle: Any,
    element_dtype: Any,
    num_elements: int = -1,
    element_shape: Any = None,
    name: str | None = None,
) -> Tensor:
    """All elements along a new first dimension; `num_elements` is how many there have to be."""
    made: Tensor = cards["TensorListStack"](
        input_handle,
        element_shape_input(element_shape),
        element_dtype=element_dtype,
        num_elements=num_elements,
        name=name,
    )
    return made


def tensor_list_concat(
    input_handle: Any, element_dtype: Any, element_shape: Any = None, name: str | None = None
) -> Tensor:
    """All elements, one after the other along their first dimension."""
    made: Tensor = cards["TensorListConcatV2"](
        input_handle,
        element_shape_input(element_shape),
        convert_to_tensor([], dtype=dtypes.int64),
        element_dtype=element_dtype,
        name=name,
    )[0]
    return made


def tensor_list_split(
    tensor: Any, element_shape: Any, lengths: Any, name: str | None = None
) -> Tensor:
    """Return a list of parts of a tensor, cut along the first dimension.

    `lengths` is an int64 vector.
    """
    made: Tensor = cards["TensorListSplit"](
        tensor, element_shape_input(element_shape), lengths, name=name
    )
    return made


def tensor_list_set_item(
    input_handle: Any,
    index: Any,
    item: Any,
    resize_if_index_out_of_bounds: bool = False,
    name: str | None = None,
) -> Tensor:
    """Return the list with `item` at `index`, made longer first on request."""
    if resize_if_index_out_of_bounds:
        from stillflow.ops.control_flow.cond import cond

        short, size = input_handle, cards["TensorListLength"](input_handle)
        input_handle = cond(
            index >= size,
            lambda: cards["TensorListResize"](short, index + 1),
            lambda: short,
        )
    made: Tensor = cards["TensorListSetItem"](input_handle, index, item, name=name)
    return made
