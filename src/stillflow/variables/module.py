"""Objects that own variables and other such objects."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from stillflow import nest
from stillflow.graph.api import name_scope
from stillflow.graph.export import export
from stillflow.train.tracking.base import AutoTrackable
from stillflow.variables.base import VariableV2

# Attributes in which a module notes its parts.
_OWN = ("_tracked", "_deferred")


def _snake_case(name: str) -> str:
    return re.sub(r"((?<=[a-z0-9])[A-Z]|(?!^)[A-Z](?=[a-z]))", r"_\1", name).lower()


@export("Module")
class Module(AutoTrackable):
    """An object whose attributes are searched for variables and modules.

    Args:
      name: a Python identifier; by default the class's name in snake case.

    Raises:
      ValueError: if the name is no identifier.
    """

    # Attributes that are not searched.
    _TF_MODULE_IGNORED_PROPERTIES: frozenset[str] = frozenset()

    def __init__(self, name: str | None = None) -> None:
        if name is None:
            name = _snake_case(type(self).__name__)
        elif not name.isidentifier():
            raise ValueError(
                f"{name!r} is not a valid module name. Module names must be valid Python "
                "identifiers (e.g. a valid class name)."
            )
        self._name = name
        with name_scope(name) as scope:
            self._scope_name = scope

    @property
    def name(self) -> str:
        """The name that was given, or the class's."""
        return self._name

    @property
    def name_scope(self) -> Any:
        """A context manager: the scope that the module was made with."""
        return name_scope(self._scope_name)

    @property
    def variables(self) -> Sequence[Any]:
        """All variables of this module and the modules inside."""
        return tuple(self._flatten(lambda value: isinstance(value, VariableV2)))

    @property
    def trainable_variables(self) -> Sequence[Any]:
        """The trainable ones of `variables`."""
        return tuple(
            self._flatten(
                lambda value: isinstance(value, VariableV2) and getattr(value, "trainable", False)
            )
        )

    @property
    def submodules(self) -> tuple[Module, ...]:
        """All modules inside this one."""
        return tuple(self._flatten(lambda value: isinstance(value, Module)))

    def _flatten(
        self,
        predicate: Callable[[Any], Any],
        recursive: bool = True,
        attribute_traversal_key: Callable[[Any], Any] | None = None,
        with_path: bool = False,
    ) -> Iterator[Any]:
        """Attributes, in the order of their names, that `predicate` holds for; each once."""
        return _walk(self, recursive, predicate, attribute_traversal_key, with_path, (), set())

    @classmethod
    def with_name_scope(cls, method: Callable[..., Any]) -> Callable[..., Any]:
        """Return a decorator that runs a method inside the module's name scope."""

        @functools.wraps(method)
        def inside(self: Module, *args: Any, **kwargs: Any) -> Any:
            with self.name_scope:
                return method(self, *args, **kwargs)

        return inside


def _walk(
    module: Module,
    recursive: bool,
    predicate: Callable[[Any], Any],
    key: Callable[[Any], Any] | None,
    with_path: bool,
    prefix: tuple[Any, ...],
    seen: set[int],
) -> Iterator[Any]:
    seen.add(id(module))
    attributes = vars(module)
    inside = []
    for name in sorted(attributes, key=key):
        if name in _OWN or name in module._TF_MODULE_IGNORED_PROPERTIES:
            continue
        for path, leaf in _leaves(attributes[name]):
            if id(leaf) in seen:
                continue
            path = (*prefix, name, *path)
            if predicate(leaf):
                seen.add(id(leaf))
                yield (path, leaf) if with_path else leaf
            if recursive and isinstance(leaf, Module):
                inside.append((path, leaf))
    for path, leaf in inside:
        yield from _walk(leaf, recursive, predicate, key, with_path, path, seen)


def _leaves(value: Any) -> list[tuple[tuple[Any, ...], Any]]:
    try:
        return list(nest.flatten_with_tuple_paths(value))
    except (TypeError, ValueError):  # dictionaries whose keys cannot be sorted
        return []
