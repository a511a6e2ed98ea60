"""Draws by the loops in C: bit by bit those that are drawn without."""

from __future__ import annotations

import pytest

from stillflow import native
from stillflow.ops.random import draws, native_kernels
from stillflow.ops.random.philox import Philox

if native.library() is None:
    pytest.skip("the loops in C were not built", allow_module_level=True)

KEY = 0x0123456789ABCDEF
# Where the counter's words are carried from one to the next.
STREAMS = {
    "begin": Philox(KEY, 0, 7),
    "first word": Philox(KEY, 2**32 - 3, 7),
    "lower half": Philox(KEY, 2**64 - 3, 7),
    "all of it": Philox(KEY, 2**64 - 3, 2**64 - 1),
    "third word": Philox(2**64 - 1, 2**64 - 70, 2**32 - 1),
}
DRAWS = {
    "words": lambda stream, count: stream.words(count),
    "words of 32 bits": draws.words32,
    "words of 64 bits": draws.words64,
    "floats": draws.uniform_float,
    "halves": lambda stream, count: draws.uniform_float(stream, count, 10),
    "doubles": draws.uniform_double,
    "normals": draws.normal_float,
    "truncated normals": draws.truncated_normal_float,
}


@pytest.fixture
def plain(monkeypatch):
    """Return calls a function with no loop at hand."""

    def call(function, *args):
        with monkeypatch.context() as patch:
            patch.setattr(native_kernels, "drawn", lambda *_: None)
            return function(*args)

    return call


@pytest.mark.parametrize("count", [0, 1, 2, 5, 255, 257, 4099])
@pytest.mark.parametrize("where", STREAMS)
@pytest.mark.parametrize("kind", DRAWS)
def test_the_same_numbers_come_either_way(plain, kind, where, count):
    found = DRAWS[kind](STREAMS[where], count)
    expected = plain(DRAWS[kind], STREAMS[where], count)
    assert found.dtype == expected.dtype
    assert found.tobytes() == expected.tobytes()


@pytest.mark.parametrize("kind", ["uniform_float", "normal_float", "truncated_normal_float"])
def test_the_same_numbers_come_from_several_threads(plain, kind):
    draw, stream = getattr(draws, kind), STREAMS["first word"]
    expected = plain(draw, stream, 100_003)
    for threads in (1, 2, 5):
        assert draw(stream, 100_003, threads=threads).tobytes() == expected.tobytes()


def test_a_draw_does_not_move_the_stream_on():
    stream = STREAMS["begin"].copy()
    assert stream.words(5).tolist() == stream.words(9)[:5].tolist()
    assert stream.state() == STREAMS["begin"].state()
