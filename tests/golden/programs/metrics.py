"""tf.metrics: streaming values over several updates."""

from __future__ import annotations

from tests.golden.registry import Run, eagerly, program, raised

LABELS = [[0, 1, 1, 0], [1, 1, 0, 0], [1, 0, 1, 1]]
GUESSES = [[0, 1, 0, 1], [1, 0, 0, 0], [1, 1, 1, 1]]
SCORES = [[0.1, 0.8, 0.4, 0.6], [0.9, 0.3, 0.2, 0.5], [0.7, 0.55, 0.35, 0.95]]


def streaming(tf, metrics, feeds):
    """Update all metrics at every step, then read their values."""
    values = {name: value for name, (value, _) in sorted(metrics.items())}
    updates = {name: update for name, (_, update) in sorted(metrics.items())}
    facts = {"local": [v.name for v in tf.local_variables()]}
    return Run(values, feeds, setup=[tf.local_variables_initializer()], train=updates,
               steps=len(feeds), facts=facts)


@program
def counts_of_a_binary_classifier(tf):
    labels = tf.placeholder(tf.int64, [None])
    guesses = tf.placeholder(tf.int64, [None])
    names = ["accuracy", "precision", "recall", "true_positives", "true_negatives",
             "false_positives", "false_negatives"]
    metrics = {n: getattr(tf.metrics, n)(labels, guesses) for n in names}
    return streaming(tf, metrics, [{labels: a, guesses: b} for a, b in zip(LABELS, GUESSES)])


@program
def means(tf):
    x = tf.placeholder(tf.float32, [4])
    metrics = {
        "mean": tf.metrics.mean(x),
        "weighted": tf.metrics.mean(x, weights=[1.0, 0.0, 2.0, 1.0], name="weighted"),
        "tensor": tf.metrics.mean_tensor(x),
        "percentage": tf.metrics.percentage_below(x, 0.5),
    }
    return streaming(tf, metrics, [{x: s} for s in SCORES])


@program
def errors(tf):
    labels = tf.placeholder(tf.float32, [None])
    guesses = tf.placeholder(tf.float32, [None])
    metrics = {
        "mse": tf.metrics.mean_squared_error(labels, guesses),
        "rmse": tf.metrics.root_mean_squared_error(labels, guesses),
        "mae": tf.metrics.mean_absolute_error(labels, guesses),
        "relative": tf.metrics.mean_relative_error(labels, guesses, guesses + 1.0),
        "cosine": tf.metrics.mean_cosine_distance(labels[tf.newaxis], guesses[tf.newaxis], 1),
    }
    return streaming(tf, metrics, [{labels: a, guesses: b} for a, b in zip(LABELS, SCORES)])


@program
def area_under_curves(tf):
    labels = tf.placeholder(tf.int64, [None])
    scores = tf.placeholder(tf.float32, [None])
    metrics = {
        "roc": tf.metrics.auc(labels, scores, num_thresholds=20),
        "pr": tf.metrics.auc(labels, scores, num_thresholds=20, curve="PR",
                             summation_method="careful_interpolation", name="pr"),
        "sensitivity": tf.metrics.sensitivity_at_specificity(labels, scores, 0.5, 20),
        "specificity": tf.metrics.specificity_at_sensitivity(labels, scores, 0.5, 20),
    }
    return streaming(tf, metrics, [{labels: a, scores: b} for a, b in zip(LABELS, SCORES)])


@program
def default_auc(tf):
    labels = tf.placeholder(tf.bool, [None])
    scores = tf.placeholder(tf.float32, [None])
    return streaming(tf, {"auc": tf.metrics.auc(labels, scores)},
                     [{labels: a, scores: b} for a, b in zip(LABELS, SCORES)])


@program
def thresholds(tf):
    labels = tf.placeholder(tf.int64, [None])
    scores = tf.placeholder(tf.float32, [None])
    names = ["precision", "recall", "true_positives", "false_positives", "true_negatives",
             "false_negatives"]
    metrics = {n: getattr(tf.metrics, n + "_at_thresholds")(labels, scores, [0.25, 0.5, 0.75])
               for n in names}
    return streaming(tf, metrics, [{labels: a, scores: b} for a, b in zip(LABELS, SCORES)])


@program
def several_classes(tf):
    labels = tf.placeholder(tf.int64, [None])
    guesses = tf.placeholder(tf.int64, [None])
    metrics = {
        "iou": tf.metrics.mean_iou(labels, guesses, num_classes=3),
        "per_class": tf.metrics.mean_per_class_accuracy(labels, guesses, num_classes=3),
        "weighted": tf.metrics.accuracy(labels, guesses, weights=[1.0, 2.0, 0.0, 1.0]),
    }
    feeds = [{labels: [0, 1, 2, 2], guesses: [0, 2, 2, 1]},
             {labels: [1, 1, 0, 2], guesses: [1, 1, 0, 0]}]
    return streaming(tf, metrics, feeds)


@program
def ranking(tf):
    labels = tf.placeholder(tf.int64, [None, 1])
    scores = tf.placeholder(tf.float32, [None, 4])
    metrics = {
        "recall": tf.metrics.recall_at_k(labels, scores, k=2),
        "precision": tf.metrics.precision_at_k(labels, scores, k=2),
        "average": tf.metrics.average_precision_at_k(labels, scores, k=2),
        "class": tf.metrics.precision_at_k(labels, scores, k=1, class_id=1),
    }
    return streaming(tf, metrics, [{labels: [[1], [0], [3]], scores: SCORES},
                                   {labels: [[2], [2], [0]], scores: SCORES}])


@program
def collections_and_arguments(tf):
    x = tf.constant([1.0, 2.0])
    value, update = tf.metrics.mean(x, metrics_collections=["values"],
                                    updates_collections="updates", name="average")
    facts = {
        "names": [value.name, update.name],
        "metric_variables": [v.name for v in tf.get_collection(tf.GraphKeys.METRIC_VARIABLES)],
        "shapes": raised(tf.metrics.accuracy, tf.ones([2]), tf.ones([3])),
        "weights": raised(tf.metrics.mean, x, weights=[1.0, 2.0, 3.0]),
    }
    return Run({"value": value}, setup=[tf.local_variables_initializer()], train=update, steps=2,
               facts=facts)


@program
def metrics_of_differences_in_a_scope(tf):
    labels = tf.placeholder(tf.float32, [None])
    guesses = tf.placeholder(tf.float32, [None])
    difference = tf.subtract(labels, guesses)
    metrics = {"mean": tf.metrics.mean(tf.abs(difference)),
               "below": tf.metrics.percentage_below(difference, 0.0)}
    with tf.variable_scope("again"):
        metrics["again"] = tf.metrics.mean_squared_error(labels, guesses, name="mse")
    return streaming(tf, metrics, [{labels: a, guesses: b} for a, b in zip(LABELS, SCORES)])


@program
def metrics_in_eager_execution(tf):
    def compute(tf):
        truths, numbers = tf.constant([True, False]), tf.constant([0.25, 0.75])
        shares, classes = [0.5], tf.constant([[0], [1]], tf.int64)
        calls = {
            "accuracy": (truths, truths), "auc": (truths, numbers), "mean": (numbers,),
            "false_negatives": (truths, truths), "mean_iou": (classes, classes, 2),
            "mean_tensor": (numbers,), "percentage_below": (numbers, 0.5),
            "precision": (truths, truths), "recall_at_k": (classes, [[0.1, 0.9], [0.8, 0.2]], 1),
            "precision_at_thresholds": (truths, numbers, shares),
            "true_positives_at_thresholds": (truths, numbers, shares),
        }
        facts = {name: raised(getattr(tf.metrics, name), *given) for name, given in calls.items()}
        made = tf.contrib.metrics.streaming_true_positives_at_thresholds(numbers, truths, shares)
        facts["contrib"] = [len(made), made[0].numpy().tolist()]
        return facts

    return eagerly(tf, compute)
