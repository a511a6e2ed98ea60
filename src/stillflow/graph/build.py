"""Calls of op cards as graph nodes: inputs become tensors, types become attributes."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

from stillflow.graph import operation, removed_ops, tapes
from stillflow.graph.attrs import check, normalize
from stillflow.graph.card import Card
from stillflow.graph.conversion import convert_n_to_tensor, convert_to_tensor
from stillflow.graph.dtypes import DType
from stillflow.graph.graph import Graph, get_default_graph
from stillflow.graph.operation import Operation, Tensor
from stillflow.graph.signature import Arg, Attr, Signature


def apply(card: Card, inputs: Sequence[Any], attrs: dict[str, Any], name: str | None) -> Any:
    """Add a node of `card` to the graph of its inputs.

    There is one input per argument of the signature, a list for list arguments; attributes that
    follow from the inputs' types may be left out. Returns the output tensor, a named tuple of
    several, a list for a list output, or the operation where there are no outputs. TypeError if a
    value cannot become a tensor of a type the op takes, ValueError if shapes or attribute values
    are rejected.
    """
    graph = get_default_graph()
    if graph.runs_at_once:
        return graph.call(card, inputs, attrs, name)  # type: ignore[attr-defined]
    return add_node(graph_of(inputs), card, inputs, attrs, name)


def add_node(
    graph: Graph, card: Card, inputs: Sequence[Any], attrs: dict[str, Any], name: str | None
) -> Any:
    """Add a node of `card` to `graph`; see `apply`."""
    signature = card.signature
    if len(inputs) != len(signature.inputs):
        raise TypeError(
            f"{card.name} takes {len(signature.inputs)} inputs, not {len(inputs)}: "
            f"{', '.join(arg.name for arg in signature.inputs)}"
        )
    for arg, value in zip(signature.inputs, inputs, strict=True):
        if arg.number_attr is not None and not isinstance(value, (list, tuple)):
            raise TypeError(
                f"Expected list for '{arg.name}' argument to '{signature.function}' Op, "
                f"not {value!r}."
            )
    known = given_attrs(card, attrs)
    if card.removed:
        _check_not_removed(card.name, graph._producer)
    old = graph._name_stack
    stack, scope = graph._enter_name_scope(name or card.name)  # later errors name it
    graph._name_stack = stack
    try:
        tensors: list[Tensor] = []
        for arg, value in zip(signature.inputs, inputs, strict=True):
            tensors.extend(_convert(card, arg, value, known))
        check_attrs(card, known)
        types = output_types(card, known)
        with _with_references(graph, signature, tensors):
            op = graph.add_op(card, tensors, known, types, scope[:-1])
    finally:
        graph._name_stack = old
    if tapes.active.tapes:
        tapes.record_operation(op)
    return results(op)


def _check_not_removed(name: str, producer: int) -> None:
    """Raise NotImplementedError for an op that was removed before this version of graphs."""
    message = removed_ops.refusal(name, producer)
    if message is not None:
        raise NotImplementedError(message)


def _with_references(graph: Graph, signature: Signature, tensors: list[Tensor]) -> Any:
    """Ops that take references are placed where the variables are."""
    if not signature.takes_references:
        return contextlib.nullcontext()
    stack = contextlib.ExitStack()
    # As in TensorFlow, the first of a list counts only.
    for arg, tensor in zip(signature.inputs, tensors):
        if arg.is_ref:
            stack.enter_context(graph.colocate_with(tensor.op))
    return stack


def graph_of(values: Sequence[Any]) -> Graph:
    """Return the default graph, to which all tensors among `values` must belong.

    TypeError if one is in a graph, in eager execution; ValueError for different graphs.
    """
    default = get_default_graph()
    first: Tensor | None = None
    for value in values:
        for item in value if type(value) in (list, tuple) else (value,):
            if type(item) is not Tensor:
                if getattr(type(item), "is_read_for_graph", False):
                    item._as_graph_element()  # as TensorFlow does to learn its graph
                continue
            if item.op.graph is not default:
                if default.runs_at_once:
                    _check_eager(item)
                if default._building_function:
                    return default
                if first is not None:
                    raise ValueError(f"{item} must be from the same graph as {first}.")
                return _check_same_graph(values, item)
            elif first is None:
                first = item
    return default


def has_symbolic(values: Sequence[Any]) -> bool:
    """Return True if `values`, or the lists in it, contain a tensor of a graph."""
    for value in values:
        if type(value) is Tensor:
            return True
        if type(value) in (list, tuple) and any(type(item) is Tensor for item in value):
            return True
    return False


def _check_eager(tensor: Tensor) -> None:
    """Raise an error for a symbolic tensor in eager execution, except in a Keras graph."""
    if getattr(tensor.op.graph, "name", None) != "keras_graph":
        raise TypeError(
            "An op outside of the function building code is being passed\n"
            'a "Graph" tensor. Graph tensors have values only while their graph or function run.\n'
            f"The graph tensor has name: {tensor.name}"
        )


def _check_same_graph(values: Sequence[Any], first: Tensor) -> Graph:
    """Check that inputs that are not of the default graph all come from one graph."""
    for value in values:
        for item in value if isinstance(value, (list, tuple)) else (value,):
            if isinstance(item, Tensor) and item.home not in (None, first.graph):
                raise ValueError(f"{item} must be from the same graph as {first}.")
    return first.graph


def _convert(card: Card, arg: Arg, value: Any, known: dict[str, Any]) -> list[Tensor]:
    """Turn one argument into tensors and record the attributes that it determines."""
    if not arg.is_list:
        if type(value) is Tensor and not arg.is_ref:  # by far the most frequent case
            tensor = value
        else:
            tensor = _convert_one(card, arg, value, known)
        record_type(card, arg, tensor, known)
        return [tensor]
    if not isinstance(value, (list, tuple)):
        raise TypeError(
            f"Expected list for '{arg.name}' argument to '{card.name}' Op, not {value}."
        )
    tensors = _convert_list(card, arg, list(value), known)
    if arg.number_attr is not None:
        _record_number(card, arg, len(tensors), known)
        for tensor in tensors:
            record_type(card, arg, tensor, known)
        return tensors
    assert arg.type_list_attr is not None
    types = [tensor.dtype.base_dtype for tensor in tensors]
    if known.setdefault(arg.type_list_attr, types) != types:
        raise TypeError(
            f"Input '{arg.name}' of '{card.name}' Op has types {types} that do not match "
            f"{known[arg.type_list_attr]}."
        )
    attr = card.signature.attrs[arg.type_list_attr]
    if attr.allowed is not None:
        for dtype in types:
            if dtype not in attr.allowed:
                raise TypeError(_not_allowed(arg.name, dtype, attr))
    return tensors


def _expected(card: Card, arg: Arg, known: dict[str, Any]) -> tuple[DType | None, DType | None]:
    """Return the dtype an argument must have, or else the one it should preferably have."""
    if arg.dtype is not None:
        return arg.dtype, None
    if arg.type_attr in known:
        return known[arg.type_attr], None
    attr = card.signature.attrs.get(arg.type_attr or "")
    return None, attr.default if attr is not None and attr.has_default else None


def _convert_one(card: Card, arg: Arg, value: Any, known: dict[str, Any]) -> Tensor:
    dtype, preferred = _expected(card, arg, known)
    try:
        return convert_to_tensor(
            value, dtype=dtype, name=arg.name, preferred_dtype=preferred, as_ref=arg.is_ref
        )
    except TypeError as error:
        if dtype is None:
            raise
        raise TypeError(
            f"Expected {dtype.name} passed to parameter '{arg.name}' of op '{card.name}', got "
            f"{value!r} of type '{type(value).__name__}' instead. Error: {error}"
        ) from None
    except ValueError:
        try:
            seen = convert_to_tensor(value, name=arg.name, as_ref=arg.is_ref).dtype.name
        except ValueError as error:
            raise ValueError(
                f"Tried to convert '{arg.name}' to a tensor and failed. Error: {error}"
            ) from None
        raise TypeError(_mismatch(card, arg, seen, known)) from None


def _mismatch(card: Card, arg: Arg, seen: str, known: dict[str, Any]) -> str:
    prefix = f"Input '{arg.name}' of '{card.name}' Op has type {seen} that does not match"
    if arg.dtype is not None:
        return f"{prefix} expected type of {arg.dtype.name}."
    first = next(a.name for a in card.signature.inputs if a.type_attr == arg.type_attr)
    expected = known[arg.type_attr].name if arg.type_attr in known else "?"
    return f"{prefix} type {expected} of argument '{first}'."


def _convert_list(card: Card, arg: Arg, values: list[Any], known: dict[str, Any]) -> list[Tensor]:
    dtype, preferred = (None, None) if arg.type_list_attr else _expected(card, arg, known)
    if arg.type_list_attr in known:
        declared = known[arg.type_list_attr]
        if len(declared) == len(values):
            return [
                convert_to_tensor(v, dtype=t, name=f"{arg.name}_{i}", as_ref=arg.is_ref)
                for i, (v, t) in enumerate(zip(values, declared, strict=True))
            ]
    if dtype is None and arg.number_attr is not None:
        dtype = next((v.dtype.base_dtype for v in values if isinstance(v, Tensor)), None)
    try:
        tensors = convert_n_to_tensor(
            values, dtype=dtype, name=arg.name, preferred_dtype=preferred, as_ref=arg.is_ref
        )
        if arg.number_attr and len({t.dtype.base_dtype for t in tensors}) > 1:
            raise TypeError
    except (TypeError, ValueError):
        raise TypeError(_list_mismatch(card, arg, values, known)) from None
    return tensors


def _list_mismatch(card: Card, arg: Arg, values: list[Any], known: dict[str, Any]) -> str:
    prefix = f"Tensors in list passed to '{arg.name}' of '{card.name}' Op have types"
    seen = []
    for value in values:
        try:
            seen.append(convert_to_tensor(value, as_ref=arg.is_ref).dtype.name)
        except (TypeError, ValueError):
            seen.append("<NOT CONVERTIBLE TO TENSOR>")
    types = ", ".join(seen)
    if arg.dtype is not None:
        return f"{prefix} [{types}] that do not match expected type {arg.dtype.name}."
    if arg.type_attr in known:
        expected = known[arg.type_attr].name
        return (
            f"{prefix} [{types}] that do not match type {expected} inferred from earlier arguments."
        )
    return f"{prefix} [{types}] that don't all match."


def record_type(card: Card, arg: Arg, tensor: Tensor, known: dict[str, Any]) -> None:
    dtype = tensor.dtype
    base = dtype.base_dtype
    if arg.is_ref and not dtype._is_ref_dtype:
        raise TypeError(
            f"'{card.name}' Op requires that input '{arg.name}' be a mutable tensor "
            "(e.g.: a tf.Variable)"
        )
    if arg.type_attr is None:
        if base != arg.dtype:
            raise TypeError(_mismatch(card, arg, base.name, known))
        return
    expected = known.get(arg.type_attr)
    if expected is None:
        known[arg.type_attr] = base
        attr = card.signature.attrs[arg.type_attr]
        if attr.allowed is not None and base not in attr.allowed:
            raise TypeError(_not_allowed(arg.name, base, attr))
    elif expected is not base:
        raise TypeError(_mismatch(card, arg, base.name, known))


def _not_allowed(parameter: str, dtype: DType, attr: Attr) -> str:
    assert attr.allowed is not None
    allowed = ", ".join(item.name for item in attr.allowed)
    return (
        f"Value passed to parameter '{parameter}' has DataType {dtype.name} not in list of "
        f"allowed values: {allowed}"
    )


def _record_number(card: Card, arg: Arg, number: int, known: dict[str, Any]) -> None:
    assert arg.number_attr is not None
    attr = card.signature.attrs[arg.number_attr]
    if known.setdefault(arg.number_attr, number) != number:
        same = next(a.name for a in card.signature.inputs if a.number_attr == arg.number_attr)
        raise ValueError(
            f"List argument '{arg.name}' to '{card.name}' Op with length {number} must match "
            f"length {known[arg.number_attr]} of argument '{same}'."
        )
    if attr.minimum is not None and number < attr.minimum:
        raise ValueError(
            f"List argument '{arg.name}' to '{card.name}' Op with length {number} shorter than "
            f"minimum length {attr.minimum}."
        )


def given_attrs(card: Card, attrs: dict[str, Any]) -> dict[str, Any]:
    """Return a call's attributes in internal form, not yet checked; None stands for a default.

    TypeError if a value is of the wrong kind, as None is where there is no default.
    """
    signature = card.signature
    declared = signature.attrs
    return {
        key: normalize(value, declared[key], signature.function) if key in declared else value
        for key, value in attrs.items()
        if value is not None or key in signature.required
    }


def check_attrs(card: Card, known: dict[str, Any]) -> None:
    """Fill in defaults; raise an error for attributes that are missing, unknown or not allowed."""
    declared = card.signature.attrs
    for name, attr in declared.items():
        value = known.get(name)
        if value is None:
            if not attr.has_default:
                raise TypeError(f"No argument for attr {name} of op {card.name}")
            known[name] = list(attr.default) if attr.is_list else attr.default
        elif attr.allowed is not None and attr.element == "type":
            for dtype in value if attr.is_list else (value,):
                if dtype not in attr.allowed:
                    raise TypeError(_not_allowed(name, dtype, attr))
        elif attr.allowed is not None or attr.minimum is not None or attr.element == "shape":
            check(value, attr, card.name)
    for name in known:
        if name not in declared and not name.startswith("_"):
            raise TypeError(f"{card.name} got unexpected keyword arguments: {name}")


def complete_attrs(card: Card, attrs: dict[str, Any], inputs: Sequence[Tensor]) -> None:
    """Derive the attributes that inputs determine and fill in defaults, checking both.

    For operations built from bare parts: `Graph.create_op` and imported GraphDefs.
    """
    position = 0
    for arg in card.signature.inputs:
        if arg.number_attr is not None:
            count = attrs.get(arg.number_attr)
            if count is None:
                count = attrs[arg.number_attr] = len(inputs) - position
        elif arg.type_list_attr is not None:
            types = attrs.get(arg.type_list_attr)
            if types is None:
                types = [t.dtype.base_dtype for t in inputs[position:]]
                attrs[arg.type_list_attr] = types
            count = len(types)
        else:
            count = 1
        if position + count > len(inputs):
            raise ValueError(
                f"op {card.name} expects more inputs than the {len(inputs)} it was given"
            )
        for tensor in inputs[position : position + count]:
            if arg.type_list_attr is None:
                record_type(card, arg, tensor, attrs)
        position += count
    if position != len(inputs):
        raise ValueError(f"op {card.name} takes {position} inputs, not {len(inputs)}")
    check_attrs(card, attrs)


def output_types(card: Card, attrs: dict[str, Any]) -> list[DType]:
    """Return the dtype of every output, lists spelled out."""
    return _types(card.signature.outputs, attrs)


def input_types(card: Card, attrs: dict[str, Any]) -> list[DType]:
    """Return the dtype of every input, lists spelled out."""
    return _types(card.signature.inputs, attrs)


def _types(args: Sequence[Arg], attrs: dict[str, Any]) -> list[DType]:
    types: list[DType] = []
    for arg in args:
        if arg.type_list_attr is not None:
            types.extend(attrs[arg.type_list_attr])
            continue
        dtype = arg.dtype if arg.dtype is not None else attrs[arg.type_attr or ""]
        if arg.is_ref:
            dtype = dtype._as_ref
        types.extend([dtype] * (_count(attrs, arg.number_attr) if arg.number_attr else 1))
    return types


_MOST_TENSORS = 1 << 20  # of one argument of an operation


def _count(attrs: dict[str, Any], name: str) -> int:
    """Return the number of tensors of a list argument, before the tensors exist."""
    count: int = attrs[name]
    if count > 2**31 - 1:
        raise ValueError(f"Attr {name} has value {count} out of range for an int32")
    if count > _MOST_TENSORS:
        raise ValueError(f"Attr {name} has value {count}; the limit is {_MOST_TENSORS} tensors")
    return count


def results(op: Operation) -> Any:
    """Return the result of a card's call: a tensor, list, named tuple, or the operation."""
    return result_structure(op.card, op.attrs, op._outputs, op)


def result_structure(card: Card, attrs: dict[str, Any], outputs: list[Any], nothing: Any) -> Any:
    """Return an op's outputs as a call of its card does; `nothing` if there are none."""
    args = card.signature.outputs
    if not args:
        return nothing
    if card.gives_one:
        return outputs[0]
    parts: list[Any] = []
    position = 0
    for arg in args:
        if not arg.is_list:
            parts.append(outputs[position])
            position += 1
            continue
        count = arg_length(card.signature, arg, attrs)
        parts.append(outputs[position : position + count])
        position += count
    if len(args) == 1:
        return parts[0] if parts[0] else nothing
    return card.result_type(*parts)


def arg_length(signature: Signature, arg: Arg, attrs: dict[str, Any]) -> int:
    """Return the number of tensors that an argument stands for."""
    del signature
    if arg.number_attr is not None:
        return int(attrs[arg.number_attr])
    if arg.type_list_attr is not None:
        return len(attrs[arg.type_list_attr])
    return 1


operation.input_types.provide(input_types)
