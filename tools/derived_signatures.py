"""Signatures of functions and classes that are not written out, read without importing the package.

Layers derive theirs from others by the rules of `src/stillflow/layers/signatures.py`; functions of
`tf.compat.v2` have theirs in a string (`handed_on`); `sqrt = unary_function(sqrt_op, "sqrt", ...)`
has that of the function which `unary_function` returns. Editors cannot follow that, so the wheel's
stubs say what comes out:

    class Conv2D(_Conv2D):
        def __init__(self, filters: Any, kernel_size: Any, strides: Any = (1, 1), ...) -> None: ...
"""

from __future__ import annotations

import ast
import builtins
import functools
import importlib.util
from inspect import Parameter
from pathlib import Path
from typing import Any, NamedTuple

SOURCES = Path(__file__).resolve().parent.parent / "src"
PACKAGE = SOURCES / "stillflow"


class _Omitted:
    """A default value that a stub does not spell out."""

    def __repr__(self) -> str:
        return "..."


# The initializers of `tf.layers`, as in layers/functional.py.
_INITIALIZERS = {"glorot_uniform": None, "zeros": _Omitted(), "ones": _Omitted()}


_LAYERS = ("layers.", "keras.layers.", "contrib.layers.")
# Calls that return their last argument, or a function of the same arguments.
_KEEPING = ("export(", "export_value", "add_arg_", "deprecated", "dispatchable", "experimental")


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
      imports: the statements that import the types.
    """

    kind: str
    parameters: list[Parameter]
    returns: str = "Any"
    imports: tuple[str, ...] = ()

    def text(self) -> str:
        """Return the parameters, as a stub has them."""
        texts = []
        for x in self.parameters:
            text = _starred(x) + ("" if x.annotation is x.empty else f": {x.annotation}")
            texts.append(text if x.default is x.empty else f"{text} = {x.default!r}")
        return ", ".join(texts)


def _starred(parameter: Parameter) -> str:
    stars = "*" * (parameter.kind is parameter.VAR_POSITIONAL)
    return f"{stars}{'**' * (parameter.kind is parameter.VAR_KEYWORD)}{parameter.name}"


def _file(module: str) -> Path:
    """Return the file of a module: of the package, or of `stillflow_contrib` by its full name."""
    root = SOURCES if module.startswith("stillflow_contrib.") else PACKAGE
    return root.joinpath(*module.split(".")).with_suffix(".py")


@functools.cache
def _text(module: str) -> str:
    """Return the source of a module, "" for a package."""
    file = _file(module)
    return file.read_text(encoding="utf-8") if file.is_file() else ""


def full_name(module: str) -> str:
    """Return the name under which a module is imported."""
    return module if module.startswith("stillflow_contrib.") else f"stillflow.{module}"


class Source:
    """The statements of a module, by the names that they bind."""

    def __init__(self, module: str) -> None:
        self.module = module
        self.tree = ast.parse(_text(module))
        self.imported: dict[str, str] = {}
        self.bound: dict[str, ast.expr | ast.ClassDef | ast.FunctionDef] = {}
        for node in self.tree.body:
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("stillflow"):
                home = (node.module or "").removeprefix("stillflow.")
                for alias in node.names:
                    self.imported[alias.asname or alias.name] = f"{home}.{alias.name}"
            elif isinstance(node, (ast.ClassDef, ast.FunctionDef)):
                self.bound[node.name] = node
            elif isinstance(node, ast.Assign):
                target, value = node.targets[0], node.value
                pairs = [(target, value)]
                if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
                    pairs = list(zip(target.elts, value.elts, strict=True))
                self.bound.update((x.id, each) for x, each in pairs if isinstance(x, ast.Name))

    def find(self, node: ast.expr, kind: type = ast.ClassDef) -> tuple[Source, Any] | None:
        """Return the class or function that an expression names, and its module."""
        path = ast.unparse(node)
        if isinstance(found := self.bound.get(path), kind):
            return self, found
        first, *rest = path.split(".")
        if first not in self.imported:
            return None
        module, _, name = ".".join([self.imported[first], *rest]).rpartition(".")
        if not module or not _file(module).is_file():
            return None
        return source(module).find(ast.Name(name), kind)

    def value(self, node: ast.expr) -> Any:
        """Return the value of an expression of constants and of names bound to constants."""
        if isinstance(node, ast.Name):
            bound = self.bound.get(node.id)
            if isinstance(bound, ast.expr):
                return self.value(bound)
            module, _, name = self.imported.get(node.id, "").rpartition(".")
            if module and _file(module).is_file():
                return source(module).value(ast.Name(name))
            return getattr(rules, node.id)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):  # a template
            return self.value(node.func.value).format(*map(self.value, node.args))
        if isinstance(node, ast.Starred):
            return self.value(node.value)
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
            ends = (node.slice.lower, node.slice.upper, node.slice.step)
            return self.value(node.value)[slice(*(end and ast.literal_eval(end) for end in ends))]
        if isinstance(node, ast.Dict):
            made: dict[Any, Any] = {}
            for key, value in zip(node.keys, map(self.value, node.values), strict=True):
                made.update(value if key is None else {self.value(key): value})
            return made
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
    is_layer = module.startswith(_LAYERS)
    if not is_layer and f"\n{name} = " not in _text(module):  # a function or class
        return None
    home = source(module)
    bound = home.bound.get(name)
    if isinstance(bound, ast.ClassDef):
        parameters, is_derived = _constructor(home, bound)
        return Derived("class", parameters) if is_derived else None
    call = bound
    while isinstance(call, ast.Call) and ast.unparse(call.func).startswith(_KEEPING):
        call = call.args[-1]
    if isinstance(call, ast.Name) and isinstance(home.bound.get(call.id), ast.Call):
        return derived(f"{module}:{call.id}")  # another name of the same function
    if not isinstance(call, ast.Call):
        return None
    makers = {
        "layer_function": _layer_function, "handed_on": _handed_on, "with_fixed": _with_fixed,
        "_streaming": _streaming,
    }  # fmt: skip
    return makers.get(ast.unparse(call.func), _made)(home, call)


def _made(home: Source, call: ast.Call) -> Derived | None:
    """Return the function that a call of a function returns, if that is one defined in it."""
    found = home.find(call.func, ast.FunctionDef)
    if found is None:
        return None
    there, maker = found
    results = [node.value for node in maker.body if isinstance(node, ast.Return)]
    result = results[-1] if results else None
    while isinstance(result, ast.Call) and result.args:  # decorated
        result = result.args[0]
    inner = {node.name: node for node in maker.body if isinstance(node, ast.FunctionDef)}
    function = inner.get(result.id) if isinstance(result, ast.Name) else None
    if function is None or not function.returns or not function.args.args:
        return None
    known = _given(home, there, maker, call)
    types = _Types(there)
    parameters = [
        x.replace(annotation=types.text(x.annotation))
        for x in _written(there, function.args, known)
    ]
    returns = types.text(ast.unparse(function.returns))
    return Derived("def", parameters, returns, tuple(sorted(types.imports)))


def _given(
    home: Source, there: Source, maker: ast.FunctionDef, call: ast.Call
) -> dict[str, Any]:  # fmt: skip
    """Return the constants that a call gives to a function, and that the function makes of them."""
    names = [x.arg for x in maker.args.args]
    given = [*zip(names, call.args, strict=False), *((x.arg, x.value) for x in call.keywords)]
    known: dict[str, Any] = {}
    for name, node in given:
        value = _constant(node, {}, home)
        if name and not isinstance(value, _Omitted):
            known[name] = value
        elif isinstance(node, ast.Name):
            known[f"{name}.__name__"] = node.id
    for statement in maker.body:
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            value = _constant(statement.value, known, there)
            if not isinstance(value, _Omitted):
                known[statement.targets[0].id] = value
    return known


def _constant(node: ast.expr, known: dict[str, Any], home: Source) -> Any:
    """Return the value of an expression of constants, `_Omitted` if it is none."""
    if isinstance(node, ast.Name) and node.id in known:
        return known[node.id]
    if isinstance(node, ast.JoinedStr):
        parts = [
            _constant(x.value if isinstance(x, ast.FormattedValue) else x, known, home)
            for x in node.values
        ]
        is_known = not any(isinstance(x, _Omitted) for x in parts)
        return "".join(map(str, parts)) if is_known else _Omitted()
    if isinstance(node, ast.Attribute):
        return known.get(ast.unparse(node), _Omitted())
    try:
        return home.value(node)
    except (AttributeError, TypeError, ValueError):
        return _Omitted()


class _Types:
    """Annotations of a module as a stub has them, with the imports that they need."""

    def __init__(self, home: Source) -> None:
        self.imports: set[str] = set()
        self._home = home
        self._homes: dict[str, tuple[str, str]] = {}
        for node in ast.walk(home.tree):
            if isinstance(node, ast.ImportFrom) and node.module:
                for alias in node.names:
                    self._homes[alias.asname or alias.name] = (node.module, alias.name)

    def text(self, annotation: Any) -> str:
        """Return an annotation by names that the stub imports; Any if one is not known."""
        if annotation is Parameter.empty:
            return "Any"
        tree = ast.parse(annotation, mode="eval")
        for node in ast.walk(tree):
            if not isinstance(node, ast.Name) or node.id in ("Any", *dir(builtins)):
                continue
            if node.id in self._homes:
                module, name = self._homes[node.id]
            elif isinstance(self._home.bound.get(node.id), (ast.ClassDef, ast.expr)):
                module, name = full_name(self._home.module), node.id
            else:
                return "Any"
            self.imports.add(f"from {module} import {name} as _{node.id}\n")
            node.id = f"_{node.id}"
        return ast.unparse(tree)


def _streaming(home: Source, call: ast.Call) -> Derived:
    """Return the function of a call of `_streaming`, a metric by its older name."""
    given = {"required": ast.Name("_ANSWERS"), "options": ast.Name("_WEIGHTS")}
    given |= dict(zip(("name", *given), call.args, strict=False))
    given |= {str(x.arg): x.value for x in call.keywords}
    kind = Parameter.POSITIONAL_OR_KEYWORD
    options = {**home.value(given["options"]), **home.value(ast.Name("_COLLECTIONS")), "name": None}
    parameters = [Parameter(x, kind, annotation="Any") for x in home.value(given["required"])]
    parameters += [Parameter(k, kind, default=v, annotation="Any") for k, v in options.items()]
    tensor = "from stillflow.graph.operation import Tensor as _Tensor\n"
    return Derived("def", parameters, "tuple[_Tensor, _Tensor]", (tensor,))


def _handed_on(home: Source, call: ast.Call) -> Derived:
    """Return the function of a call of `handed_on`."""
    function = ast.parse(f"def f({home.value(call.args[0])}): ...").body[0]
    assert isinstance(function, ast.FunctionDef)
    return Derived("def", _written(home, function.args))


def _with_fixed(home: Source, call: ast.Call) -> Derived:
    """Return the function of a call of `with_fixed`."""
    function = home.bound[ast.unparse(call.args[0])]
    assert isinstance(function, ast.FunctionDef)
    fixed = {x.arg for x in call.keywords}
    parameters = [x for x in _written(home, function.args) if x.name not in fixed]
    defaults: dict[str, Any] = {}
    if len(call.args) > 3:
        assert isinstance(call.args[3], ast.Dict)
        items = zip(call.args[3].keys, call.args[3].values, strict=True)
        defaults = {str(ast.literal_eval(k)): _default(v, {}, home) for k, v in items if k}
    types = _Types(home)
    returns = types.text(ast.unparse(function.returns) if function.returns else Parameter.empty)
    made = [
        x.replace(annotation=types.text(x.annotation)) for x in rules.changed(parameters, defaults)
    ]
    return Derived("def", made, returns, tuple(sorted(types.imports)))


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
            return _written(home, statement.args), False
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


def _written(
    home: Source, arguments: ast.arguments, known: dict[str, Any] | None = None
) -> list[Parameter]:
    """Return the parameters of a function that is written out; `known` are names of values."""
    kind = Parameter.POSITIONAL_OR_KEYWORD
    values: list[Any] = [_default(node, known or {}, home) for node in arguments.defaults]
    values = [Parameter.empty] * (len(arguments.args) - len(values)) + values
    made = [
        Parameter(x.arg, kind, default=value, annotation=_annotation(x))
        for x, value in zip(arguments.args, values, strict=True)
    ]
    if arguments.vararg:
        vararg = arguments.vararg
        made.append(Parameter(vararg.arg, Parameter.VAR_POSITIONAL, annotation=_annotation(vararg)))
    if arguments.kwarg:
        kwarg = arguments.kwarg
        made.append(Parameter(kwarg.arg, Parameter.VAR_KEYWORD, annotation=_annotation(kwarg)))
    return made


def _annotation(node: ast.arg) -> Any:
    return ast.unparse(node.annotation) if node.annotation else Parameter.empty


def _default(node: ast.expr, known: dict[str, Any], home: Source) -> Any:
    value = _constant(node, known, home)
    return value if isinstance(value, (type(None), bool, int, float, str, tuple)) else _Omitted()
