"""Lookup tables in checkpoints and sessions."""

from __future__ import annotations

from pathlib import Path

import pytest

import stillflow as tf

pytestmark = pytest.mark.usefixtures("graph")  # each test builds one of its own

lookup = tf.contrib.lookup


def tables() -> tuple:
    changing = lookup.MutableHashTable(tf.string, tf.int64, -1, name="changing")
    dense = lookup.MutableDenseHashTable(
        tf.int64, tf.float32, 0.0, empty_key=0, deleted_key=-1, initial_num_buckets=4, name="dense"
    )
    return changing, dense


def test_checkpoints_hold_tables_that_change(tmp_path: Path) -> None:
    changing, dense = tables()
    variable = tf.get_variable("v", initializer=1.0)
    saver = tf.train.Saver()
    with tf.Session() as session:
        session.run(variable.initializer)
        session.run(changing.insert(["a", "b"], [1, 2]))
        session.run(dense.insert([5, 6, 7, 8, 9], [0.5, 0.6, 0.7, 0.8, 0.9]))
        path = saver.save(session, str(tmp_path / "model"))
    names = [name for name, _ in tf.train.list_variables(path)]
    assert names == ["changing-keys", "changing-values", "dense-keys", "dense-values", "v"]
    with tf.Session() as session:
        session.run(changing.insert(["z"], [9]))
        saver.restore(session, path)
        found = session.run([changing.lookup(["a", "z"]), changing.size(), dense.size()])
        assert [found[0].tolist(), *found[1:]] == [[1, -1], 2, 5]
        assert session.run(dense.lookup([9, 4])).tolist() == pytest.approx([0.9, 0.0])


def test_a_session_keeps_its_own_entries() -> None:
    changing, _ = tables()
    with tf.Session() as first, tf.Session() as second:
        first.run(changing.insert(["a"], [1]))
        assert (first.run(changing.size()), second.run(changing.size())) == (1, 0)


def test_a_table_of_tf_lookup_has_a_name_of_its_own() -> None:
    initializer = tf.lookup.KeyValueTensorInitializer(["a"], [1])
    names = {
        tf.lookup.StaticHashTable(initializer, -1).resource_handle.op.get_attr("shared_name")
        for _ in range(2)
    }
    assert len(names) == 2


def test_words_that_are_unknown_get_ids_of_buckets() -> None:
    initializer = tf.lookup.KeyValueTensorInitializer(["a", "b"], [0, 1], tf.string, tf.int64)
    table = tf.lookup.StaticVocabularyTable(initializer, num_oov_buckets=3)
    with tf.Session() as session:
        session.run(tf.tables_initializer())
        ids = session.run(table.lookup(tf.constant(["b", "x", "y"])))
        assert ids[0] == 1
        assert all(2 <= each < 5 for each in ids[1:])
        assert session.run(table.size()) == 5


def test_keys_that_take_room_of_removed_keys_are_found() -> None:
    table = lookup.MutableDenseHashTable(
        tf.int64, tf.int64, -1, empty_key=0, deleted_key=-1, initial_num_buckets=4
    )
    with tf.Session() as session:
        for key in range(1, 60):
            session.run(table.insert([key], [key * 10]))
            if key % 3:
                session.run(table.remove(tf.constant([key], tf.int64)))
        assert session.run(table.size()) == 19
        assert session.run(table.lookup([57, 58])).tolist() == [570, -1]


def test_a_handle_of_another_kind_is_refused() -> None:
    changing, _ = tables()
    fill = tf.raw_ops.InitializeTableV2(
        table_handle=changing.resource_handle, keys=["a"], values=tf.constant([1], tf.int64)
    )
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match="not init"):
        session.run(fill)


def test_the_name_of_a_vocabulary_may_be_fed(tmp_path):
    path = tmp_path / "words.txt"
    path.write_text("x\ny\n")
    name = tf.constant("elsewhere.txt")
    table = tf.contrib.lookup.index_table_from_file(name)
    with tf.Session() as session:
        session.run(tf.tables_initializer(), {name: str(path)})
        assert session.run(table.lookup(tf.constant(["y"]))).tolist() == [1]
