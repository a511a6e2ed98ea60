"""Details of Keras that programs rely on: attributes, parts of models, lists of callbacks."""

from __future__ import annotations

import os
import tempfile

import numpy as np
from tests.golden.programs.keras.engine.eager_steps import numbers
from tests.golden.programs.keras.engine.ragged_and_sparse import in_graph
from tests.golden.registry import Run, internal_module, program, raised


@program
def metrics_that_checkpoints_wait_for(tf):
    def build(tf):
        def checkpointed():
            metric = tf.keras.metrics.Mean()
            return metric, tf.train.Checkpoint(mean=metric)

        session = tf.keras.backend.get_session()
        first, checkpoint = checkpointed()
        update = first(100.0)
        session.run([v.initializer for v in first.variables])
        session.run(update)
        path = checkpoint.save(os.path.join(tempfile.mkdtemp(), "metric"), session=session)
        second, checkpoint = checkpointed()
        status = checkpoint.restore(path)
        update = second(300.0)
        status.assert_consumed().run_restore_ops(session)
        session.run(update)
        return {"mean": session.run(second.result())}

    return in_graph(tf, build)


@program
def layers_that_are_no_dependencies(tf):
    def build(tf):
        structures = internal_module(
            tf, "variables.no_dependency", "python.training.tracking.data_structures"
        )

        class Pair(tf.keras.Model):
            def __init__(self):
                super(Pair, self).__init__()  # noqa: UP008 - as Python 3.7's programs
                self.first = tf.keras.layers.Dense(1)
                self.second = structures.NoDependency(tf.keras.layers.Dense(2))

        pair = Pair()
        return {
            "layers": [
                layer is found for layer, found in zip(pair.layers, [pair.first, pair.second])
            ],
            "parts": [part.name for part in pair._checkpoint_dependencies],
        }

    return in_graph(tf, build)


@program
def attributes_of_metrics_and_layers(tf):
    def build(tf):
        metrics, layers = tf.keras.metrics, tf.keras.layers
        query, key = tf.constant([[[1.0, 2.0]]]), tf.constant([[[0.5, 1.0], [2.0, -1.0]]])
        attention = layers.Attention()
        attention.build([(1, 1, 2), (1, 2, 2)])
        scores = attention._calculate_scores(query=query, key=key)
        x = tf.reshape(tf.range(12.0), [1, 6, 2])
        strided = tf.keras.backend.conv1d(x, tf.ones([2, 2, 1]), strides=(2,))
        session = tf.keras.backend.get_session()
        return {
            "specificity": metrics.SensitivityAtSpecificity(0.4).specificity,
            "sensitivity": metrics.SpecificityAtSensitivity(0.7).sensitivity,
            "config": sorted(layers.Attention(use_scale=True, causal=True, name="a").get_config()),
            "scores": session.run(scores),
            "strided": session.run(strided),
        }

    return in_graph(tf, build)


@program
def hooks_of_lists_of_callbacks(tf):
    def build(tf):
        callbacks = internal_module(tf, "keras.callbacks.base", "python.keras.callbacks")
        told = []

        class Told(tf.keras.callbacks.Callback):
            def on_train_batch_begin(self, batch, logs=None):
                told.append("train {}".format(batch))

            def on_test_batch_end(self, batch, logs=None):
                told.append("test {}".format(batch))

            def on_predict_begin(self, logs=None):
                told.append("predict")

        several = callbacks.CallbackList([Told(), Told()])
        several.on_train_batch_begin(3)
        several.on_batch_begin(4)
        several.on_test_batch_end(5)
        several.on_predict_begin()
        return {"told": told}

    return in_graph(tf, build)


@program
def weights_of_integers_and_masks(tf):
    from .eager_steps import each_way

    def build(how):
        layers = tf.keras.layers
        model = tf.keras.Sequential(
            [
                layers.Masking(0, input_shape=(2, 1)),
                layers.TimeDistributed(layers.Dense(1, kernel_initializer="ones")),
            ]
        )
        model.compile("rmsprop", "mse", **how)
        x = np.array([[[1], [1]], [[0], [0]]], "float32")
        y = np.array([[[1], [2]], [[1], [1]]], "float32")
        return {"loss": numbers(model.test_on_batch(x, y, sample_weight=np.array([3.0, 2.0])))}

    return each_way(tf, build)


@program
def random_fourier_features(tf):
    features = internal_module(tf, "keras.layers.random_features", "python.keras.layers.kernelized")
    kernels = internal_module(
        tf, "keras.utils.exact_kernels", "python.keras.utils.kernelized_utils"
    )
    layer = features.RandomFourierFeatures
    np.random.seed(3)
    tf.set_random_seed(3)
    x = tf.placeholder(tf.float64, [None, 3])
    made = [
        layer(4, scale=2.0), layer(3, "laplacian", name="l"),
        layer(2, tf.constant_initializer(0.5), trainable=True),
    ]  # fmt: skip
    rows = np.sin(np.arange(6.0)).reshape(2, 3)
    near = tf.constant(rows, tf.float32)
    fetches = {
        "features": [each(tf.cast(x, tf.float32)) for each in made],
        "gaussian": kernels.exact_gaussian_kernel(near, near[0], 2.0),
        "laplacian": kernels.exact_laplacian_kernel(near, near * 2, 3.0),
        "product": kernels.inner_product(near, near[1]),
    }
    facts = {
        "configs": [each.get_config() for each in made],
        "shapes": [str(each.compute_output_shape([None, 3])) for each in made],
        "trained": [[v.name for v in each.trainable_weights] for each in made],
        "no features": raised(layer, 0),
        "kernel": raised(layer, 2, "linear"),
        "scale": raised(layer, 2, scale=0.0),
        "rank": raised(layer(2), tf.zeros([2])),
        "unknown size": raised(layer(2), tf.placeholder(tf.float32, [2, None])),
        "no matrix": raised(kernels.exact_gaussian_kernel, tf.zeros([1, 1, 1]), near, 1.0),
        "other sizes": raised(kernels.exact_laplacian_kernel, tf.zeros([2]), near, 1.0),
    }
    setup = [tf.global_variables_initializer()]
    return Run(fetches, {x: rows}, setup=setup, facts=facts)
