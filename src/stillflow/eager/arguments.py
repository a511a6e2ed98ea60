"""Arguments of operations that run when they are called: tensors of values, types as attributes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stillflow import errors
from stillflow.eager.calls import Call, as_eager_error
from stillflow.eager.eager_tensor import EagerTensor
from stillflow.graph.attrs import normalize
from stillflow.graph.build import check_attrs, output_types, record_type
from stillflow.graph.card import Card
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.dtypes import DType, as_dtype, cpp_name
from stillflow.graph.operation import Tensor
from stillflow.graph.signature import Arg


def converted(
    card: Card, inputs: Sequence[Any], attrs: dict[str, Any]
) -> tuple[list[Any], tuple[int, ...] | None]:
    """The inputs as a flat list of tensors, and the lengths of the lists among them.

    What is not a tensor gets the type of the first tensor that must be of the same type, wherever
    that stands.

    Raises:
      TypeError, ValueError: if a value cannot become a tensor.
    """
    args = card.signature.inputs
    if len(inputs) != len(args):
        names = ", ".join(arg.name for arg in args)
        raise TypeError(f"{card.name} takes {len(args)} inputs, not {len(inputs)}: {names}")
    found = _types_of_tensors(args, inputs)
    tensors: list[Any] = []
    lengths = []
    for arg, value in zip(args, inputs, strict=True):
        if not arg.is_list:
            tensors.append(_tensor(card, arg, value, attrs, found))
            continue
        if not isinstance(value, (list, tuple)):
            raise TypeError(
                f"Expected list for '{arg.name}' argument to '{card.name}' Op, not {value}."
            )
        if arg.type_list_attr is not None:
            types = attrs.get(arg.type_list_attr)
            given = types if types is not None and len(types) == len(value) else [None] * len(value)
            tensors += [
                convert_to_tensor(item, dtype=dtype)
                for item, dtype in zip(value, given, strict=True)
            ]
        else:
            tensors += [_tensor(card, arg, item, attrs, found) for item in value]
        lengths.append(len(value))
    for tensor in tensors:
        _check_held(tensor)
    return tensors, tuple(lengths) if lengths else None


def _types_of_tensors(args: Sequence[Arg], inputs: Sequence[Any]) -> dict[str, DType]:
    """The type of the first tensor among the arguments that share a type, by attribute."""
    found: dict[str, DType] = {}
    for arg, value in zip(args, inputs, strict=True):
        if arg.type_attr is None or arg.type_attr in found:
            continue
        for item in value if arg.is_list and isinstance(value, (list, tuple)) else (value,):
            if isinstance(item, Tensor) or hasattr(item, "_dense_var_to_tensor"):
                found[arg.type_attr] = item.dtype.base_dtype
                break
    return found


def _tensor(
    card: Card, arg: Arg, value: Any, attrs: dict[str, Any], found: dict[str, DType]
) -> Any:
    if type(value) is EagerTensor:
        return value
    if arg.dtype is not None:
        return convert_to_tensor(value, dtype=arg.dtype, name=arg.name)
    name = arg.type_attr or ""
    dtype = attrs.get(name) or found.get(name)
    if dtype is not None:
        return convert_to_tensor(value, dtype=as_dtype(dtype), name=arg.name)
    attr = card.signature.attrs.get(name)
    hint = attr.default if attr is not None and attr.has_default else None
    tensor = convert_to_tensor(value, preferred_dtype=hint, name=arg.name)
    found[name] = tensor.dtype.base_dtype
    return tensor


def _check_held(tensor: Any) -> None:
    if not isinstance(tensor, EagerTensor):
        raise RuntimeError(
            f"Attempting to capture a symbolic tensor without building a function: {tensor}"
        )


def resolve(
    card: Card,
    tensors: Sequence[Any],
    lengths: tuple[int, ...] | None,
    attrs: dict[str, Any],
    name: str | None,
) -> Call:
    """The call of an op on tensors of these types, its attributes complete.

    Raises:
      TypeError: if an attribute lacks or is not allowed.
      InvalidArgumentError: if the types do not agree.
    """
    signature = card.signature
    if len(tensors) != len(signature.inputs) and lengths is None:
        raise TypeError(f"{card.name} takes {len(signature.inputs)} inputs, not {len(tensors)}")
    declared = signature.attrs
    known = {
        key: normalize(value, declared[key], card.name) if key in declared else value
        for key, value in attrs.items()
        if value is not None
    }
    position = 0
    rest = iter(lengths or ())
    for arg in signature.inputs:
        count = next(rest) if arg.is_list else 1
        part = tensors[position : position + count]
        if arg.number_attr is not None:
            known.setdefault(arg.number_attr, count)
        if arg.type_list_attr is not None:
            known[arg.type_list_attr] = [tensor.dtype for tensor in part]
        else:
            for offset, tensor in enumerate(part):
                _check_type(card, arg, tensor, known, position + offset, name)
        position += count
    check_attrs(card, known)
    return Call(card, known, output_types(card, known))


def _check_type(
    card: Card, arg: Arg, tensor: Any, known: dict[str, Any], index: int, name: str | None
) -> None:
    expected = arg.dtype if arg.type_attr is None else known.get(arg.type_attr)
    if expected is not None and expected is not tensor.dtype:
        message = (
            f"cannot compute {card.name} as input #{index}(zero-based) was expected to be a "
            f"{cpp_name(expected)} tensor but is a {cpp_name(tensor.dtype)} tensor"
        )
        refused = errors.InvalidArgumentError(None, None, message)
        raise as_eager_error(refused, card.name, name)
    record_type(card, arg, tensor, known)
