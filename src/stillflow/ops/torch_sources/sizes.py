"""Shapes and arithmetic with them: integers of the host."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow.graph.node import Node, Numbers
from stillflow.ops.torch_sources.parts import Span, axes_of, known_ints, source_of


def product_text(items: Any) -> str:
    """Return the product of integers as an expression."""
    constant, rest = 1, []
    for item in items:
        if item.lstrip("-").isdigit():
            constant *= int(item)
        else:
            rest.append(item)
    if not rest:
        return str(constant)
    return " * ".join(rest if constant == 1 else [*rest, str(constant)])


def size_texts(node: Node, index: int, x: Any) -> tuple[str, ...] | None:
    """Return the sizes of an input as expressions, None if its rank is not known."""
    dims = node.dims(index)
    if dims is None:
        return None
    return tuple(
        f"{x}.shape[{axis}]" if size is None else str(size) for axis, size in enumerate(dims)
    )


@source_of("Shape")
def shape_source(node: Node, x: Any) -> Any:
    sizes = size_texts(node, 0, x)
    return None if sizes is None else Numbers(sizes)


@source_of("ShapeN")
def shape_n_source(node: Node, *xs: Any) -> list[Any] | None:
    found = [size_texts(node, index, x) for index, x in enumerate(xs)]
    if any(sizes is None for sizes in found):
        return None
    return [Numbers(sizes) for sizes in found if sizes is not None]


@source_of("Size")
def size_source(node: Node, x: Any) -> Numbers | None:
    sizes = size_texts(node, 0, x)
    if sizes is None:
        return None if node.dtype(0).name == "string" else Numbers(f"{x}.numel()")
    return Numbers(product_text(sizes))


@source_of("Rank")
def rank_source(node: Node, x: Any) -> Numbers:
    return Numbers(f"{x}.ndim")


@source_of("Prod", "Sum", "Max", "Min")
def reduction_source(node: Node, x: Any, axis: Any) -> Numbers | None:
    """Return the source for a vector of host integers; others are computed by `numbers.py`."""
    if x.numbers is None or x.known is not None or node.keep_dims or not _is_all(node, axis):
        return None
    if not x.numbers:
        return None
    if node.op.type == "Prod":
        return Numbers(product_text(x.numbers))
    if node.op.type == "Sum":
        return Numbers(f"({' + '.join(x.numbers)})")
    return Numbers(f"{node.op.type.lower()}({', '.join(x.numbers)})")


def _is_all(node: Node, axis: Any) -> bool:
    return axes_of(node, axis, 1) == [0]


@source_of("Cast")
def cast_source(node: Node, x: Any) -> Any:
    if node.DstT.name not in ("int32", "int64") or x.known is not None:
        return None
    return _same(x)


def _same(x: Any) -> Numbers | None:
    if x.numbers is not None:
        return Numbers(x.numbers)
    return None if x.number is None else Numbers(x.number)


@source_of("Range")
def range_source(node: Node, start: Any, limit: Any, delta: Any) -> Span | None:
    dtype = node.dtype(0)
    if not dtype.is_integer:
        return None
    parts = [each.number or f"int({each})" for each in (start, limit, delta)]
    if parts[0] == "0" and parts[2] == "1":
        parts = parts[1:2]
    inner = ", ".join(parts)
    text = f"torch.arange({inner}, dtype=torch.{dtype.name}, device=self.device)"
    return Span(text, f"range({inner})")


def strided_numbers(node: Node, x: Any, bounds: Any) -> Any:
    """Elements of a vector of the host, taken by a strided slice with constant bounds."""
    begin, end, strides = map(known_ints, bounds)
    if begin is None or end is None or strides is None or len(begin) != 1:
        return None
    if node.ellipsis_mask or node.new_axis_mask:
        return None
    if node.shrink_axis_mask:
        return Numbers(x.numbers[begin[0]])
    first = None if node.begin_mask else begin[0]
    last = None if node.end_mask else end[0]
    return Numbers(tuple(x.numbers[first : last : strides[0]]))


def gathered_numbers(x: Any, indices: Any) -> Any:
    """Elements of a vector of the host at constant indices."""
    if indices.known is None:
        return None
    found = [x.numbers[int(place)] for place in np.ravel(indices.known)]
    return Numbers(found[0]) if indices.known.ndim == 0 else Numbers(tuple(found))
