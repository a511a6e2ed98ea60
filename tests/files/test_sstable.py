"""Tables: written ones are read, and the native writer agrees byte for byte with Python's."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stillflow import native
from stillflow.files import sstable

KEYS = st.one_of(
    st.binary(max_size=6), st.integers(0, 999).map(b"layer/%d/kernel".__mod__), st.binary(
        min_size=120, max_size=140)
)  # fmt: skip
VALUES = st.one_of(
    st.binary(max_size=20), st.sampled_from([b"", b"x" * 127, b"x" * 128, b"x" * 500])
)
ENTRIES = st.dictionaries(KEYS, VALUES, max_size=60)


def build(entries, block_size, in_c):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sstable, "_BLOCK_SIZE", block_size)
        if not in_c:
            patch.setattr(native, "library", lambda: None)
        return sstable.build(sorted(entries.items()))


@given(ENTRIES, st.sampled_from([1, 60, 200, 300, 1 << 18]))
def test_tables_are_the_same_in_c(entries, block_size):
    if native.library() is None:
        pytest.skip("the loops in C were not built")
    data = build(entries, block_size, in_c=True)
    assert data == build(entries, block_size, in_c=False)
    found = {key: bytes(value) for key, value in sstable.Table(data, "a table").items()}
    assert found == entries


@pytest.mark.parametrize("keys", [[b"b", b"a"], [b"a", b"a"], [b"a", b"b", b"b"]])
def test_keys_have_to_rise(either_way, keys):
    with pytest.raises(ValueError, match=r"keys of a table must rise: b'[ab]', b'[ab]'"):
        sstable.build([(key, b"") for key in keys])


def test_an_empty_table_can_be_read(either_way):
    assert list(sstable.Table(sstable.build([]), "a table").items()) == []
