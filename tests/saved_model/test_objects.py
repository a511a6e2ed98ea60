"""Objects as SavedModels: written, loaded, called, and exchanged with TensorFlow."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.saved_model import objects
from tests.saved_model.exchange import ask_tensorflow

import stillflow as tf
from stillflow.protos import SavedModel

RECORDED = Path(objects.RECORDED)
load = tf.compat.v2.saved_model.load


def module(value: Any = None, **signature: Any) -> Any:
    made = tf.Module()
    if value is not None:
        made.v = tf.compat.v2.Variable(value)
    specs = [tf.TensorSpec([], tf.float32, name="x")]
    made.f = tf.function(
        lambda x: x * made.v if value is not None else x * 2,
        **(signature or {"input_signature": specs}),
    )
    return made


def recorded() -> Any:
    return json.loads((RECORDED / "found.json").read_text())


def test_models_of_tensorflow_answer_as_there() -> None:
    assert objects.use(tf, str(RECORDED)) == recorded()


def test_models_that_are_written_answer_as_those_of_tensorflow(tmp_path: Path) -> None:
    objects.write(tf, str(tmp_path))
    assert objects.use(tf, str(tmp_path)) == recorded()


@pytest.mark.oracle
def test_tensorflow_loads_what_is_written(tmp_path: Path) -> None:
    objects.write(tf, str(tmp_path))
    assert json.loads(ask_tensorflow("objects", "use", tmp_path)) == recorded()


@pytest.mark.oracle
def test_what_tensorflow_writes_is_loaded(tmp_path: Path) -> None:
    ask_tensorflow("objects", "write", tmp_path)
    assert objects.use(tf, str(tmp_path)) == recorded()


def described(directory: Path) -> Any:
    """Return a model's description of its objects, without the names of functions."""
    message = SavedModel.FromString((directory / "saved_model.pb").read_bytes())
    graph = message.meta_graphs[0].object_graph_def
    for node in graph.nodes:
        del node.function.concrete_functions[1:]
        node.function.concrete_functions[:] = ["f" for _ in node.function.concrete_functions]
        node.bare_concrete_function.concrete_function_name = "f"
    return [str(node) for node in graph.nodes]


@pytest.mark.parametrize("name", ["scaler", "counter", "stateless", "lookups"])
def test_objects_are_described_as_by_tensorflow(tmp_path: Path, name: str) -> None:
    objects.write(tf, str(tmp_path))
    assert described(tmp_path / name) == described(RECORDED / name)


def test_what_was_loaded_can_be_saved_again(tmp_path: Path, session: tf.Session) -> None:
    first, second = str(tmp_path / "first"), str(tmp_path / "second")
    made = module(4.0)
    session.run(tf.global_variables_initializer())
    tf.saved_model.save(made, first)
    for source, target in ((first, second), (second, None)):
        with tf.Graph().as_default(), tf.Session() as another:
            found = load(source)
            results = [found.f(3.0), found.signatures["serving_default"](tf.constant(2.0))]
            another.run(tf.global_variables_initializer())
            assert another.run(results) == [12.0, {"output_0": 8.0}]
            if target is not None:
                tf.saved_model.save(found, target)


def test_a_second_save_replaces_the_first(tmp_path: Path, session: tf.Session) -> None:
    made = module(4.0)
    session.run(tf.global_variables_initializer())
    tf.saved_model.save(made, str(tmp_path))
    session.run(made.v.assign(5.0))
    tf.saved_model.save(made, str(tmp_path))
    with tf.Graph().as_default(), tf.Session() as another:
        found = load(str(tmp_path))
        another.run(tf.global_variables_initializer())
        assert another.run(found.v) == 5.0


def test_checkpoints_restore_from_the_variables(tmp_path: Path, session: tf.Session) -> None:
    root = tf.train.Checkpoint(v=tf.compat.v2.Variable(2.5))
    session.run([root.v.initializer, root.save_counter.initializer])
    tf.saved_model.save(root, str(tmp_path))
    with tf.Graph().as_default(), tf.Session() as another:
        again = tf.train.Checkpoint(v=tf.compat.v2.Variable(0.0))
        again.restore(str(tmp_path / "variables" / "variables")).run_restore_ops()
        assert another.run(again.v) == 2.5


def test_what_optimizers_keep_is_loaded_as_variables(tmp_path: Path, session: tf.Session) -> None:
    made = module(4.0)
    made.optimizer = tf.train.MomentumOptimizer(0.1, 0.9)
    step = made.optimizer.minimize(made.v * made.v, var_list=[made.v])
    session.run(tf.global_variables_initializer())
    session.run(step)
    expected = session.run([made.v, made.optimizer.get_slot(made.v, "momentum")])
    tf.saved_model.save(made, str(tmp_path))
    with tf.Graph().as_default(), tf.Session() as another:
        load(str(tmp_path))
        another.run(tf.global_variables_initializer())
        np.testing.assert_array_equal(another.run(tf.global_variables()), expected)


def _unsaved(tmp_path: Path) -> dict[str, Callable[[], Any]]:
    """Attempt saves that TensorFlow rejects, by their messages."""
    save, directory = tf.saved_model.save, str(tmp_path)
    outside = tf.compat.v2.Variable(1.0)
    symbol = tf.placeholder(tf.float32, [])
    specs = [tf.TensorSpec([], tf.float32, name="x")]

    def having(**attributes: Any) -> Any:
        made = tf.Module()
        for name, value in attributes.items():
            setattr(made, name, value)
        return made

    def using(function: Callable[[Any], Any]) -> Any:
        return having(f=tf.function(function, input_signature=specs))

    reference = having(v=tf.Variable(1.0, use_resource=False))
    nested, listed = using(lambda x: [x, [x]]), using(lambda x: {"a": [x]})
    free = module(input_signature=None)
    return {
        r"Expected a Trackable object for export, got 3\.": lambda: save(3, directory),
        r"Tensor\(\"Variable.*float32_ref\) must be from the same graph as Tensor\(\"saver_filena":
            lambda: save(reference, directory),
        r"which references untracked object Tensor": lambda: save(
            using(lambda x: x * outside), directory),
        r"references a symbolic Tensor Tensor\(\"Placeholder": lambda: save(
            using(lambda x: x * symbol), directory),
        r"generate a signature for, but got 3\. Only": lambda: save(free, directory, 3),
        r"Only `tf.functions` with an input signature": lambda: save(free, directory, free.f),
        r"Got non-flat outputs": lambda: save(nested, directory, nested.f),
        r"Got a dictionary containing non-Tensor value": lambda: save(
            listed, directory, listed.f),
        r"attribute named 'signatures'\. This is a reserved": lambda: save(
            having(signatures=tf.Module()), directory),
        r"is not supported inside a traced @tf.function": lambda: tf.function(
            lambda: save(free, directory))(),
    }  # fmt: skip


@pytest.mark.parametrize("number", range(10))
def test_what_tensorflow_cannot_save_is_refused_in_its_words(
    tmp_path: Path, session: tf.Session, number: int
) -> None:
    words, attempt = list(_unsaved(tmp_path).items())[number]
    with pytest.raises((ValueError, AssertionError), match=words):
        attempt()
    assert not (tmp_path / "saved_model.pb").exists()


def test_variables_without_values_are_not_saved(tmp_path: Path, session: tf.Session) -> None:
    with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized"):
        tf.saved_model.save(module(1.0), str(tmp_path))


def test_signatures_say_what_they_take(session: tf.Session) -> None:
    signature = load(str(RECORDED / "scaler")).signatures["serving_default"]
    with pytest.raises(TypeError, match=r"at most 0 positional .* rest keywords, of \['k', 'x'\]"):
        signature(1.0)
    words = r"names \['k', 'x'\] but got values for \['k', 'y'\]\. Missing: \['x'\]\."
    with pytest.raises(TypeError, match=words):
        signature(k=1.0, y=2.0)


def test_functions_say_what_they_were_traced_for(session: tf.Session) -> None:
    model = load(str(RECORDED / "scaler"))
    with pytest.raises(ValueError, match="match one of the following 2 option"):
        model.any(tf.ones([2, 2]))
    with pytest.raises(TypeError, match=r"only pass arguments covered by it\. Received 3"):
        model.scale(1, 2, 3)


def test_other_models_are_refused_by_name(tmp_path: Path, session: tf.Session) -> None:
    with pytest.raises(OSError, match="SavedModel file does not exist at"):
        load(str(tmp_path))
    with pytest.raises(ValueError, match=r"one MetaGraph with tags \['serve'\], but got an"):
        load(str(RECORDED / "scaler"), tags=["train"])
    x = tf.placeholder(tf.float32)
    tf.saved_model.simple_save(session, str(tmp_path / "graph"), {"x": x}, {"y": x + 1})
    with pytest.raises(NotImplementedError, match="holds graphs and no objects"):
        load(str(tmp_path / "graph"))
