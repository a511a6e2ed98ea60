"""The losses of Keras as objects, and all of them by name."""

from __future__ import annotations

from typing import Any

from stillflow.graph.export import export
from stillflow.keras.losses import functions
from stillflow.keras.losses.base import Loss, LossFunctionWrapper, Reduction
from stillflow.keras.utils.objects import deserialize_keras_object, serialize_keras_object


@export("keras.losses.MeanSquaredError")
class MeanSquaredError(LossFunctionWrapper):
    """`mean_squared_error` as a loss."""

    def __init__(self, reduction: str = Reduction.AUTO, name: str = "mean_squared_error") -> None:
        super().__init__(functions.mean_squared_error, name=name, reduction=reduction)


@export("keras.losses.MeanAbsoluteError")
class MeanAbsoluteError(LossFunctionWrapper):
    """`mean_absolute_error` as a loss."""

    def __init__(self, reduction: str = Reduction.AUTO, name: str = "mean_absolute_error") -> None:
        super().__init__(functions.mean_absolute_error, name=name, reduction=reduction)


@export("keras.losses.MeanAbsolutePercentageError")
class MeanAbsolutePercentageError(LossFunctionWrapper):
    """`mean_absolute_percentage_error` as a loss."""

    def __init__(
        self, reduction: str = Reduction.AUTO, name: str = "mean_absolute_percentage_error"
    ) -> None:
        super().__init__(functions.mean_absolute_percentage_error, name=name, reduction=reduction)


@export("keras.losses.MeanSquaredLogarithmicError")
class MeanSquaredLogarithmicError(LossFunctionWrapper):
    """`mean_squared_logarithmic_error` as a loss."""

    def __init__(
        self, reduction: str = Reduction.AUTO, name: str = "mean_squared_logarithmic_error"
    ) -> None:
        super().__init__(functions.mean_squared_logarithmic_error, name=name, reduction=reduction)


@export("keras.losses.BinaryCrossentropy")
class BinaryCrossentropy(LossFunctionWrapper):
    """`binary_crossentropy` as a loss."""

    def __init__(
        self,
        from_logits: bool = False,
        label_smoothing: Any = 0,
        reduction: str = Reduction.AUTO,
        name: str = "binary_crossentropy",
    ) -> None:
        super().__init__(
            functions.binary_crossentropy,
            name=name,
            reduction=reduction,
            from_logits=from_logits,
            label_smoothing=label_smoothing,
        )
        self.from_logits = from_logits


@export("keras.losses.CategoricalCrossentropy")
class CategoricalCrossentropy(LossFunctionWrapper):
    """`categorical_crossentropy` as a loss."""

    def __init__(
        self,
        from_logits: bool = False,
        label_smoothing: Any = 0,
        reduction: str = Reduction.AUTO,
        name: str = "categorical_crossentropy",
    ) -> None:
        super().__init__(
            functions.categorical_crossentropy,
            name=name,
            reduction=reduction,
            from_logits=from_logits,
            label_smoothing=label_smoothing,
        )


@export("keras.losses.SparseCategoricalCrossentropy")
class SparseCategoricalCrossentropy(LossFunctionWrapper):
    """`sparse_categorical_crossentropy` as a loss."""

    def __init__(
        self,
        from_logits: bool = False,
        reduction: str = Reduction.AUTO,
        name: str = "sparse_categorical_crossentropy",
    ) -> None:
        super().__init__(
            functions.sparse_categorical_crossentropy,
            name=name,
            reduction=reduction,
            from_logits=from_logits,
        )


@export("keras.losses.Hinge")
class Hinge(LossFunctionWrapper):
    """`hinge` as a loss."""

    def __init__(self, reduction: str = Reduction.AUTO, name: str = "hinge") -> None:
        super().__init__(functions.hinge, name=name, reduction=reduction)


@export("keras.losses.SquaredHinge")
class SquaredHinge(LossFunctionWrapper):
    """`squared_hinge` as a loss."""

    def __init__(self, reduction: str = Reduction.AUTO, name: str = "squared_hinge") -> None:
        super().__init__(functions.squared_hinge, name=name, reduction=reduction)


@export("keras.losses.CategoricalHinge")
class CategoricalHinge(LossFunctionWrapper):
    """`categorical_hinge` as a loss."""

    def __init__(self, reduction: str = Reduction.AUTO, name: str = "categorical_hinge") -> None:
        super().__init__(functions.categorical_hinge, name=name, reduction=reduction)


@export("keras.losses.Poisson")
class Poisson(LossFunctionWrapper):
    """`poisson` as a loss."""

    def __init__(self, reduction: str = Reduction.AUTO, name: str = "poisson") -> None:
        super().__init__(functions.poisson, name=name, reduction=reduction)


@export("keras.losses.LogCosh")
class LogCosh(LossFunctionWrapper):
    """`logcosh` as a loss."""

    def __init__(self, reduction: str = Reduction.AUTO, name: str = "logcosh") -> None:
        super().__init__(functions.logcosh, name=name, reduction=reduction)


@export("keras.losses.KLDivergence")
class KLDivergence(LossFunctionWrapper):
    """`kullback_leibler_divergence` as a loss."""

    def __init__(
        self, reduction: str = Reduction.AUTO, name: str = "kullback_leibler_divergence"
    ) -> None:
        super().__init__(functions.kullback_leibler_divergence, name=name, reduction=reduction)


@export("keras.losses.Huber")
class Huber(LossFunctionWrapper):
    """`huber_loss` as a loss."""

    def __init__(
        self, delta: float = 1.0, reduction: str = Reduction.AUTO, name: str = "huber_loss"
    ) -> None:
        super().__init__(functions.huber_loss, name=name, reduction=reduction, delta=delta)


@export("keras.losses.CosineSimilarity")
class CosineSimilarity(LossFunctionWrapper):
    """`cosine_proximity` as a loss."""

    def __init__(
        self, axis: int = -1, reduction: str = Reduction.AUTO, name: str = "cosine_similarity"
    ) -> None:
        super().__init__(functions.cosine_proximity, name=name, reduction=reduction, axis=axis)


_FUNCTIONS = (
    functions.mean_squared_error, functions.mean_absolute_error,
    functions.mean_absolute_percentage_error, functions.mean_squared_logarithmic_error,
    functions.squared_hinge, functions.hinge, functions.categorical_hinge, functions.logcosh,
    functions.kullback_leibler_divergence, functions.poisson, functions.huber_loss,
    functions.categorical_crossentropy, functions.sparse_categorical_crossentropy,
    functions.binary_crossentropy, functions.cosine_proximity,
)  # fmt: skip
_CLASSES = (
    Loss, LossFunctionWrapper, MeanSquaredError, MeanAbsoluteError, MeanAbsolutePercentageError,
    MeanSquaredLogarithmicError, BinaryCrossentropy, CategoricalCrossentropy,
    SparseCategoricalCrossentropy, Hinge, SquaredHinge, CategoricalHinge, Poisson, LogCosh,
    KLDivergence, Huber, CosineSimilarity,
)  # fmt: skip
_SHORT = {
    "mse": functions.mean_squared_error, "mae": functions.mean_absolute_error,
    "mape": functions.mean_absolute_percentage_error,
    "msle": functions.mean_squared_logarithmic_error,
    "kld": functions.kullback_leibler_divergence,
}  # fmt: skip
FUNCTIONS_BY_NAME: dict[str, Any] = {
    **{function.__name__: function for function in _FUNCTIONS},
    **_SHORT, **{name.upper(): function for name, function in _SHORT.items()},
    "cosine_similarity": functions.cosine_proximity,
}  # fmt: skip
_KNOWN = {**FUNCTIONS_BY_NAME, **{kind.__name__: kind for kind in _CLASSES}}


@export("keras.losses.serialize")
def serialize(loss: Any) -> Any:
    """Return a loss's name, or {"class_name": ..., "config": ...}."""
    return serialize_keras_object(loss)


@export("keras.losses.deserialize")
def deserialize(name: Any, custom_objects: Any = None) -> Any:
    """Return the loss of a name, or that `serialize` made `name` of."""
    return deserialize_keras_object(name, _KNOWN, custom_objects, "loss function")


@export("keras.losses.get")
def get(identifier: Any) -> Any:
    """Return the loss of a name or dictionary; None and callables unchanged.

    Raises:
      ValueError: if it is nothing of the kind.
    """
    if identifier is None or callable(identifier):
        return identifier
    if isinstance(identifier, (str, dict)):
        return deserialize(identifier)
    raise ValueError("Could not interpret loss function identifier:", identifier)
