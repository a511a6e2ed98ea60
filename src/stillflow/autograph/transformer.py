"""Base class of transformers of syntax trees, which libraries derive their own from."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

_ENTITIES = ("FunctionDef", "ClassDef", "Lambda")


class EntityInfo(NamedTuple):
    """Origin of the function or class whose tree is transformed."""

    source_code: Any
    source_file: Any
    future_features: Any
    namespace: Any


class Context:
    """State of a transformation.

    Attributes:
      info: an `EntityInfo`.
      current_origin: where the node that is visited comes from, if its tree says so.
    """

    def __init__(self, info: EntityInfo) -> None:
        self.info = info
        self.current_origin: Any = None


class Base(ast.NodeTransformer):
    """A transformer that knows which functions and classes are around the node that it visits.

    Args:
      ctx: a `Context`.
    """

    def __init__(self, ctx: Any) -> None:
        self.ctx = ctx
        self._entities: list[Any] = []
        self._scopes: list[dict[Any, Any]] = [{}]

    @property
    def enclosing_entities(self) -> tuple[Any, ...]:
        """The functions and classes around the node that is visited, the outermost first."""
        return tuple(self._entities)

    @property
    def local_scope_level(self) -> int:
        """The number of open local scopes."""
        return len(self._scopes)

    def enter_local_scope(self, inherit: Iterable[Any] | None = None) -> None:
        """Open a scope of values; those of some names are taken over."""
        outer = self._scopes[-1]
        self._scopes.append({name: outer[name] for name in inherit or () if name in outer})

    def exit_local_scope(self, keep: Iterable[Any] | None = None) -> dict[Any, Any]:
        """Close the innermost scope and return it; values of some names go to the one around."""
        left = self._scopes.pop()
        self._scopes[-1].update({name: left[name] for name in keep or () if name in left})
        return left

    def set_local(self, name: Any, value: Any) -> None:
        """Set a value of the innermost scope."""
        self._scopes[-1][name] = value

    def get_local(self, name: Any, default: Any = None) -> int | str | None:
        """Return a value of the innermost scope."""
        return self._scopes[-1].get(name, default)

    def visit_block(
        self,
        nodes: list[Any] | None,
        before_visit: Callable[[], None] | None = None,
        after_visit: Callable[[Any], tuple[Any, list[Any] | None]] | None = None,
    ) -> list[Any] | None:
        """Visit the statements of a block.

        Args:
          nodes: the statements.
          before_visit: is called before each of them.
          after_visit: is called with each that was visited. It returns the one that takes its
            place, and the list to which the following ones are added, or None for the same.

        Returns:
          The new statements.
        """
        if nodes is None:
            return None
        found: list[Any] = []
        place = found
        for node in nodes:
            if before_visit is not None:
                before_visit()
            visited = self.visit(node)
            following = None
            if after_visit is not None and visited:
                visited, following = after_visit(visited)
            if visited:
                place.extend(visited if isinstance(visited, (list, tuple)) else [visited])
            if following is not None:
                place = following
        return found

    def visit(self, node: Any) -> Any:
        """Visit a node by the method for its class; note the functions and classes on the way."""
        origin = self.ctx.current_origin
        entity = type(node).__name__ in _ENTITIES
        if entity:
            self._entities.append(node)
        try:
            return super().visit(node)
        finally:
            if entity:
                self._entities.pop()
            self.ctx.current_origin = origin
