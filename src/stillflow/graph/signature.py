"""Op signatures: the content of a TF OpDef, written as a few lines of text.

    Conv2D(input: T, filter: T) -> output: T
    T: {half, bfloat16, float, double}
    strides: list(int)
    use_cudnn_on_gpu: bool = true
    padding: {"SAME", "VALID", "EXPLICIT"}

Arguments: `x: T` (type attr or fixed type), `x: N*T` (a list of N tensors of one type), `x: [Ts]`
(a list typed by the list attr Ts), `x: &T` (a reference). Several outputs stand in parentheses.
Attributes stand one a line or separated by `;`: `N: int >= 1`, `T: type`, `T: {int32, int64} =
int32`, `Ts: list(type) >= 0`. A last line `flags: stateful, commutative, aggregate,
uninitialized` says the rest.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from stillflow.graph import dtypes
from stillflow.graph.dtypes import DType
from stillflow.graph.tensor_shape import TensorShape

_KINDS = ("int", "float", "bool", "string", "type", "shape", "tensor", "func")
_MISSING = object()


@dataclass(frozen=True)
class Arg:
    """One input or output argument of an op."""

    name: str
    dtype: DType | None = None  # fixed type
    type_attr: str | None = None
    number_attr: str | None = None
    type_list_attr: str | None = None
    is_ref: bool = False

    @property
    def is_list(self) -> bool:
        return self.number_attr is not None or self.type_list_attr is not None


@dataclass(frozen=True)
class Attr:
    """One attribute of an op. `default` is `_MISSING` where the op has none."""

    name: str
    kind: str  # one of _KINDS, or list(...) of one
    allowed: tuple[Any, ...] | None = None
    minimum: int | None = None
    default: Any = field(default=_MISSING)

    @property
    def has_default(self) -> bool:
        return self.default is not _MISSING

    @property
    def is_list(self) -> bool:
        return self.kind.startswith("list(")

    @property
    def element(self) -> str:
        """The kind of a list's elements, or the kind itself."""
        return self.kind[5:-1] if self.is_list else self.kind


@dataclass(frozen=True)
class Signature:
    """Signature of an op: inputs, outputs, attributes and traits."""

    name: str
    inputs: tuple[Arg, ...]
    outputs: tuple[Arg, ...]
    attrs: dict[str, Attr]
    flags: frozenset[str]

    @property
    def is_stateful(self) -> bool:
        return "stateful" in self.flags

    @cached_property
    def takes_references(self) -> bool:
        return any(arg.is_ref for arg in self.inputs)

    @cached_property
    def function(self) -> str:
        """The name of TF's generated function: `conv2d_backprop_input`, `string_to_number`."""
        return _HUMP.sub("_", self.name).lower()

    @cached_property
    def required(self) -> frozenset[str]:
        """The attributes that a caller has to give: without defaults, and no input tells them."""
        told = {
            name
            for arg in self.inputs
            for name in (arg.type_attr, arg.number_attr, arg.type_list_attr)
        }
        return frozenset(
            name for name, attr in self.attrs.items() if name not in told and not attr.has_default
        )


# Between a small letter and a capital one, and before a capital one that a small one follows.
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<!^)(?=[A-Z][a-z])")
_FLAGS = {"stateful", "commutative", "aggregate", "uninitialized"}
_HEAD = re.compile(r"(\w+)\s*\((.*?)\)\s*(?:->\s*(?:\((.*?)\)|([^\n;]*)))?\s*(?:\n|;|$)", re.S)
_ARG = re.compile(r"(\w+)\s*:\s*(&)?(?:(\w+)\*)?(\[)?(\w+)\]?")
_ATTR = re.compile(
    r"(\w+)\s*:\s*(list\()?(?:\{(.*?)\}|(\w+))\)?\s*(?:>=\s*(-?\d+))?\s*(?:=\s*(.*))?$", re.S
)


def parse(text: str) -> Signature:
    """Read the text form of a signature, or raise ValueError."""
    head = _HEAD.match(text.strip())
    if head is None:
        raise ValueError(f"not an op signature: {text.strip().splitlines()[0]!r}")
    name, inputs, several, single = head.groups()
    attrs: dict[str, Attr] = {}
    flags: frozenset[str] = frozenset()
    for line in _split_lines(text.strip()[head.end() :]):
        if line.startswith("flags:"):
            flags = frozenset(part.strip() for part in line[6:].split(","))
            if not flags <= _FLAGS:
                raise ValueError(f"op {name}: unknown flags in {line!r}")
            continue
        attr = _parse_attr(name, line)
        attrs[attr.name] = attr
    args = _parse_args(name, inputs, attrs)
    results = _parse_args(name, several if several is not None else single or "", attrs)
    return Signature(name, args, results, attrs, flags)


def _split_lines(text: str) -> list[str]:
    """Split attribute declarations at newlines and at semicolons outside quotes."""
    parts = re.split(r"""[;\n](?=(?:[^"]*"[^"]*")*[^"]*$)""", text)
    return [part.strip() for part in parts if part.strip()]


def _parse_args(op: str, text: str, attrs: dict[str, Attr]) -> tuple[Arg, ...]:
    args = []
    for part in filter(None, (p.strip() for p in text.split(","))):
        match = _ARG.fullmatch(part)
        if match is None:
            raise ValueError(f"op {op}: not an argument: {part!r}")
        name, ref, number, bracket, kind = match.groups()
        if bracket:
            args.append(Arg(name, type_list_attr=kind, is_ref=bool(ref)))
        elif kind in attrs:
            args.append(Arg(name, type_attr=kind, number_attr=number, is_ref=bool(ref)))
        else:
            dtype = dtypes.as_dtype(kind)
            args.append(Arg(name, dtype=dtype, number_attr=number, is_ref=bool(ref)))
    return tuple(args)


def _parse_attr(op: str, line: str) -> Attr:
    match = _ATTR.fullmatch(line)
    if match is None:
        raise ValueError(f"op {op}: not an attribute: {line!r}")
    name, is_list, allowed_text, kind, minimum, default_text = match.groups()
    allowed: tuple[Any, ...] | None = None
    if allowed_text is not None:
        items = [item.strip() for item in allowed_text.split(",")]
        if items[0].startswith('"'):
            kind, allowed = "string", tuple(json.loads(item).encode() for item in items)
        else:
            kind, allowed = "type", tuple(dtypes.as_dtype(item) for item in items)
    if kind not in _KINDS:
        raise ValueError(f"op {op}: unknown attribute kind {kind!r} in {line!r}")
    default: Any = _MISSING
    if default_text is not None:
        default = _parse_default(kind, bool(is_list), default_text.strip())
    full_kind = f"list({kind})" if is_list else kind
    return Attr(name, full_kind, allowed, int(minimum) if minimum else None, default)


def _parse_default(kind: str, is_list: bool, text: str) -> Any:
    if is_list:
        inner = text.strip()[1:-1].strip()
        if kind == "shape":
            return tuple(TensorShape(d) for d in json.loads(text.replace("?", "null")))
        items = re.split(r",\s*", inner) if inner else []
        return tuple(_parse_default(kind, False, item) for item in items)
    if kind == "type":
        return dtypes.as_dtype(text)
    if kind == "shape":
        return TensorShape(None if text == "?" else json.loads(text.replace("?", "null")))
    if kind == "string":
        return json.loads(text).encode()
    if kind == "float":
        return float(np.float32(text))
    if kind == "tensor":
        return _parse_tensor(text)
    return json.loads(text)


def _parse_tensor(text: str) -> Any:
    """Return a `TensorProto` from text: `int32 1`, `uint8 [255, 0]`."""
    from stillflow.graph.tensor_proto import make_tensor_proto

    name, _, written = text.partition(" ")
    dtype, value = dtypes.as_dtype(name), json.loads(written)
    proto = make_tensor_proto(value, dtype)
    if isinstance(value, list):  # TensorFlow's own default has them one by one
        proto.ClearField("tensor_content")
        proto.int_val[:] = value
    return proto
