"""``tensorflow.python.eager.execute``: operations by their names, with flat inputs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from stillflow import errors
from stillflow.graph import dtypes
from stillflow.graph.build import apply
from stillflow.graph.card import Card, get
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import TensorShape


def execute(
    op_name: Any, num_outputs: int, inputs: Sequence[Any], attrs: Any, ctx: Any, name: Any = None
) -> list[Any]:
    """Run an operation; return its outputs.

    Tensors of list arguments stand among the others in `inputs`; `attrs` are names and values in
    turn, types as numbers of `types.proto`. InvalidArgumentError for another operation of the name,
    or more outputs than `num_outputs`.
    """
    del ctx
    card = get(op_name.decode() if isinstance(op_name, bytes) else op_name)
    known = attributes(card, attrs or ())
    found = apply(card, list(_arguments(card, list(inputs), known)), known, name)
    if isinstance(found, Tensor):
        found = [found]
    outputs = list(found) if isinstance(found, (list, tuple)) else []
    flat = [x for one in outputs for x in (one if isinstance(one, list) else [one])]
    if len(flat) > num_outputs:
        raise errors.invalid_argument(
            f"Expecting {len(flat)} outputs, but only given {num_outputs}"
        )
    return flat


quick_execute = execute


def record_gradient(op_name: Any, inputs: Any, attrs: Any, results: Any, name: Any = None) -> None:
    """Do nothing: `execute` records on tapes itself."""


def forward_gradient(
    op_name: str,
    attr_tuple: Sequence[Any],
    inputs: Sequence[Tensor],
    outputs: Sequence[Tensor],
    tangents: Sequence[Tensor],
) -> list[Tensor | None]:
    """Return the tangents of an operation's results by running it again.

    `attr_tuple` has names and values in turn; there is one tangent for each input.
    """
    from stillflow.eager.forwardprop import tangents_of

    def run() -> list[Any]:
        return execute(op_name, len(outputs), inputs, attr_tuple, None)

    return tangents_of(run, inputs, tangents)


def args_to_matching_eager(
    values: Sequence[Any], ctx: Any, default_dtype: Any = None
) -> tuple[int, list[Any]]:
    """Make tensors of one type, `default_dtype` if no value has one.

    Returns the number of the type in `types.proto`, and the tensors.
    """
    del ctx
    given = [value.dtype for value in values if isinstance(value, Tensor)]
    dtype = given[0] if given else None
    if dtype is None and values and default_dtype is not None:
        tensors = [convert_to_tensor(values[0], preferred_dtype=default_dtype)]
        dtype = tensors[0].dtype
    if dtype is None and values:
        dtype = convert_to_tensor(values[0]).dtype
    tensors = [convert_to_tensor(value, dtype) for value in values]
    return dtypes.as_dtype(dtype or default_dtype).as_datatype_enum, tensors


def convert_to_mixed_eager_tensors(values: Any, ctx: Any) -> tuple[list[int], list[Any]]:
    """Convert values to tensors, and return the numbers of their types with them."""
    del ctx
    tensors = [convert_to_tensor(value) for value in values]
    return [tensor.dtype.as_datatype_enum for tensor in tensors], tensors


def make_type(v: Any, arg_name: str) -> int:
    """Return the number of a type in `types.proto`."""
    try:
        number: int = dtypes.as_dtype(v).base_dtype.as_datatype_enum
    except TypeError:
        raise TypeError(f"Expected DataType for argument '{arg_name}' not {v!r}.") from None
    return number


def make_shape(v: Any, arg_name: str) -> list[int | None] | None:
    """Return a shape as a list, None where the rank is unknown."""
    try:
        shape = TensorShape(v)
    except TypeError as error:
        raise TypeError(f"Error converting {arg_name} to a TensorShape: {error}.") from None
    except ValueError as error:
        raise ValueError(f"Error converting {arg_name} to a TensorShape: {error}.") from None
    return None if shape.ndims is None else shape.as_list()


def make_str(v: Any, arg_name: str) -> bytes:
    """Return a string attribute as bytes."""
    if not isinstance(v, (str, bytes)):
        raise TypeError(f"Expected string for argument '{arg_name}' not {v!r}.")
    return v.encode() if isinstance(v, str) else v


def make_int(v: Any, arg_name: str) -> int:
    """Return an integer attribute."""
    if isinstance(v, str):
        raise TypeError(f"Expected int for argument '{arg_name}' not {v!r}.")
    try:
        return int(v)
    except (TypeError, ValueError):
        raise TypeError(f"Expected int for argument '{arg_name}' not {v!r}.") from None


def make_float(v: Any, arg_name: str) -> float:
    """Return a floating attribute."""
    if isinstance(v, (str, bytes)) or not hasattr(v, "__float__"):
        raise TypeError(f"Expected float for argument '{arg_name}' not {v!r}.")
    return float(v)


def make_bool(v: Any, arg_name: str) -> bool:
    """Return a boolean attribute."""
    if not isinstance(v, bool):
        raise TypeError(f"Expected bool for argument '{arg_name}' not {v!r}.")
    return v


def attributes(card: Card, attrs: Sequence[Any]) -> dict[str, Any]:
    """Return attributes by their names; InvalidArgumentError for one of another kind."""
    known: dict[str, Any] = {}
    declared = card.signature.attrs
    for name, value in zip(attrs[::2], attrs[1::2], strict=True):
        name = name.decode() if isinstance(name, bytes) else name
        if name not in declared and not name.startswith("_"):
            raise errors.invalid_argument(
                f"NodeDef mentions attr '{name}' not in Op<name={card.name}>"
            )
        kind = declared[name].kind if name in declared else ""
        if not _fits(kind, value):
            raise errors.invalid_argument(
                f"Expecting {_described(kind)} value for attr {name}, got {type(value).__name__}"
            )
        if kind == "type":
            value = dtypes.as_dtype(value)
        elif kind == "list(type)":
            value = [dtypes.as_dtype(one) for one in value]
        known[name] = value
    return known


_KINDS: dict[str, Any] = {
    "int": int, "float": (int, float), "bool": (bool, int), "string": (str, bytes),
    "shape": (list, tuple, TensorShape, type(None)),
}  # fmt: skip


def _fits(kind: str, value: Any) -> bool:
    if kind.startswith("list("):
        inner = kind[5:-1]
        return isinstance(value, (list, tuple)) and all(_fits(inner, one) for one in value)
    return isinstance(value, _KINDS[kind]) if kind in _KINDS else True


def _described(kind: str) -> str:
    return f"sequence {kind}" if kind.startswith("list(") else kind


def _arguments(card: Card, inputs: list[Any], known: dict[str, Any]) -> Iterator[Any]:
    """Yield the inputs of each argument: a list of as many as attributes say for lists."""
    wanted = []
    for arg in card.signature.inputs:
        count = 1
        if arg.number_attr is not None:
            count = known[arg.number_attr]
        elif arg.type_list_attr is not None:
            count = len(known[arg.type_list_attr])
        wanted.append((arg.is_list, count))
    total = sum(count for _, count in wanted)
    if total != len(inputs):
        raise errors.invalid_argument(
            f"{card.name} expects {total} inputs, but {len(inputs)} were given"
        )
    rest = iter(inputs)
    for is_list, count in wanted:
        taken = [next(rest) for _ in range(count)]
        yield taken if is_list else taken[0]
