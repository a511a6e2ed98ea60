"""Feature columns: each kind in the layers that take it, from dense and from sparse features."""

from __future__ import annotations

from unittest import mock

import numpy as np
from tests.golden.registry import Run, internal_module, program, raised

# Names of tables have the files' names in them: tests run at the repository's root.
WORDS = "tests/golden/files/words.txt"


def sparse(tf, values):
    """Rows of one, two and no values; their number is not known."""
    shape = tf.placeholder_with_default(tf.constant([3, 2], tf.int64), [2])
    return tf.SparseTensor([[0, 0], [1, 0], [1, 1]], list(values), shape)


def result(tf, fetches, facts=None, feeds=None):
    setup = [tf.global_variables_initializer(), tf.tables_initializer()]
    return Run(fetches, feeds, facts=facts, setup=setup)


def variables(cols_to_vars):
    return {
        column if isinstance(column, str) else column.name: [each.name for each in of_column]
        for column, of_column in cols_to_vars.items()
    }


def collected(tf):
    keys = (*tf.GraphKeys.__dict__.values(), "mine")
    known = {key for key in keys if isinstance(key, str)}
    return {
        key: [item.name for item in tf.get_collection(key)]
        for key in sorted(known & set(tf.get_default_graph().get_all_collection_keys()))
    }


@program
def numbers(tf):
    fc = tf.feature_column
    columns = [
        fc.numeric_column("size", shape=(2,), normalizer_fn=lambda x: x / 2.0),
        fc.numeric_column("age", default_value=3.0),
        fc.numeric_column("grid", shape=[2, 2], dtype=tf.int64),
    ]
    size = tf.placeholder(tf.float32, [None, 2])
    features = {"size": size, "age": tf.constant([1.0, 2.0]), "grid": tf.ones([2, 2, 2], tf.int64)}
    tensors = {}
    matrix = fc.input_layer(features, columns, cols_to_output_tensors=tensors)
    linear = fc.linear_model(features, columns, units=2)
    facts = {
        "names": [column.name for column in columns],
        "outputs": {column.name: tensor.name for column, tensor in tensors.items()},
        "spec": str(sorted(fc.make_parse_example_spec(columns).items())),
    }
    feeds = {size: np.arange(4.0).reshape(2, 2)}
    return result(tf, {"matrix": matrix, "linear": linear}, facts, feeds)


@program
def numbers_of_unknown_rank(tf):
    ages = tf.placeholder(tf.float32, None)
    matrix = tf.feature_column.input_layer({"age": ages}, tf.feature_column.numeric_column("age"))
    return Run({"matrix": matrix}, {ages: np.array([1.0, 2.0])})


@program
def buckets(tf):
    fc = tf.feature_column
    column = fc.bucketized_column(fc.numeric_column("price", shape=(2,)), [0.0, 1.5, 4.0])
    price = tf.placeholder(tf.float32, [None, 2])
    matrix = fc.input_layer({"price": price}, [column])
    linear = fc.linear_model({"price": price}, [column])
    facts = {"buckets": column.num_buckets, "repr": repr(column).split(", normalizer_fn")[0]}
    feeds = {price: [[-1.0, 0.0], [4.0, 2.0]]}
    return result(tf, {"matrix": matrix, "linear": linear}, facts, feeds)


@program
def hashes(tf):
    fc = tf.feature_column
    words = fc.categorical_column_with_hash_bucket("word", 7)
    numbers = fc.categorical_column_with_hash_bucket("number", 5, dtype=tf.int32)
    features = {
        "word": sparse(tf, ["a", "b", "c"]),
        "number": tf.constant([[1, 2], [-1, 3], [4, -1]]),
    }
    columns = [fc.indicator_column(words), fc.indicator_column(numbers)]
    fetches = {
        "counts": fc.input_layer(features, columns),
        "linear": fc.linear_model(features, [words, numbers], sparse_combiner="mean"),
    }
    return result(tf, fetches, {"spec": str(sorted(fc.make_parse_example_spec(columns)))})


@program
def vocabularies(tf):
    fc = tf.feature_column
    columns = [
        fc.categorical_column_with_vocabulary_list("word", ["a", "b"], default_value=1),
        fc.categorical_column_with_vocabulary_list("other", ("x", "y"), num_oov_buckets=2),
        fc.categorical_column_with_vocabulary_list("number", [4, 6], dtype=tf.int32),
    ]
    features = {
        "word": sparse(tf, ["a", "z", "b"]),
        "other": tf.constant([["x", ""], ["q", "y"], ["", ""]]),
        "number": sparse(tf, [4, 5, 6]),
    }
    cols_to_vars = {}
    # Tables of lists have random names, which these stand for.
    with mock.patch("uuid.uuid4", side_effect=map(str, range(6))):
        counts = fc.input_layer(features, [fc.indicator_column(column) for column in columns])
        linear = fc.linear_model(features, columns, cols_to_vars=cols_to_vars)
    return result(tf, {"counts": counts, "linear": linear}, {"variables": variables(cols_to_vars)})


@program
def vocabulary_files(tf):
    fc = tf.feature_column
    whole = fc.categorical_column_with_vocabulary_file("word", WORDS, num_oov_buckets=1)
    part = fc.categorical_column_with_vocabulary_file("other", WORDS, 2, default_value=0)
    words = sparse(tf, ["salad", "fork", "surgery"])
    columns = [fc.indicator_column(whole), fc.indicator_column(part)]
    counts = fc.input_layer({"word": words, "other": words}, columns)
    return result(tf, {"counts": counts}, {"sizes": [whole.num_buckets, part.num_buckets]})


@program
def identities(tf):
    fc = tf.feature_column
    strict = fc.categorical_column_with_identity("strict", 4)
    lenient = fc.categorical_column_with_identity("lenient", 3, default_value=1)
    ids = tf.placeholder(tf.int64, [None, 2])
    features = {"strict": ids, "lenient": sparse(tf, [9, -3, 2])}
    columns = [fc.indicator_column(strict), fc.indicator_column(lenient)]
    matrix = fc.input_layer(features, columns)
    return [
        Run({"matrix": matrix}, {ids: [[0, 3], [1, -1], [2, 2]]}),
        Run({"matrix": matrix}, {ids: [[0, 4], [1, -1], [2, 2]]}, fails=True),
    ]


@program
def embeddings(tf):
    tf.set_random_seed(3)
    fc = tf.feature_column
    words = fc.categorical_column_with_hash_bucket("word", 6)
    ids = fc.categorical_column_with_identity("id", 3)
    columns = [
        fc.embedding_column(words, 4),
        fc.embedding_column(
            ids,
            2,
            combiner="sqrtn",
            max_norm=0.5,
            trainable=False,
            initializer=tf.constant_initializer([[1.0, 0.0], [0.0, 2.0], [3.0, 3.0]]),
        ),
    ]
    features = {"word": sparse(tf, ["a", "b", "c"]), "id": sparse(tf, [0, 2, 1])}
    cols_to_vars = {}
    matrix = fc.input_layer(
        features, columns, weight_collections=["mine"], cols_to_vars=cols_to_vars
    )
    facts = {"variables": variables(cols_to_vars), "collections": collected(tf)}
    return result(tf, {"matrix": matrix}, facts)


@program
def embeddings_in_parts(tf):
    tf.set_random_seed(3)
    fc = tf.feature_column
    words = fc.categorical_column_with_hash_bucket("word", 5)
    features = {"word": sparse(tf, ["a", "b", "c"])}
    cols_to_vars = {}
    with tf.variable_scope("deep", partitioner=tf.fixed_size_partitioner(2)):
        matrix = fc.input_layer(features, fc.embedding_column(words, 2))
        linear = fc.linear_model(features, [words], cols_to_vars=cols_to_vars)
    facts = {"variables": variables(cols_to_vars)}
    return result(tf, {"matrix": matrix, "linear": linear}, facts)


@program
def shared_embeddings(tf):
    tf.set_random_seed(3)
    fc = tf.feature_column
    first, second = (fc.categorical_column_with_identity(key, 4) for key in ("b", "a"))
    columns = fc.shared_embedding_columns([first, second], 2)
    named = fc.shared_embedding_columns(
        [first, second], 3, shared_embedding_collection_name="mine", combiner="sum"
    )
    features = {"a": sparse(tf, [1, 2, 3]), "b": sparse(tf, [3, 0, 1])}
    fetches = {
        "matrix": fc.input_layer(features, columns),
        "named": fc.input_layer(features, named),
    }
    facts = {"names": [column.name for column in columns], "collections": collected(tf)}
    return result(tf, fetches, facts)


@program
def weights(tf):
    fc = tf.feature_column
    ids = fc.categorical_column_with_identity("id", 3)
    column = fc.weighted_categorical_column(ids, "weight")
    features = {"id": sparse(tf, [0, 2, 1]), "weight": sparse(tf, [0.5, 2.0, 3.0])}
    ones = tf.ones_initializer()
    fetches = {
        "counts": fc.input_layer(features, [fc.indicator_column(column)]),
        "vectors": fc.input_layer(features, [fc.embedding_column(column, 2, initializer=ones)]),
        "linear": fc.linear_model(features, [column]),
    }
    return result(tf, fetches, {"spec": str(sorted(fc.make_parse_example_spec([column]).items()))})


@program
def crosses(tf):
    fc = tf.feature_column
    age = fc.bucketized_column(fc.numeric_column("age"), [10.0, 20.0])
    inner = fc.crossed_column(["word", "other"], 9, hash_key=5)
    outer = fc.crossed_column([age, inner, "word"], 7)
    words, ages = tf.sparse_placeholder(tf.string), tf.placeholder(tf.float32, [None, 1])
    features = {"age": ages, "word": words, "other": words}
    fetches = {
        "counts": fc.input_layer(
            features, [fc.indicator_column(inner), fc.indicator_column(outer)]
        ),
        "linear": fc.linear_model(features, [outer]),
    }
    value = tf.SparseTensorValue([[0, 0], [1, 0], [1, 1]], ["a", "b", "c"], [3, 2])
    facts = {"names": [inner.name, outer.name], "spec": sorted(fc.make_parse_example_spec([outer]))}
    return result(tf, fetches, facts, {words: value, ages: [[5.0], [15.0], [25.0]]})


def _mixed(tf):
    fc = tf.feature_column
    tf.set_random_seed(4)
    age = fc.numeric_column("age")
    words = fc.categorical_column_with_vocabulary_file("word", WORDS)
    features = {
        "age": tf.constant([[1.0], [2.0], [3.0]]),
        "word": sparse(tf, ["brain", "salad", "none"]),
    }
    return features, age, words


@program
def dense_features(tf):
    fc = tf.feature_column
    features, age, words = _mixed(tf)
    layer = tf.keras.layers.DenseFeatures(
        [
            age,
            fc.bucketized_column(age, [1.5]),
            fc.embedding_column(words, 2),
            fc.indicator_column(words),
        ]
    )
    fetches = {"matrix": layer(features), "again": layer(features)}
    facts = {
        "weights": [weight.name for weight in layer.weights],
        "shape": list(layer.compute_output_shape((3, 1))),
        "config": sorted(layer.get_config()["feature_columns"][1]["config"]),
    }
    return result(tf, fetches, facts)


@program
def dense_features_in_a_model(tf):
    fc = tf.feature_column
    features, age, words = _mixed(tf)
    layers = tf.keras.layers
    model = tf.keras.Sequential(
        [layers.DenseFeatures([age, fc.indicator_column(words)]), layers.Dense(2)]
    )
    facts_of = model(features)
    return result(tf, {"output": facts_of}, {"weights": [weight.name for weight in model.weights]})


@program
def dense_features_trained_by_keras(tf):
    layers, fc = tf.keras.layers, tf.feature_column
    features = {"age": np.arange(4.0).reshape(4, 1), "word": np.array([["a"], ["b"], ["c"], ["a"]])}
    columns = [
        fc.numeric_column("age"),
        fc.embedding_column(fc.categorical_column_with_hash_bucket("word", 5), 2),
    ]
    with tf.Graph().as_default(), tf.Session() as session:
        tf.keras.backend.set_session(session)
        tf.set_random_seed(1)
        model = tf.keras.Sequential([layers.DenseFeatures(columns), layers.Dense(1)])
        model.compile("sgd", "mse")
        found = model.fit(features, np.ones((4, 1)), epochs=3, verbose=0, shuffle=False)
        facts = {"loss": np.array(found.history["loss"], np.float32)}
    return Run(facts=facts)


@program
def linear_model_of_keras(tf):
    columns = internal_module(
        tf, "feature_column.linear_layer", "python.feature_column.feature_column_v2"
    )
    features, age, words = _mixed(tf)
    model = columns.LinearModel([age, words], units=2, name="lines")
    output = model(features)
    return result(tf, {"output": output}, {"weights": [weight.name for weight in model.weights]})


@program
def input_layer_as_an_object(tf):
    columns = internal_module(
        tf, "feature_column.input_layer", "python.feature_column.feature_column"
    )
    features, age, words = _mixed(tf)
    layer = columns.InputLayer([age, tf.feature_column.embedding_column(words, 2)])
    fetches = {"first": layer(features), "second": layer(features)}
    return result(tf, fetches, {"weights": [weight.name for weight in layer.weights]})


def _sequences(tf):
    fc = tf.feature_column
    tf.set_random_seed(5)
    words = fc.sequence_categorical_column_with_vocabulary_file("word", WORDS)
    hashed = fc.sequence_categorical_column_with_hash_bucket("hashed", 4)
    features = {
        "word": sparse(tf, ["brain", "salad", "none"]),
        "hashed": sparse(tf, ["x", "y", "z"]),
        "number": sparse(tf, [1.0, 2.0, 3.0]),
    }
    columns = [
        fc.embedding_column(words, 2),
        fc.indicator_column(hashed),
        fc.sequence_numeric_column("number"),
    ]
    return features, columns


@program
def sequence_features(tf):
    features, columns = _sequences(tf)
    layer = tf.keras.experimental.SequenceFeatures(columns)
    tensor, lengths = layer(features)
    facts = {"weights": [weight.name for weight in layer.weights]}
    return result(tf, {"tensor": tensor, "lengths": lengths}, facts)


@program
def sequence_input_layer(tf):
    features, columns = _sequences(tf)
    numbers = tf.contrib.feature_column.sequence_numeric_column("number", shape=(2,))
    tensor, lengths = tf.contrib.feature_column.sequence_input_layer(features, columns[:2])
    steps, counts = tf.contrib.feature_column.sequence_input_layer(features, [numbers])
    fetches = {"tensor": tensor, "lengths": lengths, "steps": steps, "counts": counts}
    return result(tf, fetches)


@program
def examples_parsed(tf):
    fc = tf.feature_column
    columns = [
        fc.numeric_column("age", default_value=7.0),
        fc.embedding_column(fc.categorical_column_with_hash_bucket("word", 4), 2),
        fc.indicator_column(fc.categorical_column_with_identity("id", 3)),
    ]
    tf.set_random_seed(6)
    train = tf.train
    of_example = {  # one each: protos have no order of keys
        "word": train.Feature(bytes_list=train.BytesList(value=[b"a", b"b"])),
        "id": train.Feature(int64_list=train.Int64List(value=[2])),
    }
    records = tf.constant(
        [
            train.Example(features=train.Features(feature={key: feature})).SerializeToString()
            for key, feature in of_example.items()
        ]
    )
    features = tf.io.parse_example(records, fc.make_parse_example_spec(columns))
    return result(tf, {"matrix": fc.input_layer(features, columns)})


@program
def columns_refused(tf):
    fc = tf.feature_column
    number, ids = fc.numeric_column("x"), fc.categorical_column_with_identity("i", 3)
    hashed = fc.categorical_column_with_hash_bucket("h", 3)
    calls = {
        "dimension": lambda: fc.numeric_column("x", shape=(0,)),
        "dimension type": lambda: fc.numeric_column("x", shape=("a",)),
        "default shape": lambda: fc.numeric_column("x", shape=(2,), default_value=[1.0]),
        "default type": lambda: fc.numeric_column("x", dtype=tf.int32, default_value=1.5),
        "dtype": lambda: fc.numeric_column("x", dtype=tf.string),
        "normalizer": lambda: fc.numeric_column("x", normalizer_fn="f"),
        "key": lambda: fc.numeric_column(3),
        "source": lambda: fc.bucketized_column("x", [1]),
        "source rank": lambda: fc.bucketized_column(fc.numeric_column("x", (2, 2)), [1]),
        "no boundaries": lambda: fc.bucketized_column(number, []),
        "boundaries": lambda: fc.bucketized_column(number, [2, 1]),
        "no hashes": lambda: fc.categorical_column_with_hash_bucket("x", None),
        "hashes": lambda: fc.categorical_column_with_hash_bucket("x", 0),
        "hash type": lambda: fc.categorical_column_with_hash_bucket("x", 3, tf.float32),
        "words": lambda: fc.categorical_column_with_vocabulary_list("x", []),
        "same words": lambda: fc.categorical_column_with_vocabulary_list("x", ["a", "a"]),
        "word types": lambda: fc.categorical_column_with_vocabulary_list("x", ["a"], tf.int32),
        "buckets": lambda: fc.categorical_column_with_vocabulary_list("x", ["a"], None, 0, 2),
        "file": lambda: fc.categorical_column_with_vocabulary_file("x", "no_such_file"),
        "no file": lambda: fc.categorical_column_with_vocabulary_file("x", ""),
        "identity": lambda: fc.categorical_column_with_identity("x", 0),
        "default id": lambda: fc.categorical_column_with_identity("x", 2, 2),
        "embedding": lambda: fc.embedding_column(ids, 0),
        "initializer": lambda: fc.embedding_column(ids, 2, initializer="zeros"),
        "checkpoint": lambda: fc.embedding_column(ids, 2, ckpt_to_load_from="x"),
        "weights": lambda: fc.weighted_categorical_column(ids, "w", tf.string),
        "cross": lambda: fc.crossed_column(["x", hashed], 5),
        "one key": lambda: fc.crossed_column(["x"], 5),
        "cross size": lambda: fc.crossed_column(["x", "y"], 0),
        "cross key": lambda: fc.crossed_column(["x", 3], 5),
        "spec": lambda: fc.make_parse_example_spec([number, fc.numeric_column("x", (2,))]),
        "no column": lambda: fc.make_parse_example_spec(["x"]),
    }
    return Run(facts={name: raised(call) for name, call in calls.items()})


@program
def layers_refused(tf):
    fc = tf.feature_column
    x, ids = fc.numeric_column("x"), fc.categorical_column_with_identity("i", 3)
    features = {"x": tf.ones([2, 1]), "y": tf.ones([3, 1]), "i": sparse(tf, [0, 1, 2])}
    calls = {
        "categorical": lambda: fc.input_layer(features, [ids]),
        "none": lambda: fc.input_layer(features, []),
        "dict": lambda: fc.linear_model(features, {"x": x}),
        "twice": lambda: fc.input_layer(features, [x, fc.numeric_column("x", (1,))]),
        "missing": lambda: fc.input_layer(features, fc.numeric_column("z")),
        "batches": lambda: fc.input_layer(features, [x, fc.numeric_column("y")]),
        "sparse numbers": lambda: fc.input_layer(features, fc.numeric_column("i")),
        "scalar": lambda: fc.input_layer({"x": tf.ones([])}, x),
    }
    return Run(facts={name: raised(call) for name, call in calls.items()})
