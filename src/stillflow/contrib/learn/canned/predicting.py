"""What ready-made estimators predict by default."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from stillflow.contrib.learn.estimator import Estimator
from stillflow.contrib.learn.keys import PredictionKey
from stillflow.contrib.learn.metric_spec import MetricSpec
from stillflow.util.deprecation import deprecated_arg_values

_AS_ITERABLE = deprecated_arg_values(
    "2016-09-15",
    "The default behavior of predict() is changing. The default value for\n"
    "as_iterable will change to True, and then the flag will be removed\n"
    "altogether. The behavior of this flag is described below.",
    as_iterable=False,
)


def _or_outputs(name: str) -> Any:
    return deprecated_arg_values(
        "2017-03-01", f"Please switch to {name}, or set `outputs` argument.", outputs=None
    )


class _Predicts(Estimator):
    def _predict_key(
        self, key: str, x: Any, input_fn: Any, batch_size: int | None, as_iterable: bool
    ) -> Any:
        """One of the predictions, one by one or of one batch."""
        predictions = super().predict(
            x=x, input_fn=input_fn, batch_size=batch_size, outputs=[key], as_iterable=as_iterable
        )
        return _each(predictions, key) if as_iterable else predictions[key]


def _each(predictions: Any, key: str) -> Iterator[Any]:
    for prediction in predictions:
        yield prediction[key]


class PredictsClasses(_Predicts):
    """An estimator whose `predict` gives classes."""

    @_AS_ITERABLE
    @_or_outputs("predict_classes")
    def predict(
        self,
        x: Any = None,
        input_fn: Any = None,
        batch_size: int | None = None,
        outputs: Any = None,
        as_iterable: bool = True,
    ) -> Any:
        """Gives classes, or the predictions that `outputs` names; see `Estimator.predict`."""
        if not outputs:
            return self.predict_classes(x, input_fn, batch_size, as_iterable)
        return super().predict(x, input_fn, batch_size, outputs, as_iterable)

    @_AS_ITERABLE
    def predict_classes(
        self,
        x: Any = None,
        input_fn: Any = None,
        batch_size: int | None = None,
        as_iterable: bool = True,
    ) -> Any:
        """Gives classes; see `Estimator.predict`."""
        return self._predict_key(PredictionKey.CLASSES, x, input_fn, batch_size, as_iterable)

    @_AS_ITERABLE
    def predict_proba(
        self,
        x: Any = None,
        input_fn: Any = None,
        batch_size: int | None = None,
        as_iterable: bool = True,
    ) -> Any:
        """Gives probabilities of classes; see `Estimator.predict`."""
        return self._predict_key(PredictionKey.PROBABILITIES, x, input_fn, batch_size, as_iterable)


class PredictsScores(_Predicts):
    """An estimator whose `predict` gives numbers."""

    @_AS_ITERABLE
    @_or_outputs("predict_scores")
    def predict(
        self,
        x: Any = None,
        input_fn: Any = None,
        batch_size: int | None = None,
        outputs: Any = None,
        as_iterable: bool = True,
    ) -> Any:
        """Gives numbers, or the predictions that `outputs` names; see `Estimator.predict`."""
        if not outputs:
            return self.predict_scores(x, input_fn, batch_size, as_iterable)
        return super().predict(x, input_fn, batch_size, outputs, as_iterable)

    @_AS_ITERABLE
    def predict_scores(
        self,
        x: Any = None,
        input_fn: Any = None,
        batch_size: int | None = None,
        as_iterable: bool = True,
    ) -> Any:
        """Gives numbers; see `Estimator.predict`."""
        return self._predict_key(PredictionKey.SCORES, x, input_fn, batch_size, as_iterable)


class EvaluatesScores(PredictsScores):
    """An estimator of numbers, whose metrics are given them."""

    def evaluate(
        self,
        x: Any = None,
        y: Any = None,
        input_fn: Any = None,
        feed_fn: Any = None,
        batch_size: int | None = None,
        steps: int | None = None,
        metrics: Any = None,
        name: str | None = None,
        checkpoint_path: Any = None,
        hooks: Any = None,
    ) -> Any:
        """Runs metrics over the input; see `Estimator.evaluate`."""
        metrics = {
            key if isinstance(metric, MetricSpec) or isinstance(key, tuple)
            else (key, PredictionKey.SCORES): metric
            for key, metric in (metrics or {}).items()
        }  # fmt: skip
        return super().evaluate(
            x=x, y=y, input_fn=input_fn, feed_fn=feed_fn, batch_size=batch_size, steps=steps,
            metrics=metrics, name=name, checkpoint_path=checkpoint_path, hooks=hooks,
        )  # fmt: skip
