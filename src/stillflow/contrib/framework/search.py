"""Finding variables by scope, name, suffix and pattern."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.graph_keys import GraphKeys
from stillflow.variables.variable_scope import VariableScope


@export("contrib.framework.get_variables", "contrib.slim.get_variables")
def get_variables(
    scope: Any = None, suffix: str | None = None, collection: str = GraphKeys.GLOBAL_VARIABLES
) -> list[Any]:
    """Return the variables of a collection whose names begin with a scope and end with a suffix.

    Args:
      scope: a pattern for the beginning of the name, or a variable scope.
      suffix: a pattern for the end of the name.
      collection: the collection.
    """
    if isinstance(scope, VariableScope):
        scope = scope.name
    if suffix is not None:
        scope = (scope or "") + ".*" + (suffix if ":" in suffix else suffix + ":")
    found: list[Any] = tf.get_collection(collection, scope)
    return found


@export("contrib.framework.get_model_variables", "contrib.slim.get_model_variables")
def get_model_variables(scope: Any = None, suffix: str | None = None) -> list[Any]:
    """`get_variables` of the collection MODEL_VARIABLES."""
    return get_variables(scope, suffix, GraphKeys.MODEL_VARIABLES)


@export("contrib.framework.get_local_variables", "contrib.slim.get_local_variables")
def get_local_variables(scope: Any = None, suffix: str | None = None) -> list[Any]:
    """`get_variables` of the collection LOCAL_VARIABLES."""
    return get_variables(scope, suffix, GraphKeys.LOCAL_VARIABLES)


@export("contrib.framework.get_trainable_variables", "contrib.slim.get_trainable_variables")
def get_trainable_variables(scope: Any = None, suffix: str | None = None) -> list[Any]:
    """`get_variables` of the collection TRAINABLE_VARIABLES."""
    return get_variables(scope, suffix, GraphKeys.TRAINABLE_VARIABLES)


def _in_scopes(scopes: Any, argument: str) -> list[Any]:
    if not isinstance(scopes, (list, tuple)):
        raise TypeError(f"{argument} is provided but is not a list or a tuple.")
    return [var for scope in scopes for var in get_variables(scope)]


@export("contrib.framework.get_variables_to_restore", "contrib.slim.get_variables_to_restore")
def get_variables_to_restore(include: Any = None, exclude: Any = None) -> list[Any]:
    """Return the global variables in some scopes and not in others.

    Args:
      include: a list of scopes; None for all variables.
      exclude: a list of scopes.

    Raises:
      TypeError: for values that are not a list or tuple.
    """
    wanted = get_variables() if include is None else _in_scopes(include, "include")
    unwanted = {id(v) for v in ([] if exclude is None else _in_scopes(exclude, "exclude"))}
    return [var for var in wanted if id(var) not in unwanted]


@export("contrib.framework.get_variables_by_suffix", "contrib.slim.get_variables_by_suffix")
def get_variables_by_suffix(suffix: str, scope: Any = None) -> list[Any]:
    """Return the global variables whose names end with a suffix."""
    return get_variables(scope=scope, suffix=suffix)


@export("contrib.framework.get_variables_by_name", "contrib.slim.get_variables_by_name")
def get_variables_by_name(given_name: str, scope: Any = None) -> list[Any]:
    """Return the global variables of a name, in any scope."""
    return get_variables(scope=scope, suffix="/" + given_name + ":|^" + given_name + ":")


@export("contrib.framework.get_unique_variable", "contrib.slim.get_unique_variable")
def get_unique_variable(var_op_name: str) -> Any:
    """Return the global variable of a full name.

    Raises:
      ValueError: if there is none.
    """
    candidates = get_variables(scope=var_op_name)
    if not candidates:
        raise ValueError(f"Couldn't find variable {var_op_name}")
    for candidate in candidates:
        if candidate.op.name == var_op_name:
            return candidate
    raise ValueError(f"Variable {var_op_name} does not uniquely identify a variable")


@export("contrib.framework.get_variable_full_name", "contrib.slim.get_variable_full_name")
def get_variable_full_name(var: Any) -> str:
    """Return the name of a variable in a checkpoint: that of the whole, for a part of one."""
    part = var._save_slice_info
    name: str = part.full_name if part else var.op.name
    return name


@export("contrib.framework.filter_variables", "contrib.slim.filter_variables")
def filter_variables(
    var_list: Sequence[Any],
    include_patterns: Sequence[str] | None = None,
    exclude_patterns: Sequence[str] | None = None,
    reg_search: bool = True,
) -> list[Any]:
    """Return the variables whose names match some patterns and not others.

    Args:
      var_list: variables.
      include_patterns: regular expressions, of which one has to match; None for all variables.
      exclude_patterns: regular expressions, of which none may match.
      reg_search: whether a pattern may match anywhere, or only at the name's beginning.
    """
    matches: Any = re.search if reg_search else re.match

    def any_of(patterns: Sequence[str], var: Any) -> bool:
        return any(matches(pattern, var.name) for pattern in patterns)

    return [
        var for var in var_list
        if (include_patterns is None or any_of(include_patterns, var))
        and not any_of(exclude_patterns or (), var)
    ]  # fmt: skip
