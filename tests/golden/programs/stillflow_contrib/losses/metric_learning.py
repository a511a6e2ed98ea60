"""tf.contrib.losses.metric_learning: losses of embeddings, and their gradients."""

from __future__ import annotations

import importlib

from tests.golden.registry import Run, program, raised

LABELS = [0, 1, 0, 2, 1]
EMBEDDINGS = [[0.1, 0.9, 0.3], [0.8, -0.2, 0.4], [0.2, 0.7, -0.1], [-0.5, 0.5, 0.6],
              [0.9, 0.1, 0.0]]


def losses_of(tf):
    """Return the module: the namespace above does not import it."""
    return importlib.import_module(f"{tf.__name__}.contrib.losses").metric_learning


@program
def batches(tf):
    losses = losses_of(tf)
    labels = tf.placeholder(tf.int32, [None])
    x = tf.placeholder(tf.float32, [None, 3])
    fetches = {
        "triplet": losses.triplet_semihard_loss(labels, x),
        "triplet_far": losses.triplet_semihard_loss(labels, x, margin=0.1),
        "lifted": losses.lifted_struct_loss(labels, x),
        "lifted_far": losses.lifted_struct_loss(labels, x, margin=2.0),
    }
    for name in ("triplet", "lifted"):
        fetches[f"{name}_gradient"] = tf.gradients(fetches[name], x)[0]
    return Run(fetches, {labels: LABELS, x: EMBEDDINGS})


@program
def pairs(tf):
    losses = losses_of(tf)
    labels = tf.placeholder(tf.int32, [None])
    x = tf.placeholder(tf.float32, [None, 3])
    y = tf.placeholder(tf.float32, [None, 3])
    several = [tf.SparseTensor([[i], [3]], [1, 1], [5]) for i in (0, 1, 0)]
    fetches = {
        "contrastive": losses.contrastive_loss(tf.equal(labels, 1), x, y, margin=0.5),
        "npairs": losses.npairs_loss(labels, x, y),
        "printed": losses.npairs_loss(labels, x, y, 0.5, print_losses=True),
        "several": losses.npairs_loss_multilabel(several, x[:3], y[:3]),
    }
    fetches["gradient"] = tf.gradients(fetches["npairs"], x)[0]
    facts = {"dense": raised(losses.npairs_loss_multilabel, [1], x, y)}
    return Run(fetches, {labels: LABELS, x: EMBEDDINGS, y: EMBEDDINGS[::-1]}, facts=facts)
