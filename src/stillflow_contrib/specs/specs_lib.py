"""Functions that can be put one after the other (`|`), repeated (`**`), added and multiplied."""

from __future__ import annotations

import importlib
import operator
import re
from collections.abc import Callable as AnyCallable
from collections.abc import Sequence
from typing import Any

from stillflow.graph.export import export, export_value
from stillflow.graph.operation import Tensor

QUOTED = export_value(
    "contrib.specs.QUOTED", re.compile(r""""(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'""")
)
KEYWORDS = export_value("contrib.specs.KEYWORDS", re.compile(r"\b(import|while|def|exec)\b"))

debug_ = False


@export("contrib.specs.check_keywords")
def check_keywords(spec: str) -> None:
    """Raise an error for statements that do not belong in a specification.

    Args:
      spec: the specification.

    Raises:
      ValueError: if one of Python's words `import`, `while`, `def`, `exec` is outside of quotes.
    """
    found = KEYWORDS.search(QUOTED.sub("", spec))
    if found:
        raise ValueError(f"keyword '{found[1]}' found in spec")


@export("contrib.specs.get_positional")
def get_positional(
    args: Sequence[Any], kw: dict[str, Any], kw_overrides: bool = False
) -> tuple[Sequence[Any], dict[str, Any]]:
    """Move arguments called `_0`, `_1`, ... to their places.

    Args:
      args: arguments by place; None is one that is not given.
      kw: arguments by name.
      kw_overrides: whether those by name go before those by place.

    Returns:
      The arguments by place and those by name.
    """
    by_name = {name: value for name, value in kw.items() if not name.startswith("_")}
    if len(by_name) == len(kw):
        return args, kw
    by_place = list(args)
    for name, value in kw.items():
        if name not in by_name:
            place = int(name[1:])
            by_place.extend([None] * (place + 1 - len(by_place)))
            if kw_overrides or by_place[place] is None:
                by_place[place] = value
    return by_place, by_name


@export("contrib.specs.Composable")
class Composable:
    """Object with a method `funcall`, which makes a part of a network after an input.

    `f

    g` puts g after f, `f ** n` n times f one after the other; `f + g` and `f * g` add and multiply
    both results for the same input.
    """

    def funcall(self, x: Any) -> Any:
        """Return the output for an input."""
        raise NotImplementedError(f"{type(self).__name__} has no funcall")

    def __or__(self, f: Any) -> Composable:
        return Composition(self, f)

    def __add__(self, g: Any) -> Composable:
        return Operator(operator.add, self, g)

    def __mul__(self, g: Any) -> Composable:
        return Operator(operator.mul, self, g)

    def __pow__(self, n: int) -> Composable:
        assert n >= 0
        if n == 0:
            return Function(lambda x, *args, **kw: x)
        result: Composable = self
        for _ in range(n - 1):
            result = Composition(result, self)
        return result


@export("contrib.specs.Callable")
class Callable(Composable):
    """A function of the input."""

    def __init__(self, f: AnyCallable[[Any], Any]) -> None:
        self.f = f

    def funcall(self, x: Any) -> Any:
        """Return the function's result for an input."""
        return self.f(x)


@export("contrib.specs.Operator")
class Operator(Composable):
    """Function of the results of others."""

    def __init__(self, op: AnyCallable[..., Any], *args: Any) -> None:
        self.op = op
        self.funs = args

    def funcall(self, x: Any) -> Tensor:
        """Return the function of the others' outputs for an input."""
        return self.op(*[f.funcall(x) for f in self.funs])


@export("contrib.specs.Function")
class Function(Composable):
    """A function with arguments besides the input; calling it gives it more of these.

    Raises:
      ValueError: for something that cannot be called.
    """

    def __init__(self, f: AnyCallable[..., Any], *args: Any, **kw: Any) -> None:
        if not callable(f):
            raise ValueError(f"{f}: is not callable")
        self.f = f
        self.args = list(args)
        self.kw = kw

    def __call__(self, *args: Any, **kw: Any) -> Function:
        return Function(self.f, *args, *self.args, **{**self.kw, **kw})

    def funcall(self, x: Any) -> Tensor | float:
        """Return the function's result for an input and the arguments."""
        args, kw = get_positional(self.args, self.kw)
        if debug_:
            print("DEBUG:", self.f, x, args, kw)
        return self.f(x, *args, **kw)


@export("contrib.specs.Composition")
class Composition(Composable):
    """One part of a network after the other."""

    def __init__(self, f: Any, g: Any) -> None:
        self.f = f
        self.g = g

    def funcall(self, x: Any) -> Any:
        """Return the second part's output for the first part's output."""
        return self.g.funcall(self.f.funcall(x))


@export("contrib.specs.External")
def External(module_name: str, function_name: str) -> Function:
    """Return a function of a module, to be used in specifications.

    Args:
      module_name: the module's whole name.
      function_name: the function's in it.
    """
    return Function(vars(importlib.import_module(module_name))[function_name])


@export("contrib.specs.Import")
def Import(statements: str) -> Function:
    """Return a function that statements of Python make, to be used in specifications.

    Args:
      statements: after them, it is called `f`.

    Raises:
      ValueError: if there is no `f`.
    """
    names: dict[str, Any] = {}
    exec(statements, names)
    if "f" not in names:
        raise ValueError('failed to define "f": %s', statements)
    return Function(names["f"])


@export("contrib.specs.debug")
def debug(mode: bool = True) -> None:
    """Make functions print their arguments, or no longer."""
    global debug_
    debug_ = mode
