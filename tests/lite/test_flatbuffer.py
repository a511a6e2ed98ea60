"""Flat buffers are read and written by a schema, and never trusted."""

from __future__ import annotations

import numpy as np
import pytest

from stillflow.lite.flatbuffer import Schema, Table, read, write

SCHEMA = Schema(
    """
    Leaf: weight float, big long, flag bool = 1, name string
    Circle: radius int
    Square: side ubyte = 4
    Tree: leaves [Leaf], numbers [int], data [ubyte], shape |Shape|, first Leaf, count uint
    """,
    {"Shape": ["Circle", "Square"]},
)


def tree(**fields):
    return Table(SCHEMA, "Tree", **fields)


def round_trip(table):
    return read(SCHEMA, table.table_kind, write(SCHEMA, table, b"TEST"))


def test_everything_comes_back():
    leaf = Table(SCHEMA, "Leaf", weight=0.5, big=-(2**40), flag=False, name="größer")
    found = round_trip(
        tree(
            leaves=[leaf, Table(SCHEMA, "Leaf")],
            numbers=[1, -2, 3],
            data=b"\x01\x02\x03",
            shape=Table(SCHEMA, "Square", side=9),
            first=leaf,
            count=2**32 - 1,
        )
    )
    assert found.leaves[0].__dict__ == leaf.__dict__ == found.first.__dict__
    assert found.leaves[1].flag is True and found.leaves[1].name is None
    assert found.numbers == [1, -2, 3] and bytes(found.data) == b"\x01\x02\x03"
    assert (found.shape.table_kind, found.shape.side) == ("Square", 9)
    assert found.count == 2**32 - 1


def test_what_is_absent_has_its_default():
    found = round_trip(tree())
    assert found.leaves is None and found.shape is None and found.count == 0


def test_vectors_of_bytes_are_aligned_for_their_use():
    for length in range(1, 40):
        content = write(SCHEMA, tree(numbers=list(range(length)), data=b"\xff" * 64), b"TEST")
        assert content.index(b"\xff" * 64) % 16 == 0


def test_a_name_that_the_schema_lacks_is_refused():
    with pytest.raises(AttributeError, match="Tree has no field"):
        tree(trunk=1)


def test_damage_ends_in_a_value_error():
    leaf = Table(SCHEMA, "Leaf", weight=0.5, big=7, name="leaf")
    content = write(SCHEMA, tree(leaves=[leaf] * 3, numbers=[1, 2], first=leaf), b"TEST")
    random = np.random.RandomState(0)
    for _ in range(300):
        damaged = bytearray(content[: random.randint(4, len(content) + 1)])
        damaged[random.randint(len(damaged))] = random.randint(256)
        try:
            read(SCHEMA, "Tree", bytes(damaged))
        except ValueError:
            continue


def test_tables_that_many_offsets_lead_to_are_not_read_without_end():
    schema = Schema("Node: children [Node]", {})
    node = Table(schema, "Node")
    for _ in range(16):
        node = Table(schema, "Node", children=[node, Table(schema, "Node")])
    content = bytearray(write(schema, node, b"TEST"))
    place, table = 0, 0
    for _ in range(16):  # the second child is the first one once more
        table = place + int.from_bytes(content[place : place + 4], "little")
        vector = table + 4 + int.from_bytes(content[table + 4 : table + 8], "little")
        place = vector + 4
        first = int.from_bytes(content[place : place + 4], "little")
        content[place + 4 : place + 8] = (first - 4).to_bytes(4, "little")
    with pytest.raises(ValueError, match="many offsets lead to the same tables"):
        read(schema, "Node", bytes(content))
