"""tf.contrib.losses and tf.contrib.slim.losses: one number for a batch, collected."""

from __future__ import annotations

from tests.golden.registry import Run, program, raised

SCORES = [[0.2, 0.7, 0.9], [0.4, 0.1, 0.6]]
TRUTH = [[0.0, 1.0, 1.0], [1.0, 0.0, 0.0]]
WEIGHTS = [None, 0.0, 2.5, [1.5, 0.0], [[1.5], [0.5]], [[1.0, 0.0, 2.0], [0.5, 1.0, 0.0]]]


def collected(tf, fetches, feeds, **facts):
    facts["losses"] = [t.name for t in tf.get_collection("losses")]
    facts["shapes"] = [f"{n} {t.shape} {t.dtype.name}" for n, t in sorted(fetches.items())]
    return Run(fetches, feeds, facts=facts)


def weighted(loss, *args, rows=False, **kwargs):
    """Return a loss under each form of weights; `rows`: it has one loss for each row."""
    forms = WEIGHTS[:5] if rows else WEIGHTS
    return {f"{i}": loss(*args, **({} if w is None else {"weights": w}), **kwargs)
            for i, w in enumerate(forms)}


@program
def numbers(tf):
    losses = tf.contrib.losses
    x = tf.placeholder(tf.float32, [2, 3])
    y = tf.placeholder(tf.float32, [2, 3])
    fetches = {}
    for name in ("absolute_difference", "mean_squared_error", "log_loss"):
        for form, loss in weighted(getattr(losses, name), x, y).items():
            fetches[f"{name}_{form}"] = loss
    for form, weights in enumerate((1.0, 0.0, 2.5, [1.5, 0.0])):
        fetches[f"pairs_{form}"] = losses.mean_pairwise_squared_error(x, y, weights)
    for form, weights in enumerate((1.0, 0.0, [1.5, 0.0])):
        fetches[f"cosine_{form}"] = losses.cosine_distance(x, y, axis=1, weights=weights)
    fetches["total"] = losses.get_total_loss()
    unknown = tf.placeholder(tf.float32)
    return collected(
        tf, fetches, {x: SCORES, y: TRUTH},
        shapes_differ=raised(losses.mean_squared_error, x, y[:, :2]),
        axis=raised(losses.cosine_distance, x, y),
        both=raised(losses.cosine_distance, x, y, axis=1, dim=1),
        rank=raised(losses.compute_weighted_loss, unknown),
        weights_rank=raised(losses.compute_weighted_loss, x, unknown),
        pairs_rank=raised(losses.mean_pairwise_squared_error, unknown, unknown),
    )


@program
def classes(tf):
    losses = tf.contrib.slim.losses
    x = tf.placeholder(tf.float32, [2, 3])
    y = tf.placeholder(tf.float32, [2, 3])
    numbers = tf.placeholder(tf.int32, [2, 1])
    fetches = {"hinge": losses.hinge_loss(x, y)}
    found = {
        "sigmoid": weighted(losses.sigmoid_cross_entropy, x, y),
        "sigmoid_smooth": weighted(losses.sigmoid_cross_entropy, x, y, label_smoothing=0.1),
        "softmax": weighted(losses.softmax_cross_entropy, x, y, rows=True),
        "softmax_smooth": weighted(losses.softmax_cross_entropy, x, y, rows=True,
                                   label_smoothing=0.1, scope="smooth"),
        "sparse": weighted(losses.sparse_softmax_cross_entropy, x, numbers, rows=True),
    }
    for name, forms in found.items():
        fetches.update({f"{name}_{form}": loss for form, loss in forms.items()})
    return collected(tf, fetches, {x: SCORES, y: TRUTH, numbers: [[2], [0]]},
                     differ=raised(losses.softmax_cross_entropy, x, y[:1]))


@program
def collections(tf):
    losses = tf.contrib.losses
    x = tf.placeholder(tf.float32, [None, 2, 2])
    regularizer = tf.contrib.layers.l2_regularizer(0.1)
    tf.get_variable("v", [2], initializer=tf.ones_initializer(), regularizer=regularizer)
    with tf.name_scope("inner"):
        losses.compute_weighted_loss(tf.cast(x, tf.float64))
    with tf.contrib.framework.arg_scope([losses.add_loss], loss_collection="others"):
        losses.compute_weighted_loss(x, weights=2.0)
    losses.add_loss(tf.constant(1.0))
    losses.add_loss(tf.constant(2.0), None)
    found = {
        "all": [t.name for t in losses.get_losses()],
        "inner": [t.name for t in losses.get_losses("inner")],
        "others": [t.name for t in losses.get_losses(loss_collection="others")],
        "regularization": [t.name for t in losses.get_regularization_losses()],
    }
    tf.get_collection_ref("losses").pop(0)  # of another type
    fetches = {"total": losses.get_total_loss(),
               "without": losses.get_total_loss(add_regularization_losses=False, name="plain")}
    return Run(fetches, {x: [[[1.0, 2.0], [3.0, 4.0]]]},
               setup=[tf.global_variables_initializer()], facts=found)
