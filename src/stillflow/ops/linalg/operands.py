"""Checks of the matrices that kernels of linear algebra get."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stillflow.graph import dims
from stillflow.graph.node import Node

# Looks at the two innermost sizes of each operand.
Sides = Callable[[list[tuple[Any, ...]]], None]


def operands(count: int, sides: Sides) -> Callable[[Node], None]:
    """Return a card's check: `count` batches of matrices, equal in rank and batch, fitting sides.

    It speaks where the operation runs; while the graph is built the shape rules do, in words of
    their own. `sides` raises ValueError for invalid sizes (rows, columns) of the operands.
    """

    def check(node: Node) -> None:
        given = [node.dims(i) for i in range(count)]
        if not node.planning or not all(map(dims.is_known, given)):
            return
        shapes: list[tuple[Any, ...]] = [shape for shape in given if shape is not None]
        first = shapes[0]
        if len(first) < 2:
            raise ValueError(f"Input tensor 0 must have rank >= 2, got {len(first)}")
        for shape in shapes[1:]:
            if len(shape) != len(first):
                raise ValueError("All input tensors must have the same rank.")
            if shape[:-2] != first[:-2]:
                raise ValueError("All input tensors must have the same outer dimensions.")
        sides([shape[-2:] for shape in shapes])

    return check


def _any_sides(sizes: list[tuple[Any, ...]]) -> None:
    return


def _square_sides(sizes: list[tuple[Any, ...]]) -> None:
    if sizes[0][0] != sizes[0][1]:
        raise ValueError("Input matrix must be square.")


def _fitting_sides(sizes: list[tuple[Any, ...]]) -> None:
    if sizes[0][0] != sizes[1][0]:
        raise ValueError("Input matrix and rhs are incompatible.")


def _square_system_sides(sizes: list[tuple[Any, ...]]) -> None:
    if sizes[0][0] != sizes[0][1]:
        raise ValueError("First input (lhs) must be a square matrix.")
    _fitting_sides(sizes)


def _factor_sides(sizes: list[tuple[Any, ...]]) -> None:
    if sizes[0] != sizes[1]:
        raise ValueError("Inputs (L and grad) must have the same shape.")
    if sizes[0][0] != sizes[0][1]:
        raise ValueError("Inputs must be a square matrices.")


def _diagonals_sides(sizes: list[tuple[Any, ...]]) -> None:
    (rows, left), (right, _) = sizes
    if rows != 3:
        raise ValueError(
            f"Expected diagonals to be provided as a matrix with 3 rows, got {rows} rows."
        )
    if left != right:
        raise ValueError(
            "Expected the same number of left-hand sides and right-hand sides, got "
            f"{left} and {right}."
        )


def _product_sides(sizes: list[tuple[Any, ...]]) -> None:
    row = (1, sizes[3][0])
    for name, size in zip(("superdiagonal", "main diagonal", "subdiagonal"), sizes, strict=False):
        if tuple(size) != row:
            raise ValueError(f"Invalid {name} shape.")


one_matrix = operands(1, _any_sides)
square_matrix = operands(1, _square_sides)
system = operands(2, _fitting_sides)
square_system = operands(2, _square_system_sides)
factor_and_gradient = operands(2, _factor_sides)
diagonals_system = operands(2, _diagonals_sides)
diagonals_product = operands(4, _product_sides)


def square_factors(node: Node) -> None:
    """Check the operands of LU decompositions, whose messages differ."""
    matrix = node.dims(0)
    if node.planning and matrix is not None and len(matrix) < 2:
        raise ValueError(f"Input tensor must have rank >= 2, got {len(matrix)}")
    square_matrix(node)


def scalar_words(node: Node, index: int, name: str) -> None:
    """Raise ValueError, with the message of kernels, unless a running input is a scalar."""
    given = node.dims(index)
    if node.planning and given is not None and dims.is_known(given) and given != ():
        raise ValueError(f"{name} must be scalar, got shape {dims.to_string(given)}")
