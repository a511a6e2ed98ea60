"""Models with ragged and sparse inputs and outputs, in graphs and where operations run at once."""

from __future__ import annotations

import os
import tempfile

import numpy as np
from tests.golden.programs.keras.engine.eager_steps import each_way, numbers
from tests.golden.registry import Run, eagerly, program, raised

ROWS = [[1.0], [2.0, 3.0], [4.0], [5.0, 6.0]]
DENSE = np.array([[1.0, -1.0], [2.0, 3.0], [4.0, -1.0], [5.0, 6.0]], "float32")


def to_dense(tf):
    class ToDense(tf.keras.layers.Layer):
        def call(self, inputs):
            if isinstance(inputs, tf.RaggedTensor):
                return inputs.to_tensor(default_value=-1.0)
            if isinstance(inputs, tf.SparseTensor):
                return tf.sparse.to_dense(inputs, default_value=-1.0)
            return inputs

    return ToDense()


def of_input(tf, placeholder, how):
    model = tf.keras.Model(placeholder, to_dense(tf)(placeholder))
    model.compile("sgd", "mse", metrics=["mae"], **how)
    return model


def in_graph(tf, build):
    with tf.Graph().as_default(), tf.Session() as session:
        tf.keras.backend.set_session(session)
        facts = build(tf)
    tf.keras.backend.set_session(None)
    return Run({}, facts=facts)


def done_with(tf, model, x, **kwargs):
    return {
        "predicted": model.predict(x, **kwargs),
        "evaluated": numbers(model.evaluate(x, DENSE, verbose=0, **kwargs)),
        "batch": numbers(model.train_on_batch(x, DENSE)),
    }


@program
def ragged_in_graphs(tf):
    def build(tf):
        rows = tf.keras.Input((None,), ragged=True, name="rows")
        model = of_input(tf, rows, {})
        x = tf.ragged.constant(ROWS)
        batches = tf.data.Dataset.from_tensor_slices((x, DENSE)).batch(2)
        facts = done_with(tf, model, x)
        facts["by name"] = model.predict({"rows": x})
        facts["fitted"] = numbers(model.fit(x, DENSE, verbose=0).history["loss"])
        facts["of a dataset"] = numbers(model.evaluate(batches, verbose=0))
        facts["shapes"] = str((model.input_shape, rows.shape, tf.keras.backend.int_shape(rows)))
        facts["names"] = [part.name for part in (rows.flat_values, *rows.nested_row_splits)]
        facts["config"] = sorted(model.layers[0].get_config().items(), key=str)
        facts["dense"] = raised(model.predict, DENSE)
        facts["rank"] = raised(model.predict, tf.ragged.constant([[[1.0]]]))
        return facts

    return in_graph(tf, build)


@program
def ragged_eagerly(tf):
    def build(how):
        model = of_input(tf, tf.keras.Input((None,), ragged=True, name="rows"), how)
        x = tf.ragged.constant(ROWS)
        facts = done_with(tf, model, x)
        if not how:  # steps in graphs take all rows at once, steps one by one no ragged ones
            fitted = model.fit(x, DENSE, batch_size=2, shuffle=False, verbose=0)
            facts["fitted"] = numbers(fitted.history["loss"])
            facts["in batches"] = model.predict(x, batch_size=2)
        batches = tf.data.Dataset.from_tensor_slices((x, DENSE)).batch(2)
        facts["of a dataset"] = numbers(model.evaluate(batches, verbose=0))
        facts["dense"] = raised(model.predict, DENSE)
        return {name: _held(value) for name, value in facts.items()}

    return each_way(tf, build)


def _held(value):
    return value.numpy() if hasattr(value, "numpy") else value


INDICES = [[0, 0], [1, 0], [1, 1], [2, 0], [3, 0], [3, 1]]
VALUES = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]


@program
def sparse_in_graphs(tf):
    def build(tf):
        model = of_input(tf, tf.keras.Input((2,), sparse=True, name="table"), {})
        x = tf.SparseTensor(INDICES, VALUES, [4, 2])
        return {
            "predicted": model.predict(x, steps=1),
            "evaluated": numbers(model.evaluate(x, DENSE, steps=1, verbose=0)),
            "batch": numbers(model.train_on_batch({"table": x}, DENSE)),
            "without steps": raised(model.predict, x),
            "fitted without steps": raised(model.fit, x, DENSE, verbose=0),
        }

    return in_graph(tf, build)


@program
def sparse_eagerly(tf):
    def build(how):
        model = of_input(tf, tf.keras.Input((2,), sparse=True, name="table"), how)
        x = tf.SparseTensor(INDICES, VALUES, [4, 2])
        facts = done_with(tf, model, x)
        facts["one step"] = model.predict(x, steps=1)
        facts["by name"] = model.predict({"table": x})
        return {name: _held(value) for name, value in facts.items()}

    return each_way(tf, build)


@program
def outputs_in_parts(tf):
    def build(tf):
        class ToRagged(tf.keras.layers.Layer):
            def call(self, inputs):
                return tf.RaggedTensor.from_tensor(inputs, padding=-1.0)

        class ToSparse(tf.keras.layers.Layer):
            def call(self, inputs):
                places = tf.where(tf.not_equal(inputs, -1.0))
                shape = tf.shape(inputs, out_type=tf.int64)
                return tf.SparseTensor(places, tf.gather_nd(inputs, places), shape)

        facts = {}
        for kind, size in ((ToRagged, 4), (ToRagged, 3), (ToSparse, 4), (ToSparse, 2)):
            model = tf.keras.Sequential([kind(input_shape=(None,))])
            found = model.predict(DENSE, batch_size=size)
            key = f"{kind.__name__} by {size}"
            if isinstance(found, tf.SparseTensorValue):
                facts[key] = [found.indices, found.values, [int(n) for n in found.dense_shape]]
            else:
                facts[key] = [type(found).__name__, found.to_list()]
        return facts

    return in_graph(tf, build)


@program
def fed_whatever_the_shape(tf):
    def build(tf):
        backend = tf.keras.backend
        x = backend.placeholder((2, 3))
        rows = backend.function([x], [tf.reduce_sum(x, 1), tf.shape(x)])
        product = backend.function([x], [tf.matmul(x, tf.ones([3, 2]))])
        return {
            "rows": rows([np.ones((4, 5))]),
            "rank": rows([np.ones((4, 2, 3))]),
            "product": product([np.ones((4, 3))]),
            "refused": raised(product, [np.ones((4, 4))]),
        }

    return in_graph(tf, build)


@program
def weights_of_a_model_with_more_layers(tf):
    def build(tf):
        layers = tf.keras.layers

        def model(between):
            x = tf.keras.Input((2,))
            y = layers.Dense(3, kernel_initializer="ones", name="first")(x)
            y = layers.Dropout(0.1)(y) if between else y
            return tf.keras.Model(x, layers.Dense(1, kernel_initializer="ones")(y))

        first, second = model(False), model(True)
        first.set_weights([w * 2.0 for w in first.get_weights()])
        path = os.path.join(tempfile.mkdtemp(), "weights")
        first.save_weights(path)
        second.load_weights(path)
        x = np.ones((1, 2), "float32")
        facts = {"longer": numbers(second.predict(x))}
        second.save_weights(path)
        first.load_weights(path)
        facts["shorter"] = numbers(first.predict(x))
        return facts

    run = in_graph(tf, build)
    run.facts["eagerly"] = eagerly(tf, build).facts
    return run


@program
def masks_of_stacked_cells(tf):
    def build(how):
        cells = [tf.keras.layers.GRUCell(2, dropout=0.1) for _ in range(2)]
        x = tf.keras.Input((None, 3))
        model = tf.keras.Model(x, tf.keras.layers.RNN(cells)(x))
        model.compile("sgd", "mse", **how)
        loss = model.train_on_batch(np.ones((2, 4, 3)), np.ones((2, 2)))
        return {"finite": bool(np.isfinite(loss)), "weights": len(model.weights)}

    def built(tf):
        return {str(way): build(way) for way in ({"run_eagerly": True}, {})}

    return eagerly(tf, built)


@program
def values_that_functions_capture(tf):
    def build(tf):
        small, large = tf.constant([1, 2]), tf.ones([200])

        @tf.function
        def shaped():
            return tf.reshape(tf.zeros([2]), small), tf.reduce_sum(large)

        function = shaped.get_concrete_function()
        nodes = function.graph.as_graph_def().node
        dilated = tf.keras.layers.Conv1D(2, 3, dilation_rate=2)
        return {
            "shapes": [str(out.shape) for out in function.outputs],
            "captured": len(function.captured_inputs),
            "constants": sum(node.op == "Const" for node in nodes),
            "placeholders": sum(node.op == "Placeholder" for node in nodes),
            "dilated": str(dilated(tf.keras.Input((7, 3))).shape),
        }

    return eagerly(tf, build)
