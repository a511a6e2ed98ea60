"""`tf.data.experimental.Optional`: a value that may be missing."""

from __future__ import annotations

import abc
from typing import Any

from stillflow.data import structure
from stillflow.graph import dtypes, type_spec
from stillflow.graph.api import name_scope
from stillflow.graph.composite_tensor import CompositeTensor
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_spec import TensorSpec
from stillflow.graph.type_spec import TypeSpec, register_type_spec_from_value_converter
from stillflow.ops.data import optionals as cards


@export("data.experimental.Optional", "contrib.data.Optional")
class Optional(CompositeTensor):
    """A value, a structure of tensors, or none: which it is shows when the graph runs."""

    @abc.abstractmethod
    def has_value(self, name: str | None = None) -> Any:
        """Return a scalar boolean: whether there is a value."""

    @abc.abstractmethod
    def get_value(self, name: str | None = None) -> Any:
        """Return the value; running it fails where there is none."""

    @property
    @abc.abstractmethod
    def value_structure(self) -> Any:
        """The type of the value."""

    @staticmethod
    def from_value(value: Any) -> Optional:
        """Return an optional that has a value."""
        with name_scope("optional") as scope:
            with name_scope("value"):
                spec = structure.type_spec_from_value(value)
                encoded = structure.to_tensor_list(spec, value)
        return _OptionalImpl(cards.optional_from_value_op(encoded, name=scope), spec)

    @staticmethod
    def none_from_structure(value_structure: Any) -> Optional:
        """Return an optional without a value.

        Args:
          value_structure: the type that it would have.
        """
        return _OptionalImpl(cards.optional_none_op(), value_structure)


class _OptionalImpl(Optional):
    """An optional behind a variant."""

    def __init__(self, variant_tensor: Any, value_structure: Any) -> None:
        self._variant_tensor = variant_tensor
        self._value_structure = value_structure

    def has_value(self, name: str | None = None) -> Tensor:
        return cards.optional_has_value_op(self._variant_tensor, name=name)

    def get_value(self, name: str | None = None) -> Tensor | tuple[Tensor, Tensor]:
        spec = self._value_structure
        with name_scope(name, "OptionalGetValue", [self._variant_tensor]) as scope:
            flat = cards.optional_get_value_op(
                self._variant_tensor, name=scope,
                output_types=structure.get_flat_tensor_types(spec),
                output_shapes=structure.get_flat_tensor_shapes(spec),
            )  # fmt: skip
            return structure.from_tensor_list(spec, flat)

    @property
    def value_structure(self) -> Any:
        return self._value_structure

    @property
    def _type_spec(self) -> OptionalSpec:
        return OptionalSpec.from_value(self)


@export("OptionalSpec", "data.experimental.OptionalStructure")
class OptionalSpec(TypeSpec):
    """The type of optionals.

    Args:
      value_structure: the type of the value.
    """

    __slots__ = ("_value_structure",)

    def __init__(self, value_structure: Any) -> None:
        self._value_structure = value_structure

    @property
    def value_type(self) -> type[Any]:
        return _OptionalImpl

    def _serialize(self) -> tuple[Any, ...]:
        return (self._value_structure,)

    @property
    def _component_specs(self) -> list[Any]:
        return [TensorSpec((), dtypes.variant)]

    def _to_components(self, value: Any) -> list[Any]:
        return [value._variant_tensor]

    def _from_components(self, flat_value: Any) -> Any:
        return _OptionalImpl(flat_value[0], self._value_structure)

    @staticmethod
    def from_value(value: Any) -> OptionalSpec:
        """Return the type of an optional."""
        return OptionalSpec(value.value_structure)

    def _to_legacy_output_types(self) -> OptionalSpec:
        return self

    def _to_legacy_output_shapes(self) -> OptionalSpec:
        return self

    def _to_legacy_output_classes(self) -> OptionalSpec:
        return self


register_type_spec_from_value_converter(Optional, OptionalSpec.from_value, allow_subclass=True)


type_spec.optional_spec.provide(OptionalSpec)
