"""Entries of the index: our encoder and parser agree with protobuf."""

from __future__ import annotations

import math

import pytest

from stillflow.files import bundle_entry, crc32c
from stillflow.files.tensor_slice import TensorSlice
from stillflow.protos import BundleEntryProto

NUMBERS = [0, 1, 127, 128, 16383, 16384, 1 << 21, 1 << 31, 1 << 40, (1 << 63) - 1]


@pytest.mark.parametrize("shape", [(), (0,), (3, 4), (1 << 40,), (1,) * 60])
@pytest.mark.parametrize("number", NUMBERS)
def test_entries_are_those_of_protobuf(shape: tuple[int, ...], number: int) -> None:
    message = bundle_entry.describe(9, shape)
    message.offset, message.size, message.crc32c = number, number // 2, crc32c.mask(number % 99)
    raw = bundle_entry.encode(9, shape, number, number // 2, number % 99)
    assert raw == message.SerializeToString()
    assert bundle_entry.decode(raw) == bundle_entry.Entry(
        9, shape, 0, number, number // 2, message.crc32c
    )


def test_shards_and_parts_are_read() -> None:
    message = bundle_entry.describe(1, (4,))
    message.shard_id = 300
    assert bundle_entry.decode(message.SerializeToString()).shard == 300  # type: ignore[union-attr]
    part = TensorSlice(((1, 2),))
    part.to_proto(message.slices.add())
    entry = bundle_entry.decode(message.SerializeToString())
    assert entry == bundle_entry.Entry(1, (4,), 300, 0, 0, 0, (part,))


@pytest.mark.parametrize("offset", [-1, -(1 << 63)])
def test_negative_numbers_stay_negative(offset: int) -> None:
    raw = BundleEntryProto(dtype=1, offset=offset).SerializeToString()
    shaped = bundle_entry.describe(1, (2,))
    shaped.offset = offset
    for message in (raw, shaped.SerializeToString()):
        entry = bundle_entry.decode(message)
        assert entry is not None and entry.offset == offset


def test_fields_in_another_order_are_read() -> None:
    raw = bundle_entry.encode(1, (2,), 5, 8, 7)
    size = raw[raw.index(b"\x28") : raw.index(b"\x28") + 2]
    entry = bundle_entry.decode(size + raw.replace(size, b""))
    assert entry is not None and (entry.shape, entry.offset, entry.size) == ((2,), 5, 8)


def test_shapes_that_no_tensor_has_are_refused() -> None:
    assert bundle_entry.decode(bundle_entry.describe(1, (-1,)).SerializeToString()) is None
    assert bundle_entry.decode(bundle_entry.describe(1, (1,) * 255).SerializeToString()) is None


@pytest.mark.parametrize("raw", [b"\x08", b"\x12\x05ab", b"\x08\x01\x12\x02\x12\x09\x35"])
def test_what_is_no_message_is_refused(raw: bytes) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        bundle_entry.decode(raw)


@pytest.mark.parametrize("sizes", [(0, 0), (1, 0), (0, 9), (7, 5), (100_000, 1 << 20)])
def test_checksums_of_parts_combine(sizes: tuple[int, int]) -> None:
    first, second = b"\x81" * sizes[0], b"xyz" * sizes[1]
    combined = crc32c.combine(crc32c.crc32c(first), crc32c.crc32c(second), len(second))
    assert combined == crc32c.crc32c(first + second)


def odd_entries() -> list[bytes]:
    """Entries of many kinds: with and without each field, in other orders, and none at all."""
    raws = [
        bundle_entry.encode(9, shape, number, size, size + number)
        for shape in [(), (0,), (3, 4), (1 << 40,)]
        for number in NUMBERS
        for size in (0, 5, 300)
    ]
    message = bundle_entry.describe(1, (4,))
    message.shard_id = 300
    raws.append(message.SerializeToString())
    TensorSlice(((1, 2),)).to_proto(message.slices.add())
    raws.append(message.SerializeToString())
    message = bundle_entry.describe(1, (2,))
    message.offset = -1
    raws += [message.SerializeToString(), BundleEntryProto(dtype=1).SerializeToString()]
    raws.append(bundle_entry.describe(1, (-1,)).SerializeToString())
    return [*raws, b"\x08", b"\x12\x05ab", b"", raws[5][:-3], raws[5] + b"\x28"]


def test_many_entries_are_read_as_each_of_them() -> None:
    def alone(raw: bytes) -> bundle_entry.Entry | None:
        try:
            return bundle_entry.decode(raw)
        except ValueError:
            return None

    raws = odd_entries()
    for order in (raws, raws[::-1], raws[:7]):
        assert bundle_entry.decode_all(order) == list(map(alone, order))


@pytest.mark.parametrize("offset", [0, 100, 1 << 40])
def test_many_entries_are_made_as_one_is(either_way: str, offset: int) -> None:
    shapes = [(), (0,), (3, 2), (3, 2), (1, 5000), (2, 0, 1)]
    content = bytes(range(200)) * 101
    content = content[: 4 * 5013]
    made = bundle_entry.encode_all(1, shapes, offset, content)
    start = 0
    for shape, raw in zip(shapes, made, strict=True):
        size = 4 * math.prod(shape)
        crc = crc32c.crc32c(content[start : start + size])
        assert raw == bundle_entry.encode(1, shape, offset + start, size, crc)
        start += size
    assert bundle_entry.encode_all(1, [], offset, b"") == []
