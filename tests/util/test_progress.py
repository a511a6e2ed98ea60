"""Progress of long work: after a while, in the form that stderr can show."""

from __future__ import annotations

import io
import itertools
import os
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from stillflow.util import progress


class Clock:
    """A clock by which each look at it takes a number of seconds."""

    def __init__(self, seconds: float) -> None:
        self._times = itertools.count(0.0, seconds)

    def monotonic(self) -> float:
        return next(self._times)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TF_CPP_MIN_LOG_LEVEL", raising=False)
    monkeypatch.setattr(progress, "time", Clock(3.0))


@pytest.mark.usefixtures("clock")
def test_a_line_every_ten_seconds(capsys: pytest.CaptureFixture[str]) -> None:
    assert list(progress.over([*range(10)], "converting", "tensors")) == [*range(10)]
    found = capsys.readouterr()
    assert found.out == ""
    assert found.err.splitlines() == [
        "stillflow: converting: 4 of 10 tensors, 15 s",
        "stillflow: converting: 7 of 10 tensors, 27 s",
        "stillflow: converting: 10 of 10 tensors, 39 s",
    ]


@pytest.mark.usefixtures("clock")
def test_of_unknown_length(capsys: pytest.CaptureFixture[str]) -> None:
    list(progress.over(iter(range(5000)), "reading", "records"))
    assert "stillflow: reading: 4,999 records, " in capsys.readouterr().err


@pytest.mark.usefixtures("clock")
def test_work_inside_of_other_work_is_not_shown(capsys: pytest.CaptureFixture[str]) -> None:
    for _ in progress.over(range(8), "outer", "things"):
        list(progress.over(range(8), "inner", "things"))
    lines = capsys.readouterr().err.splitlines()
    assert lines and any("outer" in line for line in lines)
    assert progress._shown == []


def test_short_work_prints_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert list(progress.over(range(1000), "counting", "numbers")) == [*range(1000)]
    assert capsys.readouterr().err == ""


@pytest.mark.usefixtures("clock")
def test_level_3_prints_nothing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TF_CPP_MIN_LOG_LEVEL", "3")
    list(progress.over(range(1000), "counting", "numbers"))
    assert capsys.readouterr().err == ""


@pytest.mark.usefixtures("clock")
def test_a_terminal_shows_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("rich")
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setitem(os.environ, "TERM", "xterm")
    list(progress.over(range(30), "converting", "tensors"))
    assert "converting" in terminal.getvalue() and "/30" in terminal.getvalue()


@pytest.mark.usefixtures("clock")
def test_an_error_ends_what_is_shown() -> None:
    def failing() -> Iterator[int]:
        yield from range(20)
        raise ValueError("no more")

    with pytest.raises(ValueError, match="no more"):
        list(progress.over(failing(), "reading", "records"))
    assert progress._shown == []


@pytest.mark.parametrize("closed", [False, True])
def test_a_stream_that_a_program_made_takes_the_place_of_stderr(
    closed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Log:
        def write(self, text: str) -> None: ...

    log: Any = io.StringIO() if closed else Log()
    if closed:
        log.close()
    monkeypatch.setattr(sys, "stderr", log)
    monkeypatch.setattr(progress, "time", Clock(3.0))
    assert list(progress.over(range(9), "counting", "numbers")) == [*range(9)]
