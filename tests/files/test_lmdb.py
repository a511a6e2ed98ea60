"""LMDB databases: trees of pages, values on pages of their own, both byte orders, damage."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

import stillflow as tf
from stillflow import errors
from stillflow.files.lmdb import entries

PAGE = 256
LEAF, BRANCH, OVERFLOW, META = 2, 1, 4, 8


def meta(order: str, root: int, transaction: int) -> bytes:
    databases = [struct.pack(f"{order}IHHQQQQQ", PAGE, 0, 1, 0, 1, 0, 3, end)
                 for end in (2**64 - 1, root)]  # fmt: skip
    head = struct.pack(f"{order}QHHHH", 0, 0, META, 0, 0)
    body = struct.pack(f"{order}IIQQ", 0xBEEFC0DE, 1, 0, 1 << 20) + b"".join(databases)
    return (head + body + struct.pack(f"{order}QQ", 9, transaction)).ljust(PAGE, b"\0")


def node(order: str, number: int, flags: int, key: bytes, rest: bytes = b"") -> bytes:
    halves = [number & 0xFFFF, number >> 16 & 0xFFFF]
    if order == ">":
        halves.reverse()
    made = struct.pack(f"{order}HHHH", *halves, flags, len(key)) + key + rest
    return made + b"\0" * (len(made) % 2)


def page(order: str, number: int, flags: int, nodes: list[bytes]) -> bytes:
    offsets, body, upper = [], b"", PAGE
    for each in nodes:
        upper -= len(each)
        offsets.append(upper)
        body = each + body
    lower = 16 + 2 * len(nodes)
    head = struct.pack(f"{order}QHHHH", number, 0, flags, lower, upper)
    head += struct.pack(f"{order}{len(nodes)}H", *offsets)
    return head.ljust(upper, b"\0") + body


def database(order: str) -> bytes:
    """Return a branch over two leaves; the value of the last key has a page of its own."""
    return b"".join([
        meta(order, 2, 4), meta(order, 3, 3),
        page(order, 2, BRANCH, [node(order, 3, 0, b""), node(order, 4, 0, b"c")]),
        page(order, 3, LEAF, [node(order, 3, 0, b"a", b"one"), node(order, 0, 0, b"b", b"")]),
        page(order, 4, LEAF, [node(order, 200, 1, b"c", struct.pack(f"{order}Q", 5))]),
        struct.pack(f"{order}QHHI", 5, 0, OVERFLOW, 1) + b"x" * (PAGE - 16),
    ])  # fmt: skip


WANTED = [(b"a", b"one"), (b"b", b""), (b"c", b"x" * 200)]


@pytest.mark.parametrize("order", ["<", ">"])
def test_entries_come_by_key(tmp_path: Path, order: str) -> None:
    path = tmp_path / "data.mdb"
    path.write_bytes(database(order))
    assert list(entries(str(path))) == WANTED
    assert list(entries(str(tmp_path))) == WANTED


def test_an_empty_database_has_no_entries(tmp_path: Path) -> None:
    path = tmp_path / "empty.mdb"
    path.write_bytes(meta("<", 2**64 - 1, 1) * 2)
    assert list(entries(str(path))) == []


@pytest.mark.parametrize("cut", [0, 10, 300, 3 * PAGE, 5 * PAGE + 20])
def test_what_is_cut_off_is_an_error(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "cut.mdb"
    path.write_bytes(database("<")[:cut])
    with pytest.raises(errors.DataLossError, match=r"cut\.mdb"):
        list(entries(str(path)))


def test_a_tree_that_leads_back_is_an_error(tmp_path: Path) -> None:
    data = bytearray(database("<"))
    data[3 * PAGE : 4 * PAGE] = page("<", 3, BRANCH, [node("<", 2, 0, b"")])
    (tmp_path / "loop.mdb").write_bytes(data)
    with pytest.raises(errors.DataLossError, match="does not end"):
        list(entries(str(tmp_path / "loop.mdb")))


def test_several_values_of_a_key_are_refused(tmp_path: Path) -> None:
    data = meta("<", 2, 1) * 2 + page("<", 2, LEAF, [node("<", 2, 4, b"k", b"..")])
    (tmp_path / "dup.mdb").write_bytes(data)
    with pytest.raises(errors.UnimplementedError, match="several values"):
        list(entries(str(tmp_path / "dup.mdb")))


def test_the_reader_gives_them(tmp_path: Path) -> None:
    path = tmp_path / "data.mdb"
    path.write_bytes(database("<"))
    with tf.Graph().as_default(), tf.Session() as session:
        names = tf.FIFOQueue(2, tf.string, shapes=[[]])
        record = tf.LMDBReader().read(names)
        session.run([names.enqueue_many([[str(path), str(tmp_path / "absent")]])])
        assert [session.run(tuple(record)) for _ in range(3)] == WANTED
        with pytest.raises(tf.errors.NotFoundError, match="absent"):
            session.run(record)
