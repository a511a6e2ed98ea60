"""Checkpoints by paths that are not in their shortest form."""

from __future__ import annotations

import pytest

import stillflow as tf


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return a directory "models" in the current one, with a checkpoint `m` of a variable of 1."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "models").mkdir()
    tf.get_variable("v", initializer=1.0)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        tf.train.Saver().save(session, "models/m")
    return tmp_path / "models"


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("path", ["models//m", "gone/../models/m", "models/../models/./m"])
def test_a_checkpoint_is_found_by_any_form_of_its_path(path):
    assert tf.train.checkpoint_exists(path)
    assert tf.train.list_variables(path) == [("v", [])]
    with tf.Session() as session:
        tf.train.Saver().restore(session, path)
        assert session.run("v:0") == 1.0


@pytest.mark.parametrize("prefix", ["new/", "gone/../new/"])
def test_a_prefix_that_ends_with_a_slash_names_files_in_the_folder(folder, prefix):
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        saver = tf.train.Saver()
        assert saver.save(session, prefix, write_meta_graph=False) == prefix
        assert (folder.parent / "new" / ".index").exists()
        assert not (folder.parent / "gone").exists()
        saver.restore(session, prefix)


@pytest.mark.parametrize(
    ("content", "reason"),
    [(b"", "it is empty"), (b"hello", 'has no field named "hello"'), (b"\xff" * 9, "utf-8")],
)
def test_a_graph_that_is_none_is_an_error_and_not_an_empty_graph(tmp_path, content, reason):
    path = tmp_path / "model.meta"
    path.write_bytes(content)
    with pytest.raises(OSError, match=rf"Cannot parse file .*model\.meta.*{reason}"):
        tf.train.import_meta_graph(str(path))
