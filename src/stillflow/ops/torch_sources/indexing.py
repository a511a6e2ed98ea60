"""Slices, gathering and choices."""

from __future__ import annotations

from typing import Any

from stillflow.graph.node import Call, Node
from stillflow.ops.torch_sources.parts import (
    Text,
    is_plain,
    known_ints,
    rank_of,
    source_of,
    torch_name,
)
from stillflow.ops.torch_sources.sizes import gathered_numbers, strided_numbers


def sum_text(left: str, right: str) -> str:
    """Return the sum of two integers as an expression."""
    if left.lstrip("-").isdigit() and right.lstrip("-").isdigit():
        return str(int(left) + int(right))
    return right if left == "0" else f"{left} + {right}"


@source_of("Slice")
def slice_source(node: Node, x: Any, begin: Any, size: Any) -> str | None:
    if begin.numbers is None or size.numbers is None or not is_plain(node):
        return None
    parts = []
    for start, extent in zip(begin.numbers, size.numbers, strict=True):
        first = "" if start == "0" else start
        parts.append(f"{first}:" if extent == "-1" else f"{first}:{sum_text(start, extent)}")
    while parts and parts[-1] == ":":
        parts.pop()
    return f"{x}[{', '.join(parts)}]" if parts else f"{x}[:]"


@source_of("StridedSlice")
def strided_slice_source(node: Node, x: Any, begin: Any, end: Any, strides: Any) -> Any:
    if x.numbers is not None and x.known is None:
        found = strided_numbers(node, x, (begin, end, strides))
        if found is not None:
            return found
    steps = known_ints(strides)
    if begin.numbers is None or end.numbers is None or steps is None or not is_plain(node):
        return None
    if any(step < 1 for step in steps) or not steps:
        return None
    parts = []
    for place, step in enumerate(steps):
        bit = 1 << place
        if node.ellipsis_mask & bit:
            parts.append("...")
        elif node.new_axis_mask & bit:
            parts.append("None")
        elif node.shrink_axis_mask & bit:
            parts.append(begin.numbers[place])
        else:
            first = "" if node.begin_mask & bit else begin.numbers[place]
            last = "" if node.end_mask & bit else end.numbers[place]
            first = "" if first == "0" else first
            parts.append(f"{first}:{last}" + (f":{step}" if step != 1 else ""))
    return f"{x}[{', '.join(parts)}]"


@source_of("GatherV2")
def gather_v2_source(node: Node, x: Any, indices: Any, axis: Any) -> str | None:
    place = known_ints(axis)
    if place is None or not is_plain(node) or node.op.attrs.get("batch_dims"):
        return None
    if x.numbers is not None and x.known is None and place == [0]:
        found = gathered_numbers(x, indices)
        if found is not None:
            return found
    return _gathered(node, x, indices, place[0])


def _gathered(node: Node, x: Any, indices: Any, axis: int) -> Any:
    rank, count = rank_of(node), rank_of(node, 1)
    if axis == 0:
        is_table = rank == 2 and node.dtype(0).is_floating
        return f"F.embedding({indices}, {x})" if is_table and count != 0 else f"{x}[{indices}]"
    if count == 1:
        return f"{x}.index_select({axis}, {indices})"
    if axis < 0:
        return None
    return f"{x}[{':, ' * axis}{indices}]"


@source_of("Gather", "ResourceGather")
def gather_source(node: Node, x: Any, indices: Any) -> Any:
    if node.op.type == "ResourceGather":
        dims = node.variable_dims(0)
        if node.op.attrs.get("batch_dims"):
            return None
        is_table = dims is not None and len(dims) == 2 and node.op.outputs[0].dtype.is_floating
        return f"F.embedding({indices}, {x})" if is_table else f"{x}[{indices}]"
    return _gathered(node, x, indices, 0) if is_plain(node) else None


@source_of("IsVariableInitialized", "VarIsInitializedOp")
def is_initialized_source(node: Node, variable: Any) -> str:
    return "torch.tensor(True, device=self.device)"  # a module has the values of all variables


@source_of("GatherNd", "ResourceGatherNd")
def gather_nd_source(node: Node, x: Any, indices: Any) -> str | None:
    dims, is_variable = node.dims(1), node.op.type != "GatherNd"
    if dims is None or not dims or dims[-1] is None or not (is_variable or is_plain(node)):
        return None
    return f"{x}[{indices}.long().unbind(-1)]" if dims[-1] else None


@source_of("ScatterNd")
def scatter_nd_source(node: Node, indices: Any, updates: Any, shape: Any) -> str | None:
    dims = node.dims(0)
    if dims is None or not dims or not dims[-1] or shape.numbers is None or not is_plain(node, 1):
        return None
    zeros = f"torch.zeros({shape.sizes}, dtype={torch_name(node.dtype(1))}, device=self.device)"
    return f"{zeros}.index_put({indices}.long().unbind(-1), {updates}, accumulate=True)"


@source_of("OneHot")
def one_hot_source(node: Node, indices: Any, depth: Any, on: Any, off: Any) -> Call | None:
    if depth.number is None or not is_plain(node, 2):
        return None
    dtype = torch_name(node.dtype(2))
    return node.call(_one_hot, indices, Text(depth.number), on, off, node.axis, Text(dtype))


def _one_hot(indices: Any, depth: int, on: Any, off: Any, axis: int, dtype: Any) -> Any:
    from stillflow.graph.lazy import torch

    classes = torch.arange(depth, device=indices.device)
    found = indices.unsqueeze(-1) == classes
    result = torch.where(found, on, off).to(dtype)
    return result if axis == -1 else result.movedim(-1, axis)


@source_of("Select")
def select_source(node: Node, condition: Any, x: Any, y: Any) -> str | None:
    few, many = rank_of(node), rank_of(node, 1)
    if few is None or many is None or not is_plain(node, 1):
        return None
    if few == 1 and many > 1:
        return f"torch.where({condition}.view(-1{', 1' * (many - 1)}), {x}, {y})"
    return f"torch.where({condition}, {x}, {y})"


@source_of("SelectV2")
def select_v2_source(node: Node, condition: Any, x: Any, y: Any) -> str | None:
    return f"torch.where({condition}, {x}, {y})" if is_plain(node, 1) else None


@source_of("ArgMax", "ArgMin")
def arg_max_source(node: Node, x: Any, axis: Any) -> Any:
    place = known_ints(axis)
    if place is None or not is_plain(node) or node.dtype(0).name == "bool":
        return None
    name = node.op.type.lower()
    return f"{x}.{name}({place[0]}).to({torch_name(node.output_type)})"


@source_of("TopKV2", "TopK")
def top_k_source(node: Node, x: Any, *count: Any) -> Call | None:
    wanted = str(node.k) if not count else count[0].number
    if wanted is None or node.dtype(0).name not in ("float32", "float64", "int32", "int64"):
        return None
    return node.call(_top_k, x, Text(wanted), node.sorted)


def _top_k(x: Any, count: int, ordered: bool) -> tuple[Any, Any]:
    """Return the largest elements along the last dimension; of equal ones the first comes first."""
    from stillflow.graph.lazy import torch

    values, places = torch.sort(x, dim=-1, descending=True, stable=True)
    values, places = values[..., :count], places[..., :count]
    return values, places.to(torch.int32)
