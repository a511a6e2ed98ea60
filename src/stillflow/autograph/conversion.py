"""Converted functions: compiled once for a piece of code, bound to each function that has it."""

from __future__ import annotations

import ast
import builtins
import threading
import weakref
from collections.abc import Iterator
from types import CellType, CodeType, FunctionType
from typing import Any, NamedTuple

from stillflow.autograph import operators
from stillflow.autograph.build import statements
from stillflow.autograph.functions import convert_tree
from stillflow.autograph.options import ConversionOptions
from stillflow.autograph.source import FunctionNode, function_node, future_flags
from stillflow.autograph.verbosity import log


class Part(NamedTuple):
    """Origin of some converted code.

    Attributes:
      whole: the file, line and name of the function that was converted as one.
      name: of the function of the program that it is in; None in a lambda that was converted.
      is_inside: whether it is not the whole.
    """

    whole: tuple[str, int, str]
    name: str | None
    is_inside: bool


_lock = threading.RLock()
_converted: weakref.WeakKeyDictionary[CodeType, dict[Any, CodeType]] = weakref.WeakKeyDictionary()
_parts: weakref.WeakKeyDictionary[CodeType, Part] = weakref.WeakKeyDictionary()
_ag = CellType(operators)
_HELPERS = "ag__"  # begins the names of functions that conversion adds


def is_converted(function: FunctionType) -> bool:
    """Return True if a function is the result of a conversion, or part of one."""
    return function.__code__ in _parts


def part_of(code: CodeType) -> Part | None:
    """Return the origin of converted code; None for other code."""
    return _parts.get(code)


def convert_function(function: FunctionType, options: ConversionOptions) -> FunctionType:
    """Return a function that computes the same as another one, on tensors too.

    ValueError if its source cannot be had, NotImplementedError if it cannot be converted.
    """
    code = converted_code(function, options)
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    closure = tuple(_ag if name == "ag__" else cells[name] for name in code.co_freevars)
    made = FunctionType(
        code, function.__globals__, function.__name__, function.__defaults__, closure
    )
    made.__kwdefaults__ = function.__kwdefaults__
    made.__dict__.update(function.__dict__)
    made.__doc__, made.__module__ = function.__doc__, function.__module__
    made.__qualname__, made.__annotations__ = function.__qualname__, function.__annotations__
    return made


def converted_code(function: FunctionType, options: ConversionOptions) -> CodeType:
    """Return the code of a converted function."""
    code = function.__code__
    with _lock:
        known = _converted.setdefault(code, {})
        key = (code.co_filename, options)
        if key not in known:
            log(1, "Converting %s", function)
            known[key] = made = _compile(converted_tree(function, options), function)
            whole = code.co_filename, code.co_firstlineno, function.__qualname__
            _parts.update(_found_parts(made, Part(whole, None, False)))
        return known[key]


def converted_tree(function: FunctionType, options: ConversionOptions) -> FunctionNode:
    """Return the syntax tree of a converted function."""
    if "ag__" in function.__code__.co_freevars:
        raise ValueError(f'entity {function} uses the reserved symbol "ag__"')
    around = {*function.__code__.co_freevars, *function.__globals__}
    node = function_node(function)
    convert_tree(node, options, lambda name: hasattr(builtins, name) and name not in around)
    if isinstance(node, ast.FunctionDef):
        node.decorator_list, node.returns = [], None
        # Those of Python 3.12: the ones that the code uses are in its closure.
        node.type_params = []  # type: ignore[attr-defined]
    # Defaults are those of the function; annotations would be looked up again.
    node.args.defaults, node.args.kw_defaults = [], [None] * len(node.args.kwonlyargs)
    for arg in ast.walk(node.args):
        if isinstance(arg, ast.arg):
            arg.annotation = None
    log(2, "Converted code of %s:\n\n%s\n", function, _Text(node))
    return node


def _compile(node: FunctionNode, function: FunctionType) -> CodeType:
    code = function.__code__
    # A function around it makes its free variables free.
    names = ", ".join(("ag__", *code.co_freevars))
    (around,) = statements(f"def ag__outer({names}): pass")
    if isinstance(node, ast.FunctionDef):
        node.name = _HELPERS  # its own name is that of what a call of itself finds outside
    body = [node] if isinstance(node, ast.FunctionDef) else [ast.Expr(node)]
    around.body = [ast.copy_location(new, node) for new in body]  # type: ignore[attr-defined]
    module = ast.Module([ast.copy_location(around, node)], [])
    compiled = compile(module, code.co_filename, "exec", future_flags(code), dont_inherit=True)
    outer = next(_inner(compiled))
    return _named(next(_inner(outer)), code.co_name, function.__qualname__)


def _inner(code: CodeType) -> Any:
    return (const for const in code.co_consts if isinstance(const, CodeType))


def _found_parts(code: CodeType, around: Part) -> Iterator[tuple[CodeType, Part]]:
    name = around.name if code.co_name.startswith("<") else code.co_name  # a lambda has none
    yield code, around._replace(name=name)
    for const in _inner(code):
        yield from _found_parts(const, Part(around.whole, name, True))


def _named(code: CodeType, name: str, qualname: str) -> CodeType:
    """Set code's name; functions that conversion has added get that of the enclosing one."""

    def inside(const: Any) -> Any:
        if not isinstance(const, CodeType):
            return const
        if const.co_name.startswith(_HELPERS):
            return _named(const, name, qualname)
        return _named(const, const.co_name, f"{qualname}.<locals>.{const.co_name}")

    names = {"co_name": name, "co_qualname": qualname}
    known = {key: value for key, value in names.items() if hasattr(code, key)}  # Python 3.10
    return code.replace(co_consts=tuple(map(inside, code.co_consts)), **known)  # type: ignore[arg-type]


class _Text:
    """A tree that is made text if it is printed."""

    def __init__(self, node: ast.AST) -> None:
        self.node = node

    def __str__(self) -> str:
        return ast.unparse(self.node)
