"""Variables that become parts of a template because they are made while it is called."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from stillflow.variables.creation import variable_creator_scope

if TYPE_CHECKING:
    from stillflow.variables.scatter import ScatterMethods


@contextlib.contextmanager
def capture_dependencies(template: Any) -> Iterator[None]:
    """Return a context in which variables become parts of a template, named from its scope on.

    A template inside is a part itself, and owns the variables made in it.
    """
    scope = template.variable_scope.name

    def creator(
        next_creator: Any, name: Any = None, trackable_parent: Any = None, **kwargs: Any
    ) -> ScatterMethods:
        own = name is not None and name.startswith(scope)
        if own and trackable_parent is None:
            variable = next_creator(name=name, trackable_parent=(template, scope), **kwargs)
            part: tuple[Any, str] = variable, name[len(scope) + 1 :]
        else:
            variable = next_creator(name=name, trackable_parent=(template, scope), **kwargs)
            if not own:
                return variable
            inner, inner_scope = trackable_parent
            part = inner, inner_scope[len(scope) + 1 :]
        template._track_trackable(part[0], name=part[1], overwrite=True)
        return variable

    with variable_creator_scope(creator):
        yield
