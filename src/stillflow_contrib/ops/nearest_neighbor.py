"""HyperplaneLSHProbes: in which tables, and where in them, neighbours of points are looked for.

A point's place in a table has a bit for each of the table's hyperplanes: on which side it lies.
Near points may lie beyond the hyperplanes closest to it, so places are tried in the order of the
distances squared to the hyperplanes that are crossed (Lv et al., "Multi-probe LSH", VLDB 2007).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from stillflow.errors import internal
from stillflow.graph.card import op
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.ops.samples import Bad, Sample, Samples

hyperplane_lsh_probes_op = op(
    """
    HyperplaneLSHProbes(point_hyperplane_product: CoordinateType, num_tables: int32,
                        num_hyperplanes_per_table: int32, num_probes: int32)
        -> (probes: int32, table_ids: int32)
    CoordinateType: {float, double}
""",
    differentiable=False,
)


class _Probe(NamedTuple):
    """A place to look at next."""

    score: Any  # the sum of the distances squared, of the points' type
    table: int
    mask: int  # the bits of the hyperplanes that are crossed
    last: int  # the farthest of these, in the order of their distances


class _Heap:
    """A binary heap that orders equal scores as TensorFlow's does."""

    def __init__(self, items: list[_Probe]) -> None:
        self.items = items
        for place in reversed(range(len(items) // 2)):
            self._sink(place)

    def pop(self) -> _Probe:
        """Remove and return the item of the least score."""
        items = self.items
        top, items[0] = items[0], items[-1]
        items.pop()
        self._sink(0)
        return top

    def push(self, item: _Probe) -> None:
        """Add an item."""
        items, place = self.items, len(self.items)
        items.append(item)
        while place > 0 and items[(place - 1) // 2].score > item.score:
            items[place] = items[(place - 1) // 2]
            place = (place - 1) // 2
        items[place] = item

    def _sink(self, place: int) -> None:
        items = self.items
        while (child := 2 * place + 1) < len(items):
            if child + 1 < len(items) and items[child + 1].score < items[child].score:
                child += 1
            if items[place].score <= items[child].score:
                return
            items[place], items[child] = items[child], items[place]
            place = child


class _Table:
    """Distances and bits of one point for one table's hyperplanes, the closest one first."""

    def __init__(self, number: int, products: np.ndarray) -> None:
        order = np.argsort(np.abs(products), kind="stable")
        self.number = number
        self.squares = list(products[order] ** 2)
        self.bits = [1 << int(len(products) - 1 - place) for place in order]

    def first(self) -> _Probe:
        """Return the place beyond the closest hyperplane."""
        return _Probe(self.squares[0], self.number, self.bits[0], 0)

    def after(self, probe: _Probe) -> Iterator[_Probe]:
        """Yield the next probes: beyond one farther hyperplane, instead or in addition."""
        last, following = probe.last, probe.last + 1
        if following < len(self.bits):
            swapped = probe.mask ^ self.bits[last] ^ self.bits[following]
            score = probe.score - self.squares[last] + self.squares[following]
            yield _Probe(score, self.number, swapped, following)
            added = probe.mask ^ self.bits[following]
            yield _Probe(probe.score + self.squares[following], self.number, added, following)


def _further(products: np.ndarray, count: int, point: int) -> Iterator[tuple[int, int]]:
    """Yield the bits that change and the table, for places after the first one of each table.

    `products` of the point are [tables, hyperplanes]; `count` includes the first places.
    InternalError if there are not as many places.
    """
    tables = [_Table(number, row) for number, row in enumerate(products)]
    heap = _Heap([table.first() for table in tables])
    for number in range(len(tables), count):
        if not heap.items:
            message = f"Failed to get probe number {number} for point number {point}."
            raise internal(message)
        probe = heap.pop()
        yield probe.mask, probe.table
        for following in tables[probe.table].after(probe):
            heap.push(following)


def _checked(products: Any, tables: Any, hyperplanes: Any, probes: Any) -> tuple[int, int, int]:
    """Return the numbers of tables, of hyperplanes of each, and of places.

    In TensorFlow's order.
    """
    if products.dim() != 2:
        raise ValueError(
            f"Need a two-dimensional products tensor, got {products.dim()} dimensions."
        )
    num_tables = _scalar(tables, "num_tables")
    if num_tables < 1:
        raise ValueError(f"num_tables must be at least 1 but got {num_tables}.")
    if num_tables > 1000:
        raise ValueError(
            f"Need num_tables <= 1000, got {num_tables}. This is mostly to protect against "
            "incorrect use of this Op. If you really need more tables, change the code."
        )
    per_table = _scalar(hyperplanes, "num_hyperplanes_per_table")
    if per_table < 1:
        raise ValueError(f"num_hyperplanes_per_table must be at least 1 but got {per_table}.")
    if per_table > 30:
        raise ValueError(
            f"Need num_hyperplanes_per_table <= 30, got {per_table}. If you need more hyperplanes, "
            "change this Op to work for larger integer types (int64)."
        )
    num_probes = _scalar(probes, "num_probes")
    if num_probes < 1:
        raise ValueError("num_probes must be at least 1.")
    if products.shape[1] != num_tables * per_table:
        raise ValueError(
            f"Expected number of hyperplanes is {num_tables * per_table} but received "
            f"{products.shape[1]} inner products per point."
        )
    return num_tables, per_table, num_probes


def _scalar(value: Any, name: str) -> int:
    if value.dim():
        raise ValueError(f"Need a scalar {name} tensor, got {value.dim()} dimensions.")
    return int(value)


@hyperplane_lsh_probes_op.shape
def hyperplane_lsh_probes_shape(node: Node) -> OutputDims:
    return [None, None]


@hyperplane_lsh_probes_op.kernel
def hyperplane_lsh_probes_kernel(node: Node) -> Kernel:
    def probe(products: Any, tables: Any, hyperplanes: Any, probes: Any) -> Any:
        count, per_table, wanted = _checked(products, tables, hyperplanes, probes)
        points = products.numpy(force=True).reshape(-1, count, per_table)
        bits = 1 << np.arange(per_table - 1, -1, -1, dtype=np.int32)
        own = (points >= 0) @ bits
        first = min(count, wanted)
        places = np.empty((len(points), wanted), np.int32)
        numbers = np.empty_like(places)
        places[:, :first], numbers[:, :first] = own[:, :first], np.arange(first)
        if wanted > count:
            for point, row in enumerate(points):
                for column, (mask, table) in enumerate(_further(row, wanted, point), count):
                    places[point, column] = own[point, table] ^ mask
                    numbers[point, column] = table
        device = products.device
        return torch.from_numpy(places).to(device), torch.from_numpy(numbers).to(device)

    return probe


_PRODUCTS = np.array([[1.2, 0.5, -0.9, -1.0], [2.0, -3.0, 1.0, -1.5]])


@hyperplane_lsh_probes_op.samples
def hyperplane_lsh_probes_samples() -> Samples:
    two, four, five = np.int32(2), np.int32(4), np.int32(5)
    yield Sample(_PRODUCTS, two, two, four, grad=False)
    yield Sample(_PRODUCTS.astype(np.float32), two, two, np.int32(8), grad=False)
    yield Sample(_PRODUCTS, four, np.int32(1), two, grad=False)
    yield Bad(_PRODUCTS[0], two, two, four, match="Need a two-dimensional products tensor, got 1")
    yield Bad(_PRODUCTS, two, five, four, match="hyperplanes is 10 but received 4")
    yield Bad(_PRODUCTS, two, two, np.int32(9), match="Failed to get probe number 8 for point")
    yield Bad(_PRODUCTS, np.int32(0), two, four, match="at least 1 but got 0")
