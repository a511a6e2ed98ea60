"""The order in which a GraphDef lists the functions of its library.

TensorFlow keeps them in a hash table with open addressing and writes them in the table's order.
"""

from __future__ import annotations

from collections.abc import Iterable

from stillflow.util.string_hashes import murmur64

_SEED = 0xDECAFCAFFE
_WIDTH, _LOAD = 8, 0.8


def table_order(names: Iterable[str]) -> list[str]:
    """Return the names in the order of a table into which they were inserted in the given order."""
    table: list[str | None] = [None] * _WIDTH
    for count, name in enumerate(names):
        if count >= int(len(table) * _LOAD):
            table = _grown(table, count + 1)
        _put(table, name)
    return [name for name in table if name is not None]


def _grown(table: list[str | None], count: int) -> list[str | None]:
    size = _WIDTH
    while count >= _LOAD * size:
        size *= 2
    larger: list[str | None] = [None] * size
    for name in table:
        if name is not None:
            _put(larger, name)
    return larger


def _put(table: list[str | None], name: str) -> None:
    mask = len(table) - 1
    index, probes = murmur64(name.encode(), _SEED) >> 8 & mask, 1
    while table[index] is not None:
        index, probes = index + probes & mask, probes + 1
    table[index] = name
