"""Python functions as standalone source: with their dependencies, and without Stillflow's own.

A kernel is a function of PyTorch, or one of Stillflow's own over such functions. The latter is
taken from its module together with the functions, classes and constants that it names. Names are
resolved to the objects they stand for, so that the result needs none of Stillflow's modules.
Native loops in C do not go along: the tests that choose them are known to be false, and both these
tests and the branches behind them disappear.
"""

from __future__ import annotations

import ast
import copy
import dataclasses
import functools
import importlib
import inspect
import itertools
import re
import struct
import sys
import threading
import types
from collections.abc import Callable, ItemsView, KeysView, Mapping, ValuesView
from types import MappingProxyType
from typing import Any, Generic, get_origin

import numpy as np
import torch

from stillflow._hooks import Hook
from stillflow.errors import OpError
from stillflow.export import literals
from stillflow.export.literals import UnwritableError
from stillflow.export.resolving import Resolver
from stillflow.export.simplify import simplified
from stillflow.graph.dtypes import DType
from stillflow.graph.lazy import LazyModule

# Functions of sources instead of fast ones of the runtime; its provider knows further sources.
plain_functions: Hook[Mapping[Any, Any]] = Hook("export.functions.plain_functions")
# Expressions of objects that are not Stillflow's, by their types.
object_sources: Hook[Mapping[type, Callable[[Any, Any], str]]] = Hook(
    "export.functions.object_sources"
)
_OPERATIONS = re.compile(r"stillflow(_contrib)?\.ops\.")
_INSTANCE = """\
def _instance(kind, /, **attributes):
    made = kind.__new__(kind)
    for name, value in attributes.items():
        object.__setattr__(made, name, value)
    return made"""
_TYPE = '''\
class _Type:
    """A type of TensorFlow."""

    def __init__(self, **facts):
        self.__dict__.update(facts, base_dtype=self)'''
_FACTS = (
    "name", "size", "np_dtype", "torch_name", "is_integer", "is_floating", "is_complex", "is_bool",
    "is_quantized", "is_unsigned", "as_datatype_enum", "as_numpy_dtype",
)  # fmt: skip
_ERRORS = "stillflow.errors"
# Objects of libraries: what to import, and how they are made.
_OBJECTS = {
    type(threading.Lock()): ("threading", "threading.RLock()"),
    type(threading.RLock()): ("threading", "threading.RLock()"),
    itertools.count: ("itertools", "itertools.count(1)"),
    np.finfo: ("numpy as np", "np.finfo({0.dtype.name!r})"),
    re.Pattern: ("re", "re.compile({0.pattern!r}, {0.flags})"),
    struct.Struct: ("struct", "struct.Struct({0.format!r})"),
}
_CHANGING = ("threading", "itertools")  # whose objects all functions share
# Python's exceptions for TensorFlow's, by a part of the name.
_EXCEPTIONS = (
    ("invalid", "ValueError"), ("range", "IndexError"), ("found", "KeyError"),
    ("unimplemented", "NotImplementedError"), ("exhausted", "MemoryError"),
)  # fmt: skip


class FunctionWriter:
    """Definitions that a module needs, in an order in which they can be run.

    Attributes:
      definitions: source of each function, class and constant, by name.
      imports: the import statements that these need.
    """

    def __init__(self, taken: Callable[[str], str]) -> None:
        """Start with nothing; `taken` gives a name that the module has not, from a wish."""
        self.definitions: dict[str, str] = {}
        self.imports: dict[str, None] = {}
        self._name_for = taken
        self._names: dict[Any, str] = {}
        self._alive: list[Any] = []  # objects whose identities are keys
        self._constant: dict[str, ast.Constant] = {}  # results of functions that have only one

    def need(self, statement: str) -> None:
        """Note an import."""
        self.imports[statement] = None

    # ---- values

    def expression(self, value: Any) -> str:
        """Return a value as an expression of the module.

        Raises:
          UnwritableError: if it cannot be written.
        """
        text = literals.number_text(value)
        if text is not None:
            return text
        if isinstance(value, (KeysView, ValuesView, ItemsView)):
            value = tuple(value)
        if isinstance(value, (torch.dtype, torch.memory_format, torch.layout)):
            return str(value)
        if isinstance(value, torch.device):
            return f"torch.device({str(value)!r})"
        if isinstance(value, torch.Tensor):
            if value.numel() > literals.MOST_ITEMS and value.dtype != torch.bfloat16:
                return f"torch.from_numpy({self._packed(value.detach().cpu().numpy())})"
            return literals.tensor_text(value)
        if isinstance(value, (np.generic, np.ndarray, np.dtype)):
            return self._numpy(value)
        if isinstance(value, (tuple, list, set, frozenset, dict, slice, range)) and (
            value is not sys.float_info
        ):
            return self._collection(value)
        return self._named(value)

    def _numpy(self, value: Any) -> str:
        self.need("import numpy as np")
        if isinstance(value, np.dtype):
            if value.name == "bfloat16":  # of a library that registers it
                return "np.dtype('V2')"
            shown = value.descr if value.names else value.name if value.isnative else value.str
            return f"np.dtype({shown!r})"
        if isinstance(value, np.ndarray):
            if value.dtype != object and (value.size > literals.MOST_ITEMS or value.dtype.names):
                return self._packed(value)
            return literals.array_text(value)
        return f"np.{type(value).__name__}({literals.nested_text(value.item())})"

    def _packed(self, value: np.ndarray) -> str:
        """Return an array of many numbers as an expression; UnwritableError if it is large."""
        for name in ("base64", "zlib", "numpy as np"):
            self.need(f"import {name}")
        return literals.packed_text(value)

    def _collection(self, value: Any) -> str:
        if isinstance(value, (slice, range)):
            parts = [self.expression(p) for p in (value.start, value.stop, value.step)]
            return f"{type(value).__name__}({', '.join(parts)})"
        if isinstance(value, dict) and not value:
            return self.shared(value, "{}")
        if isinstance(value, dict):
            return literals.mapping_text(value, self.expression)
        items = [self.expression(item) for item in value]
        if type(value) in (tuple, list, set, frozenset):
            return literals.sequence_text(items, type(value))
        if isinstance(value, torch.Size):
            return literals.sequence_text(items, tuple)
        return f"{self.name_of(type(value))}({', '.join(items)})"

    def _named(self, value: Any) -> str:
        if isinstance(value, OpError):
            return f"{_exception(type(value).__name__)}({value.message!r})"
        if type(value) in plain_functions.value:
            return f"{self.expression(plain_functions.value[type(value)])}()"
        for base in type(value).__mro__:
            if base in object_sources.value:
                return object_sources.value[base](self, value)
        found = literals.library_name(value, self.need)
        if found is not None:
            return found
        if isinstance(value, LazyModule):
            path = ".".join(filter(None, (value._name, value._path)))
            if path == "torch.nn.functional":
                self.need("import torch.nn.functional as F")
                return "F"
            return path
        if isinstance(value, functools.partial):
            self.need("import functools")
            parts = [value.func, *value.args]
            texts = [self.expression(part) for part in parts]
            texts += [f"{key}={self.expression(item)}" for key, item in value.keywords.items()]
            return f"functools.partial({', '.join(texts)})"
        if isinstance(value, types.BuiltinMethodType) and value.__self__ is None:
            return str(value.__qualname__)
        if isinstance(value, (types.MethodType, types.BuiltinMethodType)):
            owner = self.expression(value.__self__)
            return f"{owner}.{value.__name__}"
        if isinstance(value, types.MethodDescriptorType):
            return f"{self.expression(value.__objclass__)}.{value.__name__}"
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            parts = [
                f"{field.name}={self.expression(getattr(value, field.name))}"
                for field in dataclasses.fields(value)
            ]
            return f"{self.name_of(type(value))}({', '.join(parts)})"
        if isinstance(value, DType):
            return self._type(value.base_dtype)
        for kind, (module, text) in _OBJECTS.items():
            if type(value) is kind:
                self.need(f"import {module}")
                text = text.format(value)
                return self.shared(value, text) if module in _CHANGING else text
        if isinstance(value, (type, types.FunctionType)) or hasattr(value, "__wrapped__"):
            return self.name_of(value)
        return self._instance(value)

    def _type(self, dtype: DType) -> str:
        """Return a type of TensorFlow as an object with the attributes that functions use."""
        name = f"_{dtype.name}"
        if name not in self.definitions:
            self.definitions.setdefault("_Type", _TYPE)
            has_numbers = dtype.np_dtype is not None and dtype.name != "bfloat16"
            names = _FACTS if has_numbers else _FACTS[:-1]
            facts = {each: getattr(dtype, each, None) for each in names}
            parts = [f"{each}={self.expression(fact)}" for each, fact in facts.items()]
            self.definitions[name] = f"{name} = _Type({', '.join(parts)})"
        return name

    def _instance(self, value: Any) -> str:
        """Return an object of one of Stillflow's classes, from its attributes."""
        kind = type(value)
        slots = [name for each in kind.__mro__ for name in getattr(each, "__slots__", ())]
        if not _OPERATIONS.match(kind.__module__) or not (slots or hasattr(value, "__dict__")):
            return self.name_of(value)
        self.definitions.setdefault("_instance", _INSTANCE)
        state = {name: getattr(value, name) for name in slots} | getattr(value, "__dict__", {})
        parts = [f"{key}={self.expression(item)}" for key, item in state.items()]
        return self.shared(value, f"_instance({', '.join([self.name_of(kind), *parts])})")

    def shared(self, value: Any, text: str) -> str:
        """Return the name of an object that functions may change: all of them use the same."""
        self._alive.append(value)
        wish = f"the_{type(value).__name__.lower().strip('_')}"
        return self.define(id(value), wish, lambda name: f"{name} = {text}")

    def define(self, key: Any, wish: str, write: Callable[[str], str]) -> str:
        """Return the name of a definition; `write` gives its text from the name, once a key."""
        if key not in self._names:
            name = self._name_for(f"_{literals.identifier(wish).strip('_')}")
            self._names[key] = name
            self.definitions[name] = write(name)
        return self._names[key]

    # ---- functions and classes

    def name_of(self, value: Any, bound: Mapping[str, Any] = MappingProxyType({})) -> str:
        """Return the name of a function or class of Stillflow, which is written if it is not yet.

        Args:
          value: the function or class.
          bound: arguments that are known: the function is written without them.

        Raises:
          UnwritableError: if it has no source, or uses what has none.
        """
        value = undecorated(value)
        if callable(value) and value in plain_functions.value:
            value = plain_functions.value[value]
            if isinstance(value, type):
                return self.expression(value)
        cached = hasattr(value, "__wrapped__") and hasattr(value, "cache_info")
        inner = value.__wrapped__ if cached else value
        if isinstance(inner, type):
            key: Any = inner
        elif isinstance(inner, types.FunctionType):
            given = tuple((name, id(item)) for name, item in bound.items())
            self._alive.append(bound)
            key = (inner.__code__, given, *(map(_cell_key, inner.__closure__ or ())))
        else:
            shown = getattr(value, "__name__", "")
            raise UnwritableError(f"{type(value).__module__}.{type(value).__qualname__} {shown}")
        if key in self._names:
            return self._names[key]
        home = getattr(inner, "__module__", "") or ""
        if home == _ERRORS or home.startswith(f"{_ERRORS}."):
            return _exception(inner.__name__)
        self._alive.append(inner)
        wish = literals.identifier(inner.__name__.replace("<lambda>", "function").strip("_"))
        name = self._names[key] = self._name_for(f"_{wish.strip('_')}")
        try:
            if isinstance(inner, type):
                text = self._class(inner, name)
            else:
                text = self._function(inner, name, bound)
        except UnwritableError as error:
            del self._names[key]
            raise UnwritableError(f"{error}, in {inner.__name__}") from None
        if cached:
            self.need("import functools")
            text = f"@functools.cache\n{text}"
        self.definitions[name] = text
        return name

    def only_result(self, name: str) -> ast.Constant | None:
        """Return the result of a written function that always gives the same, or None."""
        return self._constant.get(name)

    def _class(self, kind: type, name: str) -> str:
        node = _definition_of(kind)
        assert isinstance(node, ast.ClassDef)
        node.bases, node.decorator_list = [], []
        node.body = [part for each in node.body for part in self._member(kind, each)]
        node.body = node.body or [ast.Pass()]
        node.name = name
        node.bases = [ast.parse(self._base(base), mode="eval").body for base in _bases(kind)]
        dataclass = dataclasses.is_dataclass(kind)
        text = ast.unparse(ast.fix_missing_locations(simplified(node)))
        if dataclass:
            self.need("import dataclasses")
            return f"@dataclasses.dataclass(eq=False)\n{text}"
        return text

    def _member(self, kind: type, statement: ast.stmt) -> list[ast.stmt]:
        """Return a statement of a class; a method that cannot go out is left behind."""
        names = {**vars(sys.modules[kind.__module__]), "__class__": kind}
        resolver = Resolver(self, names, set())
        try:
            return resolver.statements([statement])
        except UnwritableError:
            if isinstance(statement, ast.FunctionDef) and not statement.name.startswith("__"):
                return []
            raise

    def _base(self, base: Any) -> str:
        if base.__name__ == "NamedTuple":
            self.need("from typing import Any, NamedTuple")
            return "NamedTuple"
        return self.expression(getattr(base, "__origin__", base))

    def _function(self, function: types.FunctionType, name: str, bound: Mapping[str, Any]) -> str:
        node = copy.deepcopy(source_of(function))
        bound = {**_own_defaults(function), **bound}
        outside = dict(inspect.getclosurevars(function).nonlocals)
        for free, cell in zip(
            function.__code__.co_freevars, function.__closure__ or (), strict=False
        ):
            outside.setdefault(free, cell.cell_contents)
        names = {**function.__globals__, **outside}
        inside = _imported_inside(node)
        names.update(inside)
        names.update(bound)
        local = _locals_of(function.__code__) - inside.keys() - bound.keys()
        self._defaults(node.args, function)
        _leave_out(node.args, bound)
        assigned = {each.id for each in ast.walk(node)
                    if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}  # fmt: skip
        for each in sorted(assigned & bound.keys()):  # known at the call, and not after it
            node.body.insert(0, ast.parse(f"{each} = {self.expression(bound[each])}").body[0])
        node = Resolver(self, names, local).visit(node)
        if isinstance(node, ast.Lambda):
            arguments, body = node.args, [ast.Return(node.body)]
        else:
            arguments, body = node.args, node.body
        made = ast.FunctionDef(name, arguments, body, [], None)  # type: ignore[arg-type]
        if sys.version_info >= (3, 12):
            made.type_params = []
        made = ast.fix_missing_locations(simplified(made))
        body = made.body[1:] if ast.get_docstring(made) is not None else made.body
        only = body[0].value if len(body) == 1 and isinstance(body[0], ast.Return) else None
        if isinstance(only, ast.Constant) and only.value in (None, False):
            self._constant[name] = only
        return ast.unparse(made)

    def _defaults(self, arguments: ast.arguments, function: types.FunctionType) -> None:
        """Write the values of defaults: they may be names of the module."""
        values = function.__defaults__ or ()
        arguments.defaults = [self._parsed(value) for value in values]
        named = function.__kwdefaults__ or {}
        arguments.kw_defaults = [
            self._parsed(named[arg.arg]) if arg.arg in named else None
            for arg in arguments.kwonlyargs
        ]

    def _parsed(self, value: Any) -> ast.expr:
        return ast.parse(self.expression(value), mode="eval").body


def undecorated(value: Any) -> Any:
    """Return a function without a decorator that only keeps NumPy from warning."""
    home = getattr(value, "__globals__", {}).get("__name__", "")
    return getattr(value, "__wrapped__", value) if home.startswith("numpy.") else value


def _own_defaults(function: types.FunctionType) -> dict[str, Any]:
    """Default values that are types of TensorFlow: functions are written for these."""
    defaults = function.__defaults__ or ()
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    given = dict(zip(names[len(names) - len(defaults) :], defaults, strict=True))
    given.update(function.__kwdefaults__ or {})
    return {name: value for name, value in given.items() if isinstance(value, DType)}


def _leave_out(arguments: ast.arguments, bound: Mapping[str, Any]) -> None:
    """Remove arguments that are known from a function's signature."""
    plain = arguments.args
    first = len(plain) - len(arguments.defaults)
    defaults = [None] * first + list(arguments.defaults)
    kept = [(a, d) for a, d in zip(plain, defaults, strict=True) if a.arg not in bound]
    arguments.args = [a for a, _ in kept]
    arguments.defaults = [d for _, d in kept if d is not None]
    named = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    rest = [(a, d) for a, d in named if a.arg not in bound]
    arguments.kwonlyargs, arguments.kw_defaults = [a for a, _ in rest], [d for _, d in rest]


def _cell_key(cell: Any) -> int | tuple[type[Any], Any]:
    value = cell.cell_contents
    try:
        hash(value)
    except TypeError:
        return id(value)
    return (type(value), value) if not isinstance(value, torch.Tensor) else id(value)


def _exception(name: str) -> str:
    for part, python in _EXCEPTIONS:
        if part in name.lower():
            return python
    return "RuntimeError"


def _bases(kind: type) -> tuple[Any, ...]:
    bases = getattr(kind, "__orig_bases__", kind.__bases__)
    return tuple(b for b in bases if b is not object and get_origin(b) is not Generic)


# ---- where functions stand


@functools.cache
def _tree_of(module: str) -> ast.Module:
    path = getattr(sys.modules.get(module), "__file__", None)
    if path is None or not module.startswith("stillflow"):
        raise UnwritableError(f"functions of {module}")
    with open(path, encoding="utf-8") as file:
        return ast.parse(file.read())


def _definition_of(kind: type) -> ast.stmt:
    for node in _tree_of(kind.__module__).body:
        if isinstance(node, ast.ClassDef) and node.name == kind.__name__:
            return copy.deepcopy(node)
    raise UnwritableError(f"the class {kind.__module__}.{kind.__qualname__}")


def source_of(function: types.FunctionType) -> Any:
    """Return the definition of a function, a `def` or a lambda, in the tree of its module.

    UnwritableError if its module is not Stillflow's.
    """
    module = function.__globals__.get("__name__", "")
    wanted = ast.Lambda if function.__name__ == "<lambda>" else ast.FunctionDef
    found = [
        node
        for node in ast.walk(_tree_of(module))
        if isinstance(node, wanted) and _first_line(node) == function.__code__.co_firstlineno
    ]
    if len(found) > 1:  # lambdas of one line
        found = [node for node in found if _same_code(node, function.__code__)]
    if not found:
        raise UnwritableError(f"{module}.{function.__qualname__}")
    return found[0]


def _first_line(node: Any) -> int:
    decorators = getattr(node, "decorator_list", ())
    return int(min((each.lineno for each in decorators), default=node.lineno))


def _same_code(node: Any, code: types.CodeType) -> bool:
    expression = ast.Expression(copy.deepcopy(node))
    compiled = compile(ast.fix_missing_locations(expression), "<lambda>", "eval")
    inner = next(c for c in compiled.co_consts if isinstance(c, types.CodeType))
    given = (code.co_consts, code.co_varnames, code.co_names)
    return (inner.co_consts, inner.co_varnames, inner.co_names) == given


def _locals_of(code: types.CodeType) -> set[str]:
    names = {*code.co_varnames, *code.co_cellvars}
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= _locals_of(constant)
    return names


def _imported_inside(node: ast.AST) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for each in ast.walk(node):
        if isinstance(each, ast.ImportFrom):
            module = __import__(each.module or "", fromlist=["x"])
            for alias in each.names:
                found[alias.asname or alias.name] = getattr(module, alias.name)
        elif isinstance(each, ast.Import):
            for alias in each.names:
                if alias.name in literals.IMAGE_LIBRARIES:
                    importlib.import_module(alias.name)
                if alias.name not in sys.modules:
                    raise UnwritableError(f"the module {alias.name}")
                found[alias.asname or alias.name] = sys.modules[alias.name]
    return found
