"""Default predictions of ready-made estimators."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from stillflow.graph.operation import Tensor
from stillflow.graph.sparse_tensor import SparseTensor
from stillflow.util.deprecation import deprecated, deprecated_arg_values
from stillflow_contrib.layers.feature_columns.transforming import (
    parse_feature_columns_from_examples,
)
from stillflow_contrib.learn.bundle_export import (
    classification_signature_fn_with_prob,
    regression_signature_fn,
)
from stillflow_contrib.learn.estimator import Estimator
from stillflow_contrib.learn.keys import PredictionKey
from stillflow_contrib.learn.metric_spec import MetricSpec

_AS_ITERABLE = deprecated_arg_values(
    "2016-09-15",
    "The default behavior of predict() is changing. The default value for\n"
    "as_iterable will change to True, and then the flag will be removed\n"
    "altogether. The behavior of this flag is described below.",
    as_iterable=False,
)

_EXPORT = deprecated("2017-03-25", "Please use Estimator.export_savedmodel() instead.")


def _or_outputs(name: str) -> Callable[..., Any]:
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

    def _parse(self, estimator: Any, examples: Any) -> dict[Any, Tensor | SparseTensor]:
        """Return the features of the model's columns, from serialized `Example`s."""
        keys = ("feature_columns", "linear_feature_columns", "dnn_feature_columns")
        columns = [column for key in keys for column in self.params.get(key) or ()]
        return parse_feature_columns_from_examples(examples, columns)

    def _export_of(
        self, prediction: str, describe: Any, export_dir: Any, input_fn: Any, key: Any,
        of_examples: bool, signature_fn: Any, batch_size: Any, keep: Any,
    ) -> bytes:  # fmt: skip
        return super().export(
            export_dir=export_dir, input_fn=input_fn or self._parse, input_feature_key=key,
            use_deprecated_input_fn=of_examples, signature_fn=signature_fn or describe,
            prediction_key=prediction, default_batch_size=batch_size, exports_to_keep=keep,
        )  # fmt: skip


def _each(predictions: Any, key: str) -> Iterator[Any]:
    for prediction in predictions:
        yield prediction[key]


class PredictsClasses(_Predicts):
    """An estimator whose `predict` gives classes."""

    @_EXPORT
    def export(
        self, export_dir: Any, input_fn: Any = None, input_feature_key: str | None = None,
        use_deprecated_input_fn: bool = True, signature_fn: Any = None,
        default_batch_size: int | None = 1, exports_to_keep: int | None = None,
    ) -> bytes:  # fmt: skip
        """Write a bundle that serves probabilities; see `Estimator.export`."""
        return self._export_of(
            PredictionKey.PROBABILITIES, classification_signature_fn_with_prob, export_dir,
            input_fn, input_feature_key, use_deprecated_input_fn, signature_fn, default_batch_size,
            exports_to_keep,
        )  # fmt: skip

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
        """Return classes, or the predictions that `outputs` names; see `Estimator.predict`."""
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
        """Return classes; see `Estimator.predict`."""
        return self._predict_key(PredictionKey.CLASSES, x, input_fn, batch_size, as_iterable)

    @_AS_ITERABLE
    def predict_proba(
        self,
        x: Any = None,
        input_fn: Any = None,
        batch_size: int | None = None,
        as_iterable: bool = True,
    ) -> Any:
        """Return probabilities of classes; see `Estimator.predict`."""
        return self._predict_key(PredictionKey.PROBABILITIES, x, input_fn, batch_size, as_iterable)


class PredictsScores(_Predicts):
    """An estimator whose `predict` gives numbers."""

    @_EXPORT
    def export(
        self, export_dir: Any, input_fn: Any = None, input_feature_key: str | None = None,
        use_deprecated_input_fn: bool = True, signature_fn: Any = None,
        default_batch_size: int | None = 1, exports_to_keep: int | None = None,
    ) -> bytes:  # fmt: skip
        """Write a bundle that serves numbers; see `Estimator.export`."""
        return self._export_of(
            PredictionKey.SCORES, regression_signature_fn, export_dir, input_fn,
            input_feature_key, use_deprecated_input_fn, signature_fn, default_batch_size,
            exports_to_keep,
        )  # fmt: skip

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
        """Return numbers, or the predictions that `outputs` names; see `Estimator.predict`."""
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
        """Return numbers; see `Estimator.predict`."""
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
    ) -> dict[str, Any]:
        """Run metrics over the input; see `Estimator.evaluate`."""
        metrics = {
            key if isinstance(metric, MetricSpec) or isinstance(key, tuple)
            else (key, PredictionKey.SCORES): metric
            for key, metric in (metrics or {}).items()
        }  # fmt: skip
        return super().evaluate(
            x=x, y=y, input_fn=input_fn, feed_fn=feed_fn, batch_size=batch_size, steps=steps,
            metrics=metrics, name=name, checkpoint_path=checkpoint_path, hooks=hooks,
        )  # fmt: skip
