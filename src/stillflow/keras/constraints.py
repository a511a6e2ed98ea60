"""`tf.keras.constraints`: projections that optimizers apply to variables after a step."""

from __future__ import annotations

import inspect
from typing import Any

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.keras.backend.config import epsilon, floatx
from stillflow.keras.backend.control import map_fn, switch
from stillflow.keras.backend.elementwise import clip, sqrt
from stillflow.keras.backend.variables import constant, zeros
from stillflow.keras.utils.objects import deserialize_keras_object, serialize_keras_object
from stillflow.ops.math.cast import cast
from stillflow.ops.math.comparison import greater_equal
from stillflow.ops.math.reductions import reduce_sum
from stillflow.ops.math.unary import square


@export("keras.constraints.Constraint")
class Constraint:
    """The base of constraints: functions that give a variable's new value."""

    def __call__(self, w: Any) -> Any:
        return w

    def get_config(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
        names = inspect.signature(type(self).__init__).parameters
        return {name: getattr(self, name) for name in names if hasattr(self, name)}


def _norms(w: Any, axis: Any) -> Tensor:
    return sqrt(reduce_sum(square(w), axis=axis, keepdims=True))


@export("keras.constraints.MaxNorm", "keras.constraints.max_norm")
class MaxNorm(Constraint):
    """Bounds the norm along an axis from above."""

    def __init__(self, max_value: float = 2, axis: Any = 0) -> None:
        self.max_value, self.axis = max_value, axis

    def __call__(self, w: Any) -> Tensor:
        norms = _norms(w, self.axis)
        desired = clip(norms, 0, self.max_value)
        return w * (desired / (epsilon() + norms))


@export("keras.constraints.NonNeg", "keras.constraints.non_neg")
class NonNeg(Constraint):
    """Constraint that sets negative elements to 0."""

    def __call__(self, w: Any) -> Tensor:
        return w * cast(greater_equal(w, 0.0), floatx())


@export("keras.constraints.UnitNorm", "keras.constraints.unit_norm")
class UnitNorm(Constraint):
    """Constraint that makes the norm along an axis 1."""

    def __init__(self, axis: Any = 0) -> None:
        self.axis = axis

    def __call__(self, w: Any) -> Tensor:
        return w / (epsilon() + _norms(w, self.axis))


@export("keras.constraints.MinMaxNorm", "keras.constraints.min_max_norm")
class MinMaxNorm(Constraint):
    """Constraint that moves the norm along an axis into bounds, by the share `rate` of the way."""

    def __init__(
        self, min_value: float = 0.0, max_value: float = 1.0, rate: float = 1.0, axis: Any = 0
    ) -> None:
        self.min_value, self.max_value = min_value, max_value
        self.rate, self.axis = rate, axis

    def __call__(self, w: Any) -> Tensor:
        norms = _norms(w, self.axis)
        clipped: Any = clip(norms, self.min_value, self.max_value)
        desired = self.rate * clipped + (1 - self.rate) * norms
        return w * (desired / (epsilon() + norms))


@export("keras.constraints.RadialConstraint", "keras.constraints.radial_constraint")
class RadialConstraint(Constraint):
    """Constraint that makes kernels of convolutions equal along each square around their middle.

    An element of the diagonal, from the upper left corner to the middle, stands for its square.
    """

    def __call__(self, w: Any) -> Tensor:
        """Return the kernels, [height, width, channels, filters].

        Raises:
          ValueError: if `w` has another number of dimensions.
        """
        if w.shape.ndims != 4:
            raise ValueError(f"The weight tensor must be of rank 4, but is of shape: {w.shape}")
        height, width, channels, filters = w.shape.as_list()
        kernels = tf.reshape(w, (height, width, channels * filters))
        kernels = map_fn(_radial, tf.stack(tf.unstack(kernels, axis=-1), axis=0))
        kernels = tf.stack(tf.unstack(kernels, axis=0), axis=-1)
        return tf.reshape(kernels, (height, width, channels, filters))


def _radial(kernel: Any) -> Tensor:
    """One kernel, [size, size], built up from the middle."""
    padding = constant([[1, 1], [1, 1]], dtype="int32")
    size = tf.shape(kernel)[0]
    start = tf.cast(size / 2, "int32")
    middle = switch(
        tf.cast(tf.floormod(size, 2), "bool"),
        lambda: kernel[start - 1 : start, start - 1 : start],
        lambda: kernel[start - 1 : start, start - 1 : start] + zeros((2, 2), dtype=kernel.dtype),
    )
    index = switch(
        tf.cast(tf.floormod(size, 2), "bool"),
        lambda: constant(0, dtype="int32"),
        lambda: constant(1, dtype="int32"),
    )
    _, grown = tf.while_loop(
        lambda i, _: tf.less(i, start),
        lambda i, inner: (
            i + 1,
            tf.pad(inner, padding, constant_values=kernel[start + i, start + i]),
        ),
        [index, middle],
        shape_invariants=[index.shape, tf.TensorShape([None, None])],
    )
    return grown


_KNOWN = {
    "Constraint": Constraint, "MaxNorm": MaxNorm, "NonNeg": NonNeg, "UnitNorm": UnitNorm,
    "MinMaxNorm": MinMaxNorm, "max_norm": MaxNorm, "non_neg": NonNeg, "unit_norm": UnitNorm,
    "RadialConstraint": RadialConstraint, "radial_constraint": RadialConstraint,
    "min_max_norm": MinMaxNorm, "maxnorm": MaxNorm, "nonneg": NonNeg, "unitnorm": UnitNorm,
}  # fmt: skip


@export("keras.constraints.serialize")
def serialize(constraint: Any) -> dict[str, dict[str, int] | str]:
    """{"class_name": ..., "config": ...} of a constraint."""
    return serialize_keras_object(constraint)


@export("keras.constraints.deserialize")
def deserialize(config: Any, custom_objects: Any = None) -> Any:
    """Return the constraint of a name, or that `serialize` made `config` of."""
    return deserialize_keras_object(config, _KNOWN, custom_objects, "constraint")


@export("keras.constraints.get")
def get(identifier: Any) -> Any:
    """Return the constraint of a name or dictionary; None and callables unchanged.

    Raises:
      ValueError: if it is nothing of the kind.
    """
    if identifier is None:
        return None
    if isinstance(identifier, str):
        return deserialize({"class_name": identifier, "config": {}})
    if isinstance(identifier, dict):
        return deserialize(identifier)
    if callable(identifier):
        return identifier
    raise ValueError(f"Could not interpret constraint identifier: {identifier}")
