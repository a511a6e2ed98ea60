"""Checks of the sizes of operands of recurrent cells' kernels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from stillflow.graph import dims
from stillflow.graph.node import Node


class Operand(NamedTuple):
    """An input of a cell.

    Attributes:
      position: of the input.
      name: as the kernels call it.
      sizes: what its sizes have to be: names of sizes, sums and products of them.
      called: what the kernels call a size of it.
    """

    position: int
    name: str
    sizes: tuple[str, ...]
    called: str = "dim_size"


def state(index: int, name: str) -> Operand:
    return Operand(index, name, ("batch_size", "cell_size"), "dims")


def weights(index: int, name: str, gates: int) -> Operand:
    return Operand(index, name, ("input_size + cell_size", _times("cell_size", gates)))


def biases(index: int, name: str, gates: int) -> Operand:
    return Operand(index, name, (_times("cell_size", gates),))


def _times(size: str, count: int) -> str:
    return size if count == 1 else f"{size} * {count}"


def _computed(expression: str, sizes: Mapping[str, int]) -> int:
    """Return the value of a name, of the sum of two, or of a name times a number."""
    first, *rest = expression.split()
    if not rest:
        return sizes[first]
    operator, second = rest
    return sizes[first] + sizes[second] if operator == "+" else sizes[first] * int(second)


def check_operands(
    node: Node, batch: int, inputs: int, cells: int, operands: Sequence[Operand]
) -> None:
    """Raise ValueError, as kernels do, for operands that do not fit the first ones."""
    sizes = {"batch_size": batch, "input_size": inputs, "cell_size": cells}
    for position, name, wanted, called in operands:
        found = node.dims(position)
        if not dims.is_known(found):
            continue
        if len(found) != len(wanted):
            raise ValueError(f"{name} must be {len(wanted)}D")
        for axis, expression in enumerate(wanted):
            size, value = found[axis], _computed(expression, sizes)
            if size != value:
                raise ValueError(f"{name}.{called}({axis}) != {expression}: {size} vs. {value}")
