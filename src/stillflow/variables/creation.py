"""Creation of `tf.Variable`s of the right kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stillflow.graph.eager_mode import executing_eagerly
from stillflow.graph.export import export
from stillflow.graph.graph import get_default_graph
from stillflow.variables import base
from stillflow.variables.base import (
    Variable,
    VariableAggregation,
    VariableSynchronization,
)

_use_resource_default = False


@export("enable_resource_variables")
def enable_resource_variables() -> None:
    """Make resource variables the default kind."""
    global _use_resource_default
    _use_resource_default = True


@export("disable_resource_variables")
def disable_resource_variables() -> None:
    """Make reference variables the default kind."""
    global _use_resource_default
    _use_resource_default = False


@export("resource_variables_enabled")
def resource_variables_enabled() -> bool:
    """Return True if resource variables are the default kind."""
    return _use_resource_default


def create_variable(
    initial_value: Any = None,
    trainable: bool | None = None,
    collections: Any = None,
    validate_shape: bool = True,
    caching_device: Any = None,
    name: str | None = None,
    variable_def: Any = None,
    dtype: Any = None,
    expected_shape: Any = None,
    import_scope: str | None = None,
    constraint: Any = None,
    use_resource: bool | None = None,
    synchronization: Any = VariableSynchronization.AUTO,
    aggregation: Any = VariableAggregation.NONE,
    shape: Any = None,
) -> Any:
    """Make a variable; the graph's variable creators are asked first, innermost last.

    Args:
      initial_value: what it starts with, or a function of no arguments that gives it.
      trainable: whether optimizers change it by default.
      collections: the graph collections it is added to.
      validate_shape: whether its shape is fixed, and known now.
      caching_device: where its value is cached.
      name: of the op.
      variable_def: a `VariableDef` to recreate it from, instead of a value.
      dtype: its element type.
      expected_shape: ignored, as in TF.
      import_scope: prefix of names in `variable_def`.
      constraint: a function that optimizers project it with.
      use_resource: whether it is a resource variable.
      synchronization, aggregation: how it is distributed.
      shape: its shape, if not the initial value's.

    Raises:
      ValueError: if there is no initial value or its shape is not known.
    """
    return _ask_creators(_default_creator, **locals())


def create_variable_v2(
    initial_value: Any = None,
    trainable: bool | None = None,
    validate_shape: bool = True,
    caching_device: Any = None,
    name: str | None = None,
    variable_def: Any = None,
    dtype: Any = None,
    import_scope: str | None = None,
    constraint: Any = None,
    synchronization: Any = VariableSynchronization.AUTO,
    aggregation: Any = VariableAggregation.NONE,
    shape: Any = None,
) -> Any:
    """Make a resource variable; arguments are those of `create_variable`."""
    return _ask_creators(_default_creator_v2, **locals())


def _ask_creators(default: Callable[..., Any], **kwargs: Any) -> Any:
    getter = default
    for _, creator in get_default_graph()._variable_creator_stack:
        getter = _wrap(creator, getter)
    if kwargs["aggregation"] is None:
        kwargs["aggregation"] = VariableAggregation.NONE
    return getter(**kwargs)


def _wrap(creator: Callable[..., Any], previous: Callable[..., Any]) -> Callable[..., Any]:
    def getter(**kwargs: Any) -> Any:
        return creator(previous, **kwargs)

    return getter


def _default_creator(**kwargs: Any) -> Variable:
    from stillflow.variables.ref_variable import RefVariable
    from stillflow.variables.resource_variable import ResourceVariable

    kwargs.pop("trackable_parent", None)  # arguments between creators
    use_resource = kwargs.pop("use_resource", None)
    if use_resource is None:
        from stillflow.variables.variable_scope import get_variable_scope

        use_resource = get_variable_scope().use_resource
    if use_resource is None:
        use_resource = _use_resource_default or executing_eagerly()
    if not use_resource:
        return RefVariable(**kwargs)
    kwargs.pop("expected_shape", None)
    return ResourceVariable(**kwargs)


def _default_creator_v2(**kwargs: Any) -> Variable:
    from stillflow.variables.resource_variable import ResourceVariable

    kwargs.pop("trackable_parent", None)
    kwargs.pop("use_resource", None)  # a creator may have passed the default explicitly
    return ResourceVariable(**kwargs)


@export("variable_creator_scope", "compat.v2.variable_creator_scope")
def variable_creator_scope(variable_creator: Callable[..., Any]) -> Any:
    """Return a context in which `variable_creator(next_creator, **kwargs)` makes variables."""
    return get_default_graph()._variable_creator_scope(variable_creator)


base.create_variable.provide(create_variable)
base.create_variable_v2.provide(create_variable_v2)
