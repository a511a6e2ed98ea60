"""Expressions of a command line: literals, arithmetic, and functions of NumPy that make arrays.

Nothing else of Python is there: no names, no attributes of objects, no loops. Sizes are looked at
before there are arrays of them.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

LARGEST = 1 << 27  # elements of a value
_LONGEST = 1 << 20  # characters of an expression
_BITS = 4096  # of an integer


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_MAKERS = _words(
    "arange array asarray concatenate empty expand_dims eye full hstack identity linspace "
    "meshgrid newaxis ones ones_like repeat reshape squeeze stack tile transpose vstack "
    "zeros zeros_like abs cos exp log maximum minimum sin sqrt tanh sum mean clip"
)
_TYPES = _words(
    "bool_ bytes_ complex64 complex128 double float16 float32 float64 half int8 int16 int32 "
    "int64 intc longlong object_ single str_ uint8 uint16 uint32 uint64"
)
_NUMBERS = _words("e inf nan newaxis pi")
_RANDOM = _words(
    "choice normal permutation rand randint randn random random_sample uniform standard_normal seed"
)
_METHODS = _words(
    "astype copy flatten ravel reshape round squeeze swapaxes T tolist transpose shape sum mean"
)
_BUILTINS: dict[str, Callable[..., Any]] = {
    "abs": abs, "bool": bool, "float": float, "int": int, "len": len, "max": max, "min": min,
    "range": range, "list": list, "tuple": tuple,
}  # fmt: skip
_BINARY: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.MatMult: operator.matmul,
}  # fmt: skip
_UNARY: dict[type, Callable[[Any], Any]] = {
    ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Not: operator.not_,
    ast.Invert: operator.invert,
}  # fmt: skip
_ADVICE = "It may hold literals, arithmetic and functions of NumPy that make arrays."


class NotAllowed(ValueError):
    """An expression that does more than make a value."""


def evaluate(text: str) -> Any:
    """Return the value of an expression; ValueError if it does more, or is too large."""
    if len(text) > _LONGEST:
        raise NotAllowed(f"The expression has {len(text)} characters; the limit is {_LONGEST}.")
    try:
        return _Evaluator().value(ast.parse(text.strip(), mode="eval").body)
    except NotAllowed:
        raise
    except SyntaxError as error:
        raise ValueError(f"{text!r} is no expression: {error.msg}") from None
    except (RecursionError, MemoryError):
        raise ValueError("The expression is nested too deeply.") from None
    except Exception as error:
        raise ValueError(f"{text!r} has no value: {error}") from error


class _Evaluator:
    """Evaluator of a syntax tree's allowed nodes."""

    def value(self, node: ast.AST) -> Any:
        method = getattr(self, f"_{type(node).__name__.lower()}", None)
        if method is None:
            raise NotAllowed(f"The expression holds a {type(node).__name__}. {_ADVICE}")
        return method(node)

    def _constant(self, node: ast.Constant) -> Any:
        return node.value

    def _list(self, node: ast.List) -> list[Any]:
        return [self.value(item) for item in node.elts]

    def _tuple(self, node: ast.Tuple) -> tuple[Any, ...]:
        return tuple(self.value(item) for item in node.elts)

    def _dict(self, node: ast.Dict) -> dict[Any, Any]:
        keys = [self.value(key) for key in node.keys if key is not None]
        return dict(zip(keys, map(self.value, node.values), strict=True))

    def _unaryop(self, node: ast.UnaryOp) -> Any:
        return _UNARY[type(node.op)](_checked(self.value(node.operand)))

    def _binop(self, node: ast.BinOp) -> Any:
        left, right = self.value(node.left), self.value(node.right)
        kind = type(node.op)
        if kind is ast.Mult:
            return _product(left, right)
        if kind is ast.Pow:
            return _power(left, right)
        if kind not in _BINARY:
            raise NotAllowed(f"The expression holds a {kind.__name__}. {_ADVICE}")
        if kind is ast.Mod and isinstance(left, (str, bytes)):
            raise NotAllowed(f"The expression formats a text. {_ADVICE}")
        _check_size(_broadcast(left, right))
        return _checked(_BINARY[kind](left, right))

    def _name(self, node: ast.Name) -> Callable[..., Any]:
        if node.id in _BUILTINS:
            return _BUILTINS[node.id]
        raise NotAllowed(f"The expression names {node.id!r}. {_ADVICE}")

    def _subscript(self, node: ast.Subscript) -> Any:
        return self.value(node.value)[self.value(node.slice)]

    def _slice(self, node: ast.Slice) -> slice:
        parts = (node.lower, node.upper, node.step)
        return slice(*(None if part is None else self.value(part) for part in parts))

    def _attribute(self, node: ast.Attribute) -> Any:
        path = _path(node)
        if path is not None:
            return _of_numpy(path)
        owner = self.value(node.value)
        if isinstance(owner, (np.ndarray, np.generic)) and node.attr in _METHODS:
            return getattr(owner, node.attr)
        raise NotAllowed(f"The expression takes the attribute {node.attr!r}. {_ADVICE}")

    def _call(self, node: ast.Call) -> Any:
        function = self.value(node.func)
        args = [self.value(argument) for argument in node.args]
        keywords = {word.arg: self.value(word.value) for word in node.keywords if word.arg}
        if len(keywords) != len(node.keywords):
            raise NotAllowed(f"The expression holds **. {_ADVICE}")
        name = getattr(function, "__name__", "")
        _check_size(_elements(name, function, args, keywords))
        if name == "range":
            return list(function(*args))
        return _checked(function(*args, **keywords))


def _path(node: ast.AST) -> str | None:
    """Return the name behind `np.` or `numpy.`, None for an attribute of another thing."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.insert(0, node.attr)
        node = node.value
    if isinstance(node, ast.Name) and node.id in ("np", "numpy"):
        return ".".join(names)
    return None


def _of_numpy(path: str) -> Any:
    module, _, name = path.rpartition(".")
    if module == "random" and name in _RANDOM:
        return getattr(np.random, name)
    if not module and name in _MAKERS | _TYPES | _NUMBERS and hasattr(np, name):
        return getattr(np, name)
    if not module and name in ("float", "int", "bool"):  # as NumPy had them before 1.24
        return _BUILTINS[name]
    raise NotAllowed(f"np.{path} is not a function that makes arrays. {_ADVICE}")


def _product(left: Any, right: Any) -> Any:
    for count, thing in ((left, right), (right, left)):
        if isinstance(count, int) and isinstance(thing, (str, bytes, list, tuple)):
            _check_size(max(count, 0) * len(thing))
    _check_size(_broadcast(left, right))
    return _checked(left * right)


def _power(left: Any, right: Any) -> Any:
    whole = isinstance(left, int) and isinstance(right, int)
    if whole and right > 0 and left.bit_length() * right > _BITS:
        raise NotAllowed(f"{left} ** {right} is too large; the limit is {_BITS} bits.")
    _check_size(_broadcast(left, right))
    return _checked(left**right)


def _checked(value: Any) -> Any:
    if isinstance(value, int) and value.bit_length() > _BITS:
        raise NotAllowed(f"An integer has {value.bit_length()} bits; the limit is {_BITS}.")
    return value


def _check_size(count: float) -> None:
    if count > LARGEST:
        raise NotAllowed(f"A value would have {count:.0f} elements; the limit is {LARGEST}.")


def _broadcast(left: Any, right: Any) -> float:
    if not isinstance(left, np.ndarray) and not isinstance(right, np.ndarray):
        return 0
    return math.prod(np.broadcast_shapes(np.shape(left), np.shape(right)))


def _elements(name: str, function: Any, args: list[Any], keywords: dict[str, Any]) -> float:
    """At most how many elements a call gives, by its arguments."""
    if getattr(function, "__self__", None) is not None and isinstance(
        function.__self__, np.ndarray
    ):
        return function.__self__.size
    given = [*args, *keywords.values()]
    if name in ("range", "arange"):
        numbers = [float(each) for each in args if isinstance(each, (int, float))]
        if not numbers:
            return 0
        start, stop, step = (0.0, numbers[0], 1.0) if len(numbers) == 1 else (
            *numbers[:2], numbers[2] if len(numbers) > 2 else 1.0
        )  # fmt: skip
        return abs(stop - start) / (abs(step) or 1.0)
    if name in ("eye", "identity"):
        sizes = [abs(each) for each in given if isinstance(each, int)]
        return math.prod(sizes) * (sizes[0] if len(sizes) == 1 else 1) if sizes else 0
    if name == "meshgrid":
        return math.prod(np.size(each) for each in args) * max(len(args), 1)
    size = max(1, *(_size(each, {}) for each in given)) if given else 1
    if name not in ("tile", "repeat"):
        _check_size(size)
    return _product_of_integers(given) * (size if name in ("tile", "repeat") else 1)


def _size(value: Any, known: dict[int, float]) -> float:
    """Return the number of elements of a value's array; lists may repeat one list."""
    if isinstance(value, np.ndarray):
        return value.size
    if not isinstance(value, (list, tuple)):
        return 1
    if id(value) not in known:
        known[id(value)] = sum(_size(item, known) for item in value)
    return known[id(value)]


def _product_of_integers(given: list[Any]) -> float:
    """Return the product of all numbers in arguments that may be sizes."""
    total = 1.0
    for each in given:
        numbers = each if isinstance(each, (list, tuple)) else [each]
        if all(isinstance(item, int) for item in numbers) and len(numbers) <= 64:
            total *= math.prod(max(abs(item), 1) for item in numbers)
    return total
