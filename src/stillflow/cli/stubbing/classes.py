"""Classes as stub files spell them: public bases, attributes, methods, fields of messages."""

from __future__ import annotations

import ast
import enum
import functools
import inspect
import textwrap
from collections.abc import Iterator
from typing import Any

from stillflow.cli.stubbing.annotations import Annotations, source_of
from stillflow.cli.stubbing.messages import is_message, message_text
from stillflow.cli.stubbing.signatures import (
    doc_literal,
    docstring_text,
    function_text,
    module_of,
    parameters_text,
    signature,
)

# Special methods that say nothing of how a class is used.
_SILENT = {
    "__annotate__", "__class_getitem__", "__copy__", "__deepcopy__", "__del__", "__dir__",
    "__format__", "__getattribute__", "__getstate__", "__init_subclass__", "__new__", "__reduce__",
    "__reduce_ex__", "__repr__", "__setstate__", "__sizeof__", "__str__", "__subclasshook__",
    "__instancecheck__", "__subclasscheck__", "__hash__",
}  # fmt: skip


def class_text(name: str, kind: type, types: Annotations) -> str:
    """Return the definition of a class in a stub."""
    if is_message(kind):
        return message_text(name, kind, types)
    if issubclass(kind, enum.Enum):
        types.imports.add("import enum as _enum")
        body = "".join(f"{member} = ...\n" for member in kind.__members__)
        return _with_body(name, ["_enum.Enum"], kind, body)
    fields = getattr(kind, "_fields", None)
    bases, members = _gathered(kind, types)
    for field in fields or ():
        members.pop(field, None)
    lines = [_member_text(key, value, owner, types) for key, (value, owner) in members.items()]
    known = set(members)
    for field, annotation in _annotated(kind, types):
        if field not in known and not (fields and field in fields):
            known.add(field)
            lines.insert(0, f"{field}: {annotation}\n")
    if "__eq__" in members and kind.__hash__ is not None:  # `__eq__` alone would hide the base's
        lines.append(f"def __hash__(self) -> {types.builtin('int')}: ...\n")
    if not fields and (constructor := _constructor_text(kind, types)):
        lines = [x for x in lines if not x.startswith("def __init__(")] + [constructor]
    if issubclass(kind, tuple) and fields:
        lines = [*_of_tuple(kind, fields, types), *lines]
    return _with_body(name, bases, kind, "".join(lines))


def _with_body(name: str, bases: list[str], kind: type, body: str) -> str:
    doc = vars(kind).get("__doc__")
    text = f"{doc_literal(inspect.cleandoc(doc))}\n" if isinstance(doc, str) and doc.strip() else ""
    inside = textwrap.indent(text + body or "...\n", "    ")
    derived = f"({', '.join(bases)})" if bases else ""
    return f"class {name}{derived}:\n{inside}"


def _constructor_text(kind: type, types: Annotations) -> str:
    """Return the constructor of a class that has `__new__` only, or whose metaclass makes it."""
    maker: Any = type(kind).__call__
    parameters = signature(kind)
    if not inspect.isfunction(maker) or all(x.name in ("args", "kwargs") for x in parameters):
        maker = kind.__new__ if kind.__init__ is object.__init__ else None  # type: ignore[misc]
    if not inspect.isfunction(maker):
        return ""
    text = parameters_text(parameters, module_of(maker), types)
    return f"def __init__({', '.join(filter(None, ['self', text]))}) -> None: ...\n"


def _of_tuple(kind: type, fields: tuple[str, ...], types: Annotations) -> Iterator[str]:
    """Yield the fields and the constructor of a named tuple."""
    for field in fields:
        yield f"@{types.builtin('property')}\ndef {field}(self) -> _t.Any: ...\n"
    parameters = signature(kind)
    text = parameters_text(parameters, kind.__module__, types)
    yield f"def __new__({', '.join(filter(None, ['cls', text]))}) -> _t.Self: ...\n"
    yield "def _replace(self, **kwargs: _t.Any) -> _t.Self: ...\n"
    yield "def _asdict(self) -> _t.Any: ...\n"


def _gathered(kind: type, types: Annotations) -> tuple[list[str], dict[str, tuple[Any, type]]]:
    """Return the public bases of a class, and its members with those of bases that are not."""
    bases: list[type] = []
    members: dict[str, tuple[Any, type]] = {}

    def visit(owner: type) -> None:
        for name, value in vars(owner).items():
            if name not in members and _is_shown(name, value):
                members[name] = (value, owner)
        for base in owner.__bases__:
            if id(base) in types.public or base.__module__ == "builtins":
                bases.append(base)
            else:
                visit(base)

    visit(kind)
    wanted = [x for x in bases if x is not object]
    wanted = [x for x in wanted if not any(y is not x and issubclass(y, x) for y in wanted)]
    texts = [types.returned(base, "") for base in dict.fromkeys(wanted)]
    return [f"{x}[_t.Any, ...]" if x == "_b.tuple" else x for x in texts], members


def _is_shown(name: str, value: Any) -> bool:
    if name.startswith("__") and name.endswith("__"):
        return name not in _SILENT and (
            inspect.isfunction(value) or isinstance(value, (staticmethod, classmethod))
        )
    return not name.startswith("_")


def _member_text(name: str, value: Any, owner: type, types: Annotations) -> str:
    module = owner.__module__
    if isinstance(value, (staticmethod, classmethod)):
        decorator = types.builtin(type(value).__name__)
        if isinstance(value, staticmethod):
            return function_text(name, value.__func__, types, f"@{decorator}\n")
        return _method_text(name, value.__func__, types, f"@{decorator}\n", "cls")
    if isinstance(value, property):
        return _property_text(name, value, module, types)
    if isinstance(value, functools.cached_property):
        value = property(value.func)
        return _property_text(name, value, module, types)
    if inspect.isfunction(value):
        return _method_text(name, value, types)
    if isinstance(value, type) or not callable(value):
        annotation = inspect.get_annotations(owner).get(name)
        if annotation is not None:
            return f"{name}: {types.returned(annotation, module)}\n"
        if isinstance(value, (bool, int, float, str)):
            return f"{name}: {types.type_of(value)}\n"
    return f"{name}: _t.Any\n"


def _method_text(
    name: str, function: Any, types: Annotations, decorators: str = "", first: str = "self"
) -> str:
    parameters = signature(function)
    if not parameters or parameters[0].kind not in (
        parameters[0].POSITIONAL_ONLY, parameters[0].POSITIONAL_OR_KEYWORD,
    ):  # fmt: skip
        text = parameters_text(parameters, module_of(function), types)
        return f"{decorators}def {name}({first}, {text}) -> _t.Any: ...\n"
    return function_text(name, function, types, decorators)


def _property_text(name: str, value: property, module: str, types: Annotations) -> str:
    read = value.fget
    annotation = getattr(read, "__annotations__", {}).get("return", inspect.Parameter.empty)
    text = types.returned(annotation, module_of(read) or module)
    body = docstring_text(value)
    lines = f"@{types.builtin('property')}\ndef {name}(self) -> {text}:{body}\n"
    if value.fset is not None:
        lines += f"@{name}.setter\ndef {name}(self, value: _t.Any) -> None: ...\n"
    return lines


def _annotated(kind: type, types: Annotations) -> Iterator[tuple[str, str]]:
    """Yield the attributes that annotations and methods give to the instances of a class."""
    for owner in kind.__mro__:
        if (owner is not kind and id(owner) in types.public) or owner.__module__ == "builtins":
            break
        for name, annotation in inspect.get_annotations(owner).items():
            if not name.startswith("_"):
                yield name, types.returned(annotation, owner.__module__)
        for name in _assigned(owner.__module__, owner.__qualname__):
            yield name, "_t.Any"


def _assigned(module: str, qualname: str) -> Iterator[str]:
    """Yield the public names that methods of a class assign to `self`."""
    body: list[ast.stmt] = source_of(module).body
    for part in qualname.split("."):
        body = next((x.body for x in body if isinstance(x, ast.ClassDef) and x.name == part), [])
    for node in (x for statement in body for x in ast.walk(statement)):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            is_self = isinstance(node.value, ast.Name) and node.value.id == "self"
            if is_self and not node.attr.startswith("_"):
                yield node.attr


def value_text(name: str, value: Any, types: Annotations) -> str:
    """Return the declaration of a name that is neither a class nor a function."""
    return f"{name}: {types.type_of(value)}\n"
