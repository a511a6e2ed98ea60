"""`tf.autograph.to_graph` and `tf.autograph.to_code`."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from typing import Any

from stillflow.autograph.allowed import is_allowed
from stillflow.autograph.conversion import convert_function, converted_tree
from stillflow.autograph.failures import ConversionError
from stillflow.autograph.options import ConversionOptions
from stillflow.graph.export import export
from stillflow.util import tf_decorator


@export("contrib.autograph.StackTraceMapper")
class StackTraceMapper:
    """A context in which lines of converted code are the program's own, as they always are.

    Args:
      converted_fn: a converted function.
    """

    def __init__(self, converted_fn: Any) -> None:
        self.converted_fn = converted_fn

    def __enter__(self) -> StackTraceMapper:
        return self

    def __exit__(self, *details: Any) -> None:
        pass

    def reset(self) -> None:
        """Has no effect."""

    def get_effective_source_map(self) -> dict[Any, Any]:
        """Return the source map of converted lines: empty, since they keep their places."""
        return {}


@export("contrib.autograph.to_graph", "compat.v2.autograph.to_graph")
def to_graph(
    entity: Any, recursive: bool = True, experimental_optional_features: Any = None
) -> Callable[..., Any] | type[Any]:
    """Return a function that computes the same as another one, on tensors too.

    Args:
      entity: a function, a method (whose result takes `self` as its first argument) or a class.
      recursive: whether functions that it calls are converted too.
      experimental_optional_features: a `tf.autograph.experimental.Feature`, or several.

    Raises:
      ConversionError: if the source cannot be had.
      NotImplementedError: if it uses something that cannot be converted.
    """
    options = _options(recursive, experimental_optional_features)
    try:
        if inspect.isclass(entity):
            return _convert_class(entity, options)
        return convert_function(_function(entity), options)  # type: ignore[arg-type]
    except (ValueError, AttributeError, KeyError, NameError, AssertionError) as error:
        raise ConversionError(f"converting {entity}: {type(error).__name__}: {error}") from error


def _options(recursive: bool, features: Any) -> ConversionOptions:
    return ConversionOptions(recursive, True, True, features)


def _function(entity: Any) -> Callable[..., Any]:
    _, entity = tf_decorator.unwrap(entity)
    if inspect.ismethod(entity):
        entity = entity.__func__
    if not inspect.isfunction(entity):
        raise NotImplementedError(
            f'cannot convert entity "{entity}": object conversion is not yet supported.'
        )
    return entity


def _members(kind: type) -> dict[str, Any]:
    members = {name: value for name, value in vars(kind).items() if inspect.isfunction(value)}
    if not members:
        raise ValueError(f"cannot convert {kind}: no member methods")
    for base in kind.__bases__:
        if base is not object and not is_allowed(base):
            raise NotImplementedError(
                "Conversion of classes that do not directly extend classes from whitelisted "
                "modules is temporarily suspended. If this breaks existing code please notify the "
                "AutoGraph team immediately."
            )
    return members


def _convert_class(kind: type, options: ConversionOptions) -> type:
    members = _members(kind)
    converted = {name: convert_function(value, options) for name, value in members.items()}
    return type(f"Tf{kind.__name__}", (kind,), {"__module__": kind.__module__, **converted})


@export("autograph.to_graph")
def to_graph_v1(
    entity: Any,
    recursive: bool = True,
    arg_values: Any = None,
    arg_types: Any = None,
    experimental_optional_features: Any = None,
) -> Callable[..., Any] | type[Any]:
    """Return a function that computes the same as another one, on tensors too.

    Args:
      entity: a function, a method (whose result takes `self` as its first argument) or a class.
      recursive: whether functions that it calls are converted too.
      arg_values, arg_types: have no effect.
      experimental_optional_features: a `tf.autograph.experimental.Feature`, or several.

    Raises:
      ConversionError: if the source cannot be had.
      NotImplementedError: if it uses something that cannot be converted.
    """
    del arg_values, arg_types
    return to_graph(entity, recursive, experimental_optional_features)


@export("contrib.autograph.to_code", "compat.v2.autograph.to_code")
def to_code(entity: Any, recursive: bool = True, experimental_optional_features: Any = None) -> str:
    """Return the source of the result of `to_graph`. Takes the same arguments."""
    options = _options(recursive, experimental_optional_features)
    functions = _members(entity).values() if inspect.isclass(entity) else [_function(entity)]
    return "\n\n".join(ast.unparse(converted_tree(function, options)) for function in functions)  # type: ignore[arg-type]


@export("autograph.to_code")
def to_code_v1(
    entity: Any,
    recursive: bool = True,
    arg_values: Any = None,
    arg_types: Any = None,
    indentation: str = "  ",
    experimental_optional_features: Any = None,
) -> str:
    """Return the source of the result of `to_graph`; `indentation` has no effect."""
    del arg_values, arg_types, indentation
    return to_code(entity, recursive, experimental_optional_features)
