"""RecordInput: records of many files in random order, epoch after epoch."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

import stillflow as tf
from stillflow.ops.io.readers.record_input import RecordInput


def write(folder: Path, files: int, records: int) -> str:
    for number in range(files):
        with tf.python_io.TFRecordWriter(str(folder / f"part.{number}")) as writer:
            for index in range(records):
                writer.write(b"%d" % (number * records + index))
    return str(folder / "part.*")


def test_each_record_comes_once_in_an_epoch(tmp_path: Path) -> None:
    pattern = write(tmp_path, 7, 30)
    op = RecordInput(pattern, batch_size=10, buffer_size=60, parallelism=3, seed=4).get_yield_op()
    epochs = []
    with tf.Session() as session:
        for _ in range(3):
            epochs.append([r for _ in range(21) for r in session.run(op)])
    for epoch in epochs:
        assert sorted(map(int, epoch)) == list(range(210))
    assert epochs[0] != epochs[1]


def test_batches_come_as_lists_of_scalars(tmp_path: Path) -> None:
    pattern = write(tmp_path, 1, 4)
    batches = RecordInput(pattern, batch_size=2, batches=2, buffer_size=10).get_yield_op()
    with tf.Session() as session:
        found = session.run(batches)
    assert [len(batch) for batch in found] == [2, 2]
    assert sorted(record for batch in found for record in batch) == [b"0", b"1", b"2", b"3"]


def test_no_files_is_an_error() -> None:
    with tf.Session() as session, pytest.raises(tf.errors.NotFoundError, match="Found no files"):
        session.run(RecordInput("nowhere/*").get_yield_op())


def test_a_damaged_file_is_an_error(tmp_path: Path) -> None:
    pattern = write(tmp_path, 1, 20)
    (tmp_path / "part.1").write_bytes(b"\x05\0\0\0\0\0\0\0nonsense, not a checksum")
    op = RecordInput(pattern, batch_size=100, buffer_size=50, parallelism=2).get_yield_op()
    with tf.Session() as session, pytest.raises(tf.errors.DataLossError, match=r"part\.1"):
        session.run(op)


def test_the_threads_end_with_the_session(tmp_path: Path) -> None:
    pattern = write(tmp_path, 4, 50)
    before = set(threading.enumerate())
    with tf.Graph().as_default():
        op = RecordInput(pattern, buffer_size=20, parallelism=4).get_yield_op()
        with tf.Session() as session:
            session.run(op)
    del session
    limit = time.monotonic() + 60
    while set(threading.enumerate()) - before and time.monotonic() < limit:
        time.sleep(0.02)
    assert not set(threading.enumerate()) - before
