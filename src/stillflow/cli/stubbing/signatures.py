"""Functions as stub files spell them: `def name(parameters) -> type: ...`."""

from __future__ import annotations

import ast
import contextlib
import functools
import inspect
import keyword
import textwrap
from collections.abc import Callable, Iterator
from inspect import Parameter
from typing import Any

from stillflow._home import is_our_module
from stillflow.cli.stubbing.annotations import Annotations, source_of
from stillflow.graph.card import find
from stillflow.graph.operation import Operation, Tensor
from stillflow.graph.signature import Signature
from stillflow.ops import raw_ops

_PLAIN = (type(None), bool, int, float, str, bytes)
_ANYTHING = [Parameter("args", Parameter.VAR_POSITIONAL),
             Parameter("kwargs", Parameter.VAR_KEYWORD)]  # fmt: skip


def default_text(value: Any) -> str:
    """Return a default value, "..." for one that has no literal."""
    if isinstance(value, tuple):
        texts = [default_text(item) for item in value]
        return "..." if "..." in texts else f"({', '.join(texts)}{',' * (len(texts) == 1)})"
    if type(value) not in _PLAIN or (isinstance(value, float) and not abs(value) < float("inf")):
        return "..."
    return repr(value)


def signature(function: Any) -> list[Parameter]:
    """Return the parameters of a callable, `*args, **kwargs` where Python knows none."""
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return list(_ANYTHING)


def parameters_text(parameters: list[Parameter], module: str, types: Annotations) -> str:
    """Return the text between the parentheses."""
    texts: list[str] = []
    for i, x in enumerate(parameters):
        if x.kind is x.KEYWORD_ONLY and not any(t.startswith("*") for t in texts):
            texts.append("*")
        stars = "*" * (x.kind is x.VAR_POSITIONAL) + "**" * (x.kind is x.VAR_KEYWORD)
        kind = types.parameter(x.annotation, module, x.default is None)
        default = "" if x.default is x.empty else f" = {default_text(x.default)}"
        is_self = i == 0 and x.name in ("self", "cls") and x.annotation is x.empty
        texts.append(x.name if is_self else f"{stars}{x.name}: {kind}{default}")
        last = i + 1 == len(parameters) or parameters[i + 1].kind is not x.POSITIONAL_ONLY
        if x.kind is x.POSITIONAL_ONLY and last:
            texts.append("/")
    return ", ".join(texts)


def function_text(name: str, function: Any, types: Annotations, decorators: str = "") -> str:
    """Return the definition of a function in a stub, with its overloads if it has some."""
    module = module_of(function)
    if overloads := list(_overloads(function, module)):
        return "".join(_overload(name, node, module, types) for node in overloads)
    parameters = signature(function)
    if any(keyword.iskeyword(x.name) for x in parameters):
        parameters = list(_ANYTHING)
    text = parameters_text(parameters, module, types)
    doc = docstring_text(function)
    if module == raw_ops.__name__ and (card := find(function.__name__)) is not None:
        before, returned = _outputs(card.signature, types)
    else:
        before, returned = "", _returned(name, function, module, types)
    return f"{before}{decorators}def {name}({text}) -> {returned}:{doc}\n"


def _outputs(op: Signature, types: Annotations) -> tuple[str, str]:
    """Return the type of an operation's outputs, after the definitions that it needs."""
    tensor = types.returned(Tensor, "")
    texts = [f"{types.builtin('list')}[{tensor}]" if x.is_list else tensor for x in op.outputs]
    if len(texts) < 2:
        return "", texts[0] if texts else types.returned(Operation, "")
    if any(keyword.iskeyword(x.name) for x in op.outputs):
        return "", f"{types.builtin('tuple')}[{', '.join(texts)}]"
    fields = [f"    {x.name}: {text}\n" for x, text in zip(op.outputs, texts, strict=True)]
    return f"class _{op.name}(_t.NamedTuple):\n{''.join(fields)}", f"_{op.name}"


def docstring_text(value: Any) -> str:
    """Return the end of a definition: the docstring as its body, or an ellipsis."""
    text = inspect.getdoc(value) or ""
    if not isinstance(text, str) or not text.strip():
        return " ..."
    return "\n" + textwrap.indent(doc_literal(text), "    ")


def doc_literal(text: str) -> str:
    """Return a docstring as a literal of one or several lines."""
    safe = text.strip().replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    safe = safe[:-1] + '\\"' if safe.endswith('"') else safe
    return f'"""{safe}"""'.encode("ascii", "backslashreplace").decode("ascii")


def module_of(function: Any) -> str:
    """Return the module in which a function's annotations have their meaning."""
    while isinstance(function, functools.partial):
        function = function.func
    with contextlib.suppress(ValueError):
        function = inspect.unwrap(function)
    names = getattr(getattr(function, "__func__", function), "__globals__", {})
    return str(names.get("__name__") or getattr(function, "__module__", "") or "")


def _returned(name: str, function: Any, module: str, types: Annotations) -> str:
    if name == "__init__":
        return "None"
    try:
        annotation = inspect.signature(function).return_annotation
    except (TypeError, ValueError):
        return types.returned(Parameter.empty, module)
    plain = inspect.unwrap(function) if callable(function) else function
    if inspect.isgeneratorfunction(plain) and not inspect.isgeneratorfunction(function):
        return _context(function, annotation, module, types)
    return types.returned(annotation, module)


def _context(function: Any, annotation: Any, module: str, types: Annotations) -> str:
    """Return the type of a generator that a decorator made a context manager."""
    code = getattr(function, "__code__", None)
    item = types.returned(annotation, module)
    if code is None or code.co_filename != contextlib.__file__ or "[" not in item:
        return "_t.Any"
    types.imports.add("import contextlib as _contextlib")
    yielded = ast.parse(item, mode="eval").body
    assert isinstance(yielded, ast.Subscript)
    inner = yielded.slice
    if isinstance(inner, ast.Tuple):  # of a Generator
        inner = inner.elts[0]
    return f"_contextlib.AbstractContextManager[{ast.unparse(inner)}]"


def _overloads(function: Callable[..., Any], module: str) -> Iterator[ast.FunctionDef]:
    """Yield the definitions marked `@overload` of a function, from its source."""
    if not is_our_module(module):
        return
    body = source_of(module).body
    *outer, name = getattr(function, "__qualname__", "").split(".")
    for part in outer:
        body = next((x.body for x in body if isinstance(x, ast.ClassDef) and x.name == part), [])
    for node in body:
        if not isinstance(node, ast.FunctionDef) or node.name != name:
            continue
        if any(ast.unparse(x) == "overload" for x in node.decorator_list):
            yield node


def _overload(name: str, node: ast.FunctionDef, module: str, types: Annotations) -> str:
    arguments = node.args
    missing = len(arguments.args) - len(arguments.defaults)
    texts = []
    for i, x in enumerate(arguments.args):
        kind = ast.unparse(x.annotation) if x.annotation else None
        text = x.arg if kind is None else f"{x.arg}: {types.returned(kind, module)}"
        texts.append(text if i < missing else f"{text} = ...")
    returns = types.returned(ast.unparse(node.returns) if node.returns else "Any", module)
    return f"@_t.overload\ndef {name}({', '.join(texts)}) -> {returns}: ...\n"
