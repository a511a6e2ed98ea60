"""Compressed files: their members, and the bytes behind them."""

from __future__ import annotations

import gzip
import logging
import re

import pytest

import stillflow as tf
from stillflow import errors
from stillflow.files.records import read_records


def write(path, records):
    with tf.io.TFRecordWriter(str(path), "GZIP") as writer:
        for record in records:
            writer.write(record)
    return path.read_bytes()


def drained(dataset):
    element = dataset.make_one_shot_iterator().get_next()
    found = []
    with tf.Session() as session:
        while True:
            try:
                found.append(session.run(element))
            except errors.OutOfRangeError:
                return found


@pytest.fixture
def members(tmp_path):
    """Two gzip files of TFRecords, of b"one" and of b"two"."""
    return [write(tmp_path / name, [name.encode()]) for name in ("one", "two")]


@pytest.mark.parametrize(
    ("layout", "expected"),
    [
        ("{0}{1}", [b"one", b"two"]),
        ("{empty}{0}{empty}{1}", [b"one", b"two"]),
        ("{0}{zeros}{1}{zeros}", [b"one", b"two"]),
        ("{0}{noise}{1}", [b"one"]),
        ("{0}{byte}", [b"one"]),
    ],
)
def test_gzip_members_are_read_up_to_bytes_that_are_none(
    tmp_path, members, layout, expected, caplog
):
    parts = {
        "empty": gzip.compress(b""),
        "zeros": bytes(300000),
        "noise": b"?" * 9,
        "byte": b"\x1f",
    }
    names = re.findall(r"{(\w+)}", layout)
    data = b"".join(parts[name] if name in parts else members[int(name)] for name in names)
    (tmp_path / "f").write_bytes(data)
    path = str(tmp_path / "f")
    with caplog.at_level(logging.WARNING, "tensorflow"):
        assert list(read_records(path, "GZIP")) == expected
    warned = f"{path}: ignoring bytes behind the end of its compressed data" in caplog.text
    assert warned == bool({"noise", "byte"} & set(names))
    assert drained(tf.data.TFRecordDataset(path, "GZIP")) == expected


def test_a_damaged_second_member_is_an_error(tmp_path, members):
    (tmp_path / "f").write_bytes(members[0] + members[1][:3] + b"damage")
    records = read_records(str(tmp_path / "f"), "GZIP")
    assert next(records) == b"one"
    with pytest.raises(errors.DataLossError, match=r"^inflate\(\) failed with error -3: unknown"):
        next(records)


@pytest.mark.parametrize(
    ("size", "header", "footer", "count", "body"),
    [(40, 0, 0, 2, 40), (40, 2, 1, 1, 37), (40, 0, 5, 1, 35), (3, 0, 0, 0, 3), (3, 0, 5, 0, -2)],
)
def test_compressed_records_of_fixed_length_end_in_data_loss(
    tmp_path, size, header, footer, count, body
):
    path = tmp_path / "f"
    path.write_bytes(gzip.compress(bytes(size)))
    dataset = tf.data.FixedLengthRecordDataset(
        str(path), 19, header, footer, compression_type="GZIP"
    )
    element = dataset.make_one_shot_iterator().get_next()
    with tf.Session() as session:
        for _ in range(count):
            assert session.run(element) == bytes(19)
        with pytest.raises(errors.DataLossError, match=f"has body length {body} bytes"):
            session.run(element)
