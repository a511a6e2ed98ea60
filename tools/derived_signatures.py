"""Signatures of functions and classes that are not written out, read without importing the package.

Layers derive theirs from others by the rules of `src/stillflow/layers/signatures.py`; functions of
`tf.compat.v2` have theirs in a string (`handed_on`). Editors cannot follow that, so the wheel's
stubs say what comes out:

    class Conv2D(_Conv2D):
        def __init__(self, filters: Any, kernel_size: Any, strides: Any = (1, 1), ...) -> None: ...
"""

from __future__ import annotations

import ast
import functools
import importlib.util
from inspect import Parameter
from pathlib import Path
from typing import Any, NamedTuple

PACKAGE = Path(__file__).resolve().parent.parent / "src" / "stillflow"


class _Omitted:
    """A default value that a stub does not spell out."""

    def __repr__(self) -> str:
        return "..."


# The initializers of `tf.layers`, as in layers/functional.py.
_INITIALIZERS = {"glorot_uniform": None, "zeros": _Omitted(), "ones": _Omitted()}


_LAYERS = ("layers.", "keras.layers.", "contrib.layers.")


def _load(name: str) -> Any:
    """Return a module of the package that imports the standard library only."""
    spec = importlib.util.spec_from_file_location(name, PACKAGE / "layers" / f"{name}.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


rules = _load("signatures")


class Derived(NamedTuple):
    """A class whose constructor derives from another one ("class"), or a function ("def").

    Attributes:
      returns: the type that a function returns.
    """

    kind: str
    parameters: list[Parameter]
    returns: str = "Any"

    def text(self) -> str:
        """Return the parameters, as a stub has them."""
        texts = []
        for x in self.parameters:
            text = _starred(x) + ("" if x.annotation is x.empty else f": {x.annotation}")
            texts.append(text if x.default is x.empty else f"{text} = {x.default!r}")
        return ", ".join(texts)


def _starred(parameter: Parameter) -> str:
    return f"{'**' * (parameter.kind is parameter.VAR_KEYWORD)}{parameter.name}"


class Source:
    """The statements of a module, by the names that they bind."""

    def __init__(self, module: str) -> None:
        text = PACKAGE.joinpath(*module.split(".")).with_suffix(".py").read_text(encoding="utf-8")
        self.module = module
        self.imported: dict[str, str] = {}
        self.bound: dict[str, ast.expr | ast.ClassDef | ast.FunctionDef] = {}
        for node in ast.parse(text).body:
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("stillflow."):
                home = (node.module or "").removeprefix("stillflow.")
                for alias in node.names:
                    self.imported[alias.asname or alias.name] = f"{home}.{alias.name}"
            elif isinstance(node, (ast.ClassDef, ast.FunctionDef)):
                self.bound[node.name] = node
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                self.bound[node.targets[0].id] = node.value

    def find(self, node: ast.expr) -> tuple[Source, ast.ClassDef] | None:
        """Return the class that an expression names, and its module."""
        path = ast.unparse(node)
        if isinstance(found := self.bound.get(path), ast.ClassDef):
            return self, found
        first, *rest = path.split(".")
        if first not in self.imported:
            return None
        module, _, name = ".".join([self.imported[first], *rest]).rpartition(".")
        if not PACKAGE.joinpath(*module.split(".")).with_suffix(".py").is_file():
            return None
        return source(module).find(ast.Name(name))

    def value(self, node: ast.expr) -> Any:
        """Return the value of an expression of constants and of names bound to constants."""
        if isinstance(node, ast.Name):
            bound = self.bound.get(node.id)
            return self.value(bound) if isinstance(bound, ast.expr) else getattr(rules, node.id)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):  # a template
            return self.value(node.func.value).format(*map(self.value, node.args))
        if isinstance(node, ast.Starred):
            return self.value(node.value)
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
            ends = (node.slice.lower, node.slice.upper, node.slice.step)
            return self.value(node.value)[slice(*(end and ast.literal_eval(end) for end in ends))]
        if isinstance(node, ast.Tuple):
            parts = [(x, self.value(x)) for x in node.elts]
            lists = [v if isinstance(x, ast.Starred) else [v] for x, v in parts]
            return tuple(item for part in lists for item in part)
        return ast.literal_eval(node)


@functools.cache
def source(module: str) -> Source:
    """Return a module of the package, read once."""
    return Source(module)


def derived(target: str) -> Derived | None:
    """Return the signature of a public name, None if it does not derive from another one.

    Args:
      target: the name's home, as in "layers.convolutional:conv2d".
    """
    module, _, name = target.partition(":")
    if not (module.startswith(_LAYERS) or module.endswith(".compat_v2")):
        return None
    home = source(module)
    bound = home.bound.get(name)
    if isinstance(bound, ast.ClassDef):
        parameters, is_derived = _constructor(home, bound)
        return Derived("class", parameters) if is_derived else None
    call = bound
    while isinstance(call, ast.Call) and ast.unparse(call.func).startswith(("export(", "add_arg_")):
        call = call.args[0]
    rule = ast.unparse(call.func) if isinstance(call, ast.Call) else ""
    makers = {
        "layer_function": _layer_function, "handed_on": _handed_on, "with_fixed": _with_fixed,
    }  # fmt: skip
    return makers[rule](home, call) if rule in makers else None


def _handed_on(home: Source, call: ast.Call) -> Derived:
    """Return the function of a call of `handed_on`."""
    function = ast.parse(f"def f({home.value(call.args[0])}): ...").body[0]
    assert isinstance(function, ast.FunctionDef)
    return Derived("def", _written(function.args))


def _with_fixed(home: Source, call: ast.Call) -> Derived:
    """Return the function of a call of `with_fixed`."""
    function = home.bound[ast.unparse(call.args[0])]
    assert isinstance(function, ast.FunctionDef)
    fixed = {x.arg for x in call.keywords}
    parameters = [x for x in _written(function.args) if x.name not in fixed]
    defaults: dict[str, Any] = {}
    if len(call.args) > 3:
        assert isinstance(call.args[3], ast.Dict)
        defaults = {str(ast.literal_eval(x)): _Omitted() for x in call.args[3].keys if x}
    return Derived("def", rules.changed(parameters, defaults))


def _layer_function(home: Source, call: ast.Call) -> Derived:
    """Return the function of a call of `layer_function`."""
    found = home.find(call.args[0])
    assert found, ast.unparse(call)
    options = {
        str(x.arg): ast.literal_eval(x.value)
        for x in call.keywords
        if x.arg in ("call", "reuse", "after")
    }
    parameters = rules.functional(_constructor(*found)[0], options.pop("call", {}), **options)
    return Derived("def", parameters, "_Tensor")


def _constructor(home: Source, node: ast.ClassDef) -> tuple[list[Parameter], bool]:
    """Return the parameters of a class's constructor, and True if they are derived."""
    for statement in node.body:
        if isinstance(statement, ast.FunctionDef) and statement.name == "__init__":
            return _written(statement.args), False
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "__init__":
            assert isinstance(statement.value, ast.Call)
            return _by_rule(home, statement.value), True
    for base in node.bases:
        if found := home.find(base):
            parameters, is_derived = _constructor(*found)
            if parameters:
                return parameters, is_derived
    return [], False


def _by_rule(home: Source, call: ast.Call) -> list[Parameter]:
    """Return the parameters of a constructor that a call derives from another one."""
    init, *rest = call.args
    assert isinstance(init, ast.Attribute), ast.unparse(call)
    found = home.find(init.value)
    assert found, ast.unparse(call)
    parameters, _ = _constructor(*found)
    given = [home.value(node) for node in rest]
    named = {str(x.arg): home.value(x.value) for x in call.keywords}
    rule = ast.unparse(call.func)
    if rule == "scoped_constructor":
        made: list[Parameter] = rules.scoped(parameters, _INITIALIZERS, given, named)
    elif rule == "recurrent_constructor":
        made = rules.recurrent(parameters, *given, **named)
    else:
        made = rules.changed([x for x in parameters if x.name not in given], named)
    return made


def _written(arguments: ast.arguments) -> list[Parameter]:
    """Return the parameters of a function that is written out."""
    kind = Parameter.POSITIONAL_OR_KEYWORD
    values: list[Any] = [_default(node) for node in arguments.defaults]
    values = [Parameter.empty] * (len(arguments.args) - len(values)) + values
    made = [
        Parameter(x.arg, kind, default=value, annotation=_annotation(x))
        for x, value in zip(arguments.args, values, strict=True)
    ]
    if arguments.kwarg:
        kwarg = arguments.kwarg
        made.append(Parameter(kwarg.arg, Parameter.VAR_KEYWORD, annotation=_annotation(kwarg)))
    return made


def _annotation(node: ast.arg) -> Any:
    return ast.unparse(node.annotation) if node.annotation else Parameter.empty


def _default(node: ast.expr) -> Any:
    try:
        value = ast.literal_eval(node)
    except ValueError:
        return _Omitted()
    return _Omitted() if value is ... else value
