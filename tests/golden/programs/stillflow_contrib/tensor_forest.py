"""Random forests that grow while examples come.

TensorFlow deals batches of more than 19 examples out to threads, and which of them draws first is
left to chance; with fewer all is fixed.
"""

from __future__ import annotations

import os
import tempfile

import numpy as np
from tests.golden.registry import Run, internal_module, program, raised

BATCH = 16


def forests(tf):
    return internal_module(tf, "contrib.tensor_forest.tensor_forest",
                           "contrib.tensor_forest.python.tensor_forest")


def random_forests(tf):
    return internal_module(tf, "contrib.tensor_forest.random_forest",
                           "contrib.tensor_forest.client.random_forest")


def settings(tf, **others):
    given = {
        "num_classes": 3, "num_features": 4, "num_trees": 2, "max_nodes": 25,
        "split_after_samples": 8, "num_splits_to_consider": 4, "base_random_seed": 7, **others,
    }
    return forests(tf).ForestHParams(**given).fill()


def batches(features=4, classes=3, count=12):
    random = np.random.RandomState(3)
    points = random.rand(count, BATCH, features).astype(np.float32)
    labels = (points[:, :, 0] * classes + 0.4 * random.rand(count, BATCH)) % classes
    return points, labels.astype(np.int32)


def begin(tf):
    made = [each.create for each in tf.get_collection("resources")]
    return [tf.global_variables_initializer(), *made]


def grown(tf, graphs, points, labels, steps=12, weights=None, **more):
    """Trains; looks at the forest after each step, and at all that is stored in the end."""
    x = tf.placeholder(tf.float32, [None, points.shape[-1]])
    y = tf.placeholder(labels.dtype, [None, *labels.shape[2:]])
    given = {} if weights is None else {"input_weights": tf.constant(weights)}
    train = graphs.training_graph(x, y, **given)
    said, paths, variance = graphs.inference_graph(x)
    feeds = [{x: points[step], y: labels[step]} for step in range(len(points))]
    fetches = {"said": said, "variance": variance, "size": graphs.average_size()}
    fetches.update(more)
    stored = {each.name: each.specs[0].tensor for each in tf.get_collection("saveable_objects")}
    ends = {"tree": stored["tree-0:0"], "importances": graphs.feature_importances(),
            "paths": paths}
    return [Run(fetches, feeds, setup=begin(tf), train=train, steps=steps),
            Run(ends, feeds[0])]


@program
def classes(tf):
    points, labels = batches()
    return grown(tf, forests(tf).RandomForestGraphs(settings(tf)), points, labels)


@program
def weighted_classes(tf):
    points, labels = batches()
    weights = np.float32([0.5, 2.0, 1.0, 0.25] * 4)
    graphs = forests(tf).RandomForestGraphs(settings(tf, use_running_stats_method=True))
    return grown(tf, graphs, points, labels, weights=weights)


@program
def numbers(tf):
    points, _ = batches()
    labels = np.stack([points[:, :, 0] * 3, points[:, :, 1] ** 2 - points[:, :, 2]], 2)
    params = settings(tf, num_classes=2, regression=True)
    return grown(tf, forests(tf).RandomForestGraphs(params), points, labels)


@program
def sparse_counts(tf):
    points, labels = batches(classes=9)
    params = settings(tf, num_classes=9, model_name="all_sparse", split_name="less", num_trees=1)
    runs = grown(tf, forests(tf).RandomForestGraphs(params), points, labels)
    del runs[1].fetches["tree"]  # the order of its classes is left to chance
    return runs


@program
def leaf_by_leaf(tf):
    points, labels = batches()
    params = settings(tf, collate_examples=True)
    return grown(tf, forests(tf).RandomForestGraphs(params), points, labels)


@program
def averaged_thresholds_and_paths(tf):
    points, labels = batches()
    params = settings(tf, initialize_average_splits=True, inference_tree_paths=True)
    return grown(tf, forests(tf).RandomForestGraphs(params), points, labels)


def _pruned(name, how, every):
    def pruned(tf):
        points, labels = batches()
        params = settings(tf, split_pruning_name=how, prune_every_samples=every,
                          num_splits_to_consider=12, split_after_samples=20)
        return grown(tf, forests(tf).RandomForestGraphs(params), points, labels)

    pruned.__name__, pruned.__module__ = name, __name__
    return program(pruned)


pruned_by_half = _pruned("pruned_by_half", "half", 4)
pruned_by_a_tenth = _pruned("pruned_by_a_tenth", "10_percent", 3)
pruned_by_hoeffding = _pruned("pruned_by_hoeffding", "hoeffding", 4)


def _early(name, how):
    def early(tf):
        points, labels = batches()
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "params")
            with open(path, "w") as file:
                file.write("min_split_samples { constant_value: 4 } "
                           "split_after_samples { linear { slope: -2 y_intercept: 60 "
                           "min_val: 56 max_val: 70 } }")
            params = settings(tf, split_finish_name=how, early_finish_check_every_samples=2,
                              dominate_fraction=0.5, param_file=path)
            graphs = forests(tf).RandomForestGraphs(params)
        return grown(tf, graphs, points, labels)

    early.__name__, early.__module__ = name, __name__
    return program(early)


early_by_hoeffding = _early("early_by_hoeffding", "hoeffding")
early_by_bootstrap = _early("early_by_bootstrap", "bootstrap")


@program
def features_of_many_kinds(tf):
    points, labels = batches()
    x, y = tf.placeholder(tf.float64, [None, 2]), tf.placeholder(tf.int32, [None])
    features = {
        "a_number": tf.cast(x, tf.float32),
        "b_category": tf.cast(x[:, :1] * 4, tf.int64),
        "c_string": tf.gather([["red"], ["green"], ["blue"]], tf.cast(x[:, 1] * 3, tf.int32)),
    }
    data_ops = internal_module(tf, "contrib.tensor_forest.data_ops",
                               "contrib.tensor_forest.python.ops.data_ops")
    dense, sparse, spec = data_ops.ParseDataTensorOrDict(features)
    graphs = forests(tf).RandomForestGraphs(settings(tf, max_nodes=41))
    train = graphs.training_graph(features, {"y": y[:, tf.newaxis]})
    said = graphs.inference_graph(features)[0]
    feeds = [{x: points[step][:, :2], y: labels[step]} for step in range(len(points))]
    stored = {each.name: each.specs[0].tensor for each in tf.get_collection("saveable_objects")}
    facts = {"spec": spec.SerializeToString(), "no sparse": sparse is None}
    return [Run({"said": said, "dense": dense}, feeds, setup=begin(tf), train=train, steps=12,
                facts=facts),
            Run({"tree": stored["tree-0:0"]})]


@program
def sparse_features(tf):
    random = np.random.RandomState(5)
    there = random.rand(BATCH, 30) < 0.3
    there[:, 0] = True
    places = np.argwhere(there).astype(np.int64)
    values = (random.rand(len(places)) * 2).astype(np.float32).round(1)
    features = tf.SparseTensor(tf.constant(places), tf.constant(values), [BATCH, 30])
    labels = tf.constant((np.arange(BATCH) % 3).astype(np.int64))
    graphs = forests(tf).RandomForestGraphs(
        settings(tf, num_features=30, num_trees=1, split_after_samples=4))
    train = graphs.training_graph(features, labels)
    said = graphs.inference_graph(features)[0]
    ends = {"importances": graphs.feature_importances()}
    return [Run({"said": said}, setup=begin(tf), train=train, steps=12), Run(ends)]


@program
def shares_of_examples_and_features(tf):
    graphs_of = forests(tf)
    params = settings(tf, bagging_fraction=0.6, feature_bagging_fraction=0.5)
    params.bagged_features = [[3, 0], [1, 2]]
    graphs = graphs_of.RandomForestGraphs(params)
    x = tf.placeholder(tf.float32, [None, 4])
    train = graphs.training_graph(x, tf.placeholder(tf.int32, [None]))
    said = graphs.inference_graph(x)[0]
    return Run(facts={"train": train.name, "said": said.shape.as_list(), "shares":
                      params.bagged_num_features})


def restored(tf, **others):
    """Store a forest in a checkpoint while it grows, and lets a second session go on with it."""
    points, labels = batches()
    graphs = forests(tf).RandomForestGraphs(settings(tf, **others))
    x, y = tf.placeholder(tf.float32, [None, 4]), tf.placeholder(tf.int32, [None])
    train = graphs.training_graph(x, y)
    said = graphs.inference_graph(x)[0]
    saver = tf.train.Saver()
    setup = begin(tf)

    def call(session):
        for each in setup:
            session.run(each)
        for step in range(5):
            session.run(train, {x: points[step], y: labels[step]})
        with tempfile.TemporaryDirectory() as folder, tf.Session(graph=session.graph) as other:
            path = saver.save(session, os.path.join(folder, "forest"))
            stored = sorted(name for name, _ in tf.train.list_variables(path))
            saver.restore(other, path)
            found = {"stored": np.array(stored), "said": other.run(said, {x: points[0]})}
            for step in range(5, 12):
                other.run(train, {x: points[step], y: labels[step]})
            found["later"] = other.run(said, {x: points[0]})
        return found

    return Run(call=call)


@program
def checkpoints(tf):
    return restored(tf)


@program
def checkpoints_with_statistics(tf):
    return restored(tf, checkpoint_stats=True)


@program
def settings_that_fill_themselves(tf):
    hparams = forests(tf).ForestHParams
    small = hparams(num_classes=2, num_features=4).fill().values()
    large = hparams(num_classes=5, num_features=1000, regression=True, num_trees=3,
                    model_name="all_sparse").fill().values()
    few = hparams(num_classes=2, num_features=10, feature_bagging_fraction=0.3, num_trees=2)
    return Run(facts={
        "small": sorted((name, str(value)) for name, value in small.items()),
        "large": sorted((name, str(value)) for name, value in large.items()),
        "few": [len(each) for each in few.fill().bagged_features],
        "no classes": raised(hparams(num_features=3).fill),
        "no features": raised(hparams(num_classes=3).fill),
        "no period": raised(hparams(num_classes=3, num_features=3,
                                    split_pruning_name="half").fill),
        "other name": raised(hparams(num_classes=3, num_features=3, split_name="more").fill),
    })


@program
def conversions(tf):
    ops = internal_module(tf, "contrib.tensor_forest.tensor_forest_ops",
                          "contrib.tensor_forest.python.ops.tensor_forest_ops")
    strings = tf.constant([["", "a"], ["abcdefgh", "twelve bytes"]])
    variable = tf.Variable(np.arange(12, dtype=np.float32).reshape([2, 3, 2]))
    add = ops.scatter_add_ndim(variable, [[0, 1], [1, 2], [0, 1]],
                               [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    with tf.control_dependencies([add]):
        result = tf.identity(variable.read_value())
    wrong = ops.scatter_add_ndim(variable, [[0, 1]], [1.0])
    return [Run({"numbers": ops.reinterpret_string_to_float(strings), "sums": result},
                setup=[tf.global_variables_initializer()]),
            Run({"wrong": wrong}, fails=True)]


def _model(name, core, classes, regression=False):
    def model(tf):
        forest = random_forests(tf)
        points, labels = batches(classes=classes)
        params = settings(tf, num_classes=1 if regression else classes, regression=regression,
                          inference_tree_paths=core)
        kind = forest.ModelBuilderOutputType
        model_fn = forest.get_model_fn(
            params, forests(tf).RandomForestGraphs, None, keys_name="keys", weights_name="weight",
            report_feature_importances=not core,
            output_type=kind.ESTIMATOR_SPEC if core else kind.MODEL_FN_OPS)
        x = tf.placeholder(tf.float32, [None, 4])
        y = tf.placeholder(tf.float32 if regression else tf.int32, [None, 1])
        tf.train.create_global_step()
        features = {"x": x, "keys": tf.range(BATCH), "weight": tf.ones([BATCH, 1])}
        made = model_fn(features, y, "train")
        feeds = [{x: points[step], y: labels[step][:, None]} for step in range(6)]
        predictions = {name: made.predictions[name] for name in made.predictions
                       if not core or name != "class_ids"}
        return Run({"loss": made.loss, "predictions": predictions}, feeds, setup=begin(tf),
                   train=made.train_op, steps=6,
                   facts={"hooks": [type(each).__name__ for each in made.training_hooks]})

    model.__name__, model.__module__ = name, __name__
    return program(model)


model_of_two_classes = _model("model_of_two_classes", False, 2)
model_of_three_classes = _model("model_of_three_classes", False, 3)
model_of_numbers = _model("model_of_numbers", False, 3, True)
core_model_of_two_classes = _model("core_model_of_two_classes", True, 2)
core_model_of_three_classes = _model("core_model_of_three_classes", True, 3)
core_model_of_numbers = _model("core_model_of_numbers", True, 3, True)


def _estimated(name, estimator_name, classes, core=False):
    """Trains an estimator on a small data set, evaluates it and predicts."""

    def estimated(tf):
        random = np.random.RandomState(9)
        points = random.rand(96, 4).astype(np.float32)
        labels = ((points[:, :1] + points[:, 1:2]) * classes / 2).astype(np.int32)

        def examples(repeat):
            def input_fn():
                data = tf.data.Dataset.from_tensor_slices(({"x": points}, labels))
                return (data.repeat() if repeat else data).batch(
                    BATCH).make_one_shot_iterator().get_next()
            return input_fn

        def call(session):
            with tempfile.TemporaryDirectory() as folder:
                params = settings(tf, num_classes=classes, num_trees=3, max_nodes=60)
                made = getattr(random_forests(tf), estimator_name)(
                    params, model_dir=folder, report_feature_importances=True)
                train = made.train if core else made.fit
                train(input_fn=examples(True), steps=30)
                metrics = made.evaluate(input_fn=examples(False), steps=None)
                said = list(made.predict(input_fn=examples(False)))
            found = {str(key): metrics[key] for key in ("loss", "accuracy", "global_step")}
            found["probabilities"] = np.array([each["probabilities"] for each in said])
            found["variance"] = np.array([each["prediction_variance"] for each in said])
            return found

        return Run(call=call)

    estimated.__name__, estimated.__module__ = name, __name__
    return program(estimated)


estimator_of_three_classes = _estimated("estimator_of_three_classes", "TensorForestEstimator", 3)
estimator_of_two_classes = _estimated("estimator_of_two_classes", "TensorForestEstimator", 2)
core_estimator = _estimated("core_estimator", "CoreTensorForestEstimator", 3, core=True)


@program
def forests_in_meta_graphs(tf):
    with tf.Graph().as_default() as graph:
        forests(tf).RandomForestGraphs(settings(tf))
    meta = tf.train.export_meta_graph(graph=graph)
    facts = {"entries": list(meta.collection_def["saveable_objects"].node_list.value)}
    with tf.Graph().as_default():
        facts["read"] = raised(tf.train.import_meta_graph, meta)
    return Run(facts=facts)


@program
def metrics_by_name(tf):
    metrics = tf.contrib.tensor_forest.eval_metrics
    shares = tf.constant([[0.1, 0.5, 0.2, 0.05, 0.05, 0.1], [0.3, 0.1, 0.1, 0.1, 0.2, 0.2],
                          [0.25, 0.15, 0.2, 0.1, 0.1, 0.2]])
    classes, labels = tf.constant([[1], [0], [1]]), tf.constant([[1], [3], [1]])
    guesses, truths = tf.constant([[1.0], [2.5], [2.0]]), tf.constant([[1.0], [3.0], [2.0]])
    given = {"probabilities": (shares, labels), "classes": (classes, classes > 0),
             "scores": (guesses, truths)}
    fetches, updates, keys = {}, {}, {}
    for name in ("accuracy", "auc", "sigmoid_entropy", "softmax_entropy", "r2", "predictions",
                 "classification_log_loss", "precision", "precision_at_thresholds", "recall",
                 "recall_at_thresholds", "top_5"):
        keys[name] = metrics.get_prediction_key(name)
        predictions, targets = given[keys[name]]
        if name in ("auc", "precision_at_thresholds", "recall_at_thresholds"):
            targets = tf.equal(targets, 1)
        found = metrics.get_metric(name)(predictions, targets)
        if name == "predictions":
            fetches[name] = found
        else:
            fetches[name], updates[name] = found
    return Run(fetches, train=updates, setup=[tf.local_variables_initializer()], facts={
        "keys": keys, "unknown": raised(metrics.get_metric, "none")})
