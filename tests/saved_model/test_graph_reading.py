"""SavedModels of graphs as objects with functions; the values are TensorFlow 1.15.5's."""

from __future__ import annotations

import pytest

import stillflow as tf
from stillflow.eager.immediate import ImmediateGraph
from stillflow.graph import trust

load = tf.compat.v2.saved_model.load


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    words = folder / "words.txt"
    words.write_text("a\nb\n")
    path = str(folder / "saved")
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 2], name="x")
        v = tf.get_variable("v", initializer=[[1.0], [2.0]])
        w = tf.Variable([3.0], name="w", use_resource=True)
        y = tf.add(tf.matmul(x, v), w, name="y")
        asset = tf.constant(str(words))
        tf.add_to_collection(tf.GraphKeys.ASSET_FILEPATHS, asset)
        key = tf.placeholder(tf.string, [None], name="key")
        number = tf.contrib.lookup.index_table_from_file(asset).lookup(key)
        session.run([tf.global_variables_initializer(), tf.tables_initializer()])
        signature = tf.saved_model.predict_signature_def
        builder = tf.saved_model.Builder(path)
        builder.add_meta_graph_and_variables(
            session,
            ["serve"],
            {"serving_default": signature({"x": x}, {"y": y}),
             "words": signature({"key": key}, {"number": number})},
            main_op=tf.tables_initializer(),
            assets_collection=tf.get_collection(tf.GraphKeys.ASSET_FILEPATHS),
        )  # fmt: skip
        builder.save()
    words.unlink()
    return path


@pytest.fixture
def eager():
    with ImmediateGraph().as_default():
        yield


def test_signatures_variables_and_assets_are_those_of_the_graph(folder, eager):
    model = load(folder)
    run = model.signatures["serving_default"]
    assert [tensor.name for tensor in run.outputs] == ["y:0"]
    assert run.structured_outputs["y"].shape.as_list() == [None, 1]
    assert run(x=tf.constant([[1.0, 1.0]]))["y"].numpy().tolist() == [[6.0]]
    assert model.signatures["words"](tf.constant(["b", "q"]))["number"].numpy().tolist() == [1, -1]
    assert model.prune("x:0", "y:0")(tf.constant([[2.0, 2.0]])).numpy().tolist() == [[9.0]]
    (variable,) = model.variables
    assert (variable.name, variable.numpy().tolist()) == ("w:0", [3.0])
    assert model.tensorflow_version == tf.__version__ and len(model.asset_paths) == 1


def test_a_changed_variable_and_gradients_reach_the_functions_of_one_model_alone(folder, eager):
    model, other = load(folder), load(folder, tags=["serve"])
    (variable,) = model.variables
    variable.assign([4.0])
    x = tf.constant([[1.0, 1.0]])
    results = [each.signatures["serving_default"](x)["y"].numpy().item() for each in (model, other)]
    assert results == [7.0, 6.0]
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = model.signatures["serving_default"](x)["y"]
    assert [each.numpy().tolist() for each in tape.gradient(y, [x, variable])] == [
        [[1.0, 2.0]], [1.0],
    ]  # fmt: skip


def test_graphs_are_found_by_their_tags(folder, eager):
    with pytest.raises(RuntimeError, match="MetaGraphDef associated with tags 'nope' could not"):
        load(folder, tags=["nope"])


def test_a_model_that_is_not_trusted_reads_no_files_of_its_choice(tmp_path, eager):
    path = str(tmp_path / "reads")
    with tf.Graph().as_default(), tf.Session() as session:
        name = tf.placeholder(tf.string, [])
        tf.saved_model.simple_save(session, path, {"name": name}, {"text": tf.read_file(name)})
    own = tf.constant(str(tmp_path / "own"))
    (tmp_path / "own").write_text("secret")
    assert load(path).signatures["serving_default"](own)["text"].numpy() == b"secret"
    with trust.limited(), pytest.raises(tf.errors.PermissionDeniedError):
        load(path).signatures["serving_default"](own)
