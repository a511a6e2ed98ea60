"""Models of every kind of file, loaded into a session."""

from __future__ import annotations

from pathlib import Path

import pytest

import stillflow as tf
from stillflow.saved_model.opening import load_model


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Write a SavedModel, a checkpoint and a graph without variables, of the same function."""
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None], name="x")
        y = tf.multiply(x, tf.get_variable("v", initializer=3.0), name="y")
        session.run(tf.global_variables_initializer())
        tf.saved_model.simple_save(session, str(tmp_path / "saved"), {"x": x}, {"y": y})
        tf.train.Saver().save(session, str(tmp_path / "steps" / "model"), global_step=7)
    with tf.Graph().as_default() as graph:
        tf.multiply(tf.placeholder(tf.float32, [None], name="x"), 3.0, name="y")
        (tmp_path / "frozen.pb").write_bytes(graph.as_graph_def().SerializeToString())
    (tmp_path / "notes.txt").write_text("no model at all")
    return tmp_path


@pytest.mark.parametrize(
    ("path", "keys"),
    [
        ("saved", ["serving_default"]), ("saved/saved_model.pb", ["serving_default"]),
        ("steps", []), ("steps/model-7", []), ("steps/model-7.meta", []), ("frozen.pb", []),
    ],
)  # fmt: skip
def test_a_model_of_each_kind_runs(folder: Path, path: str, keys: list[str]) -> None:
    with tf.Session(graph=tf.Graph()) as session:
        assert list(load_model(session, str(folder / path))) == keys
        assert session.run("y:0", {"x:0": [1.0, 2.0]}).tolist() == [3.0, 6.0]


def test_what_is_no_model_is_an_error(folder: Path) -> None:
    (folder / "steps" / "model-7.meta").unlink()
    with tf.Session(graph=tf.Graph()) as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="is no GraphDef"):
            load_model(session, str(folder / "notes.txt"))
        with pytest.raises(tf.errors.NotFoundError, match="holds the graph"):
            load_model(session, str(folder / "steps"))
        with pytest.raises(RuntimeError, match="could not be found"):
            load_model(session, str(folder / "saved"), ["absent"])
