"""`tf.contrib.data.LMDBDataset`: a dataset of the keys and values of LMDB databases."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.files.test_lmdb import WANTED, database

import stillflow as tf


def test_databases_follow_each_other(tmp_path: Path) -> None:
    names = [tmp_path / "first.mdb", tmp_path / "second.mdb"]
    for name, order in zip(names, "<>"):
        name.write_bytes(database(order))
    dataset = tf.contrib.data.LMDBDataset([str(name) for name in names])
    assert dataset.output_types == (tf.string, tf.string)
    assert [shape.as_list() for shape in dataset.output_shapes] == [[], []]
    element = tf.data.make_one_shot_iterator(dataset).get_next()
    with tf.Session() as session:
        assert [session.run(element) for _ in range(2 * len(WANTED))] == 2 * WANTED
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(element)


def test_a_missing_database_is_an_error_of_its_first_element(tmp_path: Path) -> None:
    dataset = tf.contrib.data.LMDBDataset(str(tmp_path / "absent.mdb"))
    element = tf.data.make_one_shot_iterator(dataset).get_next()
    with tf.Session() as session, pytest.raises(tf.errors.NotFoundError, match="absent"):
        session.run(element)
