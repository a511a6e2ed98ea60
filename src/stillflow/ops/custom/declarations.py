"""Signatures from the texts of REGISTER_OP: `.Attr("T: {float, int32} = DT_FLOAT")`."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from stillflow import errors
from stillflow.graph.dtypes import DType, as_dtype
from stillflow.graph.signature import Arg, Attr, Signature
from stillflow.graph.tensor_shape import TensorShape

_QUANTIZED = ("qint8", "quint8", "qint32", "qint16", "quint16")
_REAL = (
    "float", "double", "int32", "uint8", "int16", "int8", "int64", "bfloat16", "uint16", "half",
    "uint32", "uint64",
)  # fmt: skip
_NUMBERS = (
    "float", "double", "int32", "uint8", "int16", "int8", "complex64", "int64", "qint8", "quint8",
    "qint32", "bfloat16", "uint16", "complex128", "half", "uint32", "uint64",
)  # fmt: skip
_GROUPS = {
    "numbertype": _NUMBERS, "numerictype": _NUMBERS, "quantizedtype": _QUANTIZED,
    "realnumbertype": _REAL, "realnumerictype": _REAL,
}  # fmt: skip
_KINDS = ("string", "int", "float", "bool", "type", "shape", "tensor", "func")
_ATTR = re.compile(
    r"\s*([A-Za-z_]\w*)\s*:\s*(list\s*\(\s*)?(\{.*?\}|\w+)\s*(?(2)\)\s*)"
    r"(?:>=\s*(-?\d+)\s*)?(?:=\s*(.*?)\s*)?$",
    re.S,
)
_ARG = re.compile(
    r"\s*([a-z][a-z0-9_]*)\s*:\s*(Ref\s*\(\s*)?(?:([A-Za-z_]\w*)\s*\*\s*)?(\w+)\s*(?(2)\)\s*)$"
)


class Declaration(NamedTuple):
    """Registration of an operation by a library."""

    name: str
    doc: str
    inputs: list[str]
    outputs: list[str]
    attributes: list[str]
    flags: frozenset[str]
    infers_shapes: bool


def signature_of(declared: Declaration) -> Signature:
    """Return the signature of a declaration; InvalidArgumentError for a malformed text."""
    attrs = {attr.name: attr for attr in (_attr(declared, text) for text in declared.attributes)}
    inputs = tuple(_arg(declared, text, attrs, "Input") for text in declared.inputs)
    outputs = tuple(_arg(declared, text, attrs, "Output") for text in declared.outputs)
    return Signature(declared.name, inputs, outputs, attrs, declared.flags)


def _trouble(declared: Declaration, kind: str, text: str, problem: str) -> errors.OpError:
    return errors.invalid_argument(f'{problem} from {kind}("{text}") for Op {declared.name}')


def _arg(declared: Declaration, text: str, attrs: dict[str, Attr], kind: str) -> Arg:
    match = _ARG.match(text)
    if match is None:
        raise _trouble(declared, kind, text, "Trouble parsing 'name:'")
    name, ref, number, type_name = match.groups()
    is_ref = ref is not None
    attr = attrs.get(type_name)
    if number is not None and number not in attrs:
        raise _trouble(declared, kind, text, f"Reference to unknown attr '{number}'")
    if attr is not None and attr.kind == "list(type)":
        return Arg(name, type_list_attr=type_name, is_ref=is_ref)
    if attr is not None:
        return Arg(name, type_attr=type_name, number_attr=number, is_ref=is_ref)
    try:
        dtype = as_dtype(type_name)
    except TypeError:
        raise _trouble(declared, kind, text, f"Reference to unknown attr '{type_name}'") from None
    return Arg(name, dtype=dtype, number_attr=number, is_ref=is_ref)


def _attr(declared: Declaration, text: str) -> Attr:
    match = _ATTR.match(text)
    if match is None:
        raise _trouble(declared, "Attr", text, "Trouble parsing '<name>:'")
    name, is_list, kind, minimum, default = match.groups()
    try:
        kind, allowed = _kind(kind)
        given = {} if default is None else {"default": _default(kind, bool(is_list), default)}
    except (ValueError, SyntaxError, TypeError, KeyError):
        raise _trouble(declared, "Attr", text, "Trouble parsing") from None
    least = None if minimum is None else int(minimum)
    return Attr(name, f"list({kind})" if is_list else kind, allowed, least, **given)


def _kind(text: str) -> tuple[str, tuple[Any, ...] | None]:
    """Return the kind of an attribute, and the values that it may have."""
    if text in _GROUPS:
        return "type", tuple(map(as_dtype, _GROUPS[text]))
    if text in _KINDS:
        return text, None
    inner = text[1:-1].strip() if text.startswith("{") else ""
    if inner[:1] in ("'", '"'):
        return "string", tuple(item.encode() for item in ast.literal_eval(f"({inner},)"))
    allowed: list[DType] = []
    for item in filter(None, (part.strip() for part in inner.split(","))):
        allowed += map(_type, _GROUPS.get(item, (item,)))
    if not allowed:
        raise ValueError(text)
    return "type", tuple(dict.fromkeys(allowed))


# ---- defaults, in the text form of protocol buffers


def _default(kind: str, is_list: bool, text: str) -> Any:
    if not is_list:
        return _READERS[kind](text)
    inner = text.strip()
    if not (inner.startswith("[") and inner.endswith("]")):
        raise ValueError(text)
    return tuple(_READERS[kind](item) for item in _items(inner[1:-1]))


def _items(text: str) -> Iterable[str]:
    """Split at commas that are in no quotes and no braces."""
    depth, quote, part = 0, "", ""
    for character in text:
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        elif character in "{}":
            depth += 1 if character == "{" else -1
        elif character == "," and not depth:
            yield part.strip()
            part = ""
            continue
        part += character
    if part.strip():
        yield part.strip()


def _string(text: str) -> bytes:
    value = ast.literal_eval(text)
    if not isinstance(value, str):
        raise ValueError(text)
    return value.encode()


def _bool(text: str) -> bool:
    return {"true": True, "false": False}[text.strip().lower()]


def _float(text: str) -> float:
    return float(np.float32(text.strip().removesuffix("f")))


def _type(text: str) -> DType:
    return as_dtype(text.strip().removeprefix("DT_").lower())


def _shape(text: str) -> TensorShape:
    if re.search(r"unknown_rank\s*:\s*true", text):
        return TensorShape(None)
    sizes = [int(size) for size in re.findall(r"size\s*:\s*(-?\d+)", text)]
    return TensorShape([None if size < 0 else size for size in sizes])


def _tensor(text: str) -> Any:
    from google.protobuf import text_format

    from stillflow.protos import TensorProto

    return text_format.Parse(text.strip().removeprefix("{").removesuffix("}"), TensorProto())


def _function(text: str) -> Any:
    from stillflow.protos import NameAttrList

    found = re.search(r"name\s*:\s*['\"](.*?)['\"]", text)
    return NameAttrList(name=found[1] if found else text.strip("'\" "))


_READERS: dict[str, Callable[[str], Any]] = {
    "int": lambda text: int(text, 0), "float": _float, "bool": _bool, "string": _string,
    "type": _type, "shape": _shape, "tensor": _tensor, "func": _function,
}  # fmt: skip
