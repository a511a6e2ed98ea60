"""Docstrings of a library's Python functions, in the form of TensorFlow's generated ones."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from stillflow.graph.signature import Arg, Attr, Signature
from stillflow.graph.tensor_shape import TensorShape

_ENTRY = re.compile(r"([a-z]\w*)\s*:\s*(.*)")
_WIDTH = 78  # of a line, before its indentation by the function
_KINDS = {
    "int": "`int`", "float": "`float`", "bool": "`bool`", "string": "`string`",
    "type": "`tf.DType`", "shape": "`tf.TensorShape` or list of `ints`",
    "tensor": "`tf.TensorProto`", "func": "function decorated with @Defun",
}  # fmt: skip


def describe(signature: Signature, doc: str) -> str:
    """Return the docstring of the function of an operation.

    `doc` is the text of `.Doc(...)`: a summary, a description, and `name: text` of arguments.
    """
    text, told = _split(doc, signature)
    lines = [text or "TODO: add doc.", "", "Args:"]
    entries = [(arg.name, _argument(arg, signature)) for arg in signature.inputs]
    inferred = {
        name for a in signature.inputs for name in (a.type_attr, a.number_attr, a.type_list_attr)
    }
    free = [attr for attr in signature.attrs.values() if attr.name not in inferred]
    entries += [(a.name, _attribute(a)) for a in sorted(free, key=lambda attr: attr.has_default)]
    for name, kind in entries:
        lines += _with_text(f"  {name}: {kind}", told.get(name, ()))
    lines += ["  name: A name for the operation (optional).", "", "Returns:"]
    lines += _returns(signature, told)
    first, *others = "\n".join(lines).split("\n")
    return "\n".join([first, *(f"  {line}" if line else "" for line in others), "  "])


def _with_text(line: str, text: Sequence[str]) -> list[str]:
    """Return an entry and its description, which begins on the same line if it fits there."""
    if text and len(line) + 1 + len(text[0]) <= _WIDTH:
        line, text = f"{line} {text[0]}", text[1:]
    return [line, *(f"    {more}" for more in text)]


def _split(doc: str, signature: Signature) -> tuple[str, dict[str, list[str]]]:
    """Return the text of the operation, and the lines of each argument."""
    names = {arg.name for arg in (*signature.inputs, *signature.outputs)} | set(signature.attrs)
    text: list[str] = []
    told: dict[str, list[str]] = {}
    current = text
    for line in doc.strip().splitlines():
        match = _ENTRY.match(line)
        if match and match[1] in names:
            current = told.setdefault(match[1], [])
            line = match[2]
        elif current is not text:
            line = line.removeprefix("  ")
        current.append(line.rstrip())
    for lines in told.values():
        while lines and not lines[-1]:
            lines.pop()
    return "\n".join(text).strip(), told


def _argument(arg: Arg, signature: Signature) -> str:
    if arg.type_list_attr is not None:
        allowed = signature.attrs[arg.type_list_attr].allowed
        types = f" with types from: {_types(allowed)}" if allowed else ""
        return f"A list of `Tensor` objects{types}."
    is_list = arg.number_attr is not None
    start = "A `Tensor`"
    if arg.number_attr is not None:
        least = signature.attrs[arg.number_attr].minimum
        start = f"A list of {f'at least {least} ' if least else ''}`Tensor` objects"
    mutable = "mutable " if arg.is_ref else ""
    if arg.dtype is not None:
        return f"{start} {'with' if is_list else 'of'} type {mutable}`{arg.dtype.name}`."
    allowed = signature.attrs[arg.type_attr or ""].allowed
    if is_list:
        same = " with the same type"
        types = f" in: {_types(allowed)}" if allowed else ""
        return f"{start}{same}{types}."
    if not allowed:
        return f"A {mutable}`Tensor`."
    return f"A {mutable}`Tensor`. Must be one of the following types: {_types(allowed)}."


def _types(allowed: Sequence[Any]) -> str:
    return ", ".join("`half`" if t.name == "float16" else f"`{t.name}`" for t in allowed)


def _attribute(attr: Attr) -> str:
    text = _KINDS[attr.element]
    if attr.is_list:
        text = f"list of {text[:-1]}s`" if attr.element != "shape" else "list of shapes (each a "
        text += f"{_KINDS['shape']})" if attr.element == "shape" else ""
    if attr.minimum is not None:
        text += f" that {'has length' if attr.is_list else 'is'} `>= {attr.minimum}`"
    if attr.allowed is not None:
        if attr.element == "string":
            listed = ", ".join(f'"{each.decode()}"' for each in attr.allowed)
        else:
            listed = ", ".join(f"tf.{_dtype(each)}" for each in attr.allowed)
        text += f" from: `{listed}`"
    if attr.has_default:
        return f"An optional {text}. Defaults to `{_default(attr)}`."
    return f"A{'n' if text.startswith('`int') else ''} {text}."


def _dtype(dtype: Any) -> str:
    return "half" if dtype.name == "float16" else str(dtype.name)


def _default(attr: Attr) -> str:
    values = [_one(value, attr) for value in (attr.default if attr.is_list else [attr.default])]
    return f"[{', '.join(values)}]" if attr.is_list else values[0]


def _one(value: Any, attr: Attr) -> str:
    if isinstance(value, bytes):
        return f'"{value.decode()}"'
    if isinstance(value, TensorShape):
        dims = value._dims
        return "None" if dims is None else str([-1 if size is None else size for size in dims])
    if isinstance(value, float):
        return f"{value:g}"
    return f"tf.{_dtype(value)}" if attr.element == "type" else str(value)


def _returns(signature: Signature, told: dict[str, list[str]]) -> list[str]:
    outputs = signature.outputs
    if not outputs:
        return ["  The created Operation."]
    if len(outputs) == 1:
        lines = told.get(outputs[0].name, [])
        return [f"  {_output(outputs[0], signature)}", *(f"  {line}" for line in lines)]
    lines = [f"  A tuple of `Tensor` objects ({', '.join(arg.name for arg in outputs)}).", ""]
    for arg in outputs:
        first, *more = told.get(arg.name) or [""]
        lines.append(f"  {arg.name}: {_output(arg, signature)} {first}".rstrip())
        lines += [f"    {line}" for line in more]
    return lines


def _output(arg: Arg, signature: Signature) -> str:
    start, kind = "A `Tensor`", f"`{arg.type_attr}`"
    if arg.type_list_attr is not None:
        same = _with_same(signature, "type_list_attr", arg.type_list_attr)
        kind = f". Has the same type as `{same}`" if same else f" of type `{arg.type_list_attr}`"
        return f"A list of `Tensor` objects{kind}."
    if arg.number_attr is not None:
        same = _with_same(signature, "number_attr", arg.number_attr)
        length = f"with the same length as `{same}` of" if same else f"of `{arg.number_attr}`"
        start = f"A list {length} `Tensor` objects"
    mutable = "mutable " if arg.is_ref else ""
    if arg.dtype is not None:
        preposition = "of" if arg.number_attr is None else "with"
        return f"{start} {preposition} type {mutable}`{arg.dtype.name}`."
    same = _with_same(signature, "type_attr", arg.type_attr)
    if same is not None:
        if arg.number_attr is None:
            return f"A {mutable}`Tensor`. Has the same type as `{same}`."
        return f"{start} with the same type as `{same}`."
    preposition = "of" if arg.number_attr is None else "with"
    return f"{start} {preposition} type {mutable}{kind}."


def _with_same(signature: Signature, field: str, name: str | None) -> str | None:
    """Return the first input that names an attribute."""
    return next((a.name for a in signature.inputs if getattr(a, field) == name), None)
