"""Checkpoints, graphs and SavedModels on file systems that are no disks."""

from __future__ import annotations

from collections.abc import Iterator

import fsspec
import numpy as np
import pytest

import stillflow as tf
from stillflow import errors

ROOT = "memory://bucket/run"


@pytest.fixture(autouse=True)
def bucket() -> Iterator[None]:
    tf.gfile.MakeDirs(ROOT)
    with tf.Graph().as_default():
        yield
    fsspec.filesystem("memory").store.clear()


def variables() -> tuple[tf.Session, list[tf.Variable]]:
    made = [tf.Variable(np.arange(6.0).reshape(2, 3), name="a"), tf.Variable("text", name="s")]
    session = tf.Session()
    session.run(tf.global_variables_initializer())
    return session, made


def names() -> list[str]:
    return sorted(tf.gfile.ListDirectory(ROOT))


@pytest.mark.parametrize("version", [tf.train.SaverDef.V1, tf.train.SaverDef.V2])
@pytest.mark.parametrize("sharded", [False, True])
def test_a_saver_saves_restores_and_keeps_the_last(version: int, sharded: bool) -> None:
    session, (a, s) = variables()
    saver = tf.train.Saver(max_to_keep=2, sharded=sharded, write_version=version)
    for step in (1, 2, 3):
        session.run(a.assign(np.full([2, 3], step)))
        path = saver.save(session, f"{ROOT}/model", global_step=step)
    assert tf.train.latest_checkpoint(ROOT) == path
    assert not [name for name in names() if name.startswith("model-1")]
    assert not [name for name in names() if "temp" in name]
    session.run(a.assign(np.zeros([2, 3])))
    saver.restore(session, path)
    assert session.run(a)[0, 0] == 3 and session.run(s) == b"text"
    assert all(stamp > 0 for stamp in tf.train.get_checkpoint_mtimes([path]))
    reader = tf.train.NewCheckpointReader(path)
    assert reader.get_variable_to_shape_map() == {"a": [2, 3], "s": []}


def test_overwriting_a_checkpoint() -> None:
    session, (a, _) = variables()
    saver = tf.train.Saver()
    for value in (1, 2):
        session.run(a.assign(np.full([2, 3], value)))
        saver.save(session, f"{ROOT}/model")
    assert tf.train.load_variable(ROOT, "a")[0, 0] == 2
    assert names() == ["checkpoint", "model.data-00000-of-00001", "model.index", "model.meta"]


def test_a_graph_comes_back_from_its_meta_file() -> None:
    session, _ = variables()
    path = tf.train.Saver().save(session, f"{ROOT}/model")
    tf.train.write_graph(session.graph, ROOT, "graph.pbtxt")
    with tf.Graph().as_default(), tf.Session() as again:
        tf.train.import_meta_graph(path + ".meta").restore(again, path)
        assert again.run("a:0")[1, 2] == 5
    assert "graph.pbtxt" in names()


def test_variables_start_from_a_checkpoint() -> None:
    session, _ = variables()
    path = tf.train.Saver().save(session, f"{ROOT}/model")
    with tf.Graph().as_default(), tf.Session() as again:
        b = tf.get_variable("b", [2, 3], tf.float64)
        tf.train.init_from_checkpoint(path, {"a": b})
        again.run(tf.global_variables_initializer())
        assert again.run(b)[1, 2] == 5


def test_objects_are_saved_and_restored() -> None:
    v = tf.Variable(3.0, name="v", use_resource=True)
    root = tf.train.Checkpoint(v=v)
    with tf.Session() as session:
        session.run(v.initializer)
        path = root.save(f"{ROOT}/objects", session=session)
        session.run(v.assign(0.0))
        root.restore(path).assert_consumed().run_restore_ops(session)
        assert session.run(v) == 3


def test_a_saved_model_with_an_asset(tmp_path) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "words").write_text("a b")
    session, (a, _) = variables()
    asset = tf.constant(str(tmp_path / "words"))
    tf.add_to_collection(tf.GraphKeys.ASSET_FILEPATHS, asset)
    builder = tf.saved_model.Builder(f"{ROOT}/export")
    signature = tf.saved_model.predict_signature_def({"x": a}, {"y": a})
    builder.add_meta_graph_and_variables(
        session, ["serve"], {"run": signature},
        assets_collection=tf.get_collection(tf.GraphKeys.ASSET_FILEPATHS),
    )  # fmt: skip
    builder.save()
    assert tf.saved_model.maybe_saved_model_directory(f"{ROOT}/export")
    with tf.Graph().as_default(), tf.Session() as again:
        meta_graph = tf.saved_model.load(again, ["serve"], f"{ROOT}/export")
        assert list(meta_graph.signature_def) == ["run"] and again.run("a:0")[1, 2] == 5
    with tf.gfile.GFile(f"{ROOT}/export/assets/words") as file:
        assert file.read() == "a b"
    with pytest.raises(AssertionError, match="isn't empty"):
        tf.saved_model.Builder(f"{ROOT}/export")


def test_damage_is_told_with_the_name_it_has_there() -> None:
    session, _ = variables()
    path = tf.train.Saver().save(session, f"{ROOT}/model")
    data = f"{path}.data-00000-of-00001"
    with tf.gfile.GFile(data, "rb") as file:
        content = bytearray(file.read())
    content[3] ^= 1
    with tf.gfile.GFile(data, "wb") as file:
        file.write(bytes(content))
    with pytest.raises(errors.DataLossError, match=r"in memory://bucket/run/model\.data-00000-of"):
        tf.train.load_variable(path, "a")
    with pytest.raises(errors.NotFoundError):
        tf.train.NewCheckpointReader(f"{ROOT}/nothing")
