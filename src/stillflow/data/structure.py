"""Elements of datasets as flat lists of tensors, and the types of elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stillflow.data import nest
from stillflow.graph.api import name_scope
from stillflow.graph.composite_specs import SparseTensorSpec
from stillflow.graph.composite_tensor import CompositeTensor
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.sparse_tensor import SparseTensor
from stillflow.graph.tensor_spec import TensorSpec
from stillflow.graph.type_spec import TypeSpec, _from_value
from stillflow.nest import _is_namedtuple
from stillflow.ops.tensor_array.spec import TensorArraySpec
from stillflow.ops.tensor_array.tensor_array import TensorArray
from stillflow.ragged.conversion import convert_to_tensor_or_ragged_tensor
from stillflow.ragged.spec import RaggedTensorSpec
from stillflow.ragged.spec import _RaggedTensorStructure as _RaggedTensorStructure
from stillflow.ragged.tensor import RaggedTensor


@export("data.experimental.TensorStructure")
def _TensorStructure(dtype: Any, shape: Any) -> TensorSpec:
    """Return the type of tensors of that dtype and shape."""
    return TensorSpec(shape, dtype)


@export("data.experimental.SparseTensorStructure")
def _SparseTensorStructure(dtype: Any, shape: Any) -> SparseTensorSpec:
    """Return the type of sparse tensors of that dtype and shape."""
    return SparseTensorSpec(shape, dtype)


def normalize_element(element: Any) -> Any:
    """Convert the parts of an element to tensors."""
    normalized = []
    with name_scope("normalize_element"):
        for index, value in enumerate(nest.flatten(element)):
            normalized.append(_normalized(value, f"component_{index}"))
    return nest.pack_sequence_as(element, normalized)


def _normalized(value: Any, name: str) -> Any:
    spec = _from_value(value)
    if isinstance(value, list) and isinstance(spec, (TensorSpec, SparseTensorSpec)):
        spec = None  # a list of these is one tensor
    if isinstance(spec, SparseTensorSpec):
        return SparseTensor.from_value(value)
    if isinstance(spec, RaggedTensorSpec):
        return convert_to_tensor_or_ragged_tensor(value, name=name)
    if spec is not None and not isinstance(spec, TensorSpec):
        return value
    if isinstance(value, CompositeTensor):
        return value
    return convert_to_tensor(value, name=name)


def convert_legacy_structure(output_types: Any, output_shapes: Any, output_classes: Any) -> Any:
    """Return the types that dtypes, shapes and classes describe; TypeError for an unknown class."""
    flat = []
    for dtype, shape, kind in zip(
        nest.flatten(output_types), nest.flatten(output_shapes), nest.flatten(output_classes),
        strict=False,
    ):  # fmt: skip
        flat.append(_spec(dtype, shape, kind))
    return nest.pack_sequence_as(output_classes, flat)


def _spec(dtype: Any, shape: Any, kind: Any) -> TypeSpec:
    if isinstance(kind, TypeSpec):
        return kind
    if issubclass(kind, SparseTensor):
        return SparseTensorSpec(shape, dtype)
    if issubclass(kind, RaggedTensor):
        return RaggedTensorSpec(shape, dtype)
    if issubclass(kind, Tensor):
        return TensorSpec(shape, dtype)
    if issubclass(kind, TensorArray):
        dynamic_size, infer_shape = shape.as_list()[:2]
        return TensorArraySpec(shape[2:], dtype, dynamic_size, infer_shape)
    raise TypeError(f"Could not build a structure for output class {kind!r}")


def _unpack(decode: Callable[[Any, list[Any]], Any], element_spec: Any, tensors: Any) -> Any:
    specs = nest.flatten(element_spec)
    counts = [len(spec._flat_tensor_specs) for spec in specs]
    if sum(counts) != len(tensors):
        raise ValueError(f"Expected {sum(counts)} tensors but got {len(tensors)}.")
    parts, position = [], 0
    for spec, count in zip(specs, counts, strict=True):
        parts.append(decode(spec, list(tensors[position : position + count])))
        position += count
    return nest.pack_sequence_as(element_spec, parts)


def from_compatible_tensor_list(element_spec: Any, tensor_list: Any) -> Any:
    """Return the element made of flat tensors whose types are known to be right."""
    return _unpack(lambda s, v: s._from_compatible_tensor_list(v), element_spec, tensor_list)


def from_tensor_list(element_spec: Any, tensor_list: Any) -> Any:
    """Return the element made of flat tensors; ValueError if they have not the right types."""
    return _unpack(lambda s, v: s._from_tensor_list(v), element_spec, tensor_list)


def unbatched(element_spec: Any) -> Any:
    """Return the types of the slices of elements along their first dimension."""
    return nest.map_structure(lambda spec: spec._unbatch(), element_spec)


def get_flat_tensor_specs(element_spec: Any) -> list[Any]:
    """Return the types of the tensors that elements travel as."""
    return [spec for part in nest.flatten(element_spec) for spec in part._flat_tensor_specs]


def get_flat_tensor_shapes(element_spec: Any) -> list[Any]:
    """Return the shapes of the tensors that elements travel as."""
    return [spec.shape for spec in get_flat_tensor_specs(element_spec)]


def get_flat_tensor_types(element_spec: Any) -> list[Any]:
    """Return the dtypes of the tensors that elements travel as."""
    return [spec.dtype for spec in get_flat_tensor_specs(element_spec)]


def to_tensor_list(element_spec: Any, element: Any) -> list[Any]:
    """Return the tensors that an element travels as."""
    return _flat("_to_tensor_list", element_spec, element)


def to_batched_tensor_list(element_spec: Any, element: Any) -> list[Any]:
    """Return the tensors that a batch of elements travels as."""
    return _flat("_to_batched_tensor_list", element_spec, element)


def _flat(method: str, element_spec: Any, element: Any) -> list[Any]:
    nest.assert_same_structure(element_spec, element)
    tensors: list[Any] = []
    for spec, part in zip(nest.flatten(element_spec), nest.flatten(element), strict=True):
        tensors.extend(getattr(spec, method)(part))
    return tensors


def are_compatible(spec1: Any, spec2: Any) -> bool:
    """Return True if two types can describe the same elements."""
    try:
        nest.assert_same_structure(spec1, spec2)
    except (TypeError, ValueError):
        return False
    return all(
        a.is_compatible_with(b) and b.is_compatible_with(a)
        for a, b in zip(nest.flatten(spec1), nest.flatten(spec2), strict=True)
    )


def type_spec_from_value(element: Any, use_fallback: bool = True) -> Any:
    """Return the types of the parts of an element; others become tensors if `use_fallback`."""
    spec = _from_value(element)
    if spec is not None:
        return spec
    if isinstance(element, dict):
        result = element.copy()
        for key in element:
            result[key] = type_spec_from_value(element[key])
        return result
    if isinstance(element, tuple):
        parts = [type_spec_from_value(value) for value in element]
        return type(element)(*parts) if _is_namedtuple(element) else tuple(parts)
    if use_fallback:
        try:
            spec = _from_value(convert_to_tensor(element))
        except (ValueError, TypeError):
            spec = None
        if spec is not None:
            return spec
    raise TypeError(
        f"Could not build a TypeSpec for {element!r} with type {type(element).__name__}"
    )
