"""Checks of inputs' ranks, with the messages of TF's shape functions and kernels."""

from __future__ import annotations

from collections.abc import Callable

from stillflow.graph import dims
from stillflow.graph.dims import Dim
from stillflow.graph.node import Node

Check = Callable[[Node], None]


def checked_rank(node: Node, index: int, rank: int, running: str) -> tuple[Dim, ...]:
    """Return the dims of an input that must have the given rank, or raise ValueError.

    `running` is what TF says of another rank when the graph runs, before the input's shape.
    """
    shape = node.dims(index)
    if node.planning and shape is not None and len(shape) != rank:
        raise ValueError(f"{running}{dims.to_string(shape)}")
    return dims.with_rank(shape, rank)


def kernel_ranks(*wanted: tuple[int, int, str], least: bool = False) -> Check:
    """Return a check of ranks that only kernels look at, one after the other, in words of theirs.

    `wanted` are positions of inputs, their ranks, and words for other ranks, with `{}` for the
    shape; with `least` higher ranks will do as well.
    """

    def check(node: Node) -> None:
        if not node.planning:
            return
        for index, rank, words in wanted:
            shape = node.dims(index)
            if shape is not None and (len(shape) < rank or (len(shape) > rank and not least)):
                raise ValueError(words.format(dims.to_string(shape)))

    return check


def kernel_windows(length: int, **fields: str) -> Check:
    """Return a check of lists of numbers for all dimensions, which nothing looks at but kernels.

    `fields` are attributes, and what kernels call them.
    """

    def check(node: Node) -> None:
        for name, called in fields.items():
            if node.planning and len(getattr(node, name)) != length:
                raise ValueError(f"{called} field must specify {length} dimensions")

    return check


def same_as_first(node: Node) -> None:
    """Raise an error at run time if the second input's shape differs from the first's."""
    first, second = node.dims(0), node.dims(1)
    if not (node.planning and dims.is_known(first) and dims.is_known(second)) or first == second:
        return
    raise ValueError(
        f"Inputs to operation {node.name} of type {node.op.type} must have the same size and "
        f"shape.  Input 0: {dims.to_string(first)} != input 1: {dims.to_string(second)}"
    )


def in_turn(*checks: Check) -> Check:
    """Several checks as one."""

    def check(node: Node) -> None:
        for each in checks:
            each(node)

    return check
