"""Message classes over the descriptors of a private pool.

The protobuf library's own builder would also register each class in its process-wide symbol
database; ours stay out of it, so that another library may hold messages of the same names.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor, FileDescriptor
from google.protobuf.internal.enum_type_wrapper import EnumTypeWrapper
from google.protobuf.message import Message
from google.protobuf.reflection import GeneratedProtocolMessageType

from stillflow.protos.docstrings import DOCSTRINGS

MODULE = "stillflow.protos"

_INTEGERS = (
    FieldDescriptor.CPPTYPE_INT32, FieldDescriptor.CPPTYPE_INT64,
    FieldDescriptor.CPPTYPE_UINT32, FieldDescriptor.CPPTYPE_UINT64,
)  # fmt: skip


def file_names(descriptor: FileDescriptor) -> dict[str, Any]:
    """Return the contents of a generated module: messages, enums, enum values and descriptors.

    Descriptors are there as ``DESCRIPTOR``, ``_GRAPHDEF``, ``_ATTRVALUE_LISTVALUE``: modules that
    protoc 3 has generated for others' messages take these of the messages that they contain.
    """
    names: dict[str, Any] = {"DESCRIPTOR": descriptor}
    for name, enum in descriptor.enum_types_by_name.items():
        names[name] = EnumTypeWrapper(enum)
        names[f"_{name.upper()}"] = enum
        names.update((value.name, value.number) for value in enum.values)
    for name, message in descriptor.message_types_by_name.items():
        names[name] = message_class(message)
        names.update(_descriptors(message, ""))
    return names


def _descriptors(message: Descriptor, outer: str) -> Iterator[tuple[str, Any]]:
    """Yield the descriptors of a message and of its nested ones, as modules name them."""
    name = f"{outer}_{message.name.upper()}"
    yield name, message
    for enum in message.enum_types:
        yield f"{name}_{enum.name.upper()}", enum
    for nested in message.nested_types:
        yield from _descriptors(nested, name)


def message_class(descriptor: Descriptor, outer: str = "") -> type[Message]:
    """Build the class of a message, with those of the messages nested in it as attributes."""
    name = descriptor.name
    members: dict[str, Any] = {
        nested.name: message_class(nested, f"{outer}{name}.") for nested in descriptor.nested_types
    }
    members.update(
        DESCRIPTOR=descriptor,
        __module__=MODULE,
        __qualname__=outer + name,
        __reduce__=_reduce,
        __str__=_text,
        __repr__=_text,
    )
    if descriptor.full_name == f"tensorflow.{name}" and name in DOCSTRINGS:
        members["__doc__"] = DOCSTRINGS[name]
    else:
        members["__doc__"] = f"Protocol buffer message `{descriptor.full_name}`."
    made: type[Message] = GeneratedProtocolMessageType(name, (Message,), members)
    of_programs = not descriptor.file.package.startswith("stillflow.")
    if of_programs and any(field.cpp_type in _INTEGERS for field in descriptor.fields):
        _take_truth_values(made)
    return made


def _take_truth_values(made: type[Message]) -> None:
    """Make ``Int64List(value=[True])`` mean 1, as before protobuf rejected it."""
    plain: Any = made.__init__

    def init(self: Message, *args: Any, **fields: Any) -> None:
        try:
            plain(self, *args, **fields)
        except (AttributeError, TypeError, ValueError, DeprecationWarning):
            # NumPy's truth values have no __index__ since 2.3; before, it warned of that.
            numbers = {name: as_numbers(value) for name, value in fields.items()}
            if all(numbers[name] is value for name, value in fields.items()):
                raise
            self.Clear()
            plain(self, *args, **numbers)

    made.__init__ = init


def as_numbers(value: Any) -> Any:
    """Return the value with 0 and 1 for (NumPy) booleans; others unchanged."""
    if isinstance(value, (list, tuple)):
        numbers = [as_numbers(item) for item in value]
        same = all(number is item for number, item in zip(numbers, value, strict=True))
        return value if same else numbers
    if type(value).__name__ == "ndarray":
        return value.astype(int) if value.dtype.kind == "b" else value
    return int(value) if type(value).__name__ in ("bool", "bool_") else value


def _text(message: Message) -> str:
    """Show map entries in the order of their keys, as TensorFlow's protobuf did."""
    from google.protobuf.text_format import MessageToString

    text: str = MessageToString(message, as_utf8=False)
    return text


def _reduce(message: Message) -> tuple[Any, ...]:
    descriptor, data = message.DESCRIPTOR, message.SerializePartialToString()
    return _restore, (descriptor.file.name, descriptor.full_name, data)


def _restore(path: str, full_name: str, data: bytes) -> Message:
    """Rebuild a pickled message."""
    from stillflow import protos
    from stillflow.protos.other_files import distributed_file, serving_file

    names = next((f for f in (serving_file, distributed_file) if path in f), protos.file)(path)
    package = names["DESCRIPTOR"].package
    first, *rest = full_name[len(package) + 1 :].split(".")
    found = names[first]
    for name in rest:
        found = getattr(found, name)
    message: Message = found()
    message.MergeFromString(data)
    return message
