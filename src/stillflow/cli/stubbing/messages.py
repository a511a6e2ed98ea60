"""Protobuf messages as stub files spell them: fields with their types, enums, nested messages.

Each file of messages has a stub of its own (`tensorflow/core/framework/graph_pb2`); messages that
are public are defined where they are public. Their common base and their containers are in
`tensorflow/_protobuf`, a copy of `protobuf.pyi`: no stubs of protobuf need to be installed.
"""

from __future__ import annotations

import keyword
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from google.protobuf.message import Message

from stillflow import protos
from stillflow.cli.stubbing.annotations import Annotations
from stillflow.cli.stubbing.signatures import doc_literal

PROTOBUF = "tensorflow._protobuf"
_ROOT = "tensorflow/"
_SUFFIX = "_pb2"
# Numbers of the types of protobuf's fields; all others, including enums, are integers.
_SCALARS = {1: "float", 2: "float", 8: "bool", 9: "str", 12: "bytes"}
# Types of arguments: numbers may be NumPy's, text may be encoded.
_GIVEN = {"float": "_t.SupportsFloat", "bool": "_t.SupportsIndex", "int": "_t.SupportsIndex"}
_STRING = 9
_ENUM = 14


def common_text() -> str:
    """Return the stub of what all messages have in common."""
    return Path(__file__).with_name("protobuf.pyi").read_text(encoding="utf-8")


def files() -> dict[str, Mapping[str, Any]]:
    """Return the contents of the files of messages, by their modules in `tensorflow`."""
    paths = sorted(path for path in protos.paths() if path.startswith(_ROOT))
    return {_module(path): protos.file(path) for path in paths}


def homes(classes: dict[int, str]) -> dict[str, str]:
    """Return where each message is defined, by its full name.

    Args:
      classes: the public name of each class, by its identity.
    """
    found: dict[str, str] = {}
    for module, contents in files().items():
        for name, value in contents.items():
            if is_message(value):
                home = classes.get(id(value), f"{module}.{name}")
                found.update(_nested(value.DESCRIPTOR, home))
    return found


def _nested(descriptor: Any, home: str) -> Iterator[tuple[str, str]]:
    yield descriptor.full_name, home
    for inner in descriptor.nested_types:
        yield from _nested(inner, f"{home}.{inner.name}")


def _module(path: str) -> str:
    return f"{path.removesuffix('.proto').replace('/', '.')}{_SUFFIX}"


def is_message(value: Any) -> bool:
    """Return True for classes of messages."""
    return isinstance(value, type) and issubclass(value, Message) and value is not Message


def message_text(name: str, kind: Any, types: Annotations) -> str:
    """Return the definition of a message: its fields, enums and nested messages."""
    doc = vars(kind).get("__doc__")
    text = f"{doc_literal(textwrap.dedent(doc))}\n" if isinstance(doc, str) and doc.strip() else ""
    types.imports.add(f"import {PROTOBUF} as _pb")
    body = text + "".join(_members(kind.DESCRIPTOR, types))
    return f"class {name}(_pb.Message):\n{textwrap.indent(body, '    ')}"


def enum_text(name: str, values: Any, types: Annotations) -> str:
    """Return the declarations of an enum's wrapper and of its values."""
    types.imports.add(f"import {PROTOBUF} as _pb")
    numbers = [f"{value.name}: {types.builtin('int')}\n" for value in values]
    return f"{name}: _pb.Enum\n{''.join(numbers)}"


def _members(descriptor: Any, types: Annotations) -> Iterator[str]:
    for inner in descriptor.nested_types:
        if not inner.GetOptions().map_entry:
            body = "".join(_members(inner, types))
            yield f"class {inner.name}(_pb.Message):\n{textwrap.indent(body, '    ')}"
    for enum in descriptor.enum_types:
        yield enum_text(enum.name, enum.values, types)
    given = []
    for field in descriptor.fields:
        if keyword.iskeyword(field.name):
            continue
        held, taken = _field_types(field, types)
        given.append(f"{field.name}: {taken} | None = ...")
        if field.is_repeated or field.message_type is not None:  # cannot be assigned to
            yield f"@{types.builtin('property')}\ndef {field.name}(self) -> {held}: ...\n"
        else:
            yield f"{field.name}: {held}\n"
    arguments = f", *, {', '.join(given)}" if given else ""
    yield f"def __init__(self{arguments}) -> None: ...\n"


def _field_types(field: Any, types: Annotations) -> tuple[str, str]:
    """Return the type of a field, and that of its argument of the constructor."""
    if field.message_type is None:
        name = _SCALARS.get(field.type, "int")
        held = types.builtin(name)
        taken = _GIVEN.get(name, held)
        if field.type in (_STRING, _ENUM):
            taken = f"{taken} | {types.builtin('bytes' if field.type == _STRING else 'str')}"
        return (
            (f"_pb.Scalars[{held}]", "_t.Iterable[_t.Any]") if field.is_repeated else (held, taken)
        )
    if field.message_type.GetOptions().map_entry:
        key, value = (field.message_type.fields_by_name[x] for x in ("key", "value"))
        form = "ScalarMap" if value.message_type is None else "MessageMap"
        held = f"_pb.{form}[{_field_types(key, types)[0]}, {_field_types(value, types)[0]}]"
        return held, "_t.Mapping[_t.Any, _t.Any]"
    held = types.message(field.message_type.full_name)
    if field.is_repeated:
        return f"_pb.Messages[{held}]", "_t.Iterable[_t.Any]"
    return held, f"{held} | {types.builtin('dict')}[_t.Any, _t.Any]"
