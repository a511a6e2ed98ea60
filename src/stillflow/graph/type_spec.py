"""Types of values made of tensors, as known before the program runs."""

from __future__ import annotations

import abc
from collections.abc import Callable
from typing import Any

import numpy as np

from stillflow import nest
from stillflow._hooks import Hook
from stillflow.graph.dtypes import DType
from stillflow.graph.export import export
from stillflow.graph.tensor_shape import TensorShape

# The types of composite tensors that files name by number.
sparse_tensor_spec: Hook[type[TypeSpec]] = Hook("graph.type_spec.sparse_tensor_spec")
indexed_slices_spec: Hook[type[TypeSpec]] = Hook("graph.type_spec.indexed_slices_spec")
ragged_tensor_spec: Hook[type[TypeSpec]] = Hook("graph.type_spec.ragged_tensor_spec")
tensor_array_spec: Hook[type[TypeSpec]] = Hook("graph.type_spec.tensor_array_spec")
dataset_spec: Hook[type[TypeSpec]] = Hook("graph.type_spec.dataset_spec")
optional_spec: Hook[type[TypeSpec]] = Hook("graph.type_spec.optional_spec")


@export("TypeSpec", "data.experimental.Structure")
class TypeSpec(abc.ABC):
    """The type of a value that is made of tensors: its class, element types and shapes.

    Two specifications are equal if their classes and their serializations are.
    """

    __slots__: Any = ()

    @property
    @abc.abstractmethod
    def value_type(self) -> Any:
        """The class of the values that have this type."""

    @abc.abstractmethod
    def _to_components(self, value: Any) -> Any:
        """Return the tensors (or nested composites) that `value` is made of."""

    @abc.abstractmethod
    def _from_components(self, components: Any) -> Any:
        """Return the value made of `components`."""

    @property
    @abc.abstractmethod
    def _component_specs(self) -> Any:
        """The types of the components, in the structure of `_to_components`."""

    @abc.abstractmethod
    def _serialize(self) -> tuple[Any, ...]:
        """Return the arguments of the constructor that make an equal specification."""

    @classmethod
    def _deserialize(cls, serialization: Any) -> TypeSpec:
        return cls(*serialization)

    def is_compatible_with(self, spec_or_value: Any) -> bool:
        """Return True if a value (or any value of another type) can have this type."""
        other = spec_or_value
        if not isinstance(other, TypeSpec):
            other = type_spec_from_value(spec_or_value)
        if type(self) is not type(other):
            return False
        return _is_compatible(self._serialize(), other._serialize())

    def most_specific_compatible_type(self, other: TypeSpec) -> TypeSpec:
        """Return the most specific type that includes this one and `other`.

        Raises:
          ValueError: If there is none.
        """
        if type(self) is not type(other):
            raise ValueError(f"No TypeSpec is compatible with both {self} and {other}")
        return self._deserialize(_generalize(self._serialize(), other._serialize()))

    def _to_tensor_list(self, value: Any) -> list[Any]:
        """Return the tensors of `value`, flat."""
        return nest.flatten(self._to_components(value), expand_composites=True)

    def _from_tensor_list(self, tensor_list: list[Any]) -> Any:
        """Return the value made of flat tensors; ValueError if they do not have the right types."""
        self._check_tensor_list(tensor_list)
        return self._from_compatible_tensor_list(tensor_list)

    def _from_compatible_tensor_list(self, tensor_list: list[Any]) -> Any:
        components = nest.pack_sequence_as(
            self._component_specs, tensor_list, expand_composites=True
        )
        return self._from_components(components)

    @property
    def _flat_tensor_specs(self) -> list[Any]:
        return nest.flatten(self._component_specs, expand_composites=True)

    def _check_tensor_list(self, tensor_list: list[Any]) -> None:
        expected = self._flat_tensor_specs
        if len(tensor_list) != len(expected):
            raise ValueError("Incompatible input: wrong number of tensors")
        for index, (tensor, wanted) in enumerate(zip(tensor_list, expected)):
            if not type_spec_from_value(tensor).is_compatible_with(wanted):
                raise ValueError(
                    f"Incompatible input: tensor {index} ({tensor}) is incompatible with {wanted}"
                )

    def _to_legacy_output_types(self) -> Any:
        raise NotImplementedError(f"{type(self).__name__}._to_legacy_output_types()")

    def _to_legacy_output_shapes(self) -> Any:
        raise NotImplementedError(f"{type(self).__name__}._to_legacy_output_shapes()")

    def _to_legacy_output_classes(self) -> Any:
        return self.value_type

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._comparison_key() == other._comparison_key()

    def __hash__(self) -> int:
        return hash(self._comparison_key())

    def _comparison_key(self) -> tuple[type[Any], Any]:
        return type(self), _comparison_key(self._serialize(), type(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._serialize()

    def __repr__(self) -> str:
        return f"{type(self).__name__}{self._serialize()!r}"


def _comparison_key(value: Any, spec_class: type) -> Any:
    """Return a hashable value that is equal for equal parts of serializations."""
    if value is None or isinstance(value, (int, float, bool, str, bytes, DType, TypeSpec)):
        return value
    if isinstance(value, dict):
        return tuple([(key, _comparison_key(value[key], spec_class)) for key in sorted(value)])
    if isinstance(value, tuple):
        return tuple([_comparison_key(item, spec_class) for item in value])
    if isinstance(value, TensorShape):
        return TensorShape, value._dims
    if isinstance(value, np.ndarray):
        return np.ndarray, value.shape, tuple(value.ravel().tolist())
    raise ValueError(
        f"Unsupported value type {type(value).__name__} returned by "
        f"{spec_class.__name__}._serialize"
    )


def _is_compatible(a: Any, b: Any) -> bool:
    if type(a) is not type(b):
        return False
    if isinstance(a, tuple):
        return len(a) == len(b) and all(_is_compatible(x, y) for x, y in zip(a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(_is_compatible(a[key], b[key]) for key in a)
    if isinstance(a, (TypeSpec, TensorShape, DType)):
        return a.is_compatible_with(b)
    return bool(a == b)


def _generalize(a: Any, b: Any) -> Any:
    """Return the serialization of the most specific type that includes two types."""
    refusal = ValueError(f"Types are not compatible: {a!r} vs {b!r}")
    if type(a) is not type(b):
        raise refusal
    if isinstance(a, tuple):
        if len(a) != len(b):
            raise refusal
        return tuple([_generalize(x, y) for x, y in zip(a, b)])
    if isinstance(a, dict):
        if a.keys() != b.keys():
            raise refusal
        return {key: _generalize(a[key], b[key]) for key in sorted(a)}
    if isinstance(a, TensorShape):
        return a.most_specific_compatible_shape(b)
    if isinstance(a, list):
        raise AssertionError("_serialize() should not return list values.")
    if isinstance(a, TypeSpec):
        return a.most_specific_compatible_type(b)
    if a != b:
        raise refusal
    return a


class BatchableTypeSpec(TypeSpec):
    """A type whose values can be stacked to a value with one more dimension."""

    __slots__: Any = ()

    @abc.abstractmethod
    def _batch(self, batch_size: int | None) -> Any:
        """Return the type of `batch_size` stacked values (None: of any number)."""

    @abc.abstractmethod
    def _unbatch(self) -> Any:
        """Return the type of one of the stacked values."""

    def _to_batched_tensor_list(self, value: Any) -> list[Any]:
        tensors = self._to_tensor_list(value)
        if any(tensor.shape.ndims == 0 for tensor in tensors):
            raise ValueError(f"Value {value} has insufficient rank for batching.")
        return tensors


_Converter = Callable[[Any], TypeSpec]
_converters: list[tuple[Any, _Converter, bool]] = []


def register_type_spec_from_value_converter(
    type_object: Any, converter_fn: _Converter, allow_subclass: bool = False
) -> None:
    """Register how the `TypeSpec` of a value of a class, perhaps of a subclass, is found."""
    _converters.append((type_object, converter_fn, allow_subclass))


def type_spec_from_value(value: Any) -> BatchableTypeSpec:
    """Return the `TypeSpec` of a value: a tensor, composite tensor, array, or a number."""
    spec = _from_value(value)
    if spec is None:
        from stillflow.graph.conversion import convert_to_tensor

        try:
            spec = _from_value(convert_to_tensor(value))
        except (ValueError, TypeError):
            spec = None
    if spec is None:
        raise TypeError(
            f"Could not build a TypeSpec for {value!r} with type {type(value).__name__}"
        )
    return spec


def _from_value(value: Any) -> Any:
    from stillflow.graph.composite_tensor import CompositeTensor

    if isinstance(value, CompositeTensor):
        return value._type_spec
    if isinstance(value, list) and value:
        spec = _from_list(value)
        if spec is not None:
            return spec
    for type_object, converter, allow_subclass in reversed(_converters):
        if type(value) is type_object or (allow_subclass and isinstance(value, type_object)):
            return converter(value)
    return None


def _from_list(values: list[Any]) -> BatchableTypeSpec | None:
    """Return the type of values of one kind stacked, None if they are not of one kind."""
    specs = [_from_value(value) for value in values]
    merged = specs[0]
    if not isinstance(merged, BatchableTypeSpec):
        return None
    try:
        for spec in specs[1:]:
            merged = merged.most_specific_compatible_type(spec)
        return merged._batch(len(specs))
    except (ValueError, TypeError):
        return None
