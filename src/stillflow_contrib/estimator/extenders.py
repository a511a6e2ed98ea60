"""Estimators that predict more than others, and optimizers that clip gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import stillflow as tf
from stillflow.estimator.estimator import Estimator
from stillflow.graph.export import export
from stillflow.graph.operation import Operation, Tensor
from stillflow.graph.sparse_tensor import convert_to_tensor_or_sparse_tensor
from stillflow.graph.tensor_like import is_tensor
from stillflow.saved_model.export_outputs import PredictOutput
from stillflow.train.optimizer import Optimizer
from stillflow.train.wrapping_optimizer import WrappingOptimizer

if TYPE_CHECKING:
    from stillflow.estimator.spec import EstimatorSpec


_ADVICE = " Please check arguments of forward_features."


class _ClippedByNorm(WrappingOptimizer):
    """Another optimizer, whose gradients are scaled down together."""

    def __init__(self, optimizer: Any, clip_norm: Any) -> None:
        super().__init__(optimizer, False, f"ClipByNorm{optimizer.get_name()}")
        self._clip_norm = clip_norm

    def apply_gradients(
        self, grads_and_vars: Any, global_step: Any = None, name: str | None = None
    ) -> Operation:
        """Apply the clipped gradients."""
        gradients, variables = zip(*grads_and_vars)
        gradients, _ = tf.clip_by_global_norm(gradients, self._clip_norm)
        pairs = list(zip(gradients, variables))
        return self._opt.apply_gradients(pairs, global_step, name)


@export("contrib.estimator.clip_gradients_by_norm")
def clip_gradients_by_norm(optimizer: Any, clip_norm: Any) -> Optimizer:
    """Return an optimizer that scales gradients down to a norm of all of them together.

    Args:
      optimizer: applies the gradients.
      clip_norm: the norm.
    """
    return _ClippedByNorm(optimizer, clip_norm)


@export("contrib.estimator.forward_features")
def forward_features(
    estimator: Any, keys: Any = None, sparse_default_values: Any = None
) -> Estimator:
    """Return an estimator like another one, with features added to its predictions.

    Args:
      estimator: which is left as it is.
      keys: the features' keys: one, a list, or all if None.
      sparse_default_values: {key: value of a sparse feature's empty cells}.

    Raises:
      TypeError: if `keys` are no strings.
    """
    keys = _checked_keys(keys)
    defaults = sparse_default_values or {}

    def model_fn(features: Any, labels: Any, mode: Any, config: Any) -> EstimatorSpec:
        spec = estimator.model_fn(features, labels, mode, config)
        predictions = spec.predictions
        if predictions is None:
            return spec
        wanted = list(features) if keys is None else keys
        _check_free(wanted, features, predictions)
        added = {key: _dense(key, features[key], defaults) for key in wanted}
        for name in ("predict", "serving_default"):
            output = (spec.export_outputs or {}).get(name)
            if isinstance(output, PredictOutput):
                output.outputs.update(added)
        return spec._replace(predictions={**predictions, **added})

    return Estimator(model_fn, estimator.model_dir, estimator.config)


def _checked_keys(keys: Any) -> list[str] | None:
    if keys is None:
        return None
    items = [keys] if isinstance(keys, str) else keys
    if not isinstance(items, (list, tuple)):
        raise TypeError(f"keys should be either a string or a list of strings. Given: {type(keys)}")
    others = [type(item) for item in items if not isinstance(item, str)]
    if others:
        raise TypeError(
            "All items in the given keys list should be a string. There exist an item with "
            f"type: {others[0]}"
        )
    return list(items)


def _check_free(keys: list[str], features: Any, predictions: Any) -> None:
    if not isinstance(predictions, dict):
        raise ValueError(
            "Predictions should be a dict to be able to forward features. "
            f"Given: {type(predictions)}"
        )
    for key in keys:
        if key not in features:
            raise ValueError(
                f'keys should be exist in features. Key "{key}" is not in features dict. features '
                f"dict has following keys: {features.keys()}.{_ADVICE}"
            )
        if key in predictions:
            raise ValueError(
                f"Cannot forward feature key ({key}). Since it does exist in predictions. Existing "
                f"prediction keys: {predictions.keys()}.{_ADVICE}"
            )


def _dense(key: str, feature: Any, defaults: dict[str, Any]) -> Tensor:
    feature = convert_to_tensor_or_sparse_tensor(feature)
    if key in defaults:
        if not isinstance(feature, tf.SparseTensor):
            raise ValueError(f"Feature ({key}) is expected to be a `SparseTensor`.")
        feature = tf.sparse_tensor_to_dense(feature, default_value=defaults[key])
    if not is_tensor(feature) or isinstance(feature, tf.SparseTensor):
        raise ValueError(
            f"Feature ({key}) should be a Tensor. Please use `keys` argument of forward_features "
            "to filter unwanted features, oradd key to argument `sparse_default_values`."
            f"Type of features[{key}] is {type(feature)}."
        )
    return feature
