"""Columns of numbers for any features of a model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stillflow.graph.export import export
from stillflow.graph.graph import Graph
from stillflow.util.deprecation import deprecated
from stillflow_contrib.layers.feature_columns.transforming import infer_real_valued_columns
from stillflow_contrib.learn.estimator_inputs import array_input

_SAY_COLUMNS = deprecated(None, "Please specify feature columns explicitly.")


@export("contrib.learn.infer_real_valued_columns_from_input_fn")
@_SAY_COLUMNS
def infer_real_valued_columns_from_input_fn(input_fn: Callable[[], Any]) -> list[Any]:
    """Columns of numbers for the features of an input function.

    Args:
      input_fn: gives (features, labels); it is called in a graph of its own.

    Raises:
      ValueError: if features are sparse or no numbers.
    """
    with Graph().as_default():
        features, _ = input_fn()
        return infer_real_valued_columns(features)


@export("contrib.learn.infer_real_valued_columns_from_input")
@_SAY_COLUMNS
def infer_real_valued_columns_from_input(x: Any) -> list[Any]:
    """Columns of numbers for arrays.

    Args:
      x: features [n, ...], or {name: features}.
    """
    return infer_real_valued_columns_from_input_fn(array_input(x, None, None)[0])
