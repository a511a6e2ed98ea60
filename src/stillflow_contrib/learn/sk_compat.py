"""tf.contrib.learn.SKCompat: an estimator that is called as those of scikit-learn are."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow.graph.arrays import Array
from stillflow.graph.export import export
from stillflow.train.logging_hooks import FeedFnHook
from stillflow.util.notices import noticed
from stillflow_contrib.learn.estimator_inputs import array_input
from stillflow_contrib.learn.interfaces import Parametrized


@export("contrib.learn.SKCompat")
class SKCompat(Parametrized):
    """Estimator with scikit-learn's interface, which trains and uses another one with arrays.

    Args:
      estimator: a `tf.contrib.learn.Estimator`.
    """

    @noticed("contrib.learn.SKCompat")
    def __init__(self, estimator: Any) -> None:
        self._estimator = estimator

    def fit(
        self, x: Any, y: Any, batch_size: int | None = 128, steps: int | None = None,
        max_steps: int | None = None, monitors: Any = None,
    ) -> SKCompat:  # fmt: skip
        """Trains with features `x` and labels `y`, in an order of their own in each epoch."""
        input_fn, feed_fn = array_input(x, y, batch_size, shuffle=True, epochs=None)
        self._estimator.fit(
            input_fn=input_fn, steps=steps, max_steps=max_steps,
            monitors=[FeedFnHook(feed_fn), *(monitors or ())],
        )  # fmt: skip
        return self

    def score(
        self, x: Any, y: Any, batch_size: int | None = 128, steps: int | None = None,
        metrics: Any = None, name: str | None = None,
    ) -> dict[str, Any]:  # fmt: skip
        """Evaluate; return {metric: value}.

        Raises:
          ValueError: if `metrics` is no dict.
        """
        input_fn, feed_fn = array_input(x, y, batch_size)
        return self._estimator._results(
            metrics, input_fn=input_fn, feed_fn=feed_fn, steps=steps, name=name
        )

    def predict(
        self, x: Any, batch_size: int | None = 128, outputs: Any = None
    ) -> dict[str, Array]:
        """Return the predictions of all examples, as an array or as arrays by name."""
        input_fn, feed_fn = array_input(x, None, batch_size)
        batches = list(
            self._estimator._infer_model(
                input_fn, feed_fn, outputs, as_iterable=True, iterate_batches=True
            )
        )
        if not isinstance(batches[0], dict):
            return np.concatenate(batches, axis=0)
        by_name = {name: [batch[name] for batch in batches] for name in batches[0]}
        return {name: np.concatenate(parts, axis=0) for name, parts in by_name.items()}
