"""The ops on TensorArrays in their three versions.

Version 3 passes arrays as resources, version 2 as strings, version 1 as references to strings;
their operations are the same. Versions 1 and 2 live on in graphs of old programs.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from stillflow.graph import dims, dtypes
from stillflow.graph.arrays import Array
from stillflow.graph.card import Card, op
from stillflow.graph.lazy import torch
from stillflow.graph.node import Call, Node
from stillflow.ops.tensor_array import whole
from stillflow.ops.tensor_array.store import ArrayStore, refuse

_HANDLES = {"": "&string", "V2": "string", "V3": "resource"}
VERSIONS = tuple(_HANDLES)

# Cards by op type: versions of one op share everything but the type of their handle.
cards: dict[str, Card] = {}


def _versions(
    text: str, differentiable: bool = False, versions: Any = VERSIONS, **traits: Any
) -> list[Card]:
    """Make the cards of an op; `{V}` and `{H}` in its signature are version and handle type."""
    made = []
    for version in versions:
        signature = text.replace("{V}", version).replace("{H}", _HANDLES[version])
        if version == "V3":
            signature += "\nflags: stateful"
        # Elements that are read are the array's own memory, not copies of it.
        card = op(
            signature,
            view=True,
            effect="state",
            differentiable=differentiable,
            handle="tensor array",
            **traits,
        )
        cards[card.name] = card
        made.append(card)
    return made


def _dims_of(node: Node, attr: str) -> Any:
    return node.op.attrs[attr]._dims


def _check_handle(node: Node) -> None:
    """Check that a handle is a vector of two, for any elements."""
    if node.planning or node.op._inputs[0].dtype._is_ref_dtype:
        return  # kernels look for themselves; version 1 does not look
    rank_one = dims.with_rank(node.dims(0), 1)
    if rank_one is not None:
        dims.with_value(rank_one[0], 2)


def _element(node: Node) -> tuple[bool, tuple[int | None, ...] | None]:
    """Return the handle's facts about elements: (known, dims)."""
    handle = node.op._inputs[0]
    return handle._handle_dtype is not None, handle._handle_dims


def _scalars(*positions: int) -> Callable[[Node], None]:
    def check(node: Node) -> None:
        _check_handle(node)
        for position in () if node.planning else positions:
            dims.with_rank(node.dims(position), 0)

    return check


# ---- making arrays

_MAKING = (
    ("V3", """TensorArrayV3(size: int32) -> (handle: resource, flow: float)
        dtype: type
        element_shape: shape = ?
        dynamic_size: bool = false
        clear_after_read: bool = true
        identical_element_shapes: bool = false
        tensor_array_name: string = ""
        flags: stateful"""),
    ("V2", """TensorArrayV2(size: int32) -> handle: string
        dtype: type
        element_shape: shape = ?
        dynamic_size: bool = false
        clear_after_read: bool = true
        tensor_array_name: string = ""
        flags: stateful"""),
    ("", """TensorArray(size: int32) -> handle: &string
        dtype: type
        dynamic_size: bool = false
        clear_after_read: bool = true
        tensor_array_name: string = ""
        element_shape: shape = ?
        flags: stateful"""),
)  # fmt: skip


def _array_shape(node: Node) -> Any:
    handle = node.outputs[0]
    if handle.dtype._is_ref_dtype:
        return None
    dims.with_rank(node.dims(0), 0)
    if handle.dtype != dtypes.resource:
        return (2,)
    element = _dims_of(node, "element_shape")
    if dims.is_known(element) or node.identical_element_shapes:
        handle._handle_dims, handle._handle_dtype = element, node.op.attrs["dtype"]
    return [(2,), ()]


def _flow(node: Node) -> torch.Tensor:
    return torch.zeros((), dtype=torch.float32, device=node.device)


def _array_kernel(node: Node) -> Callable[..., Any]:
    attrs = node.op.attrs
    name = node.tensor_array_name.decode() or node.name
    make = partial(ArrayStore.numbered, name, node.op.attrs["dtype"])
    rest = (
        _dims_of(node, "element_shape"), node.dynamic_size, node.clear_after_read,
        attrs.get("identical_element_shapes", False),
    )  # fmt: skip
    if len(node.outputs) == 1:
        return lambda size: make(int(size), *rest)
    flow = _flow(node)
    return lambda size: (make(int(size), *rest), flow)


for _version, _text in _MAKING:
    _card = cards[f"TensorArray{_version}"] = op(
        _text, differentiable=False, handle="tensor array", gives="tensor array"
    )
    _card.shape(_array_shape)
    _card.kernel(_array_kernel)

_GRADS = (
    "V3(handle: resource, flow_in: float) -> (grad_handle: resource, flow_out: float)",
    (
        "WithShape(handle: resource, flow_in: float, shape_to_prepend: int32)"
        " -> (grad_handle: resource, flow_out: float)"
    ),
    "V2(handle: string, flow_in: float) -> grad_handle: string",
    "(handle: string, flow_in: float) -> grad_handle: &string",
)


def _grad_shape(node: Node) -> Any:
    handle = node.outputs[0]
    if handle.dtype._is_ref_dtype:
        return None
    _check_handle(node)
    if handle.dtype != dtypes.resource:
        return (2,)
    known, element = _element(node)
    if known:
        handle._handle_dtype = node.inputs[0]._handle_dtype
        handle._handle_dims = element
        if len(node.inputs) > 2:
            lead = node.dims(2)
            rank = None if lead is None else lead[0]
            handle._handle_dims = dims.concat(dims.unknown(rank), element)
    return [(2,), ()]


def _grad_kernel(node: Node) -> Callable[..., Any]:
    source = node.source
    if len(node.outputs) == 1:
        return lambda store, flow: store.gradient(source)
    constant = _flow(node)

    def gradient(store: ArrayStore, flow: Any, lead: Any = None) -> tuple[ArrayStore, torch.Tensor]:
        found = store.grads.get(source)
        if found is not None and not store.closed and not store.no_grads:
            return found, constant  # read in every iteration of a loop
        shape = None if lead is None else tuple(lead.tolist())
        return store.gradient(source, shape), constant

    return gradient


for _text in _GRADS:
    _card = op(
        f"TensorArrayGrad{_text}\nsource: string\nflags: stateful",
        differentiable=False,
        handle="tensor array",
        access=None if "shape" in _text else "gradient",
    )
    cards[_card.name] = _card
    _card.shape(_grad_shape)
    _card.kernel(_grad_kernel)


# ---- single elements


def _write_shape(node: Node) -> Any:
    _scalars(1, 3)(node)
    known, element = _element(node)
    if known and not node.planning:
        dims.merge(element, node.dims(2))
    return ()


def _place(index: Any) -> int:
    """Return an index as a number; loops count with such."""
    if not isinstance(index, int) and index.ndim:
        shape = dims.to_string(tuple(index.shape))
        raise refuse(f"TensorArray index must be scalar, but had shape: {shape}")
    return int(index)


def _places(indices: Any) -> list[int]:
    if indices.ndim != 1:
        shape = dims.to_string(tuple(indices.shape))
        raise refuse(f"Expected indices to be a vector, but received shape: {shape}")
    numbers: list[int] = indices.tolist()
    return numbers


def _write_kernel(node: Node) -> Callable[..., Any]:
    dtype = node.dtype(2)
    place = int if node.dims(1) == () else _place

    def write(store: ArrayStore, index: Any, value: Any, flow: Any) -> torch.Tensor:
        if store.dtype is not dtype:
            store.check(dtype, "is trying to write dtype")
        store.write(place(index), value)
        return flow

    return write


def _read_shape(node: Node) -> tuple[int | None, ...] | None:
    _scalars(1, 2)(node)
    known, element = _element(node)
    return element if known else None


def _read_kernel(node: Node) -> Callable[..., Any]:
    dtype = node.op.attrs["dtype"]
    place = int if node.dims(1) == () else _place

    def read(store: ArrayStore, index: Any, flow: Any) -> Any:
        if store.dtype is not dtype:
            store.check(dtype)
        return store.read(place(index))

    return read


write_ops = _versions(
    "TensorArrayWrite{V}(handle: {H}, index: int32, value: T, flow_in: float) -> flow_out: float\n"
    "T: type",
    differentiable=True,
    access="write",
)
read_ops = _versions(
    "TensorArrayRead{V}(handle: {H}, index: int32, flow_in: float) -> value: dtype\ndtype: type",
    differentiable=True,
    access="read",
)
for _card in write_ops:
    _card.shape(_write_shape if _card.name != "TensorArrayWrite" else lambda node: None)
    _card.kernel(_write_kernel)
for _card in read_ops:
    _card.shape(_read_shape if _card.name != "TensorArrayRead" else lambda node: None)
    _card.kernel(_read_kernel)


# ---- whole arrays


def _gather_shape(node: Node) -> tuple[int | None, ...] | None:
    _scalars(2)(node)
    if node.planning and dims.rank(node.dims(1)) != 1:
        return None
    indices = dims.with_rank(node.dims(1), 1)
    known, element = _element(node)
    return dims.concat(indices, element if known else _dims_of(node, "element_shape"))


def _gather_kernel(node: Node) -> Callable[..., Any]:
    dtype, element = node.op.attrs["dtype"], _dims_of(node, "element_shape")

    def gather(store: ArrayStore, indices: Any, flow: Any) -> torch.Tensor | Array:
        return whole.gather(store, _places(indices), dtype, element)

    return gather


def _scatter_shape(node: Node) -> Any:
    _scalars(3)(node)
    if node.planning:
        return ()
    indices = dims.with_rank(node.dims(1), 1)
    value, _ = dims.merge_prefix(node.dims(2), indices)
    known, element = _element(node)
    if known and value is not None:
        dims.merge(element, value[1:])
    return ()


def _scatter_kernel(node: Node) -> Callable[..., Any]:
    dtype = node.dtype(2)

    def scatter(store: ArrayStore, indices: Any, value: Any, flow: Any) -> torch.Tensor:
        whole.scatter(store, _places(indices), value, dtype)
        return flow

    return scatter


def _concat_shape(node: Node) -> list[tuple[int | None, ...] | None]:
    _scalars(1)(node)
    return [None, (None,)]


def _concat_kernel(node: Node) -> Callable[..., Any]:
    dtype, element = node.op.attrs["dtype"], _dims_of(node, "element_shape_except0")
    return lambda store, flow: whole.concat(store, dtype, element)


def _split_shape(node: Node) -> Any:
    _scalars(3)(node)
    if not node.planning:
        dims.with_rank(node.dims(2), 1)
    return ()


def _split_kernel(node: Node) -> Callable[..., Any]:
    dtype = node.dtype(1)

    def split(store: ArrayStore, value: Any, lengths: Any, flow: Any) -> Any:
        if lengths.ndim != 1:
            shape = dims.to_string(tuple(lengths.shape))
            raise refuse(f"Expected lengths to be a vector, received shape: {shape}")
        whole.split(store, value, lengths.tolist(), dtype)
        return flow

    return split


def _size_shape(node: Node) -> Any:
    _check_handle(node)
    return ()


def _size_kernel(node: Node) -> Callable[..., Any]:
    return lambda store, flow: torch.tensor(store.size(), dtype=torch.int32)


def _close_kernel(node: Node) -> Call:
    return node.call(ArrayStore.close, node.inputs[0])


gather_ops = _versions(
    "TensorArrayGather{V}(handle: {H}, indices: int32, flow_in: float) -> value: dtype\n"
    "dtype: type\nelement_shape: shape = ?",
    differentiable=True,
    access="gather",
)
scatter_ops = _versions(
    "TensorArrayScatter{V}(handle: {H}, indices: int32, value: T, flow_in: float) -> "
    "flow_out: float\nT: type",
    differentiable=True,
    access="scatter",
)
concat_ops = _versions(
    "TensorArrayConcat{V}(handle: {H}, flow_in: float) -> (value: dtype, lengths: int64)\n"
    "dtype: type\nelement_shape_except0: shape = ?",
    differentiable=True,
)
split_ops = _versions(
    "TensorArraySplit{V}(handle: {H}, value: T, lengths: int64, flow_in: float) -> "
    "flow_out: float\nT: type",
    differentiable=True,
    access="split",
)
size_ops = _versions(
    "TensorArraySize{V}(handle: {H}, flow_in: float) -> size: int32", access="size"
)
close_ops = _versions("TensorArrayClose{V}(handle: {H})", access="close")

for _made, _shape, _kernel in (
    (gather_ops, _gather_shape, _gather_kernel),
    (scatter_ops, _scatter_shape, _scatter_kernel),
    (concat_ops, _concat_shape, _concat_kernel),
    (split_ops, _split_shape, _split_kernel),
    (size_ops, _size_shape, _size_kernel),
):
    for _card in _made:
        unknown: Any = [None, None] if _made is concat_ops else None
        old = _card.name[-2:] not in ("V2", "V3") or _card.name == "TensorArrayGatherV2"
        _card.shape(partial(lambda value, node: value, unknown) if old else _shape)
        _card.kernel(_kernel)
for _card in close_ops:
    _card.kernel(_close_kernel)


# ---- only in version 1


def _pack_kernel(node: Node) -> Callable[..., Any]:
    dtype, element = node.op.attrs["dtype"], _dims_of(node, "element_shape")

    def pack(store: ArrayStore, flow: Any) -> Any:
        return whole.gather(store, list(range(store.whole_size())), dtype, element)

    return pack


def _unpack_kernel(node: Node) -> Callable[..., Any]:
    dtype = node.dtype(1)

    def unpack(store: ArrayStore, value: Any, flow: Any) -> Any:
        whole.unpack(store, value, dtype)
        return flow

    return unpack


(pack_op,) = _versions(
    "TensorArrayPack(handle: {H}, flow_in: float) -> value: dtype\n"
    "dtype: type\nelement_shape: shape = ?",
    versions=("",),
)
(unpack_op,) = _versions(
    "TensorArrayUnpack(handle: {H}, value: T, flow_in: float) -> flow_out: float\nT: type",
    versions=("",),
)
for _card, _kernel in ((pack_op, _pack_kernel), (unpack_op, _unpack_kernel)):
    _card.shape(lambda node: None)
    _card.kernel(_kernel)
