"""Annotations of our sources as stub files spell them: by public names."""

from __future__ import annotations

import ast
import builtins
import functools
import importlib
import inspect
import sys
import types
import typing
from pathlib import Path
from typing import Any

from stillflow._namespace import held

# Types that programs replace by values which convert to them, so no parameter is held to them.
_CONVERTIBLE = {"Dimension", "DType", "IndexedSlices", "Operation", "SparseTensor", "Tensor",
                "TensorShape", "Variable", "RaggedTensor", "TensorArray"}  # fmt: skip
_ANY = "_t.Any"


@functools.cache
def source_of(module: str) -> ast.Module:
    """Return the syntax tree of a module, an empty one where it has no source."""
    file = getattr(sys.modules.get(module), "__file__", None)
    if not file or not file.endswith(".py"):
        return ast.Module([], [])
    return ast.parse(Path(file).read_text(encoding="utf-8"))


@functools.cache
def _imports(module: str) -> dict[str, tuple[str, str]]:
    """Return what a module imports anywhere, also for type checkers only: {name: its home}."""
    found = {}
    for node in ast.walk(source_of(module)):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                found[alias.asname or alias.name] = (node.module, alias.name)
    return found


class Annotations:
    """Renderer of annotations for one stub file.

    Args:
      public: the public name of each class, by its identity.
      messages: where each message is defined, by its full name.

    Attributes:
      imports: the import statements that the rendered texts need.
    """

    def __init__(self, public: dict[int, str], messages: dict[str, str]) -> None:
        self.public = public
        self.messages = messages
        self.imports = {"import typing as _t"}

    def returned(self, annotation: Any, module: str) -> str:
        """Return the text of a return type or an attribute's type.

        None that comes with another type is written `Any`: TensorFlow 1 has no types, and programs
        use `tf.train.latest_checkpoint(folder)` as a string where they know that there is one.
        """
        text = self._text(annotation, module, parameter=False)
        return f"{text.removesuffix('None')}{_ANY}" if text.endswith("| None") else text

    def parameter(self, annotation: Any, module: str, optional: bool = False) -> str:
        """Return the text of a parameter's type; `optional` if its default is None."""
        text = self._text(annotation, module, parameter=True)
        return text if text == _ANY or not optional or "None" in text else f"{text} | None"

    def type_of(self, value: Any) -> str:
        """Return the type of a constant, Any where it is none that is public."""
        kind = type(value)
        if value is None or isinstance(value, (tuple, list, dict, set, frozenset, type)):
            return _ANY
        return self._object(kind, parameter=False)

    def builtin(self, name: str) -> str:
        """Return the text of a builtin, which no public name of the same spelling hides."""
        self.imports.add("import builtins as _b")
        return f"_b.{name}"

    def message(self, full_name: str) -> str:
        """Return the text of a message of protobuf, Any for those of other packages."""
        home = self.messages.get(full_name)
        if home is None:
            return _ANY
        module, found, name = home.partition("_pb2.")
        if not found:
            return self._public(home)
        alias = f"_{module.removeprefix('tensorflow.').replace('.', '_')}_pb2"
        self.imports.add(f"import {module}_pb2 as {alias}")
        return f"{alias}.{name}"

    def _public(self, name: str) -> str:
        self.imports.add("import tensorflow as _tf")
        return name.replace("tensorflow.", "_tf.", 1)

    def _text(self, annotation: Any, module: str, parameter: bool) -> str:
        if annotation is inspect.Parameter.empty:
            return _ANY
        if not isinstance(annotation, str):
            return self._object(annotation, parameter)
        try:
            tree = ast.parse(annotation, mode="eval").body
        except SyntaxError:
            return _ANY
        return self._node(tree, module, parameter)

    def _node(self, node: ast.expr, module: str, parameter: bool) -> str:
        if isinstance(node, ast.Constant):
            if isinstance(node.value, str):
                return self._text(node.value, module, parameter)
            return "None" if node.value is None else "..."
        if isinstance(node, ast.BinOp):
            sides = [self._node(side, module, parameter) for side in (node.left, node.right)]
            return _ANY if _ANY in sides else " | ".join(sides)
        if isinstance(node, ast.List):
            return f"[{', '.join(self._node(x, module, parameter) for x in node.elts)}]"
        if isinstance(node, ast.Subscript):
            return self._subscript(node, module, parameter)
        value = _resolved(node, module)
        return _ANY if value is _UNKNOWN else self._object(value, parameter)

    def _subscript(self, node: ast.Subscript, module: str, parameter: bool) -> str:
        base = self._node(node.value, module, parameter)
        if base.endswith(".Literal"):
            values = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            return f"{base}[{', '.join(map(ast.unparse, values))}]"
        items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        return self._generic(base, [self._node(x, module, parameter) for x in items])

    def _generic(self, base: str, items: list[str]) -> str:
        if base == _ANY or base.startswith("_tf.") or base.endswith("]"):
            return base
        if base.endswith(".Optional"):
            return _ANY if items[0] == _ANY else f"{items[0]} | None"
        if base.endswith(".Union"):
            return _ANY if _ANY in items else " | ".join(items)
        if base.endswith(("Annotated", "ClassVar", "Final")):
            return items[0]
        if base.endswith("Callable") and items[0] == _ANY:  # a ParamSpec
            items = ["...", *items[1:]]
        return f"{base}[{', '.join(items)}]"

    def _object(self, value: Any, parameter: bool) -> str:
        if value is None or value is type(None):
            return "None"
        if value is Any or isinstance(value, (typing.TypeVar, typing.ParamSpec)):
            return _ANY
        if isinstance(value, (types.UnionType, types.GenericAlias)) or typing.get_origin(value):
            return self._alias(value, parameter)
        if isinstance(value, type):
            return self._class(value, parameter)
        name = getattr(value, "_name", None) or getattr(value, "__name__", None)
        if type(value).__module__ == "typing" and name and hasattr(typing, str(name)):
            return f"_t.{name}"
        return _ANY

    def _alias(self, value: Any, parameter: bool) -> str:
        args = [
            f"[{', '.join(self._object(x, parameter) for x in arg)}]" if isinstance(arg, list)
            else "..." if arg is ... else self._object(arg, parameter)
            for arg in typing.get_args(value)
        ]  # fmt: skip
        origin = typing.get_origin(value)
        if isinstance(value, types.UnionType) or origin is typing.Union:
            return _ANY if _ANY in args else " | ".join(args)
        if origin is typing.Literal:
            return f"_t.Literal[{', '.join(map(repr, typing.get_args(value)))}]"
        return self._generic(self._object(origin, parameter), args)

    def _class(self, kind: type, parameter: bool) -> str:
        if id(kind) in self.public:
            name = self.public[id(kind)]
            if parameter and name.rpartition(".")[2] in _CONVERTIBLE:
                return _ANY
            return self._public(name)
        module, name = kind.__module__, kind.__qualname__
        if module == "builtins":
            if not hasattr(builtins, name):  # modules, frames, code
                return self._of_types(kind)
            text = self.builtin(name)
            return text if not parameter or kind in (str, bytes, type, object) else _ANY
        if parameter and name != "Callable":
            return _ANY  # sequences and numbers: tensors and arrays are welcome
        if module == "numpy":
            self.imports.add("import numpy as _np")
            return f"_np.{name}"
        if module.partition(".")[0] in sys.stdlib_module_names and "." not in name:
            if not hasattr(importlib.import_module(module), name):
                return _ANY
            alias = f"_{module.strip('_').replace('.', '_')}"
            self.imports.add(f"import {module} as {alias}")
            return f"{alias}.{name}"
        return self._of_base(kind, parameter)

    def _of_types(self, kind: type) -> str:
        """Return a type of the interpreter by its name in the module `types`."""
        found = [name for name, value in vars(types).items() if value is kind]
        if not found:
            return _ANY
        self.imports.add("import types as _types")
        return f"_types.{found[0]}"

    def _of_base(self, kind: type, parameter: bool) -> str:
        """Return the nearest public class of one that is not public."""
        if not parameter:
            for base in kind.__mro__[1:]:
                if id(base) in self.public:
                    return self._class(base, parameter)
        return _ANY


_UNKNOWN: Any = object()


def _resolved(node: ast.expr, module: str) -> Any:
    """Return the object that an annotation names in a module."""
    if isinstance(node, ast.Attribute):
        value = _resolved(node.value, module)
        return getattr(value, node.attr, _UNKNOWN)
    if not isinstance(node, ast.Name):
        return _UNKNOWN
    home_module = sys.modules.get(module)
    for names in ({} if home_module is None else held(home_module), vars(builtins)):
        if node.id in names:
            return names[node.id]
    home, name = _imports(module).get(node.id, ("", ""))
    if not home or home.partition(".")[0] == "google":
        return _UNKNOWN
    return getattr(importlib.import_module(home), name, _UNKNOWN)
