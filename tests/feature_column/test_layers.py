"""Layers of feature columns: errors, and training."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import stillflow as tf
from stillflow.feature_column.feature_layers import DenseFeaturesV2
from stillflow.feature_column.linear_layer import LinearModel, _LinearModelLayer
from stillflow.feature_column.sequence_input_layer import concatenate_context_input
from stillflow.feature_column.state import LayerState, StateManager

pytestmark = pytest.mark.usefixtures("graph")

fc = tf.feature_column
X = fc.numeric_column("x")
IDS = fc.categorical_column_with_identity("i", 3)
STEPS = fc.sequence_categorical_column_with_identity("i", 3)


def sparse_ids() -> Any:
    return tf.SparseTensor([[0, 0], [1, 1]], [0, 2], [2, 2])


def test_layers_refuse_columns_of_other_kinds() -> None:
    with pytest.raises(ValueError, match=r"must be a <class .*DenseColumn'>. You can wrap a"):
        tf.keras.layers.DenseFeatures([IDS])
    with pytest.raises(ValueError, match=r"must be a <class .*SequenceDenseColumn'>"):
        tf.keras.experimental.SequenceFeatures([X])
    with pytest.raises(ValueError, match="All feature_columns must be of type _SequenceDenseColu"):
        tf.contrib.feature_column.sequence_input_layer({}, [X])
    with pytest.raises(ValueError, match="must be either a DenseColumn or CategoricalColumn"):
        _LinearModelLayer([fc.sequence_numeric_column("x")])


def test_layers_want_a_dict() -> None:
    for layer in (tf.keras.layers.DenseFeatures([X]), _LinearModelLayer([X])):
        with pytest.raises(ValueError, match=r"We expected a dictionary here. Instead we got"):
            layer(tf.ones([2, 1]))


@pytest.mark.parametrize(
    "wrap, kind",
    [
        (fc.indicator_column, "indicator_column"),
        (lambda column: fc.embedding_column(column, 2), "embedding_column"),
    ],
)
def test_steps_go_with_layers_of_sequences(wrap: Any, kind: str) -> None:
    features = {"i": sparse_ids()}
    with pytest.raises(ValueError, match=f"In {kind}: i_.* must not be of type SequenceCateg"):
        tf.keras.layers.DenseFeatures([wrap(STEPS)])(features)
    with pytest.raises(ValueError, match=f"In {kind}: i_.* must not be of type _SequenceCateg"):
        fc.input_layer(features, [wrap(STEPS)])
    with pytest.raises(ValueError, match=f"In {kind}: i_.* must be of type SequenceCategorical"):
        tf.keras.experimental.SequenceFeatures([wrap(IDS)])(features)


def test_ids_of_another_type_are_refused() -> None:
    words = {"i": tf.SparseTensor([[0, 0]], ["a"], [1, 1])}
    with pytest.raises(ValueError, match=r"Invalid input, not integer. key: i dtype: <dtype: 'str"):
        fc.linear_model(words, [IDS])
    hashed = fc.categorical_column_with_hash_bucket("i", 3, dtype=tf.int64)
    with pytest.raises(ValueError, match=r"dtype must be compatible. key: i, column dtype: <dtype"):
        fc.linear_model(words, [hashed])


def test_a_collection_holds_the_shared_vectors_alone() -> None:
    columns = fc.shared_embedding_columns([IDS], 2, shared_embedding_collection_name="mine")
    tf.add_to_collection("mine", tf.Variable(tf.zeros([3, 4])))
    with pytest.raises(ValueError, match=r"variable Variable:0 of unexpected shape \(3, 4\)"):
        fc.input_layer({"i": sparse_ids()}, columns)
    tf.add_to_collection("mine", tf.Variable(0.0))
    with pytest.raises(ValueError, match=r"can only contain one variable. Suggested fix A"):
        fc.input_layer({"i": sparse_ids()}, columns)


def test_layers_are_made_again_from_their_configurations() -> None:
    columns = [X, fc.indicator_column(IDS)]
    for layer in (
        tf.keras.layers.DenseFeatures(columns, name="deep"),
        tf.keras.experimental.SequenceFeatures([fc.sequence_numeric_column("x")]),
        _LinearModelLayer(columns, units=3, sparse_combiner="mean"),
    ):
        again = type(layer).from_config(layer.get_config())
        assert again._feature_columns == layer._feature_columns
        assert again.get_config() == layer.get_config()
    read = tf.keras.layers.deserialize(
        tf.keras.layers.serialize(tf.keras.layers.DenseFeatures([X], name="deep"))
    )
    assert isinstance(read, tf.keras.layers.DenseFeatures) and read.name == "deep"


def test_variables_without_variable_scopes_have_names_of_keras() -> None:
    columns = [fc.embedding_column(IDS, 2)]
    layer = DenseFeaturesV2(columns)
    layer({"i": sparse_ids()})
    assert [weight.name for weight in layer.weights] == [
        "dense_features/i_embedding/embedding_weights:0"
    ]


def test_a_linear_model_learns() -> None:
    features = {"x": tf.constant([[1.0], [2.0]]), "i": sparse_ids()}
    model = LinearModel([X, IDS])
    loss = tf.reduce_sum(tf.square(model(features) - [[1.0], [-1.0]]))
    step = tf.train.GradientDescentOptimizer(0.05).minimize(loss)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        losses = [session.run([loss, step])[0] for _ in range(60)]
        assert session.run(model.bias).shape == (1,)
    assert losses[0] == pytest.approx(2.0) and losses[-1] < 0.01


def test_vectors_start_with_those_of_a_checkpoint(tmp_path: Any) -> None:
    vectors = np.arange(6.0, dtype=np.float32).reshape(3, 2)
    with tf.Graph().as_default(), tf.Session() as session:
        tf.get_variable("vectors", initializer=vectors)
        session.run(tf.global_variables_initializer())
        path = tf.train.Saver().save(session, str(tmp_path / "model"))
    column = fc.embedding_column(IDS, 2, ckpt_to_load_from=path, tensor_name_in_ckpt="vectors")
    output = fc.input_layer({"i": sparse_ids()}, [column])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        np.testing.assert_array_equal(session.run(output), vectors[[0, 2]])


def test_whole_examples_stand_beside_each_step() -> None:
    steps, context = tf.zeros([2, 3, 1]), tf.constant([[1.0], [2.0]])
    with tf.Session() as session:
        both = session.run(concatenate_context_input(context, steps))
    np.testing.assert_array_equal(both[:, :, 1], [[1.0] * 3, [2.0] * 3])
    with pytest.raises(ValueError, match="sequence_input must have rank 3"):
        concatenate_context_input(context, context)
    with pytest.raises(TypeError, match="context_input must have dtype float32; got"):
        concatenate_context_input(tf.constant([[1]]), steps)


def test_a_state_manager_keeps_what_it_is_given_once() -> None:
    layer = tf.keras.layers.Layer()
    state = LayerState(layer, trainable=True)
    variable = state.create_variable(X, "w", [2])
    assert state.get_variable(X, "w") is variable and layer.weights == [variable]
    with pytest.raises(ValueError, match="Variable already exists"):
        state.create_variable(X, "w", [2])
    with pytest.raises(ValueError, match="Variable does not exist"):
        state.get_variable(IDS, "w")
    state.add_resource(X, "table", 3)
    assert state.get_resource(X, "table") == 3
    with pytest.raises(ValueError, match="Resource does not exist"):
        state.get_resource(IDS, "table")
    with pytest.raises(NotImplementedError, match=r"StateManager\.get_var"):
        StateManager().get_variable(X, "w")
