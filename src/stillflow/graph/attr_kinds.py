"""Checks that an attribute of a node in a file has the kind that its op declares."""

from __future__ import annotations

from typing import Any

from stillflow import protos
from stillflow.graph.dtypes import as_dtype, cpp_name
from stillflow.graph.signature import Attr

# The field of an `AttrValue` for each kind, and of a list in one.
_FIELDS = {
    "string": "s", "int": "i", "float": "f", "bool": "b", "type": "type", "shape": "shape",
    "tensor": "tensor", "func": "func",
}  # fmt: skip
_REFERENCES = 100  # numbers of the types of references are beyond it
_KINDS = {field: kind for kind, field in _FIELDS.items()}


def check(message: Any, kind: str, attr: str, node: Any, minimum: int | None = None) -> None:
    """Raise ValueError for an `AttrValue` of another kind, such as "int" or "list(type)".

    So it does for a type that does not exist or is of references, and for a list shorter, or an
    integer smaller, than `minimum`. `node` is the `NodeDef` that has the value.
    """
    found = _kind_of(message, kind)
    if found == kind:
        types = list(message.list.type) if kind == "list(type)" else []
        types += [message.type] if kind == "type" else []
        bad = next((number for number in types if number not in protos.DataType.values()), None)
        reference = next((number for number in types if number > _REFERENCES), None)
        if bad is None and reference is None:
            _check_minimum(message, kind, attr, minimum)
            return
        problem = f"AttrValue has invalid DataType enum: {bad}"
        if bad is None:
            name = cpp_name(as_dtype(reference))
            problem = f"AttrValue must not have reference type value of {name}"
    elif found is None:
        problem = f"AttrValue missing value with expected type '{kind}'"
    else:
        problem = f"AttrValue had value with type '{found}' when '{kind}' expected"
    where = f"NodeDef: {{{{node {node.name}}}}}; Op<name={node.op}>"
    raise ValueError(f"{problem}\n\t for attr '{attr}'\n\t; {where}")


def check_allowed(message: Any, attr: Attr) -> None:
    """Raise ValueError for a value that the op's attribute does not allow."""
    if attr.allowed is None:
        return
    values: list[Any]
    if attr.element == "type":
        numbers = message.list.type if attr.is_list else [message.type]
        values, allowed = [cpp_name(as_dtype(n)) for n in numbers], map(cpp_name, attr.allowed)
    else:
        texts = message.list.s if attr.is_list else [message.s]
        values, allowed = [_quoted(text) for text in texts], map(_quoted, attr.allowed)
    listed = list(allowed)
    for value in values:
        if value not in listed:
            raise ValueError(
                f"Value for attr '{attr.name}' of {value} is not in the list of allowed values: "
                + ", ".join(listed)
            )


def _quoted(text: Any) -> str:
    return f'"{text.decode(errors="replace") if isinstance(text, bytes) else text}"'


def _check_minimum(message: Any, kind: str, attr: str, minimum: int | None) -> None:
    if minimum is None:
        return
    word, count = "Value", message.i
    if kind != "int":
        word, count = "Length", sum(len(items) for _, items in message.list.ListFields())
    if count < minimum:
        raise ValueError(f"{word} for attr '{attr}' of {count} must be at least minimum {minimum}")


def _kind_of(message: Any, expected: str) -> str | None:
    """Return the kind of a value; an empty list is of any kind. None if there is no value."""
    field = message.WhichOneof("value")
    if field == "placeholder":  # of a function's attribute: without a function there is none
        return None if expected == "type" else expected
    if field == "list":
        fields = [_KINDS[found.name] for found, _ in message.list.ListFields()]
        if not fields:
            return expected if expected.startswith("list(") else "list(?)"
        return f"list({fields[0]})"
    return None if field is None else _KINDS[field]
