"""`tf.make_template`: functions that share the variables they make from call to call."""

from __future__ import annotations

import functools
import traceback
from collections.abc import Callable, Sequence
from typing import Any

from stillflow.graph.api import get_collection, get_collection_ref
from stillflow.graph.eager_mode import executing_eagerly
from stillflow.graph.export import export
from stillflow.graph.graph_keys import GraphKeys
from stillflow.platform import tf_logging as logging
from stillflow.train.tracking.base import Trackable
from stillflow.train.tracking.captured_variables import capture_dependencies
from stillflow.variables.store import VariableStore
from stillflow.variables.variable_scope import (
    PureVariableScope,
    VariableScope,
    default_variable_store,
    get_variable_scope_store,
    variable_scope,
    with_variable_store,
)


@export("make_template")
def make_template(
    name_: str,
    func_: Callable[..., Any],
    create_scope_now_: bool = False,
    unique_name_: str | None = None,
    custom_getter_: Any = None,
    **kwargs: Any,
) -> Template:
    """`func_` as a function that makes variables at its first call and uses them at all others.

    Args:
      name_: of the variable scope, made unique.
      func_: makes its variables with `tf.get_variable`.
      create_scope_now_: whether the scope opens here, rather than where it is first called.
      unique_name_: of the scope, exactly.
      custom_getter_: the scope's custom getter.
      **kwargs: arguments for `func_`.

    Raises:
      ValueError: if `name_` is None, or `unique_name_` is not in eager execution.
    """
    return make_template_internal(
        name_, func_, create_scope_now_, unique_name_, custom_getter_, **kwargs
    )


@export("contrib.eager.make_template")
def make_template_internal(
    name_: str,
    func_: Callable[..., Any],
    create_scope_now_: bool = False,
    unique_name_: str | None = None,
    custom_getter_: Any = None,
    create_graph_function_: bool = False,
    **kwargs: Any,
) -> Template:
    """Return a template like `tf.make_template`; `create_graph_function_` traces `func_`."""
    if kwargs:
        func_ = functools.wraps(func_)(functools.partial(func_, **kwargs))
    if unique_name_ is not None and executing_eagerly():
        raise ValueError("unique_name_ cannot be used when eager exeuction is enabled.")
    if create_graph_function_:
        from stillflow.functional.polymorphic import defun

        func_ = defun(func_)
    return Template(
        name_,
        func_,
        create_scope_now=create_scope_now_,
        unique_name=unique_name_,
        custom_getter=custom_getter_,
    )


class Template(Trackable):
    """Result of `make_template`; arguments are those of that function."""

    def __init__(
        self,
        name: str,
        func: Callable[..., Any],
        create_scope_now: bool = False,
        unique_name: str | None = None,
        custom_getter: Any = None,
    ) -> None:
        if name is None:
            raise ValueError("name cannot be None.")
        self._func = func
        self._stacktrace = traceback.format_stack()[:-2]
        self._name, self._unique_name = name, unique_name
        self._custom_getter = custom_getter
        self._variable_scope: VariableScope | None = None
        self._variables_created = False
        self._first_call = True
        self._store = _eager_store() if executing_eagerly() else None
        if create_scope_now:
            scope_name = unique_name or get_variable_scope_store().unique(name)
            with PureVariableScope(scope_name, custom_getter=custom_getter) as scope:
                self._variable_scope = scope

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._store is None:
            return self._call_in_scope(args, kwargs)
        try:
            with with_variable_store(self._store):
                return self._call_in_scope(args, kwargs)
        finally:
            # Templates and scopes made by the function get the same names at its next call.
            if self._variable_scope is not None:
                get_variable_scope_store().close_inside(self._variable_scope.name)

    def _call_in_scope(self, args: Any, kwargs: Any) -> Any:
        if self._variable_scope is not None:
            reuse = not self._first_call and self._store is None
            with variable_scope(self._variable_scope, reuse=reuse):
                return self._call_func(args, kwargs)
        with variable_scope(
            self._unique_name, self._name, custom_getter=self._custom_getter
        ) as scope:
            self._variable_scope = scope
            return self._call_func(args, kwargs)

    def _call_func(self, args: Any, kwargs: Any) -> Any:
        try:
            if self._variables_created:
                return self._call_again(args, kwargs)
            if not self._first_call:  # another thread is in the first call
                return self._func(*args, **kwargs)
            self._first_call = False
            try:
                with capture_dependencies(self):
                    result = self._func(*args, **kwargs)
            except BaseException:
                self._first_call = True
                raise
            self._variables_created = True
            return result
        except Exception as error:
            self._say_where(error)
            raise

    def _call_again(self, args: Any, kwargs: Any) -> Any:
        before = self._made(GraphKeys.GLOBAL_VARIABLES)
        trainable_before = self._made(GraphKeys.TRAINABLE_VARIABLES)
        result = self._func(*args, **kwargs)
        trainable = self._made(GraphKeys.TRAINABLE_VARIABLES)
        if len(trainable) != len(trainable_before):
            raise ValueError(
                "Trainable variable created when calling a template after the first time, perhaps "
                "you used tf.Variable when you meant tf.get_variable: "
                f"{_without(trainable, trainable_before)}"
            )
        variables = self._made(GraphKeys.GLOBAL_VARIABLES)
        if len(variables) != len(before):
            logging.info(
                "New variables created when calling a template after the first time, perhaps you "
                "used tf.Variable when you meant tf.get_variable: %s",
                _without(variables, before),
            )
        return result

    def _made(self, key: str) -> list[Any]:
        """Return the variables there are: in its scope in eager execution, else in the graph."""
        return list(get_collection_ref(key)) if self._store is None else self._collected(key)

    def _say_where(self, error: Exception) -> None:
        """Add to an error's message where the template was made."""
        text = error.args[0] if error.args else ""
        trace = "".join(without_common(self._stacktrace, traceback.format_stack()))
        error.args = (f"{text}\n\noriginally defined at:\n{trace}", *error.args[1:])

    @property
    def _template_store(self) -> TemplateStore:
        if self._store is None:
            raise AttributeError("a template of a graph keeps its variables in the graph")
        return TemplateStore(self, self._store)

    @property
    def name(self) -> str:
        return self._name

    @property
    def func(self) -> Callable[..., Any]:
        """The function that was made a template of."""
        return self._func

    @property
    def variable_scope(self) -> VariableScope | None:
        """The scope of its variables; None before it is entered."""
        return self._variable_scope

    var_scope = variable_scope

    @property
    def variable_scope_name(self) -> str | None:
        """The scope's name with a slash; None before it is entered."""
        if self._variable_scope is None:
            return None
        name = self._variable_scope.name
        return name if not name or name.endswith("/") else name + "/"

    def _collected(self, key: str) -> list[Any]:
        if self._store is not None:
            scope = self.variable_scope_name
            if key == GraphKeys.LOCAL_VARIABLES or scope is None:
                return []
            kept = sorted(self._store._vars.values(), key=lambda variable: str(variable.name))
            kept = [variable for variable in kept if variable.name.startswith(scope)]
            every = key == GraphKeys.GLOBAL_VARIABLES
            return [variable for variable in kept if every or variable.trainable]
        return get_collection(key, self.variable_scope_name) if self._variables_created else []

    @property
    def variables(self) -> list[Any]:
        """Its global and local variables."""
        return self.global_variables + self.local_variables

    @property
    def trainable_variables(self) -> list[Any]:
        return self._collected(GraphKeys.TRAINABLE_VARIABLES)

    @property
    def non_trainable_variables(self) -> list[Any]:
        """The global variables that are not trainable."""
        trainable = set(self.trainable_variables)
        return [variable for variable in self.global_variables if variable not in trainable]

    @property
    def global_variables(self) -> list[Any]:
        return self._collected(GraphKeys.GLOBAL_VARIABLES)

    @property
    def local_variables(self) -> list[Any]:
        return self._collected(GraphKeys.LOCAL_VARIABLES)

    weights = variables
    trainable_weights = trainable_variables
    non_trainable_weights = non_trainable_variables


class TemplateStore:
    """The variables of a template in eager execution, in the store that they share with others."""

    def __init__(self, template: Template, store: VariableStore) -> None:
        self._template, self._store = template, store

    def as_default(self) -> Any:
        """Return a context in which `tf.get_variable` finds and keeps variables in the store."""
        return with_variable_store(self._store)

    def variables(self) -> list[Any]:
        """Return the variables of the template."""
        return self._template.global_variables

    def trainable_variables(self) -> list[Any]:
        """Return its trainable variables."""
        return self._template.trainable_variables

    def non_trainable_variables(self) -> list[Any]:
        """Return its other variables."""
        return self._template.non_trainable_variables


def _eager_store() -> VariableStore:
    """Return the store of variables that is open in eager execution, or a new one.

    Nothing else keeps such variables; templates inside templates share the store.
    """
    current = default_variable_store()
    return current if current.keeps_eager else VariableStore(keeps_eager=True)


def _without(variables: Sequence[Any], others: Sequence[Any]) -> list[Any]:
    known = {id(variable) for variable in others}
    return [variable for variable in variables if id(variable) not in known]


def without_common(stack: Sequence[str], base: Sequence[str]) -> Sequence[str]:
    """`stack` without the entries that it has in common with `base`, but at least its last."""
    for i, (entry, other) in enumerate(zip(stack, base, strict=False)):
        if entry != other:
            return stack[i:]
    return stack[-1:]
