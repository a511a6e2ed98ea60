"""Tensors of a checkpoint where they lie in the mapped file: found, checked, never outside."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stillflow import errors
from stillflow.files import tensor_types
from stillflow.files.bundle_reader import BundleReader
from stillflow.files.bundle_writer import BundleWriter

pytestmark = pytest.mark.usefixtures("either_way")
SIZES = {b"a": 3, b"b": 0, b"c": 2_000, b"d": 1, b"e": 2_000_000}


@pytest.fixture
def prefix(tmp_path: Path) -> str:
    path = str(tmp_path / "model")
    with BundleWriter(path) as writer:
        for name, size in SIZES.items():
            array = np.arange(size, dtype=np.float32)
            writer.add(name, array, tensor_types.number_of(array))
    return path


def read(reader: BundleReader, keys: list[bytes]) -> dict[bytes, Any]:
    """Return the contents of stretches, checked."""
    found = {}
    for stretch in reader.stretches(keys, reader.entries(keys)):
        reader.check(stretch, keys)
        octets, begins, sizes, _, members = stretch
        for place, begin, size in zip(members, begins, sizes, strict=True):
            found[keys[place]] = octets[begin : begin + size].view(np.float32)
    return found


@pytest.mark.parametrize("keys", [[*SIZES], [*reversed(SIZES)], [b"d", b"a"], [b"b"]])
def test_stretches_hold_the_tensors_in_whatever_order_they_are_asked_for(prefix, keys):
    found = read(BundleReader(prefix), keys)
    assert sorted(found) == sorted(keys)
    for key, values in found.items():
        np.testing.assert_array_equal(values, np.arange(SIZES[key]))


def test_what_lies_close_is_read_together(prefix):
    reader = BundleReader(prefix)
    close, apart = [b"a", b"b", b"c", b"d"], [b"a", b"d"]  # 8,000 bytes lie between these
    assert len(reader.stretches(close, reader.entries(close))) == 1
    assert len(reader.stretches(apart, reader.entries(apart))) == 2
    everything = [*SIZES]  # too much for one
    assert len(reader.stretches(everything, reader.entries(everything))) == 2


@pytest.mark.parametrize("key", [b"a", b"c", b"e"])
def test_a_damaged_tensor_is_named(prefix, key):
    reader = BundleReader(prefix)
    entry = reader.entry(key)
    path = Path(f"{prefix}.data-00000-of-00001")
    content = bytearray(path.read_bytes())
    content[entry.offset + entry.size - 1] ^= 1
    path.write_bytes(content)
    with pytest.raises(
        errors.DataLossError, match=f"(?s)Checksum does not match.*of {key.decode()}"
    ):
        read(reader, [*SIZES])


HOSTILE = {
    "before the file": {"offset": -4},
    "behind the file": {"offset": 8_008_017},
    "far behind the file": {"offset": (1 << 63) - 1},
    "of another size": {"size": 16},
    "of a size below zero": {"size": -12},
    "of the largest size": {"size": (1 << 63) - 1},
    "of a huge shape": {"shape": (1 << 61,)},
    "in another file": {"shard": 3},
}


@pytest.mark.parametrize("change", HOSTILE.values(), ids=HOSTILE)
def test_a_tensor_that_cannot_be_there_is_refused(prefix, change):
    reader = BundleReader(prefix)
    keys = [*SIZES]
    for place in (0, 3):
        entries = reader.entries(keys)
        entries[place] = entries[place]._replace(**change)
        kinds = (errors.DataLossError, errors.OutOfRangeError)
        with pytest.raises(kinds, match=rf"key {keys[place].decode()}|lies at"):
            reader.stretches(keys, entries)
