"""Feature columns: comparison, errors, and serialization."""

from __future__ import annotations

import copy
from collections import namedtuple
from typing import Any

import numpy as np
import pytest

import stillflow as tf
from stillflow.feature_column import base
from stillflow.feature_column.cache import FeatureTransformationCache, _LazyBuilder, as_sparse
from stillflow.feature_column.serialization import (
    deserialize_feature_columns,
    serialize_feature_columns,
)
from stillflow.feature_column.shared_embedding import shared_embedding_columns_v2
from stillflow.feature_column.transforming import is_feature_column_v2, transform_features_v2

fc = tf.feature_column


def ids(key: str = "i") -> Any:
    return fc.categorical_column_with_identity(key, 3)


def every_column() -> list[Any]:
    number = fc.numeric_column("x", shape=(2,), normalizer_fn=None)
    hashed = fc.categorical_column_with_hash_bucket("h", 5)
    return [
        number,
        fc.bucketized_column(number, [1.0, 2.0]),
        hashed,
        fc.categorical_column_with_vocabulary_list("v", ["a", "b"]),
        fc.categorical_column_with_vocabulary_file("f", "words", 3),
        fc.crossed_column([ids(), "w"], 7, hash_key=3),
        fc.weighted_categorical_column(ids(), "weight"),
        fc.indicator_column(hashed),
        fc.embedding_column(ids(), 2),
        fc.sequence_categorical_column_with_identity("s", 2),
        fc.sequence_numeric_column("n"),
    ]


def test_columns_are_named_tuples_that_compare_by_their_fields() -> None:
    assert ids() == ids() and hash(ids()) == hash(ids()) and ids() != ids("j")
    assert repr(ids()) == "IdentityCategoricalColumn(key='i', number_buckets=3, default_value=None)"
    assert sorted([ids("b"), ids("a")]) == [ids("a"), ids("b")]
    assert copy.deepcopy(every_column()[1]) == every_column()[1]


def test_every_column_is_read_as_it_was_written() -> None:
    columns = every_column()
    read = deserialize_feature_columns(serialize_feature_columns(columns))
    without_initializers = [
        column._replace(initializer=None) if hasattr(column, "initializer") else column
        for column in (*columns, *read)
    ]
    assert without_initializers[: len(columns)] == without_initializers[len(columns) :]
    assert read[0] is read[1].source_column  # what columns share is made once


def test_other_configurations_are_refused() -> None:
    with pytest.raises(ValueError, match="Instance: 3 is not a FeatureColumn"):
        serialize_feature_columns([3])
    with pytest.raises(ValueError, match="Improper config format: 3"):
        deserialize_feature_columns([3])
    with pytest.raises(ValueError, match="Unknown feature_column_v2: Nothing"):
        deserialize_feature_columns([{"class_name": "Nothing", "config": {}}])
    with pytest.raises(ValueError, match=r"Invalid config: \{\}, expected keys"):
        deserialize_feature_columns([{"class_name": "NumericColumn", "config": {}}])
    own = {"class_name": "Own", "config": {}}
    with pytest.raises(ValueError, match=r"Expected FeatureColumn class, instead found: .*int"):
        deserialize_feature_columns([own], {"Own": int})


def test_shared_vectors_need_ids_of_the_same_kind() -> None:
    hashed = fc.categorical_column_with_hash_bucket("h", 3)
    with pytest.raises(
        ValueError, match=r"must have the same type.*Hashed.*does not match.*Identi"
    ):
        fc.shared_embedding_columns([ids(), hashed], 2)
    more = fc.categorical_column_with_identity("more", 4)
    with pytest.raises(ValueError, match=r"same number of buckets.*buckets: 3 does  not match"):
        fc.shared_embedding_columns([ids(), more], 2)
    with pytest.raises(ValueError, match="must be subclasses of CategoricalColumn"):
        shared_embedding_columns_v2([Doubled("x")], 2)


@pytest.mark.usefixtures("graph")
def test_shared_vectors_of_the_present_generation_are_for_layers_of_keras() -> None:
    columns = shared_embedding_columns_v2([ids("a"), ids("b")], 2)
    with pytest.raises(ValueError, match="SharedEmbeddingColumns are not supported"):
        fc.make_parse_example_spec(columns)
    layer = tf.keras.layers.DenseFeatures(columns)
    output = layer({"a": tf.constant([[1]]), "b": tf.constant([[2]])})
    assert output.shape.as_list() == [1, 4]
    assert [v.op.name for v in tf.global_variables()] == ["a_b_shared_embedding"]


class Doubled(  # as programs wrote columns before there were state managers
    base._CategoricalColumn, base._DenseColumn, namedtuple("Doubled", ("key",))
):
    @property
    def name(self) -> str:
        return self.key + "_doubled"

    @property
    def _parse_example_spec(self) -> dict[str, Any]:
        return {self.key: tf.io.VarLenFeature(tf.int64)}

    @property
    def _num_buckets(self) -> int:
        return 5

    @property
    def _variable_shape(self) -> Any:
        return tf.TensorShape([1])

    def _transform_feature(self, inputs: Any) -> Any:
        return inputs.get(self.key) * 2

    def _get_dense_tensor(
        self, inputs: Any, weight_collections: Any = None, trainable: Any = None
    ) -> Any:
        return tf.cast(inputs.get(self), tf.float32)

    def _get_sparse_tensors(
        self, inputs: Any, weight_collections: Any = None, trainable: Any = None
    ) -> Any:
        return self.IdWeightPair(as_sparse(inputs.get(self)), None)


@pytest.mark.usefixtures("graph")
def test_columns_of_the_older_generation_work_inside_of_others() -> None:
    column = Doubled("x")
    counts = fc.indicator_column(column)
    features = {"x": tf.constant([[1], [2]])}
    assert not is_feature_column_v2([counts]) and is_feature_column_v2([ids()])
    assert list(fc.make_parse_example_spec([counts])) == ["x"]
    with tf.Session() as session:
        values, numbers = session.run(
            [fc.input_layer(features, [counts]), fc.input_layer(features, [column])]
        )
    np.testing.assert_array_equal(values, np.eye(5)[[2, 4]])
    np.testing.assert_array_equal(numbers, [[2.0], [4.0]])
    with pytest.raises(ValueError, match=r"must be a FeatureColumn\. Given \(type .*Doubled"):
        tf.keras.layers.DenseFeatures([column])


@pytest.mark.usefixtures("graph")
def test_features_are_transformed_once() -> None:
    column = fc.numeric_column("x", normalizer_fn=lambda x: x + 1.0)
    cache = FeatureTransformationCache({"x": tf.constant([1.0])})
    assert cache.get(column) is cache.get(column)
    assert cache.get("x").shape.as_list() == [1, 1]
    assert list(transform_features_v2({"x": [[1.0]]}, [column], None)) == [column]


@pytest.mark.parametrize(
    "kind, said", [(FeatureTransformationCache, "FeatureColumn"), (_LazyBuilder, "_FeatureColumn")]
)
def test_a_cache_refuses_other_keys(kind: Any, said: str) -> None:
    with pytest.raises(TypeError, match=f'either a "str" or "{said}". Provided: 3'):
        kind({}).get(3)
    with pytest.raises(ValueError, match="Feature x is not in features dictionary"):
        kind({}).get("x")
