"""Protobuf messages as stub files spell them: fields with their types, enums, nested messages.

Each file of messages has a stub of its own (`tensorflow/core/framework/graph_pb2`); messages that
are public are defined where they are public. Their common base and their containers are in
`tensorflow/_protobuf`, a module of the stubs alone: no stubs of protobuf need to be installed.
"""

from __future__ import annotations

import keyword
import textwrap
from collections.abc import Iterator, Mapping
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

RUNTIME = '''\
import typing as _t
from collections.abc import Iterable, Mapping, MutableMapping, MutableSequence, Sequence

_T = _t.TypeVar("_T")
_K = _t.TypeVar("_K")

class Message:
    """Base class of the messages."""
    DESCRIPTOR: _t.Any
    def ByteSize(self) -> int: ...
    def Clear(self) -> None: ...
    def ClearExtension(self, field_descriptor: _t.Any) -> None: ...
    def ClearField(self, field_name: str) -> None: ...
    def CopyFrom(self, other_msg: _t.Self) -> None: ...
    def DiscardUnknownFields(self) -> None: ...
    def FindInitializationErrors(self) -> list[str]: ...
    @classmethod
    def FromString(cls, s: bytes) -> _t.Self: ...
    def HasExtension(self, field_descriptor: _t.Any) -> bool: ...
    def HasField(self, field_name: str) -> bool: ...
    def IsInitialized(self, errors: list[str] | None = None) -> bool: ...
    def ListFields(self) -> list[tuple[_t.Any, _t.Any]]: ...
    def MergeFrom(self, msg: _t.Self) -> None: ...
    def MergeFromString(self, serialized: bytes) -> int: ...
    def ParseFromString(self, serialized: bytes) -> int: ...
    @staticmethod
    def RegisterExtension(field_descriptor: _t.Any) -> None: ...
    def SerializePartialToString(self, **kwargs: _t.Any) -> bytes: ...
    def SerializeToString(self, **kwargs: _t.Any) -> bytes: ...
    def SetInParent(self) -> None: ...
    def UnknownFields(self) -> _t.Any: ...
    def WhichOneof(self, oneof_group: str) -> str | _t.Any: ...

class Scalars(MutableSequence[_T]):
    """Repeated field of numbers or strings."""
    @_t.overload
    def __getitem__(self, index: int) -> _T: ...
    @_t.overload
    def __getitem__(self, index: slice) -> list[_T]: ...
    def __setitem__(self, index: _t.Any, value: _t.Any) -> None: ...
    def __delitem__(self, index: int | slice) -> None: ...
    def __len__(self) -> int: ...
    def append(self, value: _t.Any) -> None: ...
    def extend(self, values: Iterable[_t.Any]) -> None: ...
    def insert(self, index: int, value: _t.Any) -> None: ...
    def sort(self, *args: _t.Any, **kwargs: _t.Any) -> None: ...
    def MergeFrom(self, other: _t.Self | Iterable[_t.Any]) -> None: ...

class Messages(Sequence[_T]):
    """Repeated field of messages."""
    @_t.overload
    def __getitem__(self, index: int) -> _T: ...
    @_t.overload
    def __getitem__(self, index: slice) -> list[_T]: ...
    def __delitem__(self, index: int | slice) -> None: ...
    def __len__(self) -> int: ...
    def add(self, **kwargs: _t.Any) -> _T: ...
    def append(self, value: _T) -> None: ...
    def extend(self, elem_seq: Iterable[_T]) -> None: ...
    def insert(self, key: int, value: _T) -> None: ...
    def pop(self, key: int = -1) -> _T: ...
    def remove(self, elem: _T) -> None: ...
    def sort(self, *args: _t.Any, **kwargs: _t.Any) -> None: ...
    def MergeFrom(self, other: _t.Self | Iterable[_T]) -> None: ...

class ScalarMap(MutableMapping[_K, _T]):
    """Map to numbers or strings."""
    def __getitem__(self, key: _K) -> _T: ...
    def __setitem__(self, key: _K, value: _t.Any) -> None: ...
    def __delitem__(self, key: _K) -> None: ...
    def __iter__(self) -> _t.Iterator[_K]: ...
    def __len__(self) -> int: ...
    def MergeFrom(self, other: _t.Self) -> None: ...

class MessageMap(MutableMapping[_K, _T]):
    """Map to messages; a missing one is made when it is read."""
    def __getitem__(self, key: _K) -> _T: ...
    def __setitem__(self, key: _K, value: _T) -> _t.NoReturn: ...
    def __delitem__(self, key: _K) -> None: ...
    def __iter__(self) -> _t.Iterator[_K]: ...
    def __len__(self) -> int: ...
    def get_or_create(self, key: _K) -> _T: ...
    def MergeFrom(self, other: _t.Self) -> None: ...

class Enum:
    """Wrapper of an enum: names and numbers."""
    DESCRIPTOR: _t.Any
    def Name(self, number: int) -> str: ...
    def Value(self, name: str | None) -> int: ...
    def keys(self) -> list[str]: ...
    def values(self) -> list[int]: ...
    def items(self) -> list[tuple[str, int]]: ...
    def __getattr__(self, name: str) -> int: ...
'''


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
