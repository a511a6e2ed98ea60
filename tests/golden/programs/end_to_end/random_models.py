"""Differences found by random models of layers and of feature columns."""

from __future__ import annotations

import numpy as np
from tests.golden.registry import Run, program, raised

X = np.linspace(-1, 1, 24).reshape(2, 3, 4).astype("float32")


@program
def centered_rmsprop_of_rows(tf):
    table = tf.Variable(X[0], name="table", use_resource=True)
    rows = tf.nn.embedding_lookup(table, [2, 0, 2])
    optimizer = tf.keras.optimizers.RMSprop(0.1, centered=True)
    train = optimizer.get_updates(tf.reduce_sum(tf.square(rows)), [table])
    return Run({"table": table}, train=tf.group(*train), steps=2, setup=[init(tf)])


def init(tf):
    return tf.global_variables_initializer()


@program
def time_distributed_layers_of_one_version(tf):
    layers = tf.keras.layers
    x = tf.constant(X[:, :, :, None])
    normalized = layers.TimeDistributed(layers.BatchNormalization())(tf.constant(X), training=False)
    lasts = [
        layers.TimeDistributed(kind(1, kernel_initializer="ones", recurrent_initializer="ones"))(x)
        for kind in (layers.LSTM, layers.GRU, layers.SimpleRNN)
    ]
    fetches = {"normalized": normalized, "lstm": lasts[0], "gru": lasts[1], "simple": lasts[2]}
    return Run(fetches, setup=[init(tf)])


@program
def what_layers_ask_of_inputs(tf):
    layers = tf.keras.layers
    larger = layers.UpSampling3D()
    depthwise = layers.DepthwiseConv2D(1)
    depthwise(tf.zeros([1, 2, 2, 3]))
    first = layers.DepthwiseConv2D(1, data_format="channels_first")
    first.build([1, 3, 2, 2])
    return Run(
        {},
        facts={
            "larger": str(larger.input_spec),
            "depthwise": [str(depthwise.input_spec), str(first.input_spec)],
            "name": raised(lambda: layers.Dense(1, name=7)(tf.zeros([1, 1]))),
            "regularizer": raised(lambda: layers.Dense(1, kernel_regularizer=1.5)),
        },
    )


@program
def loaded_weights_of_an_optimizer(tf):
    graph = tf.Graph()
    with graph.as_default(), tf.Session().as_default():
        variable = tf.Variable([1.0], use_resource=True, name="v")
        tf.keras.backend.get_session().run(variable.initializer)
        optimizer = tf.keras.optimizers.SGD(0.1, momentum=0.5)
        optimizer.get_updates(tf.reduce_sum(variable * variable), [variable])
        before = len(graph.get_operations())
        optimizer.set_weights([np.int64(3), np.float32([0.25])])
        added = [operation.type for operation in graph.get_operations()[before:]]
        facts = {
            "added": added,
            "held": [np.asarray(value).tolist() for value in optimizer.get_weights()],
            "shape": raised(lambda: optimizer.set_weights([np.int64(3), np.float32([1, 2])])),
        }
    return Run({}, facts=facts)


def shared(tf):
    columns = tf.feature_column
    kinds = [columns.categorical_column_with_hash_bucket(key, 5) for key in ("city", "tag")]
    return columns.shared_embedding_columns(kinds, 2, "mean", initializer=tf.ones_initializer())


def batch(tf):
    given = {"city": [["ulm"], ["kiel"]], "tag": [["a"], [""]]}
    return tf.data.Dataset.from_tensors(given).make_one_shot_iterator().get_next()


@program
def a_network_of_shared_embeddings(tf):
    tf.set_random_seed(3)
    build = tf.estimator.experimental.dnn_logit_fn_builder
    logits = build(1, [2], shared(tf), tf.nn.relu, None, None, True)
    with tf.variable_scope("dnn"):
        found = logits(batch(tf), tf.estimator.ModeKeys.EVAL)
    return Run({"logits": found}, setup=[init(tf), tf.tables_initializer()])


@program
def a_linear_model_of_shared_embeddings(tf):
    build = tf.estimator.experimental.linear_logit_fn_builder
    with tf.variable_scope("linear"):
        found = build(2, shared(tf))(batch(tf))
    return Run({"logits": found}, setup=[init(tf), tf.tables_initializer()])


@program
def sparse_batches_of_known_size(tf):
    column = tf.feature_column.categorical_column_with_hash_bucket("city", 5)
    embedded = tf.feature_column.embedding_column(column, 2, initializer=tf.ones_initializer())
    output = tf.feature_column.input_layer(batch(tf), [embedded])
    filled = [
        operation
        for operation in tf.get_default_graph().get_operations()
        if operation.type == "SparseFillEmptyRows"
    ]
    return Run({"output": output, "empty": filled[0].outputs[2]}, setup=[init(tf)])


@program
def fused_whatever_it_is(tf):
    x = tf.ones([2, 3, 4, 5])

    def found(axis, fused):
        return tf.layers.BatchNormalization(axis, fused=fused)(x).op.type

    return Run(
        facts={
            "{} {!r}".format(axis, fused): raised(lambda a=axis, f=fused: found(a, f))
            if fused == "yes" and axis == 2
            else found(axis, fused)
            for axis in (3, 2)
            for fused in (True, None, False, 1, 0, "yes")
        }
    )
