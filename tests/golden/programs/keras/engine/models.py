"""Models of `tf.keras`: their graphs, summaries, configurations, and steps of training."""

from __future__ import annotations

import numpy as np
from tests.golden.registry import Run, program, raised

X = np.sin(np.arange(24.0)).reshape(6, 4).astype("float32")
Y = np.cos(np.arange(12.0)).reshape(6, 2).astype("float32")
CLASSES = np.array([0, 2, 1, 1, 0, 2])


def built(tf, model):
    """Return a program that only compares what was built, with the outputs' values."""
    feeds = {
        x: np.sin(np.arange(x.shape[1:].num_elements() * 2.0)).reshape([2] + x.shape[1:].as_list())
        for x in model.inputs
    }
    return Run({y.name: y for y in model.outputs}, feeds, setup=[tf.global_variables_initializer()])


@program
def sequential_with_known_input(tf):
    tf.set_random_seed(2)
    model = tf.keras.Sequential(
        [
            tf.keras.layers.Dense(3, activation="relu", input_shape=(4,)),
            tf.keras.layers.Dropout(0.5),
            tf.keras.layers.Dense(2, kernel_initializer="he_normal", name="out"),
        ]
    )
    return built(tf, model)


@program
def sequential_of_convolutions(tf):
    tf.set_random_seed(2)
    layers = tf.keras.layers
    model = tf.keras.Sequential(
        [
            layers.Conv2D(2, 3, activation="relu", input_shape=(8, 8, 1)),
            layers.MaxPooling2D(),
            layers.Flatten(),
            layers.Dense(3, activation="softmax"),
        ]
    )
    return built(tf, model)


@program
def functional_with_two_inputs_and_outputs(tf):
    tf.set_random_seed(2)
    layers = tf.keras.layers
    a, b = tf.keras.Input((4,), name="a"), tf.keras.Input((2,), name="b")
    joined = layers.concatenate([layers.Dense(3)(a), b])
    model = tf.keras.Model([a, b], [layers.Dense(2)(joined), layers.Activation("tanh")(joined)])
    return built(tf, model)


@program
def shared_layer(tf):
    tf.set_random_seed(2)
    layers = tf.keras.layers
    a, b = tf.keras.Input((4,)), tf.keras.Input((4,))
    shared = layers.Dense(3, use_bias=False)
    model = tf.keras.Model([a, b], layers.dot([shared(a), shared(b)], 1, normalize=True))
    return built(tf, model)


@program
def model_of_models(tf):
    tf.set_random_seed(2)
    layers = tf.keras.layers
    inner = tf.keras.Sequential([layers.Dense(3, input_shape=(4,)), layers.LeakyReLU()])
    x = tf.keras.Input((4,))
    model = tf.keras.Model(x, layers.Dense(1)(inner(x)), name="outer")
    return built(tf, model)


@program
def ops_between_layers(tf):
    tf.set_random_seed(2)
    x = tf.keras.Input((4,))
    y = tf.reduce_mean(tf.keras.layers.Dense(3)(x) * 2.0, axis=1, keepdims=True)
    return built(tf, tf.keras.Model(x, tf.keras.layers.Dense(1)(y + 1.0)))


@program
def subclassed_model_called(tf):
    tf.set_random_seed(2)

    class Net(tf.keras.Model):
        def __init__(self):
            super().__init__(name="net")
            self.first = tf.keras.layers.Dense(3, activation="relu")
            self.second = tf.keras.layers.Dense(2)

        def call(self, inputs, training=None):
            return self.second(self.first(inputs))

    net = Net()
    y = net(tf.constant(X))
    facts = {"weights": [v.name for v in net.weights], "layers": [one.name for one in net.layers]}
    return Run({"y": y}, facts=facts, setup=[tf.global_variables_initializer()])


@program
def summary_and_config(tf):
    tf.set_random_seed(2)
    layers = tf.keras.layers
    x = tf.keras.Input((4,), name="x")
    y = layers.Dense(3, kernel_regularizer=tf.keras.regularizers.l2(0.5), name="d")(x)
    y = layers.add([layers.BatchNormalization(name="n")(y), y], name="sum")
    model = tf.keras.Model(x, y, name="m")
    lines = []
    model.summary(print_fn=lines.append)
    config = model.get_config()
    again = tf.keras.Model.from_config(config)
    facts = {
        "summary": lines,
        "layers": [
            (one["class_name"], one["name"], str(one["inbound_nodes"])) for one in config["layers"]
        ],
        "again": [v.name for v in again.weights],
        "losses": len(model.losses),
        "updates": len(model.updates),
        "trainable": [v.name for v in model.trainable_weights],
        "get_layer": model.get_layer("d").name,
        "no_layer": raised(model.get_layer, "nothing"),
    }
    return Run({"loss": model.losses[0]}, facts=facts, setup=[tf.global_variables_initializer()])


@program
def batch_normalization_in_training(tf):
    x = tf.constant(X)
    layer = tf.keras.layers.BatchNormalization()
    y = layer(x, training=True)
    fetches = {"y": y}
    fetches.update({v.op.name: v for v in layer.weights})
    return Run(fetches, train=layer.updates, steps=2, setup=[tf.global_variables_initializer()])


@program
def layers_of_images(tf):
    tf.set_random_seed(2)
    layers = tf.keras.layers
    x = tf.keras.Input((6, 6, 2))
    y = layers.SeparableConv2D(3, 3, padding="same")(x)
    y = layers.UpSampling2D()(layers.Cropping2D(1)(layers.ZeroPadding2D(2)(y)))
    y = layers.DepthwiseConv2D(3, strides=2)(y)
    y = layers.Conv2DTranspose(2, 3, strides=2)(y)
    y = layers.PReLU(shared_axes=[1, 2])(y)
    y = layers.AveragePooling2D()(y)
    return built(
        tf, tf.keras.Model(x, [layers.GlobalAveragePooling2D()(y), layers.GlobalMaxPooling2D()(y)])
    )


@program
def layers_of_sequences(tf):
    tf.set_random_seed(2)
    layers = tf.keras.layers
    x = tf.keras.Input((6, 4))
    y = layers.Conv1D(3, 2, padding="causal", dilation_rate=2)(x)
    y = layers.TimeDistributed(layers.Dense(2))(y)
    y = layers.Permute((2, 1))(layers.LayerNormalization()(y))
    y = layers.MaxPooling1D()(layers.Reshape((6, 2))(y))
    y = layers.Lambda(lambda t: t * 2.0)(layers.RepeatVector(3)(layers.Flatten()(y)))
    return built(tf, tf.keras.Model(x, layers.GlobalAveragePooling1D()(y)))


@program
def activations(tf):
    layers = tf.keras.layers
    x = tf.keras.Input((4,))
    outputs = [
        layers.ELU(0.5)(x),
        layers.ThresholdedReLU(0.3)(x),
        layers.ReLU(0.8, 0.1, 0.2)(x),
        layers.Softmax()(x),
    ]
    names = "selu softplus softsign hard_sigmoid exponential sigmoid tanh elu linear"
    outputs += [layers.Activation(name)(x) for name in names.split()]
    return built(tf, tf.keras.Model(x, outputs))


@program
def errors_of_models(tf):
    layers = tf.keras.layers
    x = tf.keras.Input((4,))
    model = tf.keras.Sequential([layers.Dense(2)])
    found = {
        "not_built": raised(lambda: model.weights),
        "disconnected": raised(tf.keras.Model, tf.keras.Input((3,)), layers.Dense(2)(x)),
        "not_an_input": raised(tf.keras.Model, tf.constant(X), layers.Dense(2)(x)),
        "wrong_rank": raised(layers.LSTM(2), x),
        "wrong_size": raised(lambda: (lambda d: (d(x), d(tf.keras.Input((5,)))))(layers.Dense(2))),
        "not_compiled": raised(tf.keras.Model(x, layers.Dense(2)(x)).fit, X, Y),
        "concatenate": raised(layers.concatenate, [x]),
        "optimizer": raised(tf.keras.optimizers.get, "nothing"),
        "loss": raised(tf.keras.losses.get, "nothing"),
        "metric": raised(tf.keras.metrics.get, "nothing"),
    }
    return Run({}, facts=found)


def with_losses(tf):
    """Return a model with a loss and a metric that are tensors.

    It has one variable: TensorFlow asks whether variables are initialized in an order of chance.
    """
    x = tf.keras.Input([4], name="x")
    layer = tf.keras.layers.Dense(2, use_bias=False, kernel_initializer="ones", name="hidden")
    hidden = layer(x)
    y = tf.keras.layers.Activation("tanh", name="y")(hidden)
    model = tf.keras.Model(x, y, name="m")
    model.add_loss(tf.reduce_mean(tf.square(hidden)))
    model.add_metric(tf.reduce_sum(y), name="sum", aggregation="mean")
    return model


def layers_of(model):
    return [layer.name for layer in model.layers]


@program
def clone_with_losses_and_metrics_of_tensors(tf):
    model = with_losses(tf)
    model.compile("sgd", "mse", metrics=["mae"])
    clone = tf.keras.models.clone_model(model)
    clone.compile("sgd", "mse", metrics=["mae"])
    facts = {
        "layers": layers_of(clone),
        "depths": sorted(clone._nodes_by_depth),
        "metrics": clone.metrics_names,
        "losses": [loss.name for loss in clone.losses],
    }
    return Run({"loss": clone.losses[0]}, {clone.input: X},
               setup=[tf.global_variables_initializer()], facts=facts)


@program
def clone_onto_another_input_of_keras(tf):
    model = with_losses(tf)
    clone = tf.keras.models.clone_model(model, input_tensors=[tf.keras.Input([4], name="z")])
    return Run({"y": clone.output}, {clone.input: X},
               setup=[tf.global_variables_initializer()], facts={"layers": layers_of(clone)})


@program
def clone_onto_a_tensor(tf):
    model = with_losses(tf)
    clone = tf.keras.models.clone_model(model, input_tensors=tf.constant(X))
    return Run({"y": clone.output}, setup=[tf.global_variables_initializer()],
               facts={"layers": layers_of(clone)})
