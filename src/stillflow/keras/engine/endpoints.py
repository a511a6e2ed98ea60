"""The outputs of a model that is trained, each with its target, loss and weights."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.graph.operation import Tensor
from stillflow.keras.backend.config import floatx, image_data_format
from stillflow.keras.backend.session import is_sparse
from stillflow.keras.backend.variables import dtype, is_placeholder, placeholder
from stillflow.keras.losses import classes, functions
from stillflow.keras.losses.base import Loss, LossFunctionWrapper
from stillflow.keras.utils.generic import check_for_unexpected_keys
from stillflow.layers.node import int_shape

# The default of the weights, and their shape, by mode.
_SAMPLE_WEIGHTS: dict[str, tuple[Any, Any]] = {
    "temporal": ([[1.0]], [None, None]),
    "samplewise": ([1.0], [None]),
}


def compares_with(loss: Any, kind: type, function: Any) -> bool:
    """Return True if a loss is of a class, or wraps the equivalent function."""
    return isinstance(loss, kind) or (isinstance(loss, LossFunctionWrapper) and loss.fn is function)


class TrainingEndpoint:
    """An output of a model.

    Attributes:
      output, output_name: the tensor and what it is called.
      loss_fn: the loss, None for none.
      loss_weight: the factor of the loss.
      target: the placeholder of the target, or a tensor that is one; None without a loss.
      feeds_target: whether values for the target are expected.
      loss_metric: the mean of the loss, for models with several outputs.
      sample_weight: the placeholder of weights, or None.
      sample_weight_mode: "samplewise", "temporal" or None.
    """

    def __init__(self, output: Any, output_name: str, loss_fn: Any, target: Any) -> None:
        self.output, self.output_name, self.loss_fn = output, output_name, loss_fn
        self.loss_weight: Any = None
        self.loss_metric: Any = None
        self.sample_weight: Any = None
        self.sample_weight_mode: str | None = None
        self.feeds_target = self.takes_weights = False
        self.target: Any = None
        if loss_fn is not None:
            self.feeds_target = self.takes_weights = target is None or is_placeholder(target)
            self.target = self._new_target() if target is None else target

    @classmethod
    def without_graph(cls, output: Any, output_name: str, loss_fn: Any) -> TrainingEndpoint:
        """Return an output whose target is known only when a step runs."""
        endpoint = cls(output, output_name, None, None)
        endpoint.loss_fn = loss_fn
        endpoint.feeds_target = endpoint.takes_weights = loss_fn is not None
        return endpoint

    def _new_target(self) -> Tensor:
        return placeholder(
            ndim=len(self.shape), name=f"{self.output_name}_target",
            sparse=is_sparse(self.output), dtype=dtype(self.output),
        )  # fmt: skip

    @property
    def shape(self) -> Any:
        """The static shape of the output."""
        return int_shape(self.output)

    @property
    def skips_target(self) -> bool:
        """True if there is no loss."""
        return self.loss_fn is None

    @property
    def loss_name(self) -> str:
        """The name of the loss among the metrics."""
        return f"{self.output_name}_loss"

    @property
    def feed_shape(self) -> Any:
        """The shape that targets must have; None for any."""
        loss = self.loss_fn
        if compares_with(
            loss, classes.SparseCategoricalCrossentropy, functions.sparse_categorical_crossentropy
        ):
            if image_data_format() == "channels_first":
                return (self.shape[0], 1, *self.shape[2:])
            return (*self.shape[:-1], 1)
        if isinstance(loss, LossFunctionWrapper):
            known = hasattr(functions, getattr(loss.fn, "__name__", ""))
            return self.shape if known else None
        return self.shape if isinstance(loss, Loss) else None

    @property
    def weights_mismatch(self) -> bool:
        """True if there are weights without a mode, or a mode without weights."""
        return (self.sample_weight_mode is None) != (self.sample_weight is None)

    def set_sample_weight(self, given: Any = None) -> None:
        """Make the placeholder of weights, if there is a mode.

        Args:
          given: a tensor to take instead.

        Raises:
          ValueError: if its shape does not fit.
        """
        mode = self.sample_weight_mode
        if given is None and (not self.takes_weights or mode is None):
            self.sample_weight = None
            return
        assert mode in _SAMPLE_WEIGHTS
        default, shape = _SAMPLE_WEIGHTS[mode]
        if given is None:
            value = tf.constant(default, dtype=floatx())
            name = f"{self.output_name}_sample_weights"
            self.sample_weight = tf.placeholder_with_default(value, shape=shape, name=name)
        elif given.shape.is_compatible_with(shape):
            self.sample_weight = given
        else:
            raise ValueError(
                f"Received sample weight with shape {given.shape}. Expected shape {shape}."
            )


def set_sample_weight_modes(endpoints: list[TrainingEndpoint], modes: Any) -> None:
    """Set the modes of endpoints: one for all, one for each, or by their names."""
    weighted = [endpoint for endpoint in endpoints if endpoint.takes_weights]
    if isinstance(modes, dict):
        check_for_unexpected_keys("sample_weight_mode", modes, [e.output_name for e in endpoints])
        for endpoint in weighted:
            if endpoint.output_name not in modes:
                raise ValueError(
                    f"Output {endpoint.output_name}missing from `_sample_weight_modes` dictionary"
                )
            endpoint.sample_weight_mode = modes[endpoint.output_name]
    elif isinstance(modes, (list, tuple)):
        if len(modes) != len(endpoints):
            raise ValueError(
                "When passing a list as sample_weight_mode, it should have one entry per model "
                f"output. The model has {len(endpoints)} outputs, but you passed "
                f"{len(modes)}_sample_weight_modes."
            )
        for mode, endpoint in zip(modes, endpoints, strict=True):
            if endpoint.takes_weights:
                endpoint.sample_weight_mode = mode
    else:
        for endpoint in weighted:
            endpoint.sample_weight_mode = modes


def set_loss_weights(endpoints: list[TrainingEndpoint], weights: Any) -> None:
    """Set the factors of losses: a list or a dictionary by output names; 1 for None."""
    if weights is None:
        weights = [1.0] * len(endpoints)
    if isinstance(weights, dict):
        check_for_unexpected_keys("loss_weights", weights, [e.output_name for e in endpoints])
        weights = [weights.get(endpoint.output_name, 1.0) for endpoint in endpoints]
    if not isinstance(weights, list):
        raise TypeError(
            f"Could not interpret loss_weights argument: {weights} - expected a list of dicts."
        )
    if len(weights) != len(endpoints):
        raise ValueError(
            "When passing a list as loss_weights, it should have one entry per model output. The "
            f"model has {len(endpoints)} outputs, but you passed loss_weights={weights}"
        )
    for weight, endpoint in zip(weights, endpoints, strict=True):
        endpoint.loss_weight = weight
