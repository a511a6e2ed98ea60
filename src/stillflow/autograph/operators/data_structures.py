"""Lists: of Python, as `TensorArray`, and as a list of tensors in the graph."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from stillflow.graph import dtypes
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.dtypes import DType
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_like import is_tensor
from stillflow.ops.arrays.shape import shape
from stillflow.ops.constants import constant
from stillflow.ops.control_flow.cond import cond
from stillflow.ops.control_flow.flows import is_tensor_array
from stillflow.ops.tensor_list import public as lists
from stillflow.ops.tensor_list.cards import cards as list_cards

if TYPE_CHECKING:
    from stillflow.ops.tensor_array.tensor_array import TensorArray


ListPopOpts = namedtuple("ListPopOpts", ("element_dtype", "element_shape"))
ListStackOpts = namedtuple("ListStackOpts", ("element_dtype", "original_call"))


def new_list(iterable: Iterable[Any] | None = None) -> Tensor | list[Tensor | int]:
    """`[...]`: a list of tensors in the graph if it is empty, else a list of Python."""
    elements = list(iterable or ())
    return elements or tf_tensor_list_new(elements)


def _common(elements: tuple[Any, ...]) -> tuple[set[Any], set[Any]]:
    return {e.dtype for e in elements}, {tuple(e.shape.as_list()) for e in elements}


def tf_tensor_array_new(
    elements: Any, element_dtype: Any = None, element_shape: Any = None
) -> TensorArray:
    """Return a TensorArray of elements of one type and shape."""
    from stillflow.ops.tensor_array.tensor_array import TensorArray

    elements = tuple(convert_to_tensor(element) for element in elements)
    types, shapes = _common(elements)
    dtype = _only(types, "dtype", element_dtype, elements)
    shape = _only(shapes, "shape", element_shape, elements)
    if dtype is None:
        raise ValueError("dtype is required to create an empty TensorArray")
    array = TensorArray(
        dtype=dtype,
        size=len(elements),
        dynamic_size=True,
        infer_shape=shape is None,
        element_shape=shape,
    )
    for index, element in enumerate(elements):
        array = array.write(index, element)
    return array


def _only(found: set[Any], what: str, asked: Any, elements: Any) -> DType | tuple[()] | None:
    if len(found) > 1:
        raise ValueError(f"TensorArray requires all elements to have the same {what}: {elements}")
    inferred = next(iter(found), None)
    if found and asked is not None and asked != inferred:
        raise ValueError(
            f"incompatible {what}; specified: {asked}, inferred from {elements}: {inferred}"
        )
    return inferred if asked is None else asked


def tf_tensor_list_new(
    elements: Any, element_dtype: Any = None, element_shape: Any = None
) -> Tensor:
    """Return a list in the graph of a tensor's rows, or of several tensors, perhaps different.

    ValueError if the elements are not of the type or shape, if given.
    """
    if is_tensor(elements):
        if element_shape is not None:
            raise ValueError("element shape may not be specified when creating list from tensor")
        return lists.tensor_list_from_tensor(elements, element_shape=shape(elements)[1:])
    elements = tuple(convert_to_tensor(element) for element in elements)
    types, shapes = _common(elements)
    if element_dtype is not None and types - {element_dtype}:
        if len(types) > 1:
            raise ValueError(
                f"specified dtype {element_dtype} is inconsistent with that of elements {elements}"
            )
        _only(types, "dtype", element_dtype, elements)
    if element_shape is not None and shapes - {element_shape}:
        if len(shapes) > 1:
            raise ValueError(
                f"specified shape {element_shape} is inconsistent with that of elements {elements}"
            )
        _only(shapes, "shape", element_shape, elements)
    return _filled_list(elements, types, shapes, element_dtype, element_shape)


def _filled_list(
    elements: tuple[Any, ...], types: set[Any], shapes: set[Any], dtype: Any, element_shape: Any
) -> Tensor:
    inferred = shape(elements[0]) if len(shapes) == 1 else constant(-1)  # -1: any
    if dtype is None:
        dtype = next(iter(types)) if len(types) == 1 else dtypes.variant
    known = inferred if element_shape is None else element_shape
    known = convert_to_tensor(known, dtype=dtypes.int32)
    made = lists.empty_tensor_list(element_shape=known, element_dtype=dtype)
    for element in elements:
        made = _push(made, element)
    return made


def _push(list_: Any, x: Any) -> Tensor:
    return list_cards["TensorListPushBack"](list_, convert_to_tensor(x))


def _check_list(list_: Any) -> None:
    if list_.dtype != dtypes.variant:
        raise ValueError(
            f"tensor lists are expected to be Tensors with dtype=tf.variant, instead found {list_}"
        )


def list_append(list_: Any, x: Any) -> Any:
    """`list_.append(x)`; gives the list, which is a new one in a graph.

    ValueError for a tensor that is no list.
    """
    if is_tensor_array(list_):
        return list_.write(list_.size(), x)
    if not is_tensor(list_):
        list_.append(x)
        return list_
    _check_list(list_)

    def like_x() -> Tensor:
        tensor = convert_to_tensor(x)
        return lists.empty_tensor_list(element_shape=shape(tensor), element_dtype=tensor.dtype)

    length = list_cards["TensorListLength"](list_)
    return _push(cond(length > 0, lambda: list_, like_x), x)


def list_pop(list_: Any, i: Any, opts: Any) -> tuple[Any, Any]:
    """`list_.pop(i)`: the list without the element, and the element.

    In the graph, `i` is not supported; the elements' type and shape must be known.
    """
    if is_tensor_array(list_):
        raise ValueError("TensorArray does not support item removal")
    if not is_tensor(list_):
        return list_, list_.pop() if i is None else list_.pop(i)
    _check_list(list_)
    if i is not None:
        raise NotImplementedError("tensor lists only support removing from the end")
    for what, known in (("type", opts.element_dtype), ("shape", opts.element_shape)):
        if known is None:
            raise ValueError(
                f"cannot pop from a list without knowing its element {what}; use set_element_type "
                "to annotate it"
            )
    rest, x = lists.tensor_list_pop_back(list_, element_dtype=opts.element_dtype)
    x.set_shape(opts.element_shape)
    return rest, x


def list_stack(list_: Any, opts: Any) -> Any:
    """`stack(list_)`: one tensor of all elements, whose type must be known."""
    if is_tensor_array(list_):
        return list_.stack()
    if not is_tensor(list_):
        return opts.original_call(list_)
    if list_.dtype != dtypes.variant:
        return list_
    if opts.element_dtype is None:
        raise ValueError(
            "cannot stack a list without knowing its element type; use set_element_type to "
            "annotate it"
        )
    return lists.tensor_list_stack(list_, element_dtype=opts.element_dtype)
