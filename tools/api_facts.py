"""Facts about public names, looked up in the imported package: signature, docstring, source line.

Decorated, derived and generated functions have their true signatures at run time only.
"""

from __future__ import annotations

import enum
import functools
import importlib
import inspect
import re
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from inspect import Parameter
from pathlib import Path
from typing import Any

from stillflow._namespace import absolute, public_names
from stillflow.layers import descriptions

_PLAIN = (type(None), bool, int, float, str, bytes)
_DEFINED = re.compile(r"^(?: {4})?(?:async )?(?:def|class) (\w+)|^(\w+)(?:: [^=\n]+)? = ", re.M)
_LAYERS = ("stillflow.layers.", "stillflow.keras.layers.")
_OF_KERAS = {
    "initializer": "give the first values: objects, or their names.",
    "regularizer": "give losses, which are added to those of the layer.",
}
_SELF = ("self", "cls", "_cls")
_UNKNOWN = [Parameter("args", Parameter.VAR_POSITIONAL), Parameter("kwargs", Parameter.VAR_KEYWORD)]


@dataclass(frozen=True)
class Member:
    """A method, property or constant of a class: its text, and the first line of its docstring."""

    call: str
    summary: str


@dataclass(frozen=True)
class Fact:
    """A public name: its kind, arguments, docstring and source.

    Attributes:
      kind: "function", "class" or "constant".
      module, line: the module of ours and the line that define the name; line 0 if unknown.
      bases: the public names of a class's bases.
      members: the methods, properties and constants that its public bases do not have.
    """

    kind: str
    arguments: tuple[str, ...]
    doc: str
    module: str
    line: int
    bases: tuple[str, ...] = ()
    members: tuple[Member, ...] = field(default=())


class Facts:
    """Facts about all public names of the package."""

    def __init__(self) -> None:
        self.table = public_names()
        self._lines: dict[str, dict[str, int]] = {}
        self._texts: dict[str, str] = {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of deprecated names
            self.values = {name: _value(target) for name, target in self.table.items()}
        self._names: dict[int, str] = {}
        for name in sorted(self.values, key=lambda x: (x.count("."), x.startswith("compat"), x)):
            if inspect.isclass(self.values[name]) or inspect.isroutine(self.values[name]):
                self._names.setdefault(id(self.values[name]), name)

    def fact(self, name: str) -> Fact:
        """Return what there is to say about a public name."""
        value = self.values[name]
        module, line = self._source(name, self.table[name])
        if not is_called(value):
            return Fact("constant", (), "", module, line)
        arguments = tuple(self.arguments(value))
        if not inspect.isclass(value):
            return Fact("function", arguments, docstring(value), module, line)
        bases = tuple(self._names[id(x)] for x in value.__bases__ if id(x) in self._names)
        members = tuple(self._members(value))
        doc = docstring(value)
        if value.__module__.startswith(_LAYERS) and not re.search(r"(?m)^Arg(s|uments):", doc):
            doc += layer_arguments([x.partition("=")[0] for x in arguments])
        return Fact("class", arguments, doc, module, line, bases, members)

    def arguments(self, value: Any) -> Iterator[str]:
        """Yield the arguments of a callable, without `self` and annotations."""
        parameters = parameters_of(value)
        named_only = any(x.kind is x.VAR_POSITIONAL for x in parameters)
        for i, x in enumerate(parameters):
            if x.kind is x.KEYWORD_ONLY and not named_only:
                named_only = True
                yield "*"
            stars = "*" * (x.kind is x.VAR_POSITIONAL) + "**" * (x.kind is x.VAR_KEYWORD)
            default = "" if x.default is x.empty else f"={self._text(x.default)}"
            yield f"{stars}{x.name}{default}"
            following = parameters[i + 1 : i + 2]
            if x.kind is x.POSITIONAL_ONLY and not (following and following[0].kind is x.kind):
                yield "/"

    def path(self, module: str) -> Path | None:
        """Return the file of a module that the table names."""
        file = getattr(sys.modules.get(absolute(module)), "__file__", None)
        return Path(file) if file else None

    def _text(self, value: Any) -> str:
        """Return a default value as a program writes it."""
        if isinstance(value, enum.Enum):
            name = self._names.get(id(type(value)))
            return f"{f'tf.{name}' if name else type(value).__name__}.{value.name}"
        if isinstance(value, _PLAIN):
            return repr(value)
        if isinstance(value, (tuple, list)):
            inner = ", ".join(self._text(x) for x in value)
            inner += "," * (isinstance(value, tuple) and len(value) == 1)
            return f"({inner})" if isinstance(value, tuple) else f"[{inner}]"
        if type(value).__name__ == "DType":
            return f"tf.{value.name}"
        if id(value) in self._names:
            return f"tf.{self._names[id(value)]}"
        if id(type(value)) in self._names:
            return f"tf.{self._names[id(type(value))]}()"
        return "..."  # an object that a program does not write

    def _members(self, kind: type) -> Iterator[Member]:
        """Yield the members of a class that no public base has."""
        if issubclass(kind, enum.Enum):
            yield from (Member(name, "") for name in kind.__members__)
            return
        for name, value in sorted(_own(kind, set(self._names)).items()):
            if isinstance(value, (staticmethod, classmethod)):
                value = value.__func__
            if isinstance(value, (property, functools.cached_property)):
                yield Member(name, docstring(value).partition("\n\n")[0])
            elif inspect.isfunction(value):
                call = f"{name}({', '.join(self.arguments(value))})"
                yield Member(call, docstring(value).partition("\n\n")[0])
            elif isinstance(value, _PLAIN) and value is not None and name.isupper():
                yield Member(f"{name} = {value!r}", "")

    def _source(self, name: str, target: str) -> tuple[str, int]:
        """Return the module and line of a definition, or of the mark that makes it public."""
        module, _, attribute = target.partition(":")
        if module not in self._lines:
            path = self.path(module)
            text = path.read_text(encoding="utf-8") if path else ""
            self._texts[module] = text
            found: dict[str, int] = {}
            for match in _DEFINED.finditer(text):
                found.setdefault(match[1] or match[2], text.count("\n", 0, match.start()) + 1)
            self._lines[module] = found
        text, line = self._texts[module], self._lines[module].get(attribute, 0)
        if not line and f'"{name}"' in text:
            line = text.count("\n", 0, text.index(f'"{name}"')) + 1
        return module, line


def is_called(value: Any) -> bool:
    """Return True for classes, functions, and objects made of functions.

    FLAGS can be called as well, but parses the command line when it is asked for attributes.
    """
    is_function = inspect.isroutine(value) or isinstance(value, functools.partial)
    return inspect.isclass(value) or is_function or type(value).__name__.endswith("Function")


def parameters_of(value: Any) -> list[Parameter]:
    """Return the parameters that a caller gives.

    A metaclass or a wrapper that hands everything on hides them from `inspect.signature`; then
    those of the constructor count. A message of protobuf takes its fields by name.
    """
    fields = getattr(getattr(value, "DESCRIPTOR", None), "fields", None)
    if inspect.isclass(value) and fields is not None:
        return [Parameter(x.name, Parameter.KEYWORD_ONLY, default=None) for x in fields]
    if inspect.isclass(value) and issubclass(value, enum.Enum):
        return [Parameter("value", Parameter.POSITIONAL_OR_KEYWORD)]
    try:
        parameters = list(inspect.signature(value).parameters.values())
    except (TypeError, ValueError):  # an exception's, built in C
        return [_UNKNOWN[0]] if inspect.isclass(value) else list(_UNKNOWN)
    if inspect.isclass(value) and [x.kind for x in parameters] == [x.kind for x in _UNKNOWN]:
        init = inspect.getattr_static(value, "__init__", None)
        if inspect.isfunction(init):
            parameters = list(inspect.signature(init).parameters.values())
    if parameters and parameters[0].name in _SELF:
        parameters = parameters[1:]
    return parameters


def layer_arguments(names: list[str]) -> str:
    """Return the section of a docstring about arguments that most layers have in common."""
    table = {**descriptions.ARGUMENTS, **_OF_KERAS, "name": "of the layer."}
    rows = []
    for name in names:
        text = table.get(name) or table.get(name.rpartition("_")[2])
        if text:
            rows.append(f"  {name}: {text}")
    return "\n\n".join(["", "Args:\n" + "\n".join(rows)]) if rows else ""


def docstring(value: Any) -> str:
    """Return the docstring of a callable, dedented; that of its function for a `partial`."""
    while isinstance(value, functools.partial):
        value = value.func
    if not inspect.isclass(value) or "__doc__" in vars(value):
        text = inspect.getdoc(value)
    else:
        text = next((inspect.getdoc(x) for x in value.__mro__[:-1] if vars(x).get("__doc__")), "")
    return text.strip() if isinstance(text, str) else ""


def _value(target: str) -> Any:
    """Return the object of an entry of the table."""
    module, _, attribute = target.partition(":")
    return getattr(importlib.import_module(absolute(module)), attribute)


def _own(kind: type, public: set[int]) -> dict[str, Any]:
    """Return the public attributes of a class and of its bases that are not public themselves."""
    if hasattr(kind, "DESCRIPTOR"):
        return {}
    inherited = {name for x in kind.__mro__[1:] if id(x) in public for name in dir(x)}
    found: dict[str, Any] = {}
    for owner in kind.__mro__:
        if owner.__module__.startswith("stillflow"):
            for name, value in vars(owner).items():
                if not name.startswith("_") and (owner is kind or name not in inherited):
                    found.setdefault(name, value)
    return found
