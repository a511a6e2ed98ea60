"""A linear estimator of features that are mapped first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import stillflow as tf
from stillflow.graph.export import export
from stillflow.platform import tf_logging as logging
from stillflow_contrib.kernel_methods.dense_kernel_mapper import DenseKernelMapper
from stillflow_contrib.layers.feature_columns.real_valued import _RealValuedColumn
from stillflow_contrib.learn.canned.wide import linear_model_fn
from stillflow_contrib.learn.estimator import Estimator
from stillflow_contrib.learn.heads.classification import multi_class_head
from stillflow_contrib.learn.keys import PredictionKey
from stillflow_contrib.learn.model_fn_ops import ModelFnOps


def _mapped(
    features: Any, feature_columns: Any, kernel_mappers: dict[Any, Any] | None
) -> tuple[Any, Any]:
    """Return features and columns, including those that the mappers make."""
    if kernel_mappers is None:
        return features, feature_columns
    mapped_features = {}
    mapped_columns = set()
    for column, mappers in kernel_mappers.items():
        if not isinstance(column, _RealValuedColumn):
            logging.warning(
                "Updates are currently supported on RealValuedColumns only. Metadata "
                f"for FeatureColumn {column.name} will not be updated."
            )
            continue
        name = column.name + "_MAPPED"
        size = sum(mapper.output_dim for mapper in mappers)
        mapped_columns.add(tf.contrib.layers.real_valued_column(name, size))
        outputs = [mapper.map(features[column.name]) for mapper in mappers]
        mapped_features[name] = tf.concat(outputs, 1)
    features = features.copy()
    features.update(mapped_features)
    return features, set(feature_columns) | mapped_columns


def _kernel_model_fn(
    features: Any, labels: Any, mode: str, params: dict[str, Any], config: Any = None
) -> ModelFnOps:
    """Build the model of a `KernelLinearClassifier`, whose arguments are `params`."""
    features, columns = _mapped(features, params["feature_columns"], params["kernel_mappers"])
    # Columns may be given as an iterator, which a second call would find empty.
    params["feature_columns"] = columns
    return linear_model_fn(features, labels, mode, params, config)


@export("contrib.kernel_methods.KernelLinearClassifier")
class KernelLinearClassifier(Estimator):
    """A linear model of classes, some of whose columns are mapped first.

    Args:
      feature_columns: columns of `tf.contrib.layers`, which the model takes as they are.
      model_dir: the folder of checkpoints and event files.
      n_classes: how many classes there are; labels are their numbers.
      weight_column_name: the feature that weights examples.
      optimizer: an optimizer, its name, or a function that gives one; Ftrl by default.
      kernel_mappers: a dict from columns of `real_valued_column` to lists of mappers, such as
        `RandomFourierFeatureMapper`; the model takes what they make.
      config: a `RunConfig`.

    Raises:
      ValueError: for fewer than two classes, other mappers, or neither columns nor mappers.
    """

    def __init__(
        self, feature_columns: Any = None, model_dir: str | None = None, n_classes: int = 2,
        weight_column_name: str | None = None, optimizer: Any = None,
        kernel_mappers: dict[Any, Any] | None = None, config: Any = None,
    ) -> None:  # fmt: skip
        head = multi_class_head(n_classes=n_classes, weight_column_name=weight_column_name)
        if not feature_columns and not kernel_mappers:
            raise ValueError("You should set at least one of feature_columns, kernel_mappers.")
        given = (kernel_mappers or {}).values()
        if not all(isinstance(each, DenseKernelMapper) for mappers in given for each in mappers):
            raise ValueError("Invalid kernel mappers.")
        params = {
            "head": head, "feature_columns": feature_columns or [], "optimizer": optimizer,
            "kernel_mappers": kernel_mappers,
        }  # fmt: skip
        super().__init__(
            model_fn=_kernel_model_fn, model_dir=model_dir, config=config, params=params
        )

    def _predict_key(self, key: str, input_fn: Any) -> Iterator[Any]:
        predictions = super().predict(input_fn=input_fn, outputs=[key])
        return (prediction[key] for prediction in predictions)

    def predict_classes(self, input_fn: Any = None) -> Iterator[Any]:
        """Numbers of classes, one example after the other."""
        return self._predict_key(PredictionKey.CLASSES, input_fn)

    def predict_proba(self, input_fn: Any = None) -> Iterator[Any]:
        """Probabilities of all classes, one example after the other."""
        return self._predict_key(PredictionKey.PROBABILITIES, input_fn)
