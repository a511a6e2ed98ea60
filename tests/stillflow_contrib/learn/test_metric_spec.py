"""Arguments of a metric function."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest

from stillflow_contrib.learn.metric_spec import MetricSpec


def _labels_second(predictions: Any, target: Any, weight: Any = None) -> Any:
    return predictions, target, weight


def _labels_first(labels: Any, what: Any, weights: Any = None) -> Any:
    return what, labels, weights


def _by_name(logits: Any, label: Any, weights: Any = None) -> Any:
    return logits, label, weights


@pytest.mark.parametrize("metric", [_labels_second, _labels_first, _by_name])
def test_arguments_are_found_by_their_names(metric: Callable[..., Any]) -> None:
    spec = MetricSpec(metric, prediction_key="p", label_key="l", weight_key="w")
    called = spec.create_metric_ops({"w": 3}, {"l": 2, "other": 0}, {"p": 1, "other": 0})
    assert called == (1, 2, 3)


def test_one_tensor_needs_no_key() -> None:
    assert MetricSpec(_by_name).create_metric_ops(None, {"only": 2}, 1) == (1, 2, None)


def test_a_metric_of_predictions_alone() -> None:
    spec = MetricSpec(functools.partial(lambda values, scale: values * scale, scale=2))
    assert spec.create_metric_ops(None, "unused", 4) == 8


def test_several_tensors_need_a_key() -> None:
    with pytest.raises(ValueError, match="MetricSpec without specified prediction_key"):
        MetricSpec(_by_name).create_metric_ops(None, 1, {"a": 1, "b": 2})
    with pytest.raises(KeyError, match="'c' missing"):
        MetricSpec(_by_name, prediction_key="c").create_metric_ops(None, 1, {"a": 1})


def test_a_key_without_an_argument_is_refused() -> None:
    with pytest.raises(ValueError, match="weight"):
        MetricSpec(lambda predictions, labels: predictions, weight_key="w")
    with pytest.raises(ValueError, match="Ambiguous arguments"):
        MetricSpec(lambda predictions, labels, targets: predictions)
