"""Reshaping, joining, splitting and filling."""

from __future__ import annotations

from typing import Any

from stillflow.graph.node import Call, Node, Numbers
from stillflow.ops.torch_sources.parts import (
    axes_of,
    is_plain,
    known_ints,
    list_text,
    rank_of,
    source_of,
    torch_name,
    tuple_text,
)


@source_of("Reshape")
def reshape_source(node: Node, x: Any, shape: Any) -> Any:
    dims = node.out_dims()
    if dims == () and x.numbers is not None and len(x.numbers) == 1:
        return Numbers(x.numbers[0])
    if dims is not None and len(dims) == 1:
        if x.numbers is not None:
            return Numbers(x.numbers)
        if x.number is not None and x.known is None:
            return Numbers((x.number,))
    if not is_plain(node):
        return None
    if shape.numbers is None:
        return f"{x}.reshape({shape}.tolist())"
    wanted = list(shape.numbers)
    if dims is not None and len(dims) == len(wanted) and "-1" in wanted:
        place = wanted.index("-1")
        if dims[place] is not None and _has_unknown(node):
            wanted[place] = str(dims[place])
            unknown = [n for n, size in enumerate(wanted) if not size.isdigit()]
            if len(unknown) == 1 and dims[unknown[0]] is None:
                wanted[unknown[0]] = "-1"
    return f"{x}.reshape({', '.join(wanted) or '()'})"


def _has_unknown(node: Node) -> bool:
    dims = node.dims(0)
    return dims is None or None in dims


@source_of("ExpandDims")
def expand_dims_source(node: Node, x: Any, axis: Any) -> Numbers | None:
    if x.number is not None and x.known is None:
        return Numbers((x.number,))
    return None


@source_of("Squeeze")
def squeeze_source(node: Node, x: Any) -> Any:
    if x.numbers is not None and x.known is None and len(x.numbers) == 1:
        return Numbers(x.numbers[0])
    dims = node.dims(0)
    axes = list(node.squeeze_dims)
    if dims is None or not is_plain(node):
        return None
    if not axes:
        if None in dims:
            return f"{x}.squeeze()"
        axes = [axis for axis, size in enumerate(dims) if size == 1]
    return f"{x}.squeeze({tuple_text(sorted(axis % len(dims) for axis in axes))})"


@source_of("Pack")
def pack_source(node: Node, *xs: Any) -> Any:
    if node.dtype(0).name in ("int32", "int64") and all(x.number is not None for x in xs):
        return Numbers(tuple(x.number for x in xs))
    return f"torch.stack({list_text(xs)}, {node.axis})" if is_plain(node) else None


@source_of("Unpack")
def unpack_source(node: Node, x: Any) -> Any:
    if x.numbers is not None and x.known is None:
        found = [Numbers(text) for text in x.numbers]
        return found if len(found) != 1 else found[0]
    if not is_plain(node):
        return None
    text = f"torch.unbind({x}, {node.axis})"
    return f"{text}[0]" if node.num == 1 else text


@source_of("ConcatV2")
def concat_v2_source(node: Node, *xs: Any) -> Any:
    return _joined(node, xs[:-1], xs[-1], 0)


@source_of("Concat")
def concat_source(node: Node, *xs: Any) -> Any:
    return _joined(node, xs[1:], xs[0], 1)


def _joined(node: Node, parts: Any, axis: Any, first: int) -> Any:
    if all(part.numbers is not None for part in parts):
        return Numbers(tuple(text for part in parts for text in part.numbers))
    if axis.number is None or not is_plain(node, first):
        return None
    return f"torch.cat({list_text(parts)}, {axis.number})"


@source_of("Split")
def split_source(node: Node, axis: Any, x: Any) -> str | None:
    if axis.number is None or not is_plain(node, 1):
        return None
    text = f"torch.tensor_split({x}, {node.num_split}, {axis.number})"
    return f"{text}[0]" if node.num_split == 1 else text


@source_of("SplitV")
def split_v_source(node: Node, x: Any, wanted: Any, axis: Any) -> str | None:
    if axis.number is None or wanted.numbers is None or not is_plain(node):
        return None
    if "-1" in wanted.numbers:
        return None
    text = f"torch.split({x}, {list_text(wanted.numbers)}, {axis.number})"
    return f"{text}[0]" if node.num_split == 1 else text


@source_of("Tile")
def tile_source(node: Node, x: Any, multiples: Any) -> str | None:
    if multiples.numbers is None or not is_plain(node) or not multiples.numbers:
        return None
    return f"{x}.repeat({', '.join(multiples.numbers)})"


@source_of("BroadcastTo")
def broadcast_to_source(node: Node, x: Any, shape: Any) -> str | None:
    if shape.numbers is None or not is_plain(node):
        return None
    return f"{x}.expand({shape.sizes})"


@source_of("Fill")
def fill_source(node: Node, dims: Any, value: Any) -> str | None:
    dtype = node.dtype(1)
    if dims.numbers is None or not is_plain(node, 1):
        return None
    if value.number is None:
        return f"{value}.expand({dims.sizes}).clone()"
    return (
        f"torch.full({dims.sizes}, {value.number}, dtype={torch_name(dtype)}, device=self.device)"
    )


@source_of("Transpose")
def transpose_source(node: Node, x: Any, order: Any) -> str | None:
    axes = known_ints(order)
    if axes is None or not is_plain(node) or not axes:
        return None
    return f"{x}.permute({', '.join(map(str, axes))})"


@source_of("ZerosLike")
def zeros_like_source(node: Node, x: Any) -> str | None:
    if node.dtype(0).name == "variant":  # a list of tensors
        return f"[None if item is None else torch.zeros_like(item) for item in {x}]"
    return f"torch.zeros_like({x})" if is_plain(node) else None


@source_of("OnesLike")
def ones_like_source(node: Node, x: Any) -> str | None:
    return f"torch.ones_like({x})" if is_plain(node) else None


@source_of("ReverseV2")
def reverse_v2_source(node: Node, x: Any, axis: Any) -> str | None:
    axes = axes_of(node, axis, rank_of(node))
    return (
        None
        if axes is None or not is_plain(node)
        else f"{x}.flip({tuple_text(axes)})"
        if (axes)
        else f"{x}.clone()"
    )


@source_of("SpaceToDepth")
def space_to_depth_source(node: Node, x: Any) -> Call | None:
    return None if node.data_format != b"NHWC" else node.call(_space_to_depth, x, node.block_size)


def _space_to_depth(x: Any, block: int) -> Any:
    batch, height, width, depth = x.shape
    x = x.reshape(batch, height // block, block, width // block, block, depth)
    return x.permute(0, 1, 3, 2, 4, 5).reshape(
        batch, height // block, width // block, block * block * depth
    )


@source_of("DepthToSpace")
def depth_to_space_source(node: Node, x: Any) -> Call | None:
    return None if node.data_format != b"NHWC" else node.call(_depth_to_space, x, node.block_size)


def _depth_to_space(x: Any, block: int) -> Any:
    batch, height, width, depth = x.shape
    x = x.reshape(batch, height, width, block, block, depth // (block * block))
    return x.permute(0, 1, 3, 2, 4, 5).reshape(
        batch, height * block, width * block, depth // (block * block)
    )
