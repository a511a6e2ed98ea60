"""tf.contrib.learn.MetricSpec: a metric, and which predictions and labels it takes."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.platform import tf_logging as logging
from stillflow.util import tf_inspect
from stillflow.util.notices import noticed

# Names of an argument in metric functions; the first is the one they should use.
_LABELS = ("labels", "label", "targets", "target")
_PREDICTIONS = ("predictions", "prediction", "logits", "logit")
_WEIGHTS = ("weights", "weight")


@export("contrib.learn.MetricSpec")
class MetricSpec:
    """Metric function and the keys of its arguments.

    Args:
      metric_fn: takes predictions and, if it has such arguments, labels and weights.
      prediction_key: of the predictions; needed if there are several.
      label_key: of the labels; needed if there are several.
      weight_key: of the feature that weights examples.

    Raises:
      ValueError: if a key is given and the function has no argument for it, or two.
    """

    @noticed("contrib.learn.MetricSpec")
    def __init__(
        self, metric_fn: Callable[..., Any], prediction_key: str | None = None,
        label_key: str | None = None, weight_key: str | None = None,
    ) -> None:  # fmt: skip
        self._metric_fn_name = _name(metric_fn)
        self._metric_fn = _with_named_arguments(
            metric_fn, self._metric_fn_name, label_key is not None, weight_key is not None
        )
        self._prediction_key = prediction_key
        self._label_key = label_key
        self._weight_key = weight_key

    @property
    def prediction_key(self) -> str | None:
        """The key of the predictions."""
        return self._prediction_key

    @property
    def label_key(self) -> str | None:
        """The key of the labels."""
        return self._label_key

    @property
    def weight_key(self) -> str | None:
        """The key of the feature that weights examples."""
        return self._weight_key

    @property
    def metric_fn(self) -> Callable[..., Any]:
        """The metric as a function of `labels`, `predictions` and `weights`, all by name."""
        return self._metric_fn

    def __str__(self) -> str:
        return (
            f"MetricSpec(metric_fn={self._metric_fn_name}, prediction_key={self.prediction_key}, "
            f"label_key={self.label_key}, weight_key={self.weight_key})"
        )

    def create_metric_ops(
        self, inputs: Any, labels: Any, predictions: Any
    ) -> tuple[Tensor, Tensor]:
        """Call the metric function.

        Args:
          inputs: features by name, including that of weights.
          labels: a tensor, or tensors by name.
          predictions: a tensor, or tensors by name.

        Returns:
          The result of the function.

        Raises:
          ValueError: if a key is given where there is one tensor, or none where there are more.
          KeyError: if nothing has that key.
        """
        prediction = _chosen("prediction", predictions, self.prediction_key)
        label = _chosen("label", labels, self.label_key)
        try:
            weights = inputs[self.weight_key] if self.weight_key else None
            return self.metric_fn(labels=label, predictions=prediction, weights=weights)
        except Exception as error:
            logging.error(f"Could not create metric ops for {self}, {error}.")
            raise


def _chosen(name: str, given: Any, key: str | None) -> Any:
    if not key:
        if not isinstance(given, dict):
            return given
        if len(given) != 1:
            raise ValueError(
                f"MetricSpec without specified {name}_key requires {name}s tensor or single "
                f"element dict, got {given}"
            )
        return next(iter(given.values()))
    if not isinstance(given, dict):
        raise ValueError(
            f"MetricSpec with {name}_key specified requires {name}s dict, got {given}.\nYou must "
            f"not provide a {name}_key if you only have a single Tensor as {name}s."
        )
    if key not in given:
        raise KeyError(f"Key '{key}' missing from {given.keys()}.")
    return given[key]


def _with_named_arguments(
    metric_fn: Callable[..., Any], name: str, needs_labels: bool, needs_weights: bool
) -> Callable[..., Any]:
    """Return a function of `labels`, `predictions`, `weights` that calls one with other names."""
    args = _arguments(metric_fn)
    labels_arg = _matching(name, args, _LABELS, needs_labels)
    predictions_arg = _matching(name, args, _PREDICTIONS)
    weights_arg = _matching(name, args, _WEIGHTS, needs_weights)

    def named(
        _sentinel: Any = None, labels: Any = None, predictions: Any = None, weights: Any = None
    ) -> Any:
        if _sentinel is not None:
            raise ValueError(
                "`metric_fn` requires named args: `labels`, `predictions`, and optionally "
                "`weights`."
            )
        positional, keywords = [], {}
        if predictions_arg:
            keywords[predictions_arg] = predictions
        else:
            positional.append(predictions)
        if labels_arg and positional and labels_arg == args[0]:
            positional.insert(0, labels)
        elif labels_arg:
            keywords[labels_arg] = labels
        if weights is not None:
            keywords[weights_arg or _WEIGHTS[0]] = weights
        return metric_fn(*positional, **keywords)

    return named


def _matching(
    name: str, args: tuple[str, ...], candidates: tuple[str, ...], required: bool = False
) -> str | None:
    matching = set(candidates) & set(args)
    if len(matching) > 1:
        raise ValueError(
            f"Ambiguous arguments {_shown(matching)}, must provide only one of "
            f"{_shown(candidates)}."
        )
    if not matching:
        if required:
            raise ValueError(f"{_shown(candidates)} missing from {name}({args}).")
        return None
    found = matching.pop()
    if found != candidates[0]:
        logging.warning(
            "Canonical arg %s missing from %s(%s), using %s.", candidates[0], name, args, found
        )
    return found


def _shown(names: Collection[str]) -> str:
    return "{" + ", ".join(repr(name) for name in sorted(names)) + "}"


def _arguments(fn: Any) -> tuple[str, ...]:
    """Return the names of a function's arguments, less those that a partial gives by name."""
    if hasattr(fn, "func") and hasattr(fn, "keywords"):
        return tuple(name for name in _arguments(fn.func) if name not in fn.keywords)
    return tuple(tf_inspect.getargspec(fn).args)


def _name(fn: Any) -> str:
    for named in (fn, getattr(fn, "func", None)):
        name = getattr(named, "__name__", None)
        if name is not None:
            return str(name)
    return str(fn)
