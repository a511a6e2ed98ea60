"""FarmHash fingerprints, compared with numbers the reference implementation gave."""

from __future__ import annotations

import numpy as np
import pytest

from stillflow.util.farmhash import fingerprints, row_fingerprints

pytestmark = pytest.mark.usefixtures("either_way")

# The string of each length counts up from byte 1 in steps of 7.
RECORDED: dict[int, int] = {
    0: 0x9AE16A3B2F90404F,
    1: 0x47A24C13B17E583E,
    2: 0xC34A76EFC5C06952,
    3: 0x26B4DA356B8B9558,
    4: 0xEFC83E8C71DF5AF5,
    7: 0x1FAFA9EDD289AE25,
    8: 0xD442A22FEEC8439A,
    15: 0x7F9B0297BAC70335,
    16: 0x0DB0C6C6CFC9CC97,
    17: 0x33FCE0BEF0C317A9,
    31: 0xE8DEA1514638326F,
    32: 0x3FF780B33FA8801A,
    33: 0x9A5B1C0FF4A38467,
    63: 0xE9CE2F267CE7E857,
    64: 0x111FA8723E25ADCA,
    65: 0x0366AB6067B570B1,
    127: 0x3F0ED94DC9C5D70C,
    128: 0xCE22F72C75B92BBF,
    129: 0x3DAC9153FD008293,
    300: 0xFBD0E797A70BC97C,
}


def string(length: int) -> bytes:
    return bytes((1 + 7 * place) % 256 for place in range(length))


@pytest.mark.parametrize("length", RECORDED)
def test_every_scheme_gives_the_reference_number(length: int) -> None:
    assert int(fingerprints([string(length)])[0]) == RECORDED[length]


def test_strings_of_mixed_lengths_keep_their_places() -> None:
    lengths = [65, 3, 0, 17, 3, 200]
    together = fingerprints([string(length) for length in lengths])
    alone = [fingerprints([string(length)])[0] for length in lengths]
    np.testing.assert_array_equal(together, alone)


def test_rows_are_hashed_side_by_side() -> None:
    rows = np.random.default_rng(5).integers(0, 256, (4, 100), dtype=np.uint8)
    expected = fingerprints([row.tobytes() for row in rows])
    np.testing.assert_array_equal(row_fingerprints(rows), expected)


def test_no_strings_have_no_fingerprints() -> None:
    assert fingerprints([]).shape == (0,)
