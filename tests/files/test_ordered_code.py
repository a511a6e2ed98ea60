"""Numbers and strings in codes that sort as they do."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from stillflow.files import ordered_code
from stillflow.files.tensor_slice import TensorSlice, key_text

_SPECIAL = st.lists(st.sampled_from([b"\0", b"\1", b"\xff", b"a"])).map(b"".join)
SIGNED = st.integers(-(1 << 63), (1 << 63) - 1)


@given(SIGNED, st.binary(max_size=3))
def test_a_number_is_read_back(value, rest):
    code = ordered_code.encode_signed(value)
    assert ordered_code.decode_signed(code + rest) == (value, rest)


@given(st.binary() | _SPECIAL, st.integers(0, (1 << 64) - 1))
@example(b"\xff\x01", 0)
@example(b"\xff\xff\0\0", 1)
def test_a_string_and_a_number_without_a_sign_are_read_back(text, number):
    code = ordered_code.encode_string(text) + ordered_code.encode_unsigned(number)
    string, rest = ordered_code.decode_string(code)
    assert string == text
    assert ordered_code.decode_unsigned(rest) == (number, b"")


@given(st.lists(st.tuples(SIGNED, SIGNED), max_size=3))
def test_keys_of_parts_are_shown_with_their_bounds(extents):
    part = TensorSlice(tuple(extents))
    assert key_text(part.key(b"scope/a")) == f"scope/a (slice {part})"


@given(st.binary())
def test_any_key_can_be_shown(key):
    assert isinstance(key_text(key), str)
