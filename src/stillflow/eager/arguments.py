"""Arguments of operations that run when they are called: tensors of values, types as attributes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from stillflow import errors
from stillflow.eager.calls import Call, Kernel, as_eager_error
from stillflow.eager.eager_tensor import EagerTensor
from stillflow.graph import removed_ops
from stillflow.graph.build import check_attrs, given_attrs, output_types, record_type
from stillflow.graph.card import Card
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.dtypes import DType, as_dtype, cpp_name
from stillflow.graph.graph import PRODUCER
from stillflow.graph.op_text import op_text
from stillflow.graph.operation import Tensor
from stillflow.graph.signature import Arg

# Longer lists are not examined for their kind.
_FEW = 16


def read(value: Any) -> Any:
    """Return the value of a variable; anything else as it is."""
    if type(value) is not EagerTensor and hasattr(value, "_dense_var_to_tensor"):
        return convert_to_tensor(value)
    return value


def kind_of(value: Any) -> Any:
    """Return the key of an argument's conversion to a tensor; None if it is not known.

    Whole numbers are axes, sizes and indices, on which kernels depend: they tell themselves.
    """
    kind = type(value)
    if kind is EagerTensor:
        return value._kind
    if kind is int or kind is bool:
        return kind, value
    if kind is float:
        return kind
    if (kind is list or kind is tuple) and len(value) <= _FEW:
        kinds = [kind_of(item) for item in value]
        return None if None in kinds or float in kinds else tuple(kinds)
    return None


class Arguments:
    """Conversion of arguments of certain kinds to the tensors of a call.

    Args:
      card: the op.
      inputs: the arguments, of kinds that `kind_of` knows.
      tensors: what they became.
      lengths: of the lists in them.
      kernel: that runs on these tensors.
    """

    def __init__(
        self,
        card: Card,
        inputs: Sequence[Any],
        tensors: Sequence[Any],
        lengths: Any,
        kernel: Kernel,
    ) -> None:
        self.lengths = lengths
        self._lists = tuple(arg.is_list for arg in card.signature.inputs) if lengths else ()
        flat = self._flat(inputs)
        # True if no tensor is made of several: the next ones would have other values.
        self.last = not any(_holds_tensor(value) for value in flat)
        # Each argument's conversion: None for none, a type to convert it to, or a tensor.
        self._parts = [
            None if value is tensor else tensor.dtype if type(value) is float else tensor
            for value, tensor in zip(flat, tensors, strict=True)
        ]
        # The kernel, unless it depends on values that other arguments of these kinds may not have.
        told = kernel.told
        fixed = told is not None and all(type(self._parts[i]) is EagerTensor for i in told)
        self.kernel = kernel if fixed else None

    def tensors(self, inputs: Sequence[Any], number: Callable[[float, DType], Any]) -> list[Any]:
        """Return the tensors of other arguments of the same kinds.

        `number` makes those of numbers.
        """
        return [
            value if part is None else part if type(part) is EagerTensor else number(value, part)
            for value, part in zip(self._flat(inputs), self._parts, strict=True)
        ]

    def _flat(self, inputs: Sequence[Any]) -> Sequence[Any]:
        if not self._lists:
            return inputs
        flat: list[Any] = []
        for is_list, value in zip(self._lists, inputs, strict=True):
            if is_list:
                flat += value
            else:
                flat.append(value)
        return flat


def _holds_tensor(value: Any) -> bool:
    return type(value) in (list, tuple) and any(
        type(item) is EagerTensor or _holds_tensor(item) for item in value
    )


class TensorForList(Exception):
    """A tensor was given where an op takes several."""


def unpacked(card: Card, inputs: Sequence[Any]) -> list[Any]:
    """Return the inputs; a tensor that stands for several is a list of its rows."""
    return [
        list(value) if arg.is_list and type(value) is EagerTensor and value._dims else value
        for arg, value in zip(card.signature.inputs, inputs, strict=False)
    ]


def converted(
    card: Card, inputs: Sequence[Any], attrs: dict[str, Any]
) -> tuple[list[Any], tuple[int, ...] | None]:
    """Return the inputs as a flat list of tensors, and the lengths of the lists in them.

    An argument that is not a tensor gets the type of the first tensor that must be of the same
    type, at any position. TypeError or ValueError if a value cannot become a tensor.
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
            if type(value) is not EagerTensor:
                value = _tensor(card, arg, value, attrs, found)
            tensors.append(value)
            continue
        if not isinstance(value, (list, tuple)):
            raise TypeError(
                f"Expected list for '{arg.name}' argument to '{card.signature.function}' Op, "
                f"not {value!r}."
            )
        if arg.type_list_attr is not None:
            types = attrs.get(arg.type_list_attr)
            given = types if types is not None and len(types) == len(value) else [None] * len(value)
            tensors += [
                item if type(item) is EagerTensor else convert_to_tensor(item, dtype=dtype)
                for item, dtype in zip(value, given, strict=True)
            ]
        else:
            tensors += [_tensor(card, arg, item, attrs, found) for item in value]
        lengths.append(len(value))
    for tensor in tensors:
        if type(tensor) is not EagerTensor:
            _check_held(tensor)
    return tensors, tuple(lengths) if lengths else None


def _types_of_tensors(args: Sequence[Arg], inputs: Sequence[Any]) -> dict[str, DType]:
    """Return the type of the first tensor among the arguments that share a type, by attribute."""
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
    card: Card,
    arg: Arg,
    value: Any,
    attrs: dict[str, Any],
    found: dict[str, DType],
) -> Tensor:
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
    """Return the call of an op on tensors of these types, its attributes complete.

    Raises:
      TypeError: if an attribute is missing or is not allowed.
      InvalidArgumentError: if the types do not agree, or an attribute is out of its limits.
      UnimplementedError: if the op is one of old graphs.
      TensorForList: if a tensor stands for several.
    """
    signature = card.signature
    if lengths is None and card.takes_lists:
        raise TensorForList
    if len(tensors) != len(signature.inputs) and lengths is None:
        raise TypeError(f"{card.name} takes {len(signature.inputs)} inputs, not {len(tensors)}")
    known = given_attrs(card, attrs)
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
    try:
        check_attrs(card, known)
    except ValueError as error:
        message = _refusal(card, known)
        if message is None:
            raise
        raise as_eager_error(errors.invalid_argument(message), card.name, name) from error
    if card.removed:
        message = removed_ops.refusal(card.name, PRODUCER)
        assert message is not None
        raise as_eager_error(errors.unimplemented(message), card.name, name)
    return Call(card, known, output_types(card, known))


def _refusal(card: Card, known: dict[str, Any]) -> str | None:
    """TensorFlow's runtime's words for an attribute out of its limits; None if all are within."""
    where = f"\n\t; NodeDef: {{{{node {card.name}}}}}; {op_text(card.signature)}"
    for name, attr in card.signature.attrs.items():
        value = known.get(name)
        if value is None:
            continue
        word, number = ("Length", len(value)) if attr.is_list else ("Value", value)
        if attr.minimum is not None and number < attr.minimum:
            least = f"must be at least minimum {attr.minimum}"
            return f"{word} for attr '{name}' of {number} {least}{where}"
        if attr.allowed is not None and attr.element == "string":
            allowed = ", ".join(f'"{item.decode()}"' for item in attr.allowed)
            for item in value if attr.is_list else (value,):
                if item not in attr.allowed:
                    return (
                        f"Value for attr '{name}' of \"{item.decode(errors='replace')}\" is not in "
                        f"the list of allowed values: {allowed}{where}"
                    )
    return None


def _check_type(
    card: Card, arg: Arg, tensor: Any, known: dict[str, Any], index: int, name: str | None
) -> None:
    expected = arg.dtype if arg.type_attr is None else known.get(arg.type_attr)
    if expected is not None and expected is not tensor.dtype:
        message = (
            f"cannot compute {card.name} as input #{index}(zero-based) was expected to be a "
            f"{cpp_name(expected)} tensor but is a {cpp_name(tensor.dtype)} tensor"
        )
        refused = errors.invalid_argument(message)
        raise as_eager_error(refused, card.name, name)
    record_type(card, arg, tensor, known)
