"""`tf.contrib.kernel_methods`: random Fourier features, the hinge loss and the estimator."""

from __future__ import annotations

import shutil
import tempfile

import numpy as np
from tests.golden.registry import Run, internal_module, program, raised

POINTS = [[2.0, 1.0, 0.0], [1.0, -1.0, 2.0], [-1.0, 10.0, 1.0], [0.25, 0.5, -0.75]]
LOGITS = [[1.2, -0.4, 0.9], [0.1, 2.5, -1.0], [-3.0, 0.4, 0.3], [0.2, 0.2, 0.2]]


# ---- mappers


@program
def a_mapper_of_ones_own(tf):
    module = internal_module(tf, "stillflow_contrib.kernel_methods.dense_kernel_mapper",
                             "contrib.kernel_methods.python.mappers.dense_kernel_mapper")
    base = module.DenseKernelMapper

    class Mapper(base):
        name, output_dim = "own", 2

        def map(self, input_tensor):
            return super().map(input_tensor)

        def __repr__(self):
            return "a mapper"

    return Run(facts={"map": raised(Mapper().map, 1.0), "abstract": raised(base)["class"],
                      "error": issubclass(module.InvalidShapeError, Exception)})


@program
def mapped(tf):
    rows = tf.placeholder(tf.float32, [None, 3], name="rows")
    mapper = tf.contrib.kernel_methods.RandomFourierFeatureMapper(3, 5, 0.7, seed=8, name="first")
    other = tf.contrib.kernel_methods.RandomFourierFeatureMapper(3, 4)
    outputs = {"once": mapper.map(rows), "again": mapper.map(rows), "other": other.map(rows)}
    outputs["drawn next"] = tf.constant(np.random.normal(size=3))
    outputs["gradient"] = tf.gradients(outputs["once"], rows)[0]
    facts = {
        "name": mapper.name,
        "own name": other.name == str(id(other)),
        "sizes": [mapper.input_dim, mapper.output_dim, other.output_dim],
    }
    return Run(outputs, {rows: POINTS}, facts=facts)


@program
def mapped_of_unknown_width(tf):
    rows = tf.placeholder(tf.float32, [None, None], name="rows")
    mapper = tf.contrib.kernel_methods.RandomFourierFeatureMapper(3, 6, 2.0)
    return Run({"mapped": mapper.map(rows)}, {rows: POINTS})


@program
def refused_by_mappers(tf):
    mapper = tf.contrib.kernel_methods.RandomFourierFeatureMapper(3, 6)
    module = internal_module(
        tf,
        "stillflow_contrib.kernel_methods.dense_kernel_mapper",
        "contrib.kernel_methods.python.mappers.dense_kernel_mapper",
    )
    return Run(
        facts={
            "rank": raised(mapper.map, tf.zeros([3])),
            "width": raised(mapper.map, tf.zeros([4, 2])),
            "any rank": raised(mapper.map, tf.placeholder(tf.float32)),
            "is a mapper": isinstance(mapper, module.DenseKernelMapper),
            "abstract": sorted(module.DenseKernelMapper.__abstractmethods__),
        }
    )


# ---- the loss


def loss_of(tf, labels, shape=(4, 3), dtype="float32", **settings):
    loss = tf.contrib.kernel_methods.sparse_multiclass_hinge_loss
    logits = tf.placeholder(dtype, shape, name="logits")
    made = loss(tf.constant(labels), logits, **settings)
    facts = {"collected": [tensor.name for tensor in tf.losses.get_losses()]}
    outputs = {"loss": made, "gradient": tf.gradients(made, logits)[0]}
    return Run(outputs, {logits: LOGITS}, facts=facts)


@program
def hinge_loss(tf):
    return loss_of(tf, [0, 1, 2, 1])


@program
def hinge_loss_of_columns(tf):
    weights = tf.constant([[1.0], [0.5], [0.0], [2.0]])
    labels = np.int64([[2], [1], [0], [2]])
    return loss_of(tf, labels, (None, None), "float64", weights=weights, scope="hinge")


@program
def hinge_losses(tf):
    none = tf.losses.Reduction.NONE
    return loss_of(
        tf, [0, 1, 0, 2], weights=[1.0, 2.0, 3.0, 4.0], reduction=none, loss_collection=None
    )


@program
def hinge_loss_summed(tf):
    return loss_of(tf, [0, 1, 0, 2], weights=0.5, reduction=tf.losses.Reduction.SUM)


@program
def refused_by_hinge_loss(tf):
    loss = tf.contrib.kernel_methods.sparse_multiclass_hinge_loss
    logits, labels = tf.constant(LOGITS), tf.constant([[0], [1], [2], [0]])
    return Run(
        facts={
            "rank of logits": raised(loss, labels, logits[0]),
            "type of labels": raised(loss, tf.zeros([4]), logits),
            "rank of labels": raised(loss, tf.zeros([4, 1, 1], tf.int32), logits),
            "rank of weights": raised(loss, labels, logits, tf.ones([4, 1, 1])),
            "number of weights": raised(loss, labels, logits, tf.ones([3])),
        }
    )


# ---- the estimator


def tensors(tf):
    point = tf.placeholder(tf.float32, [None, 2], name="point")
    word = tf.placeholder(tf.string, [None], name="word")
    weight = tf.placeholder(tf.float32, [None, 1], name="weight")
    label = tf.placeholder(tf.int64, [None, 1], name="label")
    count = tf.cast(tf.size(word), tf.int64)
    rows = tf.range(count)
    words = tf.SparseTensor(tf.stack([rows, rows * 0], 1), word, tf.stack([count, 1]))
    features = {"point": point, "word": words, "weight": weight}
    feeds = {
        point: [[1.0, 1.0], [1.0, -1.0], [-1.0, -1.0], [-1.0, 1.0]],
        word: [b"a", b"b", b"c", b"a"],
        weight: [[1.0], [2.0], [1.0], [0.5]],
        label: [[1], [0], [1], [0]],
    }
    return features, label, feeds


def in_each_mode(build):
    """One program for each mode of an estimator."""
    for mode in ("train", "eval", "infer"):

        def one(tf, mode=mode):
            folder = tempfile.mkdtemp()
            try:
                return of(tf, build(tf, folder), mode)
            finally:
                shutil.rmtree(folder)

        one.__name__ = f"{build.__name__}_{mode}"
        one.__module__ = build.__module__
        program(one)
    return build


def of(tf, estimator, mode):
    tf.train.create_global_step()
    features, labels, feeds = tensors(tf)
    setup = [tf.global_variables_initializer, tf.local_variables_initializer]
    facts = {}
    if mode == "train":
        model = estimator._get_train_ops(features, labels)
        facts["columns"] = sorted(column.name for column in estimator.params["feature_columns"])
        fetches = {"loss": model.loss}
        for variable in tf.global_variables():
            fetches["variable " + variable.op.name] = variable
        return Run(
            fetches,
            feeds,
            facts=facts,
            setup=[make() for make in setup],
            train=model.train_op,
            steps=4,
        )
    if mode == "eval":
        outputs = {"loss": estimator._get_eval_ops(features, labels, None).loss}
    else:
        outputs = estimator._get_predict_ops(features).predictions
        outputs = {str(key): value for key, value in outputs.items()}
    return Run(outputs, feeds, setup=[make() for make in setup])


def columns(tf):
    layers = tf.contrib.layers
    point = layers.real_valued_column("point", dimension=2)
    return point, layers.sparse_column_with_hash_bucket("word", 5)


@in_each_mode
def mapped_only(tf, folder):
    kernels = tf.contrib.kernel_methods
    point, _ = columns(tf)
    mapper = kernels.RandomFourierFeatureMapper(2, 6, 0.6, 1, "rffm")
    return kernels.KernelLinearClassifier(model_dir=folder, kernel_mappers={point: [mapper]})


@in_each_mode
def mapped_twice_of_three_classes(tf, folder):
    kernels = tf.contrib.kernel_methods
    point, word = columns(tf)
    mappers = [kernels.RandomFourierFeatureMapper(2, size, seed=size) for size in (4, 3)]
    return kernels.KernelLinearClassifier(
        iter([point, word]),
        folder,
        n_classes=3,
        weight_column_name="weight",
        optimizer=tf.train.AdagradOptimizer(0.1),
        kernel_mappers={point: mappers, word: mappers},
    )


@in_each_mode
def not_mapped(tf, folder):
    return tf.contrib.kernel_methods.KernelLinearClassifier(columns(tf), folder, optimizer="SGD")


@program
def refused_by_estimator(tf):
    classifier = tf.contrib.kernel_methods.KernelLinearClassifier
    point, _ = columns(tf)
    return Run(
        facts={
            "nothing": raised(classifier),
            "one class": raised(classifier, n_classes=1),
            "mapper": raised(classifier, [point], kernel_mappers={point: [abs]}),
        }
    )


@program(rtol=1e-4, reason="fifty steps add up what TensorFlow's cosine rounds differently")
def trained(tf):
    kernels = tf.contrib.kernel_methods
    point, _ = columns(tf)

    def batch():
        points = tf.constant([[1.0, 1.0], [1.0, -1.0], [-1.0, -1.0], [-1.0, 1.0]])
        return {"point": points}, tf.constant([[1], [0], [1], [0]])

    folder = tempfile.mkdtemp()
    try:
        mapper = kernels.RandomFourierFeatureMapper(2, 30, 0.6)
        estimator = kernels.KernelLinearClassifier(
            model_dir=folder,
            kernel_mappers={point: [mapper]},
            config=tf.contrib.learn.RunConfig(tf_random_seed=3),
        )
        estimator.fit(input_fn=batch, steps=50)
        metrics = estimator.evaluate(input_fn=batch, steps=1)
        facts = {
            "metrics": {name: np.float64(metrics[name]) for name in ("loss", "accuracy")},
            "classes": [int(each) for each in estimator.predict_classes(batch)],
            "probabilities": np.array(list(estimator.predict_proba(batch))),
            "variables": sorted(estimator.get_variable_names()),
            "weights": estimator.get_variable_value("linear/point_MAPPED/weight"),
        }
    finally:
        shutil.rmtree(folder)
    return Run(facts=facts)
