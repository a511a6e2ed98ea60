"""Hashes of many strings are those of each."""

from __future__ import annotations

import numpy as np
import pytest

from stillflow.util import string_hashes

# The first lines of the table that the authors of SipHash publish: inputs 00, 00 01, ...
SIP_KEY = (0x0706050403020100, 0x0F0E0D0C0B0A0908)
SIP = [0x726FDB47DD0E0E31, 0x74F839C593DC67FD, 0x0D6C8009D9A94F5A, 0x85676696D7FB7E2D]


def strings(count):
    random = np.random.RandomState(0)
    return [random.bytes(random.randint(0, 40)) for _ in range(count)] + [b"", b"\x80" * 8]


def test_siphash_is_that_of_its_authors():
    assert [string_hashes.siphash(bytes(range(n)), SIP_KEY) for n in range(4)] == SIP


@pytest.mark.parametrize("count", [0, 3, 200])
def test_siphashes_are_those_of_each_string(count, either_way):
    texts, key = strings(count), (5, -7)
    expected = [string_hashes.siphash(text, key) for text in texts]
    assert string_hashes.siphashes(texts, key).tolist() == expected


@pytest.mark.parametrize("count", [0, 3, 200])
def test_murmur_hashes_are_those_of_each_string(count, either_way):
    texts = strings(count)
    expected = [string_hashes.murmur64(text, 0xDECAFCAFFE) for text in texts]
    assert string_hashes.murmur64s(texts, 0xDECAFCAFFE).tolist() == expected


def test_no_strings_have_no_hashes(either_way):
    assert string_hashes.siphashes([], (1, 2)).dtype == np.uint64
    assert string_hashes.murmur64s([], 1).tolist() == []
