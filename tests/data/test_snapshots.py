"""Snapshots whose runs did not come to an end, or whose files are damaged."""

from __future__ import annotations

import os

import pytest

import stillflow as tf
from stillflow.data.snapshot import snapshot

pytestmark = pytest.mark.usefixtures("graph")

Dataset = tf.data.Dataset


def walked(dataset, count=99):
    """Return the first elements of a walk through a dataset."""
    element, found = tf.data.make_one_shot_iterator(dataset).get_next(), []
    with tf.Session() as session:
        try:
            while len(found) < count:
                found.append(session.run(element))
        except tf.errors.OutOfRangeError:
            pass
    return found


def runs(folder):
    """Return the folders of runs, with the names of their files."""
    (graph,) = os.listdir(folder)
    inside = os.path.join(folder, graph)
    return [
        sorted(os.listdir(os.path.join(inside, name)))
        for name in sorted(os.listdir(inside))
        if name != "snapshot.metadata"
    ]


def files(folder):
    return [
        os.path.join(place, name)
        for place, _, names in os.walk(folder)
        for name in sorted(names)
        if name.endswith(".snapshot")
    ]


def test_elements_are_made_once(tmp_path):
    calls = []

    def count(x):
        calls.append(x)
        return x

    dataset = Dataset.range(3).map(lambda x: tf.py_func(count, [x], tf.int64))
    dataset = dataset.apply(snapshot(str(tmp_path)))
    assert walked(dataset) == walked(dataset) == [0, 1, 2]
    assert len(calls) == 3


def test_a_run_that_is_given_up_does_not_count(tmp_path):
    dataset = Dataset.range(4).apply(snapshot(str(tmp_path)))
    assert walked(dataset, 2) == [0, 1]
    assert walked(dataset) == walked(dataset) == [0, 1, 2, 3]  # somebody else may still write
    assert len(runs(tmp_path)) == 1


def test_a_run_that_is_overdue_is_taken_for_given_up(tmp_path, monkeypatch):
    walked(Dataset.range(4).apply(snapshot(str(tmp_path), pending_snapshot_expiry_seconds=1)), 2)
    monkeypatch.setattr("stillflow.ops.data.snapshots._now", lambda: 1 << 60)
    dataset = Dataset.range(4).apply(snapshot(str(tmp_path), pending_snapshot_expiry_seconds=1))
    assert walked(dataset) == [0, 1, 2, 3]
    assert len(runs(tmp_path)) == 2


@pytest.mark.parametrize("compression", [None, "GZIP"])
def test_several_files_hold_all_elements(tmp_path, compression):
    dataset = Dataset.range(7).apply(snapshot(str(tmp_path), compression, num_writer_threads=3))
    assert walked(dataset) == list(range(7))
    assert sorted(walked(dataset)) == list(range(7))
    assert runs(tmp_path) == [[f"{number:08d}.snapshot" for number in range(3)]]


def test_a_full_file_is_followed_by_another(tmp_path):
    rows = (
        Dataset.range(5)
        .map(lambda x: tf.fill([200_000], x))
        .apply(snapshot(str(tmp_path), shard_size_bytes=1 << 20))
    )
    assert [row[0] for row in walked(rows)] == [row[0] for row in walked(rows)] == list(range(5))
    assert [len(names) for names in runs(tmp_path)] == [
        6
    ]  # the first one is empty, as in TensorFlow


def test_prefixes_say_where_files_are(tmp_path):
    elsewhere = tmp_path / "elsewhere"
    dataset = Dataset.range(3).apply(
        snapshot(str(tmp_path / "s"), writer_path_prefix=str(elsewhere))
    )
    assert walked(dataset) == [0, 1, 2]
    assert len(files(elsewhere)) == 1 and not files(tmp_path / "s")
    with pytest.raises(tf.errors.InvalidArgumentError, match="Could not find any files in dir"):
        walked(dataset)


@pytest.mark.parametrize("left", [3, 11, -1])
def test_files_that_are_cut_off_are_refused(tmp_path, left):
    dataset = Dataset.range(3).apply(snapshot(str(tmp_path)))
    walked(dataset)
    (path,) = files(tmp_path)
    with open(path, "rb") as file:
        content = file.read()
    with open(path, "wb") as file:
        file.write(content[:left])
    with pytest.raises(tf.errors.DataLossError, match="not whole"):
        walked(dataset)


def test_lengths_that_are_none_are_refused(tmp_path):
    dataset = Dataset.range(3).apply(snapshot(str(tmp_path)))
    walked(dataset)
    (path,) = files(tmp_path)
    with open(path, "r+b") as file:
        file.write(b"\xff" * 8)
    with pytest.raises(tf.errors.DataLossError, match="not whole"):
        walked(dataset)


def test_other_datasets_have_other_folders(tmp_path):
    for count in (2, 3):
        assert len(walked(Dataset.range(count).apply(snapshot(str(tmp_path))))) == count
    assert len(os.listdir(tmp_path)) == 2


def test_tables_tell_datasets_apart(tmp_path):
    for value in (5, 6):
        table = tf.lookup.StaticHashTable(
            tf.lookup.KeyValueTensorInitializer([0], [value], tf.int64, tf.int64), 9
        )
        dataset = Dataset.range(2).map(table.lookup).apply(snapshot(str(tmp_path)))
        iterator = tf.data.make_initializable_iterator(dataset)
        element = iterator.get_next()
        with tf.Session() as session:
            session.run(tf.tables_initializer())
            session.run(iterator.initializer)
            assert [session.run(element) for _ in range(2)] == [value, 9]
