"""The perceptron of mlp_adam, and at every step a histogram of each variable and two scalars."""

from __future__ import annotations

import atexit
import itertools
import shutil
import tempfile
from collections.abc import Callable
from typing import Any

from . import mlp_adam

STEPS = mlp_adam.STEPS


def build(tf: Any) -> Callable[[], float]:
    """Return a function that trains a step and writes its summaries, as in most tutorials."""
    job = mlp_adam.build(tf)
    train, loss = job.fetches
    for variable in tf.trainable_variables():
        tf.summary.histogram(variable.op.name, variable)
    tf.summary.scalar("loss", loss)
    logits, labels = loss.op.inputs[0].op.inputs
    hits = tf.equal(tf.argmax(logits, 1), labels)
    tf.summary.scalar("accuracy", tf.reduce_mean(tf.cast(hits, tf.float32)))
    merged = tf.summary.merge_all()
    session = tf.Session()
    session.run(job.setup)
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    writer = tf.summary.FileWriter(folder, session.graph)
    numbers = itertools.count()

    def step() -> float:
        summary, _, value = session.run([merged, train, loss], job.feed)
        writer.add_summary(summary, next(numbers))
        return float(value)

    return step
