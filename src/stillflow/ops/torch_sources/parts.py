"""Shared parts of several families' sources."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from stillflow.graph.card import get
from stillflow.graph.node import Node

Part = TypeVar("Part", bound=Callable[..., Any])
_UNPLAIN = frozenset({"string", "uint16", "uint32", "uint64", "resource", "variant"})


class Text(str):
    """An argument of a call that is an expression."""


class Span(Text):
    """An expression of a tensor that counts, with that of Python's range.

    Attributes:
      listed: the range.
    """

    listed: str

    def __new__(cls, text: str, listed: str) -> Span:
        made = super().__new__(cls, text)
        made.listed = listed
        return made


def source_of(*names: str) -> Callable[[Part], Part]:
    """Make a function the `torch_source` of the cards of these operations."""

    def attach(part: Part) -> Part:
        for name in names:
            get(name).torch_source(part)
        return part

    return attach


def is_plain(node: Node, index: int = 0) -> bool:
    """Return True if PyTorch computes with the type of an input."""
    return node.dtype(index).name not in _UNPLAIN


def tuple_text(items: Iterable[Any]) -> str:
    """Expressions or numbers as a tuple."""
    texts = [str(item) for item in items]
    return f"({texts[0]},)" if len(texts) == 1 else f"({', '.join(texts)})"


def list_text(items: Iterable[Any]) -> str:
    """Expressions or numbers as a list."""
    return f"[{', '.join(str(item) for item in items)}]"


def same_or_tuple(items: Sequence[int]) -> str:
    """One number if all are the same, as PyTorch's layers take it, else a tuple."""
    return str(items[0]) if len(set(items)) == 1 else tuple_text(items)


def known_ints(argument: Any) -> list[int] | None:
    """Return the integers of a constant argument, None if only the run knows them."""
    if argument.known is None or argument.known.dtype.kind not in "iu":
        return None
    return [int(item) for item in argument.known.ravel()]


def axes_of(node: Node, argument: Any, rank: int | None) -> list[int] | None:
    """Return the axes that a constant argument names, counted from the front and ascending."""
    axes = known_ints(argument)
    if axes is None or rank is None:
        return None
    return sorted({axis % rank for axis in axes}) if rank else []


def rank_of(node: Node, index: int = 0) -> int | None:
    """Return the rank of an input, None if it is not known."""
    dims = node.dims(index)
    return None if dims is None else len(dims)


def torch_name(dtype: Any) -> str:
    """Return the type of tensors as an expression."""
    return f"torch.{dtype.base_dtype.torch_name}"
