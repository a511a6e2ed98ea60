"""Calls of the library protobuf that its versions since 3.8 have taken away.

``text_format.MessageToString`` takes ``float_format`` and ``double_format``, and escapes letters
outside of ASCII; ``json_format`` takes ``including_default_value_fields`` and ``float_precision``;
descriptors have ``label`` and ``syntax``; message factories, the symbol database and
``reflection`` make classes of descriptors; TensorFlow's messages are in the default symbol database
and pool; repeated numbers take truth values.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import sys
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any

from stillflow.facade.revive.after import after_import
from stillflow.facade.say import say

_LIBRARY = "google.protobuf."
_TENSORFLOW = "tensorflow"
_FLOAT, _DOUBLE = 6, 5  # FieldDescriptor.CPPTYPE_FLOAT and CPPTYPE_DOUBLE
_REPEATED, _REQUIRED, _OPTIONAL = 3, 2, 1
_PRINTING = ("MessageToString", "PrintMessage", "PrintField", "PrintFieldValue")
_JSON = ("MessageToJson", "MessageToDict")
_DEFAULTS, _TODAY = "including_default_value_fields", "always_print_fields_with_no_presence"

# How numbers are printed while a function runs: a format each for single and double precision.
_formats: ContextVar[tuple[str | None, str | None]] = ContextVar("formats", default=(None, None))


def activate() -> None:
    """Patch the library's modules when they are imported."""
    for module, patch in _PATCHES.items():
        after_import(_LIBRARY + module, patch)


@contextlib.contextmanager
def _printing(single: str | None, double: str | None) -> Iterator[None]:
    before = _formats.set((single, double))
    try:
        yield
    finally:
        _formats.reset(before)


def _patch_text(module: Any) -> None:
    known = inspect.signature(module.MessageToString).parameters
    if "float_format" not in known:
        plain = module._Printer.PrintFieldValue

        @functools.wraps(plain)
        def print_field_value(self: Any, field: Any, value: Any) -> None:
            single, double = _formats.get()
            form = {_FLOAT: single, _DOUBLE: single or double}.get(field.cpp_type)
            if form is None:
                plain(self, field, value)
            else:
                self.out.write(format(value, form))

        module._Printer.PrintFieldValue = print_field_value
    for name in _PRINTING:
        if hasattr(module, name):
            setattr(module, name, _with_formats(getattr(module, name)))


def _with_formats(plain: Callable[..., Any]) -> Callable[..., Any]:
    parameters = inspect.signature(plain).parameters
    at = list(parameters).index("as_utf8")

    @functools.wraps(plain)
    def call(*args: Any, **options: Any) -> Any:
        if len(args) <= at:
            options.setdefault("as_utf8", False)
        single, double = (
            None if name in parameters else options.pop(name, None)
            for name in ("float_format", "double_format")
        )
        with _printing(single, double):
            return plain(*args, **options)

    return call


def _patch_json(module: Any) -> None:
    if _DEFAULTS in inspect.signature(module.MessageToJson).parameters:
        return
    plain = module._Printer._FieldToJsonObject

    @functools.wraps(plain)
    def field_to_json_object(self: Any, field: Any, value: Any) -> Any:
        made, (single, _) = plain(self, field, value), _formats.get()
        if single is None or field.cpp_type != _FLOAT or not isinstance(made, float):
            return made
        return float(format(made, single))

    module._Printer._FieldToJsonObject = field_to_json_object
    for name in _JSON:
        setattr(module, name, _with_defaults(getattr(module, name)))


def _with_defaults(plain: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of JSON with the former arguments, which programs pass by position too."""

    @functools.wraps(plain)
    def call(*args: Any, float_precision: int | None = None, **options: Any) -> Any:
        if len(args) == 2 and plain.__name__ == "MessageToJson" and _called_by_program():
            options[_DEFAULTS], args = args[1], args[:1]
        if _DEFAULTS in options:
            options[_TODAY] = options.pop(_DEFAULTS)
        form = f".{float_precision}g" if float_precision else None
        with _printing(form, form):
            return plain(*args, **options)

    return call


def _called_by_program() -> bool:
    from stillflow.facade.revive.sources import own

    return own(sys._getframe(2).f_code.co_filename)


def _patch_descriptor(module: Any) -> None:
    for name, attribute, value in (
        ("FieldDescriptor", "label", _label),
        ("FileDescriptor", "syntax", _syntax),
        ("Descriptor", "syntax", lambda self: _syntax(self.file)),
    ):
        for kind in _kinds(module, name):
            if not hasattr(kind, attribute):
                setattr(kind, attribute, property(value))


def _kinds(module: Any, name: str) -> list[Any]:
    """Return a class of descriptors: Python's, and that of the implementation behind it."""
    kind = getattr(module, name)
    return [made for made in (getattr(kind, "_C_DESCRIPTOR_CLASS", None), kind) if made is not None]


def _label(field: Any) -> int:
    return _REPEATED if field.is_repeated else _REQUIRED if field.is_required else _OPTIONAL


def _syntax(file: Any) -> str:
    from google.protobuf.descriptor_pb2 import FileDescriptorProto

    proto = FileDescriptorProto()
    file.CopyToProto(proto)
    return proto.syntax or "proto2"


def _patch_factory(module: Any) -> None:
    kind = module.MessageFactory
    for name in ("GetPrototype", "CreatePrototype"):
        _set_missing(kind, name, lambda self, descriptor: module.GetMessageClass(descriptor))
    _set_missing(
        kind, "GetMessages", lambda self, files: module.GetMessageClassesForFiles(files, self.pool)
    )


def _patch_reflection(module: Any) -> None:
    def make_class(descriptor: Any) -> Any:
        """Return the class of messages of a descriptor."""
        say(
            "reflection.MakeClass was removed from protobuf; "
            "it is message_factory.GetMessageClass here"
        )
        from google.protobuf.message_factory import GetMessageClass

        return GetMessageClass(descriptor)

    def parse_message(descriptor: Any, byte_str: bytes) -> Any:
        """Return a message of a descriptor, read from bytes."""
        message = make_class(descriptor)()
        message.ParseFromString(byte_str)
        return message

    _set_missing(module, "MakeClass", make_class)
    _set_missing(module, "ParseMessage", parse_message)


def _patch_symbols(module: Any) -> None:
    from google.protobuf import message_factory

    kind = module.SymbolDatabase
    for name in ("GetPrototype", "CreatePrototype"):
        _set_missing(
            kind, name, lambda self, descriptor: message_factory.GetMessageClass(descriptor)
        )
    plain, plain_files = kind.GetSymbol, kind.GetMessages

    @functools.wraps(plain)
    def get_symbol(self: Any, symbol: str) -> Any:
        try:
            return plain(self, symbol)
        except KeyError:
            found = _message(symbol)
            if found is None:
                raise
        return message_factory.GetMessageClass(found)

    @functools.wraps(plain_files)
    def get_messages(self: Any, files: list[str]) -> dict[str, Any]:
        ours = [path for path in files if path.startswith(_TENSORFLOW + "/")]
        found = dict(plain_files(self, [path for path in files if path not in ours]))
        for path in ours:
            found.update(_messages(path))
        return found

    kind.GetSymbol, kind.GetMessages = get_symbol, get_messages


def _message(name: str) -> Any:
    """Return the descriptor of a message of TensorFlow's, or None."""
    if not name.startswith(_TENSORFLOW + "."):
        return None
    from stillflow import protos

    return protos.find_message(name)


def _file(path: str) -> Any:
    """Return the descriptor of a file of TensorFlow's, or None."""
    from stillflow import protos

    return protos.file(path)["DESCRIPTOR"] if path in protos.paths() else None


def _messages(path: str) -> Iterator[tuple[str, Any]]:
    """Yield {full name: class} of the messages of one of TensorFlow's files."""
    from google.protobuf.message_factory import GetMessageClass

    from stillflow import protos

    waiting = list(protos.file(path)["DESCRIPTOR"].message_types_by_name.values())
    for descriptor in waiting:
        waiting.extend(descriptor.nested_types)
        yield descriptor.full_name, GetMessageClass(descriptor)


def _patch_pool(module: Any) -> None:
    default = module.Default()
    kind = type(default)
    for name in ("FindMessageTypeByName", "FindFileByName"):
        setattr(kind, name, _finding_ours(getattr(kind, name), default))


def _finding_ours(plain: Callable[..., Any], default: Any) -> Callable[..., Any]:
    @functools.wraps(plain)
    def find(self: Any, name: str) -> Any:
        try:
            return plain(self, name)
        except KeyError:
            if self is not default:
                raise
            found = _file(name) if plain.__name__ == "FindFileByName" else _message(name)
            if found is None:
                raise
        return found

    return find


def _patch_containers(module: Any) -> None:
    """Let repeated numbers take truth values, which protobuf 7 does not."""
    from google.protobuf.descriptor_pb2 import SourceCodeInfo

    kind = type(SourceCodeInfo.Location().path)
    for name in ("append", "extend"):
        setattr(kind, name, _taking_truth(getattr(kind, name)))


def _taking_truth(plain: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(plain)
    def add(self: Any, given: Any) -> Any:
        if plain.__name__ == "extend" and not hasattr(given, "__len__"):
            given = list(given)
        try:
            return plain(self, given)
        except TypeError:
            from stillflow.protos.classes import as_numbers

            numbers = as_numbers(given)
            if numbers is given:
                raise
        return plain(self, numbers)

    return add


def _set_missing(owner: Any, name: str, value: Any) -> None:
    if not hasattr(owner, name):
        setattr(owner, name, value)


_PATCHES: dict[str, Callable[[Any], None]] = {
    "text_format": _patch_text,
    "json_format": _patch_json,
    "descriptor": _patch_descriptor,
    "message_factory": _patch_factory,
    "reflection": _patch_reflection,
    "symbol_database": _patch_symbols,
    "descriptor_pool": _patch_pool,
    "descriptor_pb2": _patch_containers,
}
