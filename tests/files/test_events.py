"""Event files."""

from __future__ import annotations

import random
import re
import socket
from pathlib import Path

import pytest

import stillflow as tf
from stillflow import errors
from stillflow.files.events import EventsWriter

RECORDED = Path(__file__).parent / "recorded" / "records" / "events"


def read(path):
    """Return the events before an error, and the error's class."""
    found = []
    try:
        for event in tf.train.summary_iterator(str(path)):
            found.append(event)
    except errors.OpError as error:
        return found, type(error).__name__
    return found, None


def test_a_file_of_tensorflow_is_read():
    version, summary, log = tf.train.summary_iterator(str(RECORDED))
    assert version.file_version == "brain.Event:2"
    assert (summary.step, summary.summary.value[0].tag) == (7, "loss")
    assert log.session_log.status == tf.SessionLog.START


def test_a_file_has_the_bytes_that_tensorflow_writes(tmp_path, monkeypatch):
    version, *events = tf.train.summary_iterator(str(RECORDED))
    monkeypatch.setattr("time.time", lambda: version.wall_time + 0.75)
    writer = EventsWriter(str(tmp_path / "events"))
    for event in events:
        writer.WriteEvent(event)
    writer.Close()
    assert Path(writer.FileName()).read_bytes() == RECORDED.read_bytes()


def test_the_name_tells_time_and_machine(tmp_path):
    writer = EventsWriter(str(tmp_path / "events"))
    writer.InitWithSuffix(".suffix")
    host = re.escape(socket.gethostname())
    assert re.fullmatch(
        rf"events\.out\.tfevents\.\d{{10}}\.{host}\.suffix", Path(writer.FileName()).name
    )
    assert [event.file_version for event in read(writer.FileName())[0]] == ["brain.Event:2"]
    writer.Close()


def test_a_file_that_has_disappeared_is_made_anew(tmp_path):
    writer = EventsWriter(str(tmp_path / "events"))
    writer.WriteEvent(tf.Event(step=1))
    Path(writer.FileName()).unlink()
    writer.Flush()
    writer.WriteEvent(tf.Event(step=2))
    writer.Close()
    assert [event.step for event in read(writer.FileName())[0]] == [0, 2]


def test_damaged_files_give_what_comes_before(tmp_path):
    data = RECORDED.read_bytes()
    whole = read(RECORDED)[0]
    for cut in range(len(data)):
        (tmp_path / "f").write_bytes(data[:cut])
        found, error = read(tmp_path / "f")
        assert found == whole[: len(found)]
        assert error in (None, "DataLossError")
    noise = random.Random(1)
    for _ in range(500):
        damaged = bytearray(data)
        damaged[noise.randrange(len(data))] ^= 1 << noise.randrange(8)
        (tmp_path / "f").write_bytes(damaged)
        found, error = read(tmp_path / "f")
        assert found == whole[: len(found)]
        assert error == "DataLossError"


def test_a_record_that_is_no_event(tmp_path):
    with tf.io.TFRecordWriter(str(tmp_path / "f")) as writer:
        writer.write(b"\xff\xff\xff")
    with pytest.raises(errors.DataLossError, match="a record is no Event message"):
        list(tf.train.summary_iterator(str(tmp_path / "f")))
