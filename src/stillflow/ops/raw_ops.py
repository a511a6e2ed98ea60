"""`tf.raw_ops`: every op card as a function of keyword arguments, and by the names TF generated."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from typing import Any

from stillflow.graph.card import Card, find, load_all
from stillflow.graph.signature import Signature

# Argument names that Python reserves get an underscore, as in TF's generated functions.
_RESERVED = {"lambda": "lambda_", "import": "import_", "is": "is_", "in": "in_", "from": "from_"}
_REDUCTIONS = ("All", "Any", "EuclideanNorm", "Max", "Mean", "Min", "Prod", "Sum")
# Arguments that TF's generated functions call otherwise than the op does.
_RENAMED: dict[str, dict[str, str]] = {
    **{name: {"reduction_indices": "axis"} for name in _REDUCTIONS},
    **{name: {"split_dim": "axis"} for name in ("Split", "SplitV")},
    "ExpandDims": {"dim": "axis"},
    "Select": {"t": "x", "e": "y"},
    "Squeeze": {"squeeze_dims": "axis"},
    "Where": {"input": "condition"},
}


def _argument(op: str, name: str) -> str:
    """Return the name of an input or attribute in the op's functions."""
    return _RENAMED.get(op, {}).get(name) or _RESERVED.get(name, name)


def _attr_names(signature: Signature) -> list[str]:
    """Return the attributes that callers may give, required ones first."""
    inferred = set()
    for arg in signature.inputs:
        inferred |= {arg.type_attr, arg.number_attr, arg.type_list_attr}
    free = [attr for attr in signature.attrs.values() if attr.name not in inferred]
    required = [attr.name for attr in free if not attr.has_default]
    return required + [attr.name for attr in free if attr.has_default]


def _parameters(signature: Signature, kind: Any) -> list[inspect.Parameter]:
    op = signature.name
    parameters = [inspect.Parameter(_argument(op, arg.name), kind) for arg in signature.inputs]
    for name in _attr_names(signature):
        attr = signature.attrs[name]
        default = attr.default if attr.has_default else inspect.Parameter.empty
        if isinstance(default, bytes):
            default = default.decode()
        elif isinstance(default, tuple):
            default = list(default)
        elif isinstance(default, float):
            default = _as_generated(default)
        parameters.append(inspect.Parameter(_argument(op, name), kind, default=default))
    parameters.append(inspect.Parameter("name", kind, default=None))
    return parameters


def _as_generated(number: float) -> float:
    """Format a number as TF's generator does: six digits, no superfluous point."""
    text = f"{number:.6g}"
    return int(text) if text.lstrip("-").isdecimal() else float(text)


@cache
def _function(name: str, keyword_only: bool) -> Callable[..., Any] | None:
    card = find(name)
    if card is None or name.startswith("_"):
        return None
    kind = (
        inspect.Parameter.KEYWORD_ONLY
        if keyword_only
        else (inspect.Parameter.POSITIONAL_OR_KEYWORD)
    )
    signature = inspect.Signature(_parameters(card.signature, kind))
    return _make(card, name, signature)


def _make(card: Card, name: str, signature: inspect.Signature) -> Callable[..., Any]:
    inputs = [_argument(name, arg.name) for arg in card.signature.inputs]
    attrs = {_argument(name, attr): attr for attr in _attr_names(card.signature)}
    keyword_only = any(p.kind is p.KEYWORD_ONLY for p in signature.parameters.values())

    def call(*args: Any, **kwargs: Any) -> Any:
        if args and keyword_only:
            raise TypeError(
                f"{name} only takes keyword args (possible keys: {list(signature.parameters)}). "
                "Please pass these args as kwargs instead."
            )
        given = signature.bind(*args, **kwargs).arguments
        values = [given.pop(key) for key in inputs]
        node_name = given.pop("name", None)
        return card(*values, name=node_name, **{attrs[key]: given[key] for key in given})

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"Adds a node of op {name}:\n\n{card.text.strip()}"
    call.__signature__ = signature  # type: ignore[attr-defined]
    return call


def lookup(name: str) -> Callable[..., Any]:
    """`tf.raw_ops.<name>`, or AttributeError."""
    found = _function(name, True)
    if found is None:
        raise AttributeError(f"tf.raw_ops.{name} is not supported by Stillflow yet", name=name)
    return found


def positional(name: str) -> Callable[..., Any] | None:
    """Return the op as TF's generated modules (`gen_math_ops`) have it, or None."""
    return _function(name, False)


def names() -> list[str]:
    """Return the names of all ops in `tf.raw_ops`."""
    return sorted(name for name in load_all() if not name.startswith("_"))
