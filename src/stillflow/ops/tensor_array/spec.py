"""`tf.TensorArraySpec`: the type of a TensorArray."""

from __future__ import annotations

from typing import Any

from stillflow.graph import dtypes, type_spec
from stillflow.graph.api import name_scope
from stillflow.graph.dtypes import DType
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import TensorShape, as_shape
from stillflow.graph.tensor_spec import TensorSpec
from stillflow.graph.type_spec import (
    TypeSpec,
    register_type_spec_from_value_converter,
    type_spec_from_value,
)
from stillflow.ops.tensor_array.tensor_array import TensorArray
from stillflow.ops.tensor_list.public import tensor_list_from_tensor


@export("TensorArraySpec")
class TensorArraySpec(TypeSpec):
    """Type of a TensorArray: its elements' type and shape, and whether it grows."""

    __slots__ = ("_dtype", "_dynamic_size", "_element_shape", "_infer_shape")

    def __init__(
        self,
        element_shape: Any = None,
        dtype: Any = dtypes.float32,
        dynamic_size: bool = False,
        infer_shape: bool = True,
    ) -> None:
        """Make a type.

        Args:
          element_shape: the static shape of the elements.
          dtype: their type.
          dynamic_size: whether the array grows.
          infer_shape: whether all elements have the same shape.
        """
        self._element_shape = as_shape(element_shape)
        self._dtype = dtypes.as_dtype(dtype)
        self._dynamic_size = dynamic_size
        self._infer_shape = infer_shape

    @property
    def value_type(self) -> type[Any]:
        return TensorArray

    def is_compatible_with(self, spec_or_value: Any) -> bool:
        """Return True if an array could have both types, regardless of `infer_shape`."""
        other = spec_or_value
        if not isinstance(other, TypeSpec):
            other = type_spec_from_value(other)
        if not isinstance(other, TensorArraySpec) or self._dynamic_size != other._dynamic_size:
            return False
        pairs = (self._dtype, other._dtype), (self._element_shape, other._element_shape)
        return all(own.is_compatible_with(others) for own, others in pairs)

    def most_specific_compatible_type(self, other: Any) -> TensorArraySpec:
        """Return the type of arrays of either type.

        Raises:
          ValueError: if the types are not compatible.
        """
        if not self.is_compatible_with(other):
            raise ValueError("Types are not compatible")
        return TensorArraySpec(
            self._element_shape.most_specific_compatible_shape(other._element_shape),
            self._dtype,
            self._dynamic_size,
            self._infer_shape and other._infer_shape,
        )

    @staticmethod
    def from_value(value: Any) -> TensorArraySpec:
        """Return the type of a TensorArray.

        Raises:
          TypeError: if `value` is something else.
        """
        if not isinstance(value, TensorArray):
            raise TypeError(f"Expected value to be a TensorArray, but saw: {type(value)}")
        return TensorArraySpec(
            value.element_shape, value.dtype, value.dynamic_size, value._infer_shape
        )

    def _serialize(self) -> tuple[Any, ...]:
        return self._element_shape, self._dtype, self._dynamic_size, self._infer_shape

    @property
    def _component_specs(self) -> list[TensorSpec]:
        return [TensorSpec([], dtypes.variant)]

    def _to_components(self, value: Any) -> list[Tensor]:
        if not isinstance(value, TensorArray):
            raise TypeError(f"value must be a TensorArray, but saw: {type(value)}")
        flow = value.flow
        if flow.dtype != dtypes.variant:
            with name_scope("convert_tensor_array"):
                flow = tensor_list_from_tensor(value.stack(), value.element_shape)
        return [flow]

    def _from_components(self, components: Any) -> TensorArray:
        array = TensorArray(
            self._dtype,
            flow=components[0],
            dynamic_size=self._dynamic_size,
            infer_shape=self._infer_shape,
        )
        array._element_shape = [self._element_shape]
        return array

    def _to_legacy_output_types(self) -> DType:
        return self._dtype

    def _to_legacy_output_shapes(self) -> TensorShape:
        flags = TensorShape([self._dynamic_size, self._infer_shape])
        return flags.concatenate(self._element_shape)

    def _to_legacy_output_classes(self) -> type[Any]:
        return TensorArray


register_type_spec_from_value_converter(
    TensorArray, TensorArraySpec.from_value, allow_subclass=True
)


type_spec.tensor_array_spec.provide(TensorArraySpec)
