"""The tables of messages as protobuf file descriptors.

``schema.txt`` and ``contrib.txt`` hold TensorFlow's, ``serving.txt`` those of TensorFlow Serving,
``distributed.txt`` those of TensorFlow's masters and workers, ``cluster.txt`` the messages of our
own tasks. Lines of a table, words separated by blanks::

    file PATH PACKAGE [IMPORTED PATH ...]
    message NAME FIELD ...            FIELD is  name:TYPE=number     one value
                                                name:TYPE*=number    repeated
                                                name:KEY>TYPE=number a map
                                      GROUP{ FIELD ... }             a oneof
    enum NAME VALUE=number ...
    service NAME METHOD:REQUEST>RESPONSE ...    REQUEST and RESPONSE are types; with * a stream

A nested message or enum has a dotted NAME and stands below the one it is nested in.  TYPE is a
scalar type of protobuf, ``.Name`` within the file's package, or ``/package.Name``.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
    ServiceDescriptorProto,
)

_SINGLE = FieldDescriptorProto.LABEL_OPTIONAL
_REPEATED = FieldDescriptorProto.LABEL_REPEATED
_SCALARS = {
    name[len("TYPE_") :].lower(): number
    for name, number in FieldDescriptorProto.Type.items()
    if name not in ("TYPE_MESSAGE", "TYPE_ENUM", "TYPE_GROUP")
}


_TENSORFLOW = ("schema.txt", "contrib.txt", "cluster.txt")


class Table:
    """The text of tables cut into files, with an index of top-level names.

    Args:
      names: the tables, those of TensorFlow's own files by default.
    """

    def __init__(self, names: Sequence[str] = _TENSORFLOW) -> None:
        texts = [Path(__file__).with_name(name).read_text(encoding="utf-8") for name in names]
        self.sections: dict[str, list[str]] = {}
        self.packages: dict[str, str] = {}
        self.imports: dict[str, list[str]] = {}
        for section in [part for text in texts for part in text.split("\nfile ")[1:]]:
            head, *lines = section.splitlines()
            path, package, *imports = head.split()
            self.sections[path] = lines
            self.packages[path] = package
            self.imports[path] = imports

    def names(self, path: str) -> list[str]:
        """Return the top-level messages, enums and enum values that a file declares."""
        found = []
        for line in self.sections[path]:
            kind, name, *words = line.split(" ")
            if "." not in name and kind != "service":
                found.append(name)
                if kind == "enum":
                    found += [word.partition("=")[0] for word in words]
        return found

    def descriptor(self, path: str) -> FileDescriptorProto:
        """Build the descriptor of one file.

        Raises:
          KeyError: no such file in the table.
        """
        file = FileDescriptorProto(
            name=path,
            package=self.packages[path],
            syntax="proto3",
            dependency=self.imports[path],
        )
        messages: dict[str, DescriptorProto] = {}
        for line in self.sections[path]:
            kind, name, *words = line.split(" ")
            outer, _, short = name.rpartition(".")
            if kind == "enum":
                enums = messages[outer].enum_type if outer else file.enum_type
                _fill_enum(enums.add(name=short), words)
            elif kind == "service":
                _fill_service(file.service.add(name=short), words, f".{file.package}.")
            else:
                siblings = messages[outer].nested_type if outer else file.message_type
                messages[name] = siblings.add(name=short)
                _fill_message(messages[name], words, f".{file.package}.", name)
        return file


def _fill_enum(enum: EnumDescriptorProto, words: list[str]) -> None:
    numbers = set()
    for word in words:
        name, _, number = word.partition("=")
        enum.value.add(name=name, number=int(number))
        numbers.add(number)
    if len(numbers) < len(words):
        enum.options.allow_alias = True


def _fill_service(service: ServiceDescriptorProto, words: list[str], scope: str) -> None:
    for word in words:
        name, _, types = word.partition(":")
        request, _, response = types.partition(">")
        service.method.add(
            name=name,
            input_type=scope + request.strip(".*"),
            output_type=scope + response.strip(".*"),
            client_streaming=request.endswith("*"),
            server_streaming=response.endswith("*"),
        )


def _fill_message(message: DescriptorProto, words: list[str], scope: str, path: str) -> None:
    group = None
    for word in words:
        if word == "}":
            group = None
        elif word.endswith("{"):
            group = len(message.oneof_decl)
            message.oneof_decl.add(name=word[:-1])
        else:
            name, _, rest = word.partition(":")
            kind, _, number = rest.partition("=")
            field = message.field.add(name=name, number=int(number), label=_SINGLE)
            if group is not None:
                field.oneof_index = group
            if kind.endswith("*"):
                field.label = _REPEATED
                kind = kind[:-1]
            if ">" in kind:
                field.label = _REPEATED
                kind = _add_map_entry(message, name, kind, scope, path)
            _set_type(field, kind, scope)


def _add_map_entry(message: DescriptorProto, name: str, kind: str, scope: str, path: str) -> str:
    """Add the hidden message that a map field repeats; return its type as the table has it."""
    entry = message.nested_type.add(name=name.title().replace("_", "") + "Entry")
    entry.options.map_entry = True
    for number, (part, text) in enumerate(zip(("key", "value"), kind.split(">"), strict=True), 1):
        _set_type(entry.field.add(name=part, number=number, label=_SINGLE), text, scope)
    return f".{path}.{entry.name}"


def _set_type(field: FieldDescriptorProto, kind: str, scope: str) -> None:
    """Set a type; whether a named one is a message or an enum is found out by the pool."""
    if kind.startswith("."):
        field.type_name = scope + kind[1:]
    elif kind.startswith("/"):
        field.type_name = "." + kind[1:]
    else:
        field.type = _SCALARS[kind]
