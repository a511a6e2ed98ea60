"""`tf.variable_scope` and `tf.get_variable`."""

from __future__ import annotations

import contextlib
import copy
import functools
import threading
from collections.abc import Callable, Iterator
from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.api import get_collection_ref, graph_from_inputs
from stillflow.graph.export import export
from stillflow.graph.graph import get_default_graph
from stillflow.graph.graph_keys import VARIABLE_SCOPES, VARIABLE_STORE, GraphKeys
from stillflow.ops import forward_declarations
from stillflow.platform import tf_logging as logging
from stillflow.variables.base import VariableAggregation, VariableSynchronization
from stillflow.variables.scope import AUTO_REUSE as AUTO_REUSE
from stillflow.variables.scope import VariableScope as VariableScope
from stillflow.variables.scope import either
from stillflow.variables.store import VariableStore

# Settings of a scope for its variables, which inner scopes inherit.
_SETTINGS = (
    "initializer", "regularizer", "caching_device", "partitioner", "custom_getter", "dtype",
    "use_resource",
)  # fmt: skip


@export("no_regularizer")
def no_regularizer(_: Any) -> None:
    """Regularize nothing, to override a scope's regularizer."""


class _ScopeStore(threading.local):
    """The scope that is open, and how often each name was opened."""

    def __init__(self) -> None:
        self.current_scope = VariableScope(False)
        self.counts: dict[str, int] = {}

    def open(self, name: str) -> None:
        self.counts[name] = self.counts.get(name, 0) + 1

    def close_inside(self, name: str) -> None:
        for key in self.counts:
            if key.startswith(name + "/"):
                self.counts[key] = 0

    def unique(self, prefix: str) -> str:
        """`prefix`, with `_1`, `_2`, ... where a scope of that name was opened here."""
        outer = self.current_scope.name
        name = f"{outer}/{prefix}" if outer else prefix
        if not self.counts.get(name, 0):
            return prefix
        number = 1
        while self.counts.get(f"{name}_{number}", 0):
            number += 1
        return f"{prefix}_{number}"


def _only(key: Any, make: Callable[[], Any]) -> Any:
    """Return the single object of a private collection of the default graph."""
    found = get_collection_ref(key)
    if not found:
        found.append(make())
    return found[0]


def get_variable_scope_store() -> Any:
    return _only(VARIABLE_SCOPES, _ScopeStore)


def default_variable_store() -> VariableStore:
    store: VariableStore = _only(VARIABLE_STORE, VariableStore)
    return store


@contextlib.contextmanager
def with_variable_store(store: VariableStore) -> Iterator[None]:
    """Return a context in which `tf.get_variable` uses a store."""
    stores = get_collection_ref(VARIABLE_STORE)
    before = list(stores)
    stores[:] = [store]
    try:
        yield
    finally:
        stores[:] = before


@export("get_variable_scope")
def get_variable_scope() -> VariableScope:
    """Return the variable scope that is open now.

    Example:
      >>> with tf.variable_scope("outer"): scope = tf.get_variable_scope()
      >>> scope.name, scope.reuse
      ('outer', False)
    """
    scope: VariableScope = get_variable_scope_store().current_scope
    return scope


forward_declarations.get_variable_scope.provide(get_variable_scope)


@export("get_variable")
def get_variable(
    name: str,
    shape: Any = None,
    dtype: Any = None,
    initializer: Any = None,
    regularizer: Any = None,
    trainable: bool | None = None,
    collections: Any = None,
    caching_device: Any = None,
    partitioner: Any = None,
    validate_shape: bool = True,
    use_resource: bool | None = None,
    custom_getter: Any = None,
    constraint: Any = None,
    synchronization: Any = VariableSynchronization.AUTO,
    aggregation: Any = VariableAggregation.NONE,
) -> Any:
    """Return the variable `name` of the current scope, or make it.

    Args:
      name: within the scope.
      shape: of the variable.
      dtype: float32 by default.
      initializer: an object `f(shape, dtype, partition_info)`, a tensor or value; Glorot's uniform
        one by default.
      regularizer: `f(variable)` gives a loss, added to REGULARIZATION_LOSSES.
      trainable: whether optimizers change it by default.
      collections: the collections it is added to.
      caching_device: where its value is cached.
      partitioner: `f(shape, dtype)` says into how many parts each dimension is split.
      validate_shape: whether the shape must be known.
      use_resource: whether it is a resource variable.
      custom_getter: `f(getter, name, ...)` called instead of making it.
      constraint: a function that optimizers project it with.
      synchronization, aggregation: how it is distributed.

    Raises:
      ValueError: if it exists or is missing against the scope's `reuse`, or differs.

    Example:
      >>> with tf.variable_scope("layer", reuse=tf.AUTO_REUSE):
      ...     w, same = tf.get_variable("w", [3, 2]), tf.get_variable("w", [3, 2])
      >>> w.name, w.shape.as_list(), w is same
      ('layer/w:0', [3, 2], True)
    """
    return get_variable_scope().get_variable(default_variable_store(), **locals())


@export("get_local_variable")
def get_local_variable(
    name: str,
    shape: Any = None,
    dtype: Any = None,
    initializer: Any = None,
    regularizer: Any = None,
    trainable: bool = False,
    collections: Any = None,
    caching_device: Any = None,
    partitioner: Any = None,
    validate_shape: bool = True,
    use_resource: bool | None = None,
    custom_getter: Any = None,
    constraint: Any = None,
    synchronization: Any = VariableSynchronization.AUTO,
    aggregation: Any = VariableAggregation.NONE,
) -> Any:
    """`get_variable` for a variable of the collection LOCAL_VARIABLES, which is not trained."""
    del trainable
    return get_variable(
        name,
        shape=shape,
        dtype=dtype,
        initializer=initializer,
        regularizer=regularizer,
        trainable=False,
        collections=[*(collections or ()), GraphKeys.LOCAL_VARIABLES],
        caching_device=caching_device,
        partitioner=partitioner,
        validate_shape=validate_shape,
        use_resource=use_resource,
        custom_getter=custom_getter,
        constraint=constraint,
        synchronization=synchronization,
        aggregation=aggregation,
    )


class PureVariableScope:
    """Opens a variable scope without touching names of operations."""

    def __init__(
        self,
        name_or_scope: Any,
        reuse: Any = None,
        initializer: Any = None,
        regularizer: Any = None,
        caching_device: Any = None,
        partitioner: Any = None,
        custom_getter: Any = None,
        old_name_scope: str | None = None,
        dtype: Any = dtypes.float32,
        use_resource: bool | None = None,
        constraint: Any = None,
    ) -> None:
        given = dict(locals())
        self._name_or_scope, self._reuse = name_or_scope, reuse
        self._old_name_scope, self._constraint = old_name_scope, constraint
        self._settings = {key: given[key] for key in _SETTINGS}
        self._store = get_variable_scope_store()
        self._cached: VariableScope | None = None
        if isinstance(name_or_scope, VariableScope):
            self._name = name_or_scope.name
            reuse = reuse or name_or_scope.reuse
            original = name_or_scope.original_name_scope
            self._cached = self._make(name_or_scope, reuse, original)

    def _make(self, parent: VariableScope, reuse: Any, original: str) -> VariableScope:
        """Return a scope that inherits missing settings from `parent`."""
        values: dict[str, Any] = {}
        for key in _SETTINGS:
            given = self._settings.get(key)
            values[key] = getattr(parent, key) if given is None else given
        getter = self._settings.get("custom_getter")
        if getter is not None:
            values["custom_getter"] = _chain(getter, parent.custom_getter)
        return VariableScope(
            reuse, name=self._name, name_scope=original, constraint=self._constraint, **values
        )

    def __enter__(self) -> VariableScope:
        store = self._store
        self._old = store.current_scope
        if self._cached is not None:
            store.open(self._name)
            self._old_counts = copy.copy(store.counts)
            scope = self._cached
        else:
            outer = self._old.name
            self._name = f"{outer}/{self._name_or_scope}" if outer else self._name_or_scope
            self._reuse = self._reuse or self._old.reuse  # scopes inside inherit it
            original = either(self._old_name_scope, self._name_or_scope)
            scope = self._make(self._old, self._reuse, original)
            store.open(self._name)
        store.current_scope = scope
        self._last = scope
        return scope

    def check_nesting(self) -> None:
        """Raise an error if a scope inside is still open.

        Raises:
          RuntimeError: if one is.
        """
        if self._store.current_scope is not self._last:
            raise RuntimeError("Improper nesting of variable_scope.")

    def __exit__(self, *unused: Any) -> None:
        self.check_nesting()
        store = self._store
        if self._cached is not None:
            store.counts = self._old_counts
        else:
            store.close_inside(self._name)
        store.current_scope = self._old


def _chain(getter: Any, outer: Any) -> Any:
    """Return a getter whose inner getter is the one of the scope around."""
    if outer is None:
        return getter

    def wrapped(inner: Any, *args: Any, **kwargs: Any) -> Any:
        return getter(functools.partial(outer, inner), *args, **kwargs)

    return _rename_first(wrapped)


def _rename_first(wrapped: Any) -> Callable[..., Any]:
    """Getters are called with `getter=` by keyword."""

    def custom_getter(getter: Any, *args: Any, **kwargs: Any) -> Any:
        return wrapped(getter, *args, **kwargs)

    return custom_getter


@export("variable_scope")
class variable_scope:
    """A context that prefixes variable names and sets defaults for `get_variable`.

    Args:
      name_or_scope: a name, or a scope to enter again.
      default_name: used, made unique, if `name_or_scope` is None.
      values: tensors; all must be of one graph.
      initializer, regularizer, caching_device, partitioner, custom_getter, dtype, use_resource,
        constraint: defaults for variables made inside.
      reuse: True, None or `tf.AUTO_REUSE`.
      auxiliary_name_scope: whether operations made inside get the name as well.

    Raises:
      TypeError, ValueError: if arguments are of the wrong kind or contradict each other.

    Example:
      >>> with tf.variable_scope("layer"): w, y = tf.get_variable("w", [2]), tf.ones([], name="y")
      >>> with tf.variable_scope("layer", reuse=True): same = tf.get_variable("w", [2])
      >>> w.name, y.name, same is w
      ('layer/w:0', 'layer/y:0', True)
    """

    def __init__(
        self,
        name_or_scope: Any,
        default_name: str | None = None,
        values: Any = None,
        initializer: Any = None,
        regularizer: Any = None,
        caching_device: Any = None,
        partitioner: Any = None,
        custom_getter: Any = None,
        reuse: Any = None,
        dtype: Any = None,
        use_resource: bool | None = None,
        constraint: Any = None,
        auxiliary_name_scope: bool = True,
    ) -> None:
        if default_name is None and name_or_scope is None:
            raise TypeError("If default_name is None then name_or_scope is required")
        reuse = None if reuse is False else reuse
        if not (reuse is True or reuse is None or reuse is AUTO_REUSE):
            raise ValueError("The reuse parameter must be True or False or None.")
        if not isinstance(auxiliary_name_scope, bool):
            raise TypeError(
                "The auxiliary_name_scope must be `True` or `False`, while get "
                f"{auxiliary_name_scope}"
            )
        self._name_or_scope, self._default_name = name_or_scope, default_name
        self._auxiliary, self._reuse = auxiliary_name_scope, reuse
        self._graph = graph_from_inputs([] if values is None else values)
        self._settings = {
            "initializer": initializer, "regularizer": regularizer,
            "caching_device": caching_device, "partitioner": partitioner,
            "custom_getter": custom_getter, "dtype": dtype, "use_resource": use_resource,
            "constraint": constraint,
        }  # fmt: skip
        self._scope: PureVariableScope | None = None
        self._name_scope: Any = None
        self._stacks: list[contextlib.ExitStack] = []

    def __enter__(self) -> VariableScope:
        with contextlib.ExitStack() as stack:
            if not get_default_graph().building_function:
                stack.enter_context(self._graph.as_default())
            if self._scope is None:
                scope = self._enter_first(stack)
            else:
                if self._name_scope is not None:
                    stack.enter_context(self._graph.name_scope(self._name_scope))
                scope = stack.enter_context(self._scope)
            self._stacks.append(stack.pop_all())
        return scope

    def __exit__(self, *details: Any) -> None:
        self._stacks.pop().__exit__(*details)

    def _enter_first(self, stack: contextlib.ExitStack) -> VariableScope:
        given = self._name_or_scope
        if given is None:
            if self._reuse:
                raise ValueError("reuse=True cannot be used without a name_or_scope")
            assert self._default_name is not None
            entered = self._enter_names(stack, self._default_name)
            unique = get_variable_scope_store().unique(self._default_name)
            self._scope = PureVariableScope(unique, old_name_scope=entered, **self._settings)
            return stack.enter_context(self._scope)
        if not isinstance(given, (VariableScope, str)):
            raise TypeError("VariableScope: name_or_scope must be a string or VariableScope.")
        last = given if isinstance(given, str) else given.name.split("/")[-1]
        old = None
        if last or not self._auxiliary:
            entered = self._enter_names(stack, last)
            old = entered if isinstance(given, str) else given.original_name_scope
        self._scope = PureVariableScope(
            given, reuse=self._reuse, old_name_scope=old, **self._settings
        )
        return stack.enter_context(self._scope)

    def _enter_names(self, stack: contextlib.ExitStack, name: str) -> str:
        graph = get_default_graph()
        if not self._auxiliary:
            current = graph.get_name_scope()
            name = current + "/" if current else ""
        entered: str = stack.enter_context(graph.name_scope(name))
        self._name_scope = name
        return entered


@export("variable_op_scope")
@contextlib.contextmanager
def variable_op_scope(
    values: Any,
    name_or_scope: Any,
    default_name: str | None = None,
    initializer: Any = None,
    regularizer: Any = None,
    caching_device: Any = None,
    partitioner: Any = None,
    custom_getter: Any = None,
    reuse: Any = None,
    dtype: Any = None,
    use_resource: bool | None = None,
    constraint: Any = None,
) -> Iterator[VariableScope]:
    """Open a variable scope; the older spelling of `variable_scope`."""
    logging.warn(
        "tf.variable_op_scope(values, name, default_name) is deprecated, use "
        "tf.variable_scope(name, default_name, values)"
    )
    with variable_scope(**locals()) as scope:
        yield scope
