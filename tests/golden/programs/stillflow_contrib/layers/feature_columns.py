"""Feature columns of tf.contrib.layers: each kind in the layers that take it."""

from __future__ import annotations

import functools
import itertools
from unittest import mock

import numpy as np
from tests.golden.programs.feature_column.columns import WORDS, sparse
from tests.golden.registry import Run, program, raised


def result(tf, fetches, facts=None, feeds=None, train=None):
    facts = {**(facts or {}), "variables": [v.name for v in tf.global_variables()],
             "model": [v.name for v in tf.model_variables()]}
    setup = [tf.global_variables_initializer(), tf.tables_initializer()]
    return Run(fetches, feeds, facts=facts, setup=setup, train=train)


def with_named_tables(builder):
    """Names tables by numbers instead of at random."""

    @functools.wraps(builder)
    def build(tf):
        with mock.patch("uuid.uuid4", side_effect=map(str, itertools.count())):
            return builder(tf)

    return build


def letters(tf):
    return sparse(tf, ["a", "b", "c"])


@program
def numbers(tf):
    layers = tf.contrib.layers
    age = layers.real_valued_column("age", default_value=3.0)
    size = layers.real_valued_column("size", dimension=2, normalizer=lambda x: x / 2.0)
    whole = layers.real_valued_column("whole", dtype=tf.int32, default_value=4)
    columns = [size, age, whole,
               layers.bucketized_column(age, [0.0, 0.0, 2.0, 5.0]),
               layers.bucketized_column(size, boundaries=[1, 2])]
    size_in = tf.placeholder(tf.float32, [None, 2])
    features = {"size": size_in, "age": tf.constant([[1.0], [2.0]]),
                "whole": tf.constant([3, 4])}
    outs = {}
    dense = layers.input_from_feature_columns(features, columns, cols_to_outs=outs)
    linear, weights, bias = layers.weighted_sum_from_feature_columns(features, columns, 2)
    facts = {
        "keys": [column.key for column in columns if "lambda" not in column.key],
        "names": [column.name for column in columns],
        "outs": sorted((column.name, out.name) for column, out in outs.items()),
        "weights": sorted((c.name, [v.name for v in w]) for c, w in weights.items()),
        "bias": bias.name,
        "spec": str(sorted(layers.create_feature_spec_for_parsing(columns).items())),
    }
    feeds = {size_in: np.arange(4.0).reshape(2, 2)}
    return result(tf, {"dense": dense, "linear": linear}, facts, feeds)


@program
@with_named_tables
def ids(tf):
    layers = tf.contrib.layers
    columns = [
        layers.sparse_column_with_keys("keys", ["b", "c"], combiner="mean"),
        layers.sparse_column_with_hash_bucket("hashed", 7),
        layers.sparse_column_with_hash_bucket("strong", 7, hash_keys=[[1, 2], [3, 4]]),
        layers.sparse_column_with_hash_bucket("whole", 5, dtype=tf.int64),
        layers.sparse_column_with_integerized_feature("ids", 3, combiner="sqrtn"),
        layers.sparse_column_with_vocabulary_file("file", WORDS, vocab_size=3,
                                                  num_oov_buckets=2),
    ]
    whole = tf.placeholder(tf.int64, [None, 2])
    features = {"keys": letters(tf), "hashed": letters(tf), "strong": letters(tf),
                "file": sparse(tf, ["one", "two", "x"]), "whole": sparse(tf, [5, 9, -3]),
                "ids": whole}
    fetches = {}
    linear, weights, _ = layers.weighted_sum_from_feature_columns(features, columns, 1)
    made = layers.transform_features(features, columns)
    for column in columns:
        fetches[column.name] = made[column].values
    loss = tf.reduce_sum(tf.square(linear - 1.0))
    train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    fetches["linear"] = linear
    facts = {"keys": [column.key for column in columns],
             "lengths": [column.length for column in columns],
             "weights": sorted((c.name, [v.name for v in w]) for c, w in weights.items()),
             "spec": str(sorted(layers.create_feature_spec_for_parsing(columns).items()))}
    feeds = {whole: np.int64([[4, -1], [1, 0], [-1, -1]])}
    return result(tf, fetches, facts, feeds, train)


@program
@with_named_tables
def weighted_and_one_hot(tf):
    layers = tf.contrib.layers
    ids = layers.sparse_column_with_keys("keys", ["a", "b", "c"])
    weighted = layers.weighted_sparse_column(ids, "w")
    whole = layers.weighted_sparse_column(
        layers.sparse_column_with_integerized_feature("ids", 4), "n", dtype=tf.int32)
    features = {"keys": letters(tf), "w": sparse(tf, [0.5, -1.0, 2.0]),
                "ids": sparse(tf, [1, 0, 3]), "n": sparse(tf, [3, 1, 2])}
    columns = [layers.one_hot_column(each) for each in (ids, weighted)]
    dense = layers.input_from_feature_columns(features, columns)
    linear, _, _ = layers.weighted_sum_from_feature_columns(features, [weighted, whole], 2)
    facts = {"names": [column.name for column in columns],
             "dnn": raised(layers.input_from_feature_columns, features, [weighted])}
    return result(tf, {"dense": dense, "linear": linear}, facts)


@program
def vectors(tf):
    layers = tf.contrib.layers
    tf.set_random_seed(3)
    ids = layers.sparse_column_with_hash_bucket("hashed", 6)
    other = layers.sparse_column_with_hash_bucket("other", 6)
    columns = [
        layers.embedding_column(ids, 3),
        layers.embedding_column(layers.weighted_sparse_column(ids, "w"), 2, combiner="sum"),
        layers.embedding_column(other, 2, max_norm=0.3, trainable=False, combiner="sqrtn",
                                initializer=tf.ones_initializer()),
        layers.scattered_embedding_column("text", 20, 4, hash_key=7),
    ]
    columns.extend(layers.shared_embedding_columns([ids, other], 2))
    features = {"hashed": letters(tf), "other": letters(tf), "w": sparse(tf, [1.0, -1.0, 2.0]),
                "text": letters(tf)}
    with tf.variable_scope("net", partitioner=tf.fixed_size_partitioner(2)):
        dense = layers.input_from_feature_columns(features, columns, weight_collections=["mine"])
    loss = tf.reduce_sum(tf.square(dense))
    train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    facts = {"names": [column.name for column in columns],
             "collection": sorted(v.name for v in tf.get_collection("mine")),
             "wide": raised(layers.weighted_sum_from_feature_columns, features, columns[:1], 1)}
    return result(tf, {"dense": dense}, facts, train=train)


@program
@with_named_tables
def crosses(tf):
    layers = tf.contrib.layers
    ids = layers.sparse_column_with_keys("keys", ["a", "b", "c"])
    hashed = layers.sparse_column_with_hash_bucket("hashed", 6)
    ages = layers.bucketized_column(layers.real_valued_column("age"), [1.0, 2.0])
    pair = layers.crossed_column([ids, hashed], 11)
    columns = [pair, layers.crossed_column([pair, ages], 13, hash_key=5, combiner="mean")]
    features = {"keys": letters(tf), "hashed": letters(tf), "age": tf.constant([[0.5], [1.5], [3]])}
    tensors = layers.transform_features(features, columns)
    linear, _, _ = layers.weighted_sum_from_feature_columns(features, columns, 1)
    joint, weights, _ = layers.joint_weighted_sum_from_feature_columns(
        features, [pair, ids], 2)
    tf.set_random_seed(2)
    dense = layers.input_from_feature_columns(features, [layers.embedding_column(pair, 2)])
    facts = {"names": [column.name for column in columns],
             "joint": [v.name for v in weights],
             "missing": raised(layers.transform_features, {"keys": features["keys"]}, [pair]),
             "real": raised(layers.joint_weighted_sum_from_feature_columns, features,
                            [layers.real_valued_column("age")], 1)}
    fetches = {"pair": tensors[columns[0]].values, "three": tensors[columns[1]].values,
               "linear": linear, "joint": joint, "dense": dense}
    return result(tf, fetches, facts)


@program
@with_named_tables
def sequences(tf):
    layers = tf.contrib.layers
    tf.set_random_seed(4)
    ids = layers.sparse_column_with_keys("words", ["a", "b", "c"])
    columns = [layers.real_valued_column("size"), layers.embedding_column(ids, 2),
               layers.one_hot_column(ids)]
    words = tf.SparseTensor([[0, 0, 0], [0, 1, 0], [1, 0, 0], [1, 0, 1]],
                            tf.constant(["a", "b", "c", "z"]), [2, 2, 2])
    features = {"words": words, "size": tf.constant([[1.0, 2.0], [3.0, 4.0]])}
    dense = layers.sequence_input_from_feature_columns(features, columns)
    cross = layers.crossed_column([ids, layers.sparse_column_with_hash_bucket("x", 3)], 10)
    facts = {"sparse": raised(layers.sequence_input_from_feature_columns, features, [ids]),
             "cross": raised(layers.sequence_input_from_feature_columns, features,
                             [layers.embedding_column(cross, 2)])}
    return result(tf, {"dense": dense}, facts)


@program
@with_named_tables
def parsed(tf):
    layers = tf.contrib.layers
    ids = layers.sparse_column_with_keys("keys", ["a", "b"])
    columns = [ids, layers.real_valued_column("age", default_value=1.5)]
    example = tf.train.Example()
    example.features.feature["keys"].bytes_list.value.extend([b"b", b"a"])
    serialized = tf.constant([example.SerializeToString(), b""])
    tensors = layers.parse_feature_columns_from_examples(serialized, columns, name="parse")
    sequence = tf.train.SequenceExample()
    sequence.context.feature["age"].float_list.value.append(2.0)
    sequence.feature_lists.feature_list["keys"].feature.add().bytes_list.value.append(b"b")
    context, steps = layers.parse_feature_columns_from_sequence_examples(
        tf.constant(sequence.SerializeToString()), columns[1:], columns[:1])
    places = layers.make_place_holder_tensors_for_base_features(columns)
    inferred = layers.infer_real_valued_columns({"age": tf.zeros([2, 3]),
                                                 "n": tf.zeros([2], tf.int32)})
    facts = {"places": sorted((name, str(place.dtype)) for name, place in places.items()),
             "inferred": [str(column) for column in inferred],
             "strings": raised(layers.infer_real_valued_columns, tf.constant(["a"])),
             "twice": raised(layers.check_feature_columns, [ids, ids]),
             "dict": raised(layers.check_feature_columns, {"a": ids})}
    fetches = {"ids": tensors[ids].values, "age": tensors[columns[1]], "context": context["age"],
               "steps": steps["keys"].values}
    return result(tf, fetches, facts)


@program
def mixed_with_the_present_generation(tf):
    """Columns of tf.contrib.layers in the layers of tf.feature_column."""
    layers = tf.contrib.layers
    tf.set_random_seed(5)
    ids = layers.sparse_column_with_hash_bucket("hashed", 6)
    age = layers.real_valued_column("age")
    ages = layers.bucketized_column(age, [1.0, 2.0])
    dense = [age, ages, layers.one_hot_column(ids), layers.embedding_column(ids, 2)]
    wide = [ids, age, ages, layers.crossed_column([ids, ages], 7)]
    features = {"hashed": letters(tf), "age": tf.constant([[0.5], [1.5], [3]])}
    fetches = {"dense": tf.feature_column.input_layer(features, dense),
               "wide": tf.feature_column.linear_model(features, wide)}
    spec = tf.feature_column.make_parse_example_spec(wide)
    return result(tf, fetches, {"spec": str(sorted(spec.items()))})


@program
def refusals(tf):
    layers = tf.contrib.layers
    real, ids = layers.real_valued_column, layers.sparse_column_with_keys("a", ["b"])
    age = real("age")
    hashed = layers.sparse_column_with_hash_bucket
    facts = {
        "dimension": raised(real, "a", dimension=0),
        "dimension_type": raised(real, "a", dimension="1"),
        "no_dimension": raised(real, "a", dimension=None),
        "type": raised(real, "a", dtype=tf.string),
        "default": raised(real, "a", default_value="1"),
        "defaults": raised(real, "a", dimension=2, default_value=[1.0]),
        "float_default": raised(real, "a", default_value=1.5, dtype=tf.int32),
        "buckets": raised(layers.bucketized_column, age, [2, 1]),
        "no_buckets": raised(layers.bucketized_column, age, []),
        "source": raised(layers.bucketized_column, "age", [1]),
        "hash": raised(hashed, "a", 0),
        "hash_type": raised(hashed, "a", 3, dtype=tf.float32),
        "hash_keys": raised(hashed, "a", 3, hash_keys=[]),
        "hash_pairs": raised(hashed, "a", 3, hash_keys=[[1]]),
        "integerized": raised(layers.sparse_column_with_integerized_feature, "a", 3,
                              dtype=tf.string),
        "file": raised(layers.sparse_column_with_vocabulary_file, "a", "f"),
        "weights": raised(layers.weighted_sparse_column, ids, "w", dtype=tf.string),
        "cross": raised(layers.crossed_column, [ids], 10),
        "cross_size": raised(layers.crossed_column, [ids, hashed("x", 3)], 1),
        "cross_type": raised(layers.crossed_column, [ids, age], 10)["class"],
        "checkpoint": raised(layers.embedding_column, ids, 2, ckpt_to_load_from="x"),
        "initializer": raised(layers.embedding_column, ids, 2, initializer=1),
        "shared": raised(layers.shared_embedding_columns, ids, 2)["class"],
        "none_shared": raised(layers.shared_embedding_columns, [], 2),
        "unlike": raised(layers.shared_embedding_columns, [ids, hashed("x", 3)], 2),
        "scattered": raised(layers.scattered_embedding_column, "a", 0, 1, 1),
        "combiner": raised(layers.scattered_embedding_column, "a", 1, 1, 1, combiner="x"),
    }
    return result(tf, {"one": tf.constant(1.0)}, facts)
