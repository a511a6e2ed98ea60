"""Eager execution: gradients, optimizers, layers, functions, metrics, datasets."""

from __future__ import annotations

import numpy as np
from tests.golden.registry import eagerly, program, raised

RTOL = {"rtol": 1e-4, "atol": 1e-6, "reason": "sums of float32 products in another order"}


@program
def tapes(tf):
    def compute(tf):
        x = tf.constant([1.0, 2.0])
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            with tape.stop_recording():
                z = x * 3.0
            y = x * x * z
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                w = tf.sin(x) * x
            first = inner.gradient(w, x)
        with tf.GradientTape() as rows:
            rows.watch(x)
            squares = x * x
        used = tf.GradientTape()
        with used:
            used.watch(x)
            v = x * 2.0
        used.gradient(v, x)
        return {
            "stopped": tape.gradient(y, x).numpy(), "none": tape.gradient(z, x) is None,
            "second": outer.gradient(first, x).numpy(),
            "jacobian": rows.jacobian(squares, x).numpy(), "used up": raised(used.gradient, v, x),
        }  # fmt: skip

    return eagerly(tf, compute)


@program
def losses_of_matrices(tf):
    def compute(tf):
        nn = tf.nn
        logits = tf.constant([[0.5, -1.0, 2.0], [1.5, 0.25, -0.75]])
        labels = tf.constant([[0.25, 0.25, 0.5], [1.0, 0.0, 0.0]])
        found = {}
        cases = [("rows", logits, labels, None), ("columns", logits, labels, 0),
                 ("halves", tf.cast(logits, tf.float16), labels, None),
                 ("cube", logits[None], labels[None], None),
                 ("vector", logits[0], labels[0], None)]
        for name, x, y, axis in cases:
            with tf.GradientTape() as outer:
                outer.watch([x, y])
                with tf.GradientTape() as inner:
                    inner.watch([x, y])
                    loss = nn.softmax_cross_entropy_with_logits_v2(labels=y, logits=x, axis=axis)
                    total = tf.reduce_mean(loss * loss)
                by_x, by_y = inner.gradient(total, [x, y])
                sums = tf.reduce_sum(by_x * by_x, axis=-1)
            found[name] = (loss.numpy(), by_x.numpy(), by_y.numpy(), sums.numpy(),
                           outer.gradient(sums, x).numpy())  # fmt: skip
        found["transposed"] = (tf.transpose(logits).numpy(), tf.transpose(logits[None]).numpy())
        return found

    return eagerly(tf, compute)


@program
def gradient_functions(tf):
    def compute(tf):
        tfe = tf.contrib.eager
        weights = tf.Variable([[1.0, 2.0]])
        f = tfe.implicit_value_and_gradients(lambda x: tf.reduce_sum(tf.matmul(x, weights) ** 2))
        value, ((grad, variable),) = f(tf.constant([[1.0], [2.0]]))
        square = tfe.gradients_function(lambda x: x * x)
        twice = tfe.gradients_function(lambda x: square(x)[0])
        of_y = tfe.gradients_function(lambda x, y: x * x * y, params=["y"])

        @tf.custom_gradient
        def log1pexp(x):
            e = tf.exp(x)
            return tf.log(1 + e), lambda dy: dy * (1 - 1 / (1 + e))

        return {
            "value": value.numpy(), "gradient": grad.numpy(), "variable": variable.name,
            "second": twice(3.0)[0].numpy(),
            "of y": of_y(3.0, 4.0)[0].numpy(),
            "custom": tfe.gradients_function(log1pexp)(100.0)[0].numpy(),
            "nothing read": raised(tfe.implicit_gradients(lambda x: x), 1.0),
            "nothing given": raised(square_of_nothing(tfe), 1.0),
        }  # fmt: skip

    return eagerly(tf, compute)


def square_of_nothing(tfe):
    def nothing(x):
        return None

    return tfe.gradients_function(nothing)


@program(**RTOL)
def optimizers(tf):
    def compute(tf):
        train = tf.train
        facts = {}
        step = train.get_or_create_global_step()
        for kind, arguments in (
            (train.GradientDescentOptimizer, (0.1,)), (train.AdamOptimizer, (0.1,)),
            (train.MomentumOptimizer, (0.01, 0.9)), (train.RMSPropOptimizer, (0.1,)),
            (train.AdagradOptimizer, (0.1,)), (train.FtrlOptimizer, (0.1,)),
        ):  # fmt: skip
            optimizer = kind(*arguments)
            variable = tf.Variable(tf.ones([3, 2]), name="w")
            for _ in range(3):
                optimizer.minimize(
                    lambda v=variable: tf.reduce_sum(tf.square(tf.matmul([[0.1, 0.2, 0.3]], v))),
                    global_step=step,
                )
            facts[kind.__name__] = variable.numpy()
            facts[f"variables of {kind.__name__}"] = [v.name for v in optimizer.variables()]
        rows = tf.Variable(tf.ones([4, 2]))
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.nn.embedding_lookup(rows, [0, 2, 2]) ** 2)
        grad = tape.gradient(loss, rows)
        train.AdamOptimizer(0.1).apply_gradients([(grad, rows)])
        facts.update(indices=grad.indices.numpy(), rows=rows.numpy())
        facts["refused"] = raised(train.GradientDescentOptimizer(0.1).minimize, loss)
        facts["rate"] = train.exponential_decay(0.1, tf.Variable(5), 10, 0.5)().numpy()
        return facts

    return eagerly(tf, compute)


@program(**RTOL)
def functions(tf):
    def compute(tf):
        variable = tf.Variable(2.0)
        traces = []

        @tf.function
        def counted(x):
            traces.append(None)
            variable.assign_add(1.0)
            return x * variable * variable

        @tf.contrib.eager.defun
        def product(x):
            return tf.nn.relu(tf.matmul(x, x)), tf.reduce_sum(x)

        first = counted(tf.constant(3.0)).numpy()
        with tf.GradientTape() as outer:
            with tf.GradientTape() as tape:
                y = counted(tf.constant(2.0))
            slope = tape.gradient(y, variable)
        x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
        with tf.GradientTape(persistent=True) as both:
            both.watch(x)
            products, total = product(x)
        drop = tf.contrib.eager.defun(lambda x: tf.nn.dropout(x, 0.5))
        return {
            "first": first, "slope": slope.numpy(),
            "curve": outer.gradient(slope, variable).numpy(),
            "traces": len(traces), "variable": variable.numpy(),
            "of product": both.gradient(products, x).numpy(),
            "of sum": both.gradient(total, x).numpy(),
            "dropped": drop(tf.ones([4])).numpy(), "dropped again": drop(tf.ones([4])).numpy(),
        }  # fmt: skip

    return eagerly(tf, compute)


@program(**RTOL)
def recurrent_model(tf):
    def compute(tf):
        layers = tf.keras.layers

        class Model(tf.keras.Model):
            def __init__(self):
                super().__init__()
                self.embedding = layers.Embedding(7, 4)
                self.gru = layers.GRU(5, return_sequences=True, recurrent_activation="sigmoid")
                self.norm = layers.BatchNormalization()
                self.out = tf.layers.Dense(7)

            def call(self, x, training=False):
                return self.out(self.norm(self.gru(self.embedding(x)), training=training))

        model, optimizer = Model(), tf.train.AdamOptimizer(0.01)
        x = tf.constant(np.arange(12).reshape(3, 4) % 7)
        losses = []
        for _ in range(3):
            with tf.GradientTape() as tape:
                loss = tf.losses.sparse_softmax_cross_entropy(x, model(x, training=True))
            grads = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(zip(grads, model.trainable_variables))
            losses.append(loss.numpy())
        return {"losses": losses, "shapes": [v.shape.as_list() for v in model.variables]}

    return eagerly(tf, compute)


@program(**RTOL)
def fitted_model(tf):
    def compute(tf):
        dense = tf.keras.layers.Dense
        model = tf.keras.Sequential([dense(4, activation="relu", input_shape=(3,)), dense(2)])
        x = np.random.RandomState(0).randn(8, 3).astype("f")
        y = np.array([0, 1] * 4)
        model.compile(
            tf.train.GradientDescentOptimizer(0.1),
            loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
            metrics=["accuracy"],
        )
        history = model.fit(x, y, epochs=2, batch_size=4, verbose=0, shuffle=False).history
        data = tf.data.Dataset.from_tensor_slices((x, y)).batch(4)
        return {
            "loss": [float(v) for v in history["loss"]],
            "evaluated": [float(v) for v in model.evaluate(data, verbose=0)],
            "predicted": model.predict(x)[0], "called": model(tf.constant(x)).numpy(),
            "step": [float(v) for v in model.train_on_batch(x, y)],
        }  # fmt: skip

    return eagerly(tf, compute)


@program
def datasets(tf):
    def compute(tf):
        values = np.arange(6)
        data = tf.data.Dataset.from_tensor_slices((values.astype("f"), values))
        data = data.map(lambda x, y: (x * 2, y)).batch(4)
        iterator = data.make_one_shot_iterator()
        shuffled = tf.data.Dataset.range(10).shuffle(10, seed=3).repeat(2)
        return {
            "pairs": [(x.numpy(), y.numpy()) for x, y in data],
            "next": iterator.next()[0].numpy(), "get_next": iterator.get_next()[1].numpy(),
            "end": raised(iterator.get_next), "stop": raised(iterator.next),
            "shuffled": [int(x) for x in shuffled],
            "walked": [x.numpy() for x, _ in tf.contrib.eager.Iterator(data)],
            "refused": raised(data.make_initializable_iterator),
        }  # fmt: skip

    return eagerly(tf, compute)


@program
def metrics(tf):
    def compute(tf):
        kinds = tf.contrib.eager.metrics
        mean, accuracy = kinds.Mean("loss"), kinds.Accuracy()
        mean(3.0)
        mean([1.0, 2.0])
        mean([4.0, 8.0], weights=[1.0, 0.5])
        accuracy(tf.constant([1, 2]), tf.constant([1, 3]))
        sparse, binary = kinds.SparseAccuracy(), kinds.BinaryAccuracy(0.5)
        sparse(tf.constant([0, 1]), tf.constant([[0.9, 0.1], [0.8, 0.2]]))
        binary(tf.constant([0.0, 1.0]), tf.constant([0.1, 0.7]))
        before = mean.result().numpy()
        mean.init_variables()
        mean(1.0)
        keras = tf.keras.metrics.Mean()
        keras(3.0)
        keras(5.0)
        return {
            "mean": before, "name": mean.name, "anew": mean.result().numpy(),
            "accuracy": accuracy.result().numpy(), "sparse": sparse.result().numpy(),
            "binary": binary.result().numpy(), "keras": keras.result().numpy(),
        }  # fmt: skip

    return eagerly(tf, compute)
