"""Types of tensors: element type and shape, with or without bounds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from stillflow.graph import dims, dtypes
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import TensorShape
from stillflow.graph.type_spec import (
    BatchableTypeSpec,
    register_type_spec_from_value_converter,
)

if TYPE_CHECKING:
    from stillflow.graph.arrays import Array
    from stillflow.graph.dtypes import DType


@export("TensorSpec", "contrib.framework.TensorSpec", "contrib.eager.TensorSpec")
class TensorSpec(BatchableTypeSpec):
    """The type of a tensor.

    Attributes:
      shape: The `TensorShape`.
      dtype: The `DType` of the elements.
      name: A name for the tensor, or None.
    """

    __slots__ = ("_dtype", "_name", "_shape", "_shape_tuple")

    # In nested structures a tensor's type is a leaf, as tensors are.
    _is_tensor_spec = True

    def __init__(self, shape: Any, dtype: Any = dtypes.float32, name: str | None = None) -> None:
        """Make a type.

        Args:
          shape: The shape, or what can be converted to it.
          dtype: The element type, or what can be converted to it.
          name: A name for the tensor.

        Raises:
          TypeError: If `shape` or `dtype` cannot be converted.
        """
        self._shape = TensorShape(shape)
        self._shape_tuple = self._shape._dims
        self._dtype = dtypes.as_dtype(dtype)
        self._name = name

    @classmethod
    def from_spec(cls, spec: Any, name: str | None = None) -> TensorSpec:
        """Return a type with the shape and element type of another."""
        return cls(spec.shape, spec.dtype, name or spec.name)

    @classmethod
    def from_tensor(cls, tensor: Any, name: str | None = None) -> TensorSpec:
        """Return the type of a tensor, with its operation's name if none is given."""
        if not isinstance(tensor, Tensor):
            raise ValueError("`tensor` should be a tf.Tensor")
        return TensorSpec(tensor.shape, tensor.dtype, name or tensor.op.name)

    @property
    def shape(self) -> TensorShape:
        return self._shape

    @property
    def dtype(self) -> dtypes.DType:
        return self._dtype

    @property
    def name(self) -> str | None:
        return self._name

    @property
    def value_type(self) -> type[Any]:
        return Tensor

    def is_compatible_with(self, spec_or_value: Any) -> bool:
        """Return True if a tensor, or every tensor of another type, could have this type."""
        return (
            isinstance(spec_or_value, (TensorSpec, Tensor))
            and self._dtype.is_compatible_with(spec_or_value.dtype)
            and self._shape.is_compatible_with(spec_or_value.shape)
        )

    def most_specific_compatible_type(self, other: Any) -> TensorSpec:
        """Return the most specific type that includes this one and `other`.

        Raises:
          ValueError: If element types or classes differ.
        """
        if type(self) is not type(other) or self._dtype != other.dtype:
            raise ValueError(f"Types are not compatible: {self!r} vs {other!r}")
        shape = self._shape.most_specific_compatible_shape(other.shape)
        return TensorSpec(shape, self._dtype, self._name if self._name == other.name else None)

    def _serialize(self) -> tuple[Any, ...]:
        return self._shape, self._dtype, self._name

    @property
    def _component_specs(self) -> TensorSpec:
        return self

    def _to_components(self, value: Any) -> Tensor:
        from stillflow.graph.conversion import convert_to_tensor

        refusal = ValueError(
            f"Value {value!r} is not convertible to a tensor with dtype {self._dtype} and shape "
            f"{self._shape}."
        )
        try:
            tensor = convert_to_tensor(value, self._dtype)
        except (TypeError, ValueError):
            raise refusal from None
        if not tensor.shape.is_compatible_with(self._shape):
            raise refusal
        return tensor

    def _from_components(self, components: Any) -> Any:
        return components

    def _from_compatible_tensor_list(self, tensor_list: list[Any]) -> Tensor:
        (tensor,) = tensor_list
        tensor.set_shape(self._shape)
        return tensor

    def _to_batchable_tensor_list(self, value: Any, batched: bool = False) -> Tensor:
        if batched and self._shape.merge_with(value.shape).ndims == 0:
            raise ValueError("Unbatching a tensor is only supported for rank >= 1")
        return self._to_components(value)

    def _batch(self, batch_size: int | None) -> TensorSpec:
        return TensorSpec(TensorShape([batch_size]).concatenate(self._shape), self._dtype)

    def _unbatch(self) -> TensorSpec:
        if self._shape.ndims == 0:
            raise ValueError("Unbatching a tensor is only supported for rank >= 1")
        return TensorSpec(self._shape[1:], self._dtype)

    def _to_legacy_output_types(self) -> DType:
        return self._dtype

    def _to_legacy_output_shapes(self) -> TensorShape:
        return self._shape

    def _to_legacy_output_classes(self) -> type[Any]:
        return Tensor

    def __eq__(self, other: object) -> bool:
        return (
            type(self) is type(other)
            and self._shape_tuple == other._shape_tuple
            and self._dtype == other._dtype
            and self._name == other._name
        )

    def __hash__(self) -> int:
        return hash((self._shape_tuple, self._dtype))

    def __repr__(self) -> str:
        return f"TensorSpec(shape={self.shape}, dtype={self.dtype!r}, name={self.name!r})"


@export("contrib.framework.BoundedTensorSpec")
class BoundedTensorSpec(TensorSpec):
    """The type of a tensor whose elements lie between bounds.

    Attributes:
      minimum: The lower bound, inclusive: an array that broadcasts to the shape.
      maximum: The upper bound, inclusive.
    """

    __slots__ = ("_maximum", "_minimum")

    def __init__(
        self, shape: Any, dtype: Any, minimum: Any, maximum: Any, name: str | None = None
    ) -> None:
        """Make a type.

        Raises:
          ValueError: If a bound is None or does not broadcast to the shape.
          TypeError: If `shape` or `dtype` cannot be converted.
        """
        super().__init__(shape, dtype, name)
        if minimum is None or maximum is None:
            raise ValueError(
                f"minimum and maximum must be provided; but saw '{minimum}' and '{maximum}'"
            )
        self._minimum = self._bound("minimum", minimum)
        self._maximum = self._bound("maximum", maximum)

    def _bound(self, which: str, value: Any) -> Array:
        try:
            dims.broadcast(np.shape(value), self._shape_tuple)
        except ValueError as error:
            raise ValueError(f"{which} is not compatible with shape. Message: {error!r}.") from None
        bound = np.array(value, dtype=self.dtype.np_dtype)
        bound.setflags(write=False)
        return bound

    @classmethod
    def from_spec(cls, spec: Any, name: str | None = None) -> BoundedTensorSpec:
        """Return a type like `spec`; missing bounds are those of its element type."""
        dtype = dtypes.as_dtype(spec.dtype)
        minimum = getattr(spec, "minimum", dtype.min)
        maximum = getattr(spec, "maximum", dtype.max)
        return BoundedTensorSpec(spec.shape, dtype, minimum, maximum, name or spec.name)

    @property
    def minimum(self) -> Array:
        return self._minimum

    @property
    def maximum(self) -> Any:
        return self._maximum

    def _serialize(self) -> tuple[Any, ...]:
        return self._shape, self._dtype, self._minimum, self._maximum, self._name

    def __eq__(self, other: object) -> bool:
        return (
            super().__eq__(other)
            and bool(np.allclose(self.minimum, other.minimum))  # type: ignore[attr-defined]
            and bool(np.allclose(self.maximum, other.maximum))  # type: ignore[attr-defined]
        )

    __hash__ = TensorSpec.__hash__

    def __repr__(self) -> str:
        return (
            f"BoundedTensorSpec(shape={self.shape}, dtype={self.dtype!r}, name={self.name!r}, "
            f"minimum={self.minimum!r}, maximum={self.maximum!r})"
        )


def _of_tensor(tensor: Tensor) -> TensorSpec:
    return TensorSpec(tensor.shape, tensor.dtype)


def _of_array(array: np.ndarray[Any, Any]) -> TensorSpec:
    return TensorSpec(array.shape, array.dtype)


register_type_spec_from_value_converter(Tensor, _of_tensor, allow_subclass=True)
register_type_spec_from_value_converter(np.ndarray, _of_array)
