"""Canned estimators: the graph of each mode, and what they learn, measure, predict and serve."""

from __future__ import annotations

import os
import shutil
import tempfile

import numpy as np
from tests.golden.programs.train.saver import fixed_uuid
from tests.golden.registry import Run, program, raised

X = np.sin(np.arange(48.0)).reshape(16, 3).astype("float32")
AGE = (20 + 40 * np.abs(np.cos(np.arange(16.0)))).astype("float32")
JOB = np.array(["cook", "smith", "clerk", "cook"] * 4)
WEIGHT = (0.5 + np.arange(16) % 3).astype("float32")
BINARY = (np.arange(16) % 3 == 0).astype("int64")
SPECIES = (np.arange(16) % 3).astype("int64")
WORDS = np.array(["setosa", "versicolor", "virginica"])[SPECIES]
NUMBERS = (2 * X[:, :1] - X[:, 1:2] + 0.5).astype("float32")
PAIRS = np.concatenate([NUMBERS, -NUMBERS], 1)

FEATURES = {"x": X}
MODES = ("train", "eval", "infer")


class Losses:
    """A hook that keeps the loss of each step."""

    def __new__(cls, tf):
        class Hook(tf.train.SessionRunHook):
            def __init__(self):
                self.values = []

            def before_run(self, context):
                graph = context.session.graph
                return tf.train.SessionRunArgs(graph.get_collection("losses")[-1])

            def after_run(self, context, values):
                self.values.append(values.results)

        return Hook()


def config(tf, folder):
    return tf.estimator.RunConfig(folder, tf_random_seed=7, log_step_count_steps=None)


def input_fn(tf, features, labels, steps=1):
    def batches():
        data = tf.data.Dataset.from_tensor_slices((features, labels))
        return data.repeat(steps).batch(8)

    return batches


def serving(tf, features):
    """Examples or raw features as they are served."""

    def receiver():
        values = {
            key: tf.placeholder(tf.as_dtype(np.asarray(value).dtype), (None,) + value.shape[1:])
            for key, value in features.items()
        }
        examples = tf.placeholder(tf.string, [None], name="examples")
        return tf.estimator.export.ServingInputReceiver(values, {"examples": examples})

    return receiver


def signatures(tf, path):
    """{signature: inputs, outputs, method} of a SavedModel, names without ports."""
    with tf.Graph().as_default(), tf.Session() as session:
        loaded = tf.saved_model.loader.load(session, ["serve"], path)
        return {
            key: {
                "method": signature.method_name,
                "inputs": sorted(signature.inputs),
                "outputs": {name: info.name for name, info in signature.outputs.items()},
            }
            for key, signature in loaded.signature_def.items()
        }


def learned(tf, make, features, labels, steps=3, export=True):
    """Trains, evaluates, predicts and exports; everything that came out."""
    folder = tempfile.mkdtemp()
    try:
        estimator = make(config(tf, folder))
        losses = Losses(tf)
        estimator.train(input_fn(tf, features, labels, steps), hooks=[losses])
        found = {
            "losses": np.array(losses.values, "float32"),
            "variables": {
                name: estimator.get_variable_value(name) for name in estimator.get_variable_names()
            },
            "metrics": estimator.evaluate(input_fn(tf, features, labels)),
        }
        served = {key: value for key, value in features.items() if key != "weight"}
        predicted = list(estimator.predict(input_fn(tf, served, labels)))
        found["predictions"] = {
            str(key): np.stack([each[key] for each in predicted]) for key in predicted[0]
        }
        if export:
            path = estimator.export_saved_model(
                os.path.join(folder, "served"), serving(tf, features)
            )
            found["signatures"] = signatures(tf, path.decode())
        return found
    finally:
        shutil.rmtree(folder)


def placeholder(tf, value, name):
    return tf.placeholder(tf.as_dtype(value.dtype.type), (None,) + value.shape[1:], name)


def built(tf, make, features, labels, mode):
    """Return the graph of a mode, from placeholders."""
    tf.set_random_seed(7)
    if mode != "infer":
        tf.train.create_global_step()
    inputs = {key: placeholder(tf, value, key) for key, value in features.items()}
    if isinstance(labels, dict):
        targets = {key: placeholder(tf, value, key) for key, value in labels.items()}
    else:
        targets = placeholder(tf, labels, "labels")
    estimator = make(tf.estimator.RunConfig(tempfile.gettempdir(), tf_random_seed=7))
    targets = None if mode == "infer" else targets
    with fixed_uuid():
        spec = estimator.model_fn(inputs, targets, mode, estimator.config)
    for collection in (tf.GraphKeys.LOCAL_VARIABLES, tf.GraphKeys.METRIC_VARIABLES):
        # Those of Keras' metrics come out of a set: TF gives them another order each time.
        tf.get_default_graph().get_collection_ref(collection).sort(key=lambda v: v.name)
    facts = {
        "predictions": {str(key): value.name for key, value in spec.predictions.items()},
        "metrics": {key: value.name for key, (value, _) in spec.eval_metric_ops.items()},
        "summaries": [op.name for op in tf.get_collection(tf.GraphKeys.SUMMARIES)],
        "losses": [op.name for op in tf.get_collection(tf.GraphKeys.LOSSES)],
        "loss": "" if spec.loss is None else spec.loss.name,
        "train_op": "" if spec.train_op is None else spec.train_op.name,
        "outputs": sorted(spec.export_outputs or {}),
    }
    return Run({}, facts=facts)


def golden(name, make, features, labels, modes=MODES, learn=True, **options):
    """Register a program for each mode's graph, and one that trains.

    `make(tf, config)` gives the estimator.
    """

    def register(suffix, build):
        build.__name__ = name + suffix
        program(build, **options)

    for mode in modes:
        register(
            "_" + mode,
            lambda tf, mode=mode: built(tf, lambda c: make(tf, c), features, labels, mode),
        )
    if learn:
        register(
            "",
            lambda tf: Run({}, facts=learned(tf, lambda c: make(tf, c), features, labels)),
        )


golden(
    "baseline_classifier",
    lambda tf, config: tf.estimator.BaselineClassifier(config=config),
    FEATURES, BINARY,
)  # fmt: skip
golden(
    "baseline_of_words",
    lambda tf, config: tf.estimator.BaselineClassifier(
        n_classes=3, label_vocabulary=["setosa", "versicolor", "virginica"], config=config,
        optimizer=tf.train.GradientDescentOptimizer(0.1),
        loss_reduction=tf.losses.Reduction.SUM_OVER_BATCH_SIZE,
    ),
    FEATURES, WORDS,
)  # fmt: skip
golden(
    "baseline_regressor",
    lambda tf, config: tf.estimator.BaselineRegressor(
        label_dimension=2, optimizer="Adam", config=config
    ),
    {"x": X, "age": AGE}, PAIRS,
)  # fmt: skip


@program
def baseline_refusals(tf):
    make = tf.estimator.BaselineClassifier
    return Run(
        {},
        facts={
            "classes": raised(make, n_classes=1),
            "vocabulary": raised(make, label_vocabulary="ab"),
            "vocabulary_of_three": raised(make, n_classes=3, label_vocabulary="abc"),
            "reduction": raised(make, loss_reduction="none"),
            "dimension": raised(tf.estimator.BaselineRegressor, label_dimension=0),
        },
    )


golden(
    "baseline_with_weights",
    lambda tf, config: tf.estimator.BaselineClassifier(weight_column="weight", config=config),
    dict(FEATURES, weight=WEIGHT), BINARY.reshape(16, 1), modes=("train",),
)  # fmt: skip
golden(
    "baseline_with_weights_of_regression",
    lambda tf, config: tf.estimator.BaselineRegressor(
        weight_column=tf.feature_column.numeric_column("weight", normalizer_fn=lambda x: x * 2),
        config=config,
    ),
    dict(FEATURES, weight=WEIGHT.reshape(16, 1)), NUMBERS, modes=("eval",), learn=False,
)  # fmt: skip


def numbers(tf):
    return [
        tf.feature_column.numeric_column("x", shape=(3,)),
        tf.feature_column.numeric_column("age"),
    ]


NUMERIC = {"x": X, "age": AGE / 40}

golden(
    "dnn_classifier",
    lambda tf, config: tf.estimator.DNNClassifier([4, 3], numbers(tf), n_classes=3, config=config),
    NUMERIC, SPECIES,
)  # fmt: skip
golden(
    "dnn_of_two_words",
    lambda tf, config: tf.estimator.DNNClassifier(
        [5], numbers(tf), weight_column="weight", label_vocabulary=["no", "yes"],
        optimizer=lambda: tf.train.AdamOptimizer(0.01), activation_fn=tf.nn.tanh, config=config,
        loss_reduction=tf.losses.Reduction.SUM_OVER_BATCH_SIZE,
    ),
    dict(NUMERIC, weight=WEIGHT), np.array(["no", "yes"])[BINARY], modes=("train",),
)  # fmt: skip
golden(
    "dnn_regressor",
    lambda tf, config: tf.estimator.DNNRegressor(
        [4, 4], numbers(tf), label_dimension=2, dropout=0.3, batch_norm=True, config=config
    ),
    NUMERIC, PAIRS, modes=("train", "infer"),
)  # fmt: skip
golden(
    "annotated_classifier",
    lambda tf, config: tf.contrib.estimator.DNNClassifierWithLayerAnnotations(
        [4], numbers(tf), n_classes=3, config=config, weight_column="weight"
    ),
    dict(NUMERIC, weight=WEIGHT), SPECIES, modes=("train",),
)  # fmt: skip
golden(
    "annotated_regressor",
    lambda tf, config: tf.contrib.estimator.DNNRegressorWithLayerAnnotations(
        [4, 3], numbers(tf), label_dimension=2, dropout=0.3, optimizer="Adam", config=config
    ),
    NUMERIC, PAIRS, modes=("train", "infer"),
)  # fmt: skip


def with_head(head, labels, features=None, name=None, modes=MODES, learn=True):
    """Record a baseline estimator with a head of the given function of `tf`."""
    golden(
        "head_of_" + (name or head.__name__),
        lambda tf, config: tf.estimator.BaselineEstimator(
            head(tf), optimizer=tf.train.GradientDescentOptimizer(0.1), config=config
        ),
        features or FEATURES, labels, modes=modes, learn=learn,
    )  # fmt: skip


def binary(tf):
    return tf.estimator.BinaryClassHead(
        thresholds=[0.25, 0.75], label_vocabulary=["no", "yes"], name="two"
    )


def several(tf):
    return tf.estimator.MultiClassHead(3)


def regression(tf):
    return tf.estimator.RegressionHead(2, loss_reduction="sum", name="pairs")


def poisson(tf):
    return tf.estimator.PoissonRegressionHead()


def logistic(tf):
    return tf.estimator.LogisticRegressionHead(weight_column="weight")


with_head(binary, np.array(["no", "yes"])[BINARY])
with_head(several, SPECIES.reshape(16, 1))
with_head(regression, PAIRS)
with_head(poisson, SPECIES.reshape(16, 1).astype("float32"), modes=("train",))
with_head(
    logistic, (np.abs(X[:, :1])), dict(FEATURES, weight=WEIGHT.reshape(16, 1)), modes=("train",)
)


CENSUS = {"age": AGE, "job": JOB}


def census(tf):
    """Return a number, its intervals, and words, as columns of a wide model."""
    column = tf.feature_column
    age = column.numeric_column("age")
    words = column.categorical_column_with_vocabulary_list("job", ["cook", "smith", "clerk"])
    return age, column.bucketized_column(age, [25, 35, 50]), words


golden(
    "linear_classifier",
    lambda tf, config: tf.estimator.LinearClassifier(census(tf), config=config),
    CENSUS, BINARY, modes=("train", "infer"),
)  # fmt: skip
golden(
    "linear_of_three_classes",
    lambda tf, config: tf.estimator.LinearClassifier(
        census(tf)[1:], n_classes=3, optimizer=None, config=config, sparse_combiner="mean"
    ),
    CENSUS, SPECIES, modes=("train",),
)  # fmt: skip
golden(
    "linear_regressor",
    lambda tf, config: tf.estimator.LinearRegressor(
        numbers(tf), label_dimension=2, weight_column="weight", config=config,
        optimizer=tf.train.FtrlOptimizer(0.1, l1_regularization_strength=0.01),
    ),
    dict(NUMERIC, weight=WEIGHT), PAIRS, modes=("train",),
)  # fmt: skip
golden(
    "linear_in_parts",
    lambda tf, config: tf.estimator.LinearRegressor(
        numbers(tf), config=config, partitioner=tf.fixed_size_partitioner(2)
    ),
    NUMERIC, NUMBERS, modes=("train",), learn=False,
)  # fmt: skip


def deep(tf):
    age, _, words = census(tf)
    column = tf.feature_column
    hashed = column.categorical_column_with_hash_bucket("job", 5)
    return [age, column.indicator_column(words), column.embedding_column(hashed, 2)]


golden(
    "wide_and_deep",
    lambda tf, config: tf.estimator.DNNLinearCombinedClassifier(
        linear_feature_columns=census(tf)[1:], dnn_feature_columns=deep(tf),
        dnn_hidden_units=[4, 3], config=config,
    ),
    CENSUS, BINARY, modes=("train", "infer"),
)  # fmt: skip
golden(
    "deep_of_words",
    lambda tf, config: tf.estimator.DNNClassifier([3], deep(tf), n_classes=3, config=config),
    CENSUS, SPECIES, modes=("train",),
)  # fmt: skip
golden(
    "wide_and_deep_regressor",
    lambda tf, config: tf.estimator.DNNLinearCombinedRegressor(
        linear_feature_columns=numbers(tf), dnn_feature_columns=numbers(tf),
        dnn_hidden_units=[3], dnn_dropout=0.2, batch_norm=True, dnn_optimizer="Adam",
        linear_optimizer="SGD", config=config,
    ),
    NUMERIC, NUMBERS, modes=("train",),
)  # fmt: skip


@program
def combined_refusals(tf):
    make = tf.estimator.DNNLinearCombinedClassifier
    return Run({}, facts={"no_columns": raised(make)})


LABELS = np.stack([BINARY, 1 - BINARY, SPECIES % 2], 1)


def multi_label(tf):
    return tf.estimator.MultiLabelHead(
        3, thresholds=[0.5], label_vocabulary=["a", "b", "c"],
        classes_for_class_based_metrics=["b", "c"], name="many",
    )  # fmt: skip


def two_heads(tf):
    heads = [tf.estimator.MultiLabelHead(3, name="many"), tf.estimator.RegressionHead(name="one")]
    return tf.estimator.MultiHead(heads, head_weights=[1.0, 0.5])


with_head(multi_label, LABELS, modes=("train", "eval"))
with_head(two_heads, {"many": LABELS, "one": NUMBERS}, modes=("train", "infer"))


@program
def multi_label_of_sparse_labels(tf):
    head = tf.estimator.MultiLabelHead(3)
    labels = tf.SparseTensor([[0, 0], [1, 0], [1, 1]], tf.constant([2, 0, 1], tf.int64), [2, 2])
    loss = head.loss(labels, tf.constant([[0.5, -1.0, 2.0], [1.0, 0.0, -2.0]]), {})
    return Run({"loss": loss, "labels": head._processed_labels(tf.zeros([2, 3]), labels)})


def without_object(error):
    """Return the error, without the object that the message shows."""
    return error["class"], error["message"].partition(" Given: ")[0]


@program
def heads_refused(tf):
    heads = tf.estimator
    deep = heads.DNNEstimator(heads.BinaryClassHead(), [2], numbers(tf))
    features = {"x": tf.constant(X), "age": tf.constant(AGE)}
    return Run(
        {},
        facts={
            "classes": raised(heads.MultiLabelHead, 1),
            "threshold": raised(heads.MultiLabelHead, 2, thresholds=[1.0]),
            "vocabulary": raised(heads.MultiLabelHead, 2, label_vocabulary=["a"]),
            "class": raised(heads.MultiLabelHead, 2, classes_for_class_based_metrics=[2]),
            "word": raised(heads.MultiLabelHead, 2, classes_for_class_based_metrics=["a"]),
            "words": raised(heads.MultiClassHead, 3, label_vocabulary=["a"]),
            "no_heads": raised(heads.MultiHead, []),
            "no_name": without_object(raised(heads.MultiHead, [heads.RegressionHead()])),
            "head_weights": raised(heads.MultiHead, [heads.RegressionHead(name="a")], [1, 2]),
            "reduction": raised(heads.RegressionHead, loss_reduction="none"),
            "loss_fn": raised(heads.RegressionHead, loss_fn=lambda labels: labels),
            "optimizer": without_object(
                raised(deep.model_fn, features, tf.constant(BINARY), "train", deep.config)
            ),
        },
    )


@program
def parse_example_specs(tf):
    specs = {
        "classifier": tf.estimator.classifier_parse_example_spec(
            census(tf)[1:], "label", weight_column="weight"
        ),
        "regressor": tf.estimator.regressor_parse_example_spec(
            numbers(tf), "label", label_default=[0.0, 1.0], label_dimension=2
        ),
    }
    facts = {
        name: {key: repr(value) for key, value in spec.items()} for name, spec in specs.items()
    }
    make = tf.estimator.classifier_parse_example_spec
    facts["refused"] = [
        raised(make, numbers(tf), "label", weight_column=1),
    ]
    return Run({}, facts=facts)


golden(
    "more_metrics",
    lambda tf, config: tf.estimator.add_metrics(
        tf.estimator.LinearRegressor(numbers(tf), config=config),
        lambda labels, predictions, features: {
            "error": tf.metrics.mean_absolute_error(labels, predictions["predictions"]),
            "age": tf.metrics.mean(features["age"]),
        },
    ),
    NUMERIC, NUMBERS, modes=("eval",),
)  # fmt: skip
