"""tf.contrib.metrics: streaming values over several updates, and metrics that are there alone."""

from __future__ import annotations

from tests.golden.programs.metrics import GUESSES, LABELS, SCORES, streaming
from tests.golden.registry import Run, program, raised


def binary(tf):
    labels = tf.placeholder(tf.int64, [None])
    scores = tf.placeholder(tf.float32, [None])
    feeds = [{labels: a, scores: b} for a, b in zip(LABELS, SCORES)]
    return labels, scores, feeds


@program
def renamed(tf):
    m = tf.contrib.metrics
    guesses = tf.placeholder(tf.int64, [4])
    labels = tf.placeholder(tf.int64, [4])
    x = tf.placeholder(tf.float32, [4])
    weights = [1.0, 0.0, 2.0, 1.0]
    names = ["accuracy", "precision", "recall", "true_positives", "true_negatives",
             "false_positives", "false_negatives", "false_positive_rate", "false_negative_rate",
             "mean_absolute_error", "mean_squared_error", "root_mean_squared_error"]
    metrics = {n: getattr(m, f"streaming_{n}")(guesses, labels) for n in names}
    metrics.update({
        "weighted": m.streaming_accuracy(guesses, labels, weights, ["values"], ["updates"], "w"),
        "fpr_weighted": m.streaming_false_positive_rate(guesses, labels, weights, name="fpr"),
        "mean": m.streaming_mean(x, weights),
        "mean_tensor": m.streaming_mean_tensor(x),
        "relative": m.streaming_mean_relative_error(x, x + 1.0, x + 0.5),
        "less": m.streaming_percentage_less(x, 0.5),
        "iou": m.streaming_mean_iou(guesses, labels, 2),
        "cosine": m.streaming_mean_cosine_distance(x[tf.newaxis], x[tf.newaxis] + 1.0, 1),
        "count": m.count(x),
        "count_weighted": m.count(x, weights),
        "kappa": m.cohen_kappa(labels, guesses, 2),
        "kappa_weighted": m.cohen_kappa(labels[:, tf.newaxis], guesses, 2, tf.constant(weights)),
    })
    feeds = [{labels: a, guesses: b, x: c} for a, b, c in zip(LABELS, GUESSES, SCORES)]
    run = streaming(tf, metrics, feeds)
    run.facts.update({
        "values": [t.name for t in tf.get_collection("values")],
        "updates": [t.name for t in tf.get_collection("updates")],
        "few": raised(m.cohen_kappa, labels, guesses, 1),
        "twice": raised(m.streaming_accuracy, guesses, labels[:3]),
    })
    return run


@program
def thresholds(tf):
    m = tf.contrib.metrics
    labels, scores, feeds = binary(tf)
    at = [0.25, 0.5, 0.75]
    counts = ["true_positives", "false_negatives", "false_positives", "true_negatives"]
    rates = ["precision", "recall", "false_positive_rate", "false_negative_rate"]
    metrics = {n: getattr(m, f"streaming_{n}_at_thresholds")(scores, labels, at) for n in counts}
    metrics.update({
        f"rate_{n}": getattr(m, f"streaming_{n}_at_thresholds")(scores, labels, at) for n in rates
    })
    metrics["weighted"] = m.streaming_false_positive_rate_at_thresholds(
        scores, labels, at, weights=[1.0, 2.0, 0.0, 1.0], name="weighted")
    metrics["sensitivity"] = m.streaming_sensitivity_at_specificity(
        scores, labels, 0.5, num_thresholds=20)
    metrics["specificity"] = m.streaming_specificity_at_sensitivity(
        scores, labels, 0.5, num_thresholds=20)
    return streaming(tf, metrics, feeds)


@program
def operating_points(tf):
    m = tf.contrib.metrics
    labels, scores, feeds = binary(tf)
    metrics = {
        "recall": m.recall_at_precision(labels, scores, 0.6, num_thresholds=20),
        "strict": m.recall_at_precision(labels, scores, 0.7, num_thresholds=20,
                                        strict_mode=True, name="strict"),
        "precision": m.precision_at_recall(labels, scores, 0.6, num_thresholds=20),
        "f1": m.f1_score(labels, scores, num_thresholds=20),
        "f1_weighted": m.f1_score(labels, scores, [1.0, 0.0, 2.0, 1.0], 20, name="weighted"),
        "roc": m.streaming_auc(scores, labels, num_thresholds=20),
        "pr": m.streaming_auc(scores, labels, None, 20, None, None, "PR", "pr"),
    }
    points = {
        "curve": m.streaming_curve_points(labels, scores, num_thresholds=5),
        "curve_pr": m.streaming_curve_points(labels, scores, num_thresholds=5, curve="PR"),
    }
    run = streaming(tf, {**metrics, **points}, feeds)
    run.facts["errors"] = [
        raised(m.recall_at_precision, labels, scores, 1.5),
        raised(m.precision_at_recall, labels, scores, -0.5),
        raised(m.streaming_curve_points, labels, scores, curve="?"),
    ]
    return run


@program
def dynamic_curves(tf):
    m = tf.contrib.metrics
    labels, scores, feeds = binary(tf)
    values, update = m.auc_with_confidence_intervals(labels, scores)
    plain, plain_update = m.auc_with_confidence_intervals(
        labels, scores, weights=[1.0, 0.5, 2.0, 1.0], alpha=0.9, logit_transformation=False)
    metrics = {
        "roc": m.streaming_dynamic_auc(labels, scores),
        "pr": m.streaming_dynamic_auc(labels, scores, curve="PR", weights=[1.0, 2.0, 0.5, 1.0]),
    }
    run = streaming(tf, metrics, feeds)
    run.fetches.update(values._asdict())
    run.fetches.update({f"plain_{k}": v for k, v in plain._asdict().items()})
    run.train.update(interval=update, plain=plain_update)
    run.facts["fields"] = [type(values).__name__, list(values._fields)]
    run.facts["errors"] = [
        raised(m.streaming_dynamic_auc, labels, scores, "?"),
        raised(m.auc_with_confidence_intervals, labels, scores, alpha=1.0),
    ]
    return run


@program
def equal_thresholds(tf):
    labels, scores, feeds = binary(tf)
    m = tf.contrib.metrics
    values, update = m.precision_recall_at_equal_thresholds(
        tf.cast(labels, tf.bool), scores, num_thresholds=5)
    run = streaming(tf, {}, feeds)
    run.fetches.update(values._asdict())
    run.train["update"] = update
    run.facts["float"] = raised(m.precision_recall_at_equal_thresholds, scores, scores)
    run.facts["fields"] = [type(values).__name__, list(values._fields)]
    return run


@program
def histograms(tf):
    labels, scores, feeds = binary(tf)
    m = tf.contrib.metrics
    metrics = {
        "auc": m.auc_using_histogram(tf.cast(labels, tf.bool), scores, [0.0, 1.0], nbins=10),
        "unchecked": m.auc_using_histogram(tf.cast(labels, tf.bool), scores, [0.0, 1.0], nbins=4,
                                           check_shape=False, name="unchecked"),
    }
    run = streaming(tf, metrics, feeds)
    run.facts["int"] = raised(m.auc_using_histogram, labels, scores, [0.0, 1.0])
    return run


@program
def moments(tf):
    m = tf.contrib.metrics
    x = tf.placeholder(tf.float32, [4])
    y = tf.placeholder(tf.float32, [4])
    weights = tf.constant([1.0, 0.0, 2.0, 1.0])
    metrics = {
        "covariance": m.streaming_covariance(x, y),
        "weighted": m.streaming_covariance(x, y, weights),
        "pearson": m.streaming_pearson_correlation(x, y),
        "pearson_weighted": m.streaming_pearson_correlation(x, y, weights, ["a"], ["b"], "r"),
    }
    run = streaming(tf, metrics, [{x: a, y: b} for a, b in zip(SCORES, LABELS)])
    run.facts["collected"] = [t.name for c in "ab" for t in tf.get_collection(c)]
    run.facts["shapes"] = raised(m.streaming_covariance, x, y[:3])
    return run


@program
def concatenation(tf):
    m = tf.contrib.metrics
    x = tf.placeholder(tf.float32, [None, 2])
    wide = tf.placeholder(tf.int32, [2, None])
    feeds = [{x: [row[:2], row[2:]], wide: [labels[:3], labels[1:]]}
             for row, labels in zip(SCORES, LABELS)]
    metrics = {
        "rows": m.streaming_concat(x),
        "few": m.streaming_concat(x, max_size=3, name="few"),
        "columns": m.streaming_concat(wide, axis=-1),
    }
    run = streaming(tf, metrics, feeds)
    run.facts.update({
        "shapes": [str(value.shape) for value, _ in metrics.values()],
        "axis": raised(m.streaming_concat, x, axis=2),
        "rank": raised(m.streaming_concat, tf.placeholder(tf.float32)),
        "sizes": raised(m.streaming_concat, tf.placeholder(tf.float32, [None, None])),
    })
    return run


@program
def rankings(tf):
    m = tf.contrib.metrics
    scores = tf.placeholder(tf.float32, [2, 4])
    labels = tf.placeholder(tf.int64, [2, 1])
    best = tf.nn.top_k(scores, 2).indices
    metrics = {
        "recall_at_k": m.streaming_recall_at_k(scores, labels[:, 0], 2),
        "recall": m.streaming_sparse_recall_at_k(scores, labels, 2),
        "recall_of_2": m.streaming_sparse_recall_at_k(scores, labels, 2, class_id=2),
        "precision": m.streaming_sparse_precision_at_k(scores, labels, 2),
        "precision_top": m.streaming_sparse_precision_at_top_k(best, labels, class_id=1),
        "recall_top": m.sparse_recall_at_top_k(labels, best),
        "average": m.streaming_sparse_average_precision_at_k(scores, labels, 2),
        "average_top": m.streaming_sparse_average_precision_at_top_k(best, labels),
    }
    feeds = [{scores: SCORES[i:i + 2], labels: [[i], [2]]} for i in range(2)]
    return streaming(tf, metrics, feeds)


@program
def one_batch(tf):
    m = tf.contrib.slim.metrics
    labels, guesses = tf.constant(LABELS), tf.constant(GUESSES)
    sets = (tf.constant([[1, 2, 3], [4, 5, 6]]), tf.constant([[2, 3, 9], [6, 7, 8]]))
    fetches = {
        "accuracy": m.accuracy(guesses, labels),
        "weighted": m.accuracy(guesses, labels, weights=[1.0, 0.0, 2.0, 1.0], name="w"),
        "table": m.confusion_matrix(labels[0], guesses[0], num_classes=3),
        "both": m.set_intersection(*sets),
        "either": m.set_union(*sets),
        "first": m.set_difference(*sets),
        "size": m.set_size(m.set_union(*sets)),
    }
    values, updates = m.aggregate_metric_map({"a": (1, 2), "b": (3, 4)})
    facts = {
        "map": [sorted(values.items()), sorted(updates.items())],
        "lists": m.aggregate_metrics((1, 2), (3, 4)),
        "none": raised(m.aggregate_metrics),
        "float": raised(m.accuracy, guesses, tf.cast(labels, tf.float32)),
        "types": raised(m.accuracy, tf.cast(guesses, tf.int64), labels),
    }
    return Run(fetches, facts=facts)
