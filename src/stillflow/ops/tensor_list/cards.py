"""Cards of the ops on TensorLists: kernels and shapes; `gradients.py` has their gradients.

A list travels as a variant. During graph construction its handle has the type of its elements and
their static shape.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from stillflow.graph import dims, dtypes
from stillflow.graph.card import Card, op
from stillflow.graph.dims import Dims, shape_text
from stillflow.graph.dtypes import DType, cpp_name
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.ops.kernels import zeros
from stillflow.ops.tensor_array.store import refuse
from stillflow.ops.tensor_list import joined
from stillflow.ops.tensor_list.values import TensorList

# Cards by op type.
cards: dict[str, Card] = {}

Shape = Callable[[Node], Any]
Kernel = Callable[[Node], Callable[..., Any]]


# ---- shapes

_PUSHING = (
    "Trying to push to list with wrong element dtype. List has type {list} but trying to push "
    "element with type {op}"
)
_POPPING = _PUSHING.replace("push to", "read from", 1)
_JOINING = (
    "Trying to read from list with wrong element dtype. List has type {list} but expected type {op}"
)
_TAKING = "Expected list with element dtype {op} but got list with element dtype {list}"


def _element(node: Node, refusal: str) -> Dims:
    """Return the static shape of a list's elements; ValueError `refusal` if of another type."""
    handle = node.inputs[0]
    known, wanted = handle._handle_dtype, node.op.attrs["element_dtype"]
    if known is None or node.planning:
        return None
    if known != wanted:
        raise ValueError(refusal.format(list=cpp_name(known), op=cpp_name(wanted)))
    return handle._handle_dims


def _is_list(node: Node, element: Dims) -> tuple[Any, ...]:
    """Record the type of a list's elements; return the shape of the handle."""
    handle = node.outputs[0]
    handle._handle_dtype, handle._handle_dims = node.op.attrs["element_dtype"], element
    return ()


def _given_element(node: Node, index: int) -> Dims:
    """Return the element shape that an input says; a scalar says nothing."""
    return None if node.dims(index) == () else node.shape_value(index)


def _made(index: int) -> Shape:
    """Return a shape rule of ops that make a list; input `index` is the shape of its elements."""
    return lambda node: _is_list(node, _given_element(node, index))


def _pushed_shape(node: Node) -> Any:
    return _is_list(node, _element(node, _PUSHING))


def _pushed_batch_shape(node: Node) -> Any:
    handles = dims.with_rank(node.dims(0), 1)
    rows = dims.with_rank_at_least(node.dims(1), 1)
    _is_list(node, _element(node, _PUSHING))
    return dims.merge_prefix(rows, handles)[1]


def _popped_shape(node: Node) -> list[tuple[int | None, ...] | None]:
    element = _element(node, _POPPING)
    if node.inputs[0]._handle_dtype is not None:
        _is_list(node, element)
    return [(), element]


def _merged_element(node: Node, refusal: str, index: int) -> Dims:
    """Merge the element shapes of handle and input; kernels raise errors for contradictions."""
    known, given = _element(node, refusal), _given_element(node, index)
    if node.planning and not dims.is_compatible(known, given):
        return None
    return dims.merge(known, given)


def _stacked_shape(node: Node) -> tuple[int | None, ...] | None:
    element = _merged_element(node, _JOINING, 1)
    count = None if node.num_elements == -1 else node.num_elements
    return None if element is None else (count, *element)


def _concat_shape(node: Node) -> list[tuple[int | None, ...] | None]:
    if len(node.inputs) == 1:
        element = dims.merge(node.op.attrs["element_shape"]._dims, _element(node, _JOINING))
    else:
        element = _merged_element(node, _JOINING, 1)
    return [None if element is None else (None, *element[1:]), (None,)]


def _split_shape(node: Node) -> Any:
    if node.planning:
        return ()
    dims.with_rank_at_least(node.dims(0), 1)
    dims.with_rank(node.dims(2), 1)
    element = _given_element(node, 1)
    value = node.dims(0)
    if value is not None:
        dims.merge((None, *value[1:]), element)
    return _is_list(node, element)


def _from_tensor_shape(node: Node) -> Any:
    if node.planning:
        return ()
    element, value = _given_element(node, 1), dims.with_rank_at_least(node.dims(0), 1)
    if value is not None:
        dims.merge(value[1:], element)
    return _is_list(node, element)


def _element_shape_shape(node: Node) -> tuple[int | None, ...]:
    handle = node.inputs[0]
    return (None if handle._handle_dtype is None else dims.rank(handle._handle_dims),)


def _item_shape(node: Node) -> tuple[int | None, ...] | None:
    return _merged_element(node, _TAKING, 2)


def _resized_shape(node: Node) -> Any:
    dims.with_rank(node.dims(1), 0)
    return ()  # the handle is passed on as it is


def _replaced_shape(node: Node) -> Any:
    known = node.inputs[0]
    if known._handle_dtype is None:
        return _is_list(node, None)
    if not node.planning:
        dims.merge(node.dims(2), known._handle_dims)
    return ()


def _gathered_shape(node: Node) -> Any:
    return dims.concat(node.dims(1), _item_shape(node))


def _scattered_into_shape(node: Node) -> Any:
    if node.planning:
        return ()
    dims.with_rank_at_least(node.dims(1), 1)
    dims.with_rank(node.dims(2), 1)
    return _is_list(node, _element(node, _TAKING))


def _lists_joined_shape(node: Node) -> tuple[int | None, ...] | None:
    shape = dims.merge(node.dims(0), node.dims(1))
    wanted, known = node.op.attrs["element_dtype"], None
    for index, side in enumerate("ab"):
        handle = node.inputs[index]
        if handle._handle_dtype is None:
            continue
        if handle._handle_dtype != wanted:
            raise ValueError(
                f"input_{side}.type != element_dtype: {cpp_name(handle._handle_dtype)} vs. "
                f"{cpp_name(wanted)}"
            )
        known = dims.merge(known, handle._handle_dims)
    _is_list(node, known)
    return shape


# ---- kernels


def _dims_of(shape: Any) -> Dims:
    """Return the shape in a tensor of sizes: -1 for an unknown size, or for an unknown shape.

    InvalidArgumentError for another scalar.
    """
    if shape.ndim == 0:
        if int(shape) != -1:
            raise refuse(
                "The only valid scalar shape tensor is the fully unknown shape specified as -1."
            )
        return None
    return dims.from_values(shape.tolist())


def _check(value: Any, dtype: DType) -> TensorList:
    """Return the list that a variant is; InvalidArgumentError for no list, or other elements."""
    if not isinstance(value, TensorList):
        raise refuse(f"Input handle is not a list. Saw: '{type(value).__name__}'")
    if value.dtype != dtype:
        raise refuse(
            f"Invalid data types; op elements {cpp_name(dtype)} but list elements "
            f"{cpp_name(value.dtype)}"
        )
    return value


def _merged(values: TensorList, shape: Any) -> Dims:
    """Return the shape of elements by the op's input and by the list."""
    return joined.merged(_dims_of(shape), values.element)


def _empty_kernel(node: Node) -> Callable[..., Any]:
    dtype = node.element_dtype

    def empty(shape: Any, limit: Any) -> TensorList:
        if limit.ndim:
            found = shape_text(tuple(limit.shape))
            raise refuse(f"max_num_elements expected to be a scalar but got shape: {found}")
        return TensorList(dtype, _dims_of(shape), [], int(limit))

    return empty


def _reserve_kernel(node: Node) -> Callable[..., Any]:
    dtype = node.element_dtype

    def reserve(shape: Any, count: Any) -> TensorList:
        size = int(count)
        if size < 0:
            raise refuse(
                f"The num_elements to reserve must be a non negative number, but got {size}"
            )
        return TensorList(dtype, _dims_of(shape), [None] * size)

    return reserve


def _push(values: TensorList, value: Any, which: str = "list") -> TensorList:
    shape = tuple(value.shape)
    if values.element != shape and not dims.is_compatible(values.element, shape):
        raise refuse(
            f"Tried to append a tensor with incompatible shape to a {which}. Op element shape: "
            f"{shape_text(shape)} list shape: {shape_text(values.element)}"
        )
    if 0 <= values.limit <= len(values.items):
        raise refuse(
            f"Tried to push item into a full list list size: {len(values.items)} "
            f"max_num_elements: {values.limit}"
        )
    return values.pushed(value)


def _push_kernel(node: Node) -> Callable[..., Any]:
    dtype = node.element_dtype
    return lambda values, value: _push(_check(values, dtype), value)


def _push_batch_kernel(node: Node) -> Callable[..., Any]:
    dtype = node.element_dtype

    def push(handles: Any, rows: Any) -> Any:
        parts = joined.rows(rows, dtype)
        if len(handles) != len(parts):
            raise refuse(
                f"Input list and tensor must have the same batch size: {len(handles)} vs. "
                f"{len(parts)}"
            )
        pairs = enumerate(zip(handles, parts, strict=True))
        return joined.as_objects([
            _push(_check(values, dtype), row, f"list at index {i}") for i, (values, row) in pairs
        ])  # fmt: skip

    return push


def _pop_kernel(node: Node) -> Callable[..., Any]:
    dtype, device = node.element_dtype, node.device

    def pop(values: Any, shape: Any) -> Any:
        if not _check(values, dtype).items:
            raise refuse("Trying to pop from an empty list.")
        rest, value = values.popped()
        if value is None:
            element = _merged(values, shape)
            if not dims.is_known(element):
                raise refuse(
                    "Trying to read an uninitialized tensor but element_shape is not fully "
                    f"defined.{shape_text(element)}"
                )
            value = zeros(element, dtype, device)
        return rest, value

    return pop


def _length_kernel(node: Node) -> Callable[..., Any]:
    return lambda values: torch.tensor(len(values.items), dtype=torch.int32)


def _element_shape_kernel(node: Node) -> Callable[..., Any]:
    dtype = torch.int32 if node.shape_type == dtypes.int32 else torch.int64

    def sizes(values: TensorList) -> Any:
        element = values.element
        known: Any = -1 if element is None else [-1 if d is None else d for d in element]
        return torch.tensor(known, dtype=dtype)

    return sizes


def _place(values: TensorList, index: Any, task: str) -> int:
    place, size = int(index), len(values.items)
    if not 0 <= place < size:
        raise refuse(f"Trying to {task} element {place} in a list with {size} elements.")
    return place


def _get_kernel(node: Node) -> Callable[..., Any]:
    dtype, device = node.element_dtype, node.device

    def get(values: Any, index: Any, shape: Any) -> Any:
        place = _place(_check(values, dtype), index, "access")
        value = values.items[place]
        if value is not None:
            return value
        element = joined.common(_merged(values, shape), values.items)
        if not dims.is_known(element):
            raise refuse(
                "Trying to read an uninitialized tensor but element_shape is not fully defined: "
                f"{shape_text(element)} and no list element is set."
            )
        return zeros(element, dtype, device)

    return get


def _set_kernel(node: Node) -> Callable[..., Any]:
    dtype = node.element_dtype

    def put(values: Any, index: Any, value: Any) -> TensorList:
        place = _place(_check(values, dtype), index, "modify")
        shape = tuple(value.shape)
        if not dims.is_compatible(values.element, shape):
            raise refuse(
                "Tried to set a tensor with incompatible shape at a list index. Item element "
                f"shape: {shape_text(shape)} list shape: {shape_text(values.element)}"
            )
        return values.replaced(place, value)

    return put


def _resize_kernel(node: Node) -> Callable[..., Any]:
    def resize(values: TensorList, size: Any) -> TensorList:
        count = int(size)
        if count < 0:
            raise refuse(f"TensorListSlice expects size to be non-negative. Got: {count}")
        items = values.items[:count]
        return values.like(items + [None] * (count - len(items)))

    return resize


def _stack_kernel(node: Node) -> Callable[..., Any]:
    dtype, device, expected = node.element_dtype, node.device, node.num_elements

    def stack(values: Any, shape: Any) -> torch.Tensor:
        items = _check(values, dtype).items
        if expected not in (-1, len(items)):
            raise refuse(
                f"Operation expected a list with {expected} elements but got a list with "
                f"{len(items)} elements."
            )
        return joined.stack(items, _merged(values, shape), dtype, device)

    return stack


def _gather_kernel(node: Node) -> Callable[..., Any]:
    dtype, device = node.element_dtype, node.device

    def gather(values: Any, indices: Any, shape: Any) -> torch.Tensor:
        items = _check(values, dtype).items
        return joined.gather(items, indices.tolist(), _merged(values, shape), dtype, device)

    return gather


def _concat_kernel(node: Node) -> Callable[..., Any]:
    dtype, device = node.element_dtype, node.device
    stated = None
    if len(node.inputs) == 1:
        stated = node.op.attrs["element_shape"]._dims

    def concat(
        values: Any, shape: Any = None, leading: Any = None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        items = _check(values, dtype).items
        element = stated if shape is None else _merged(values, shape)
        lengths = None if leading is None else leading.tolist()
        return joined.concat(items, element, lengths, dtype, device)

    return concat


def _from_tensor_kernel(node: Node) -> Callable[..., Any]:
    dtype = node.element_dtype

    def make(value: Any, shape: Any) -> TensorList:
        element = _dims_of(shape)
        joined.check_rows(value, element)
        return TensorList(dtype, element, joined.rows(value, dtype))

    return make


def _split_kernel(node: Node) -> Callable[..., Any]:
    dtype = node.element_dtype

    def split(value: Any, shape: Any, lengths: Any) -> TensorList:
        element = _dims_of(shape)
        return TensorList(dtype, element, joined.split(value, element, lengths))

    return split


def _scatter_kernel(node: Node) -> Callable[..., Any]:
    dtype = node.element_dtype

    def scatter(value: Any, indices: Any, shape: Any, count: Any = -1) -> TensorList:
        element = _dims_of(shape)
        items = joined.scattered(value, indices.tolist(), element, int(count), dtype)
        return TensorList(dtype, element, items)

    return scatter


def _scatter_into_kernel(node: Node) -> Callable[..., Any]:
    dtype = node.element_dtype

    def scatter(values: Any, value: Any, indices: Any) -> Any:
        items = list(_check(values, dtype).items)
        joined.scatter_into(items, value, indices, dtype)
        return values.like(items)

    return scatter


def _join_lists_kernel(node: Node) -> Callable[..., Any]:
    dtype = node.element_dtype

    def join(a: Any, b: Any) -> Any:
        if not isinstance(a, TensorList):  # vectors of lists
            return joined.as_objects([join(x, y) for x, y in zip(a, b, strict=True)])
        _check(a, dtype), _check(b, dtype)
        if a.element != b.element:
            raise refuse(
                "input_a and input_b TensorList element shapes are not identical at index 0.  "
                f"Saw {shape_text(a.element)} vs. {shape_text(b.element)}"
            )
        return a.like(a.items + b.items)

    return join


def _scalar(node: Node) -> Any:
    return ()


# Name (after "TensorList", if it does not end so), arguments, results, attributes, shape, kernel,
# whether gradients flow.
_SHAPED = "element_dtype: type\nshape_type: {int32, int64}"
_TYPED = "element_dtype: type"
_TABLE: Sequence[tuple[str, str, str, str, Shape, Kernel, bool]] = (
    ("Reserve", "element_shape: shape_type, num_elements: int32", "handle: variant",
     _SHAPED, _made(0), _reserve_kernel, False),
    ("PushBack", "input_handle: variant, tensor: element_dtype", "output_handle: variant",
     _TYPED, _pushed_shape, _push_kernel, True),
    ("PushBackBatch", "input_handles: variant, tensor: element_dtype", "output_handles: variant",
     _TYPED, _pushed_batch_shape, _push_batch_kernel, False),
    ("PopBack", "input_handle: variant, element_shape: int32",
     "(output_handle: variant, tensor: element_dtype)", _TYPED, _popped_shape, _pop_kernel, True),
    ("Length", "input_handle: variant", "length: int32", "", _scalar, _length_kernel, False),
    ("ElementShape", "input_handle: variant", "element_shape: shape_type",
     "shape_type: {int32, int64}", _element_shape_shape, _element_shape_kernel, False),
    ("Stack", "input_handle: variant, element_shape: int32", "tensor: element_dtype",
     _TYPED + "\nnum_elements: int = -1", _stacked_shape, _stack_kernel, True),
    ("Gather", "input_handle: variant, indices: int32, element_shape: int32",
     "values: element_dtype", _TYPED, _gathered_shape, _gather_kernel, True),
    ("Concat", "input_handle: variant", "(tensor: element_dtype, lengths: int64)",
     _TYPED + "\nelement_shape: shape = ?", _concat_shape, _concat_kernel, True),
    ("ConcatV2", "input_handle: variant, element_shape: shape_type, leading_dims: int64",
     "(tensor: element_dtype, lengths: int64)", _SHAPED, _concat_shape, _concat_kernel, True),
    ("FromTensor", "tensor: element_dtype, element_shape: shape_type", "output_handle: variant",
     _SHAPED, _from_tensor_shape, _from_tensor_kernel, True),
    ("Split", "tensor: element_dtype, element_shape: shape_type, lengths: int64",
     "output_handle: variant", _SHAPED, _split_shape, _split_kernel, True),
    ("Scatter", "tensor: element_dtype, indices: int32, element_shape: shape_type",
     "output_handle: variant", _SHAPED, _made(2), _scatter_kernel, True),
    ("ScatterV2",
     "tensor: element_dtype, indices: int32, element_shape: shape_type, num_elements: int32",
     "output_handle: variant", _SHAPED, _made(2), _scatter_kernel, True),
    ("ScatterIntoExistingList", "input_handle: variant, tensor: element_dtype, indices: int32",
     "output_handle: variant", _TYPED, _scattered_into_shape, _scatter_into_kernel, True),
    ("GetItem", "input_handle: variant, index: int32, element_shape: int32",
     "item: element_dtype", _TYPED, _item_shape, _get_kernel, True),
    ("SetItem", "input_handle: variant, index: int32, item: element_dtype",
     "output_handle: variant", _TYPED, _replaced_shape, _set_kernel, True),
    ("Resize", "input_handle: variant, size: int32", "output_handle: variant",
     "flags: stateful", _resized_shape, _resize_kernel, True),
    ("ConcatLists", "input_a: variant, input_b: variant", "output: variant",
     _TYPED, _lists_joined_shape, _join_lists_kernel, False),
    ("EmptyTensorList", "element_shape: shape_type, max_num_elements: int32", "handle: variant",
     _SHAPED, _made(0), _empty_kernel, False),
)  # fmt: skip


def _define() -> None:
    for suffix, arguments, results, attrs, shape, kernel, differentiable in _TABLE:
        name = suffix if suffix == "EmptyTensorList" else f"TensorList{suffix}"
        # Elements share memory with the tensors put in. Lists made of tensors are no values that
        # plans could fold.
        card = cards[name] = op(
            f"{name}({arguments}) -> {results}\n{attrs}",
            view=True,
            effect="pure" if "input" in arguments and name != "TensorListResize" else "state",
            differentiable=differentiable,
            handle="tensor list",
        )
        card.shape(shape)
        card.kernel(kernel)


_define()
