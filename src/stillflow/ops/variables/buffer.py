"""A variable's memory in a session."""

from __future__ import annotations

import threading
from typing import Any

from stillflow import errors

_ALL = ("container", "variables")  # kind and name of the list of a container's buffers


class Buffer:
    """Storage of a variable's current value, referred to by reference and resource handles.

    Args:
      name: the variable's name, for messages.
      is_resource: whether it is a resource variable.
      container: all buffers of its container, including this one.

    Attributes:
      value: a torch tensor (an object array for strings), or None while uninitialized.
      lock: held by updates that ask for `use_locking`.
      reshaped: whether it was given a value of another shape than its operation declares.
      is_fixed: whether nothing writes it any more, so that plans may take its value for a constant.
    """

    __slots__ = (
        "__weakref__", "container", "is_fixed", "is_resource", "lock", "name", "reshaped", "value",
    )  # fmt: skip

    def __init__(
        self, name: str, is_resource: bool = False, container: list[Buffer] | None = None
    ) -> None:
        self.name = name
        self.is_resource = is_resource
        self.container = [] if container is None else container
        self.container.append(self)
        self.value: Any = None
        self.lock = threading.RLock()
        self.reshaped = self.is_fixed = False

    def read(self) -> Any:
        """Return the current value, for an operation that does more than to read it.

        Raises:
          tf.errors.NotFoundError: if a resource variable has none yet.
          tf.errors.FailedPreconditionError: if a reference variable has none yet.
        """
        value = self.value
        if value is None:
            if self.is_resource:
                raise errors.not_found(self._not_found())
            raise errors.failed_precondition(self.missing())
        return value

    def missing(self) -> str:
        """TF's words for reading a variable without a value."""
        if not self.is_resource:
            return f"Attempting to use uninitialized value {self.name}"
        return (
            f"Error while reading resource variable {self.name} from Container: localhost. This "
            f"could mean that the variable was uninitialized. Not found: {self._not_found()}"
        )

    def _not_found(self) -> str:
        """Return the name of the missing item: the variable, or its container."""
        if self.has_container:
            return f"Resource localhost/{self.name}/N10tensorflow3VarE does not exist."
        return (
            f"Container localhost does not exist. (Could not find resource: localhost/{self.name})"
        )

    @property
    def has_container(self) -> bool:
        """True if any variable of the container exists, and so the container."""
        return any(other.exists for other in self.container)

    @property
    def exists(self) -> bool:
        """A resource variable comes to be when it gets a value, a reference variable when used."""
        return self.value is not None or not self.is_resource


def fix_variables(resources: Any) -> None:
    """Mark the variables of a session as ones that no run writes any more.

    Only those of the default container that have a value.
    """
    for buffer in resources.find("", *_ALL) or ():
        buffer.is_fixed = buffer.value is not None


def buffer_of(node: Any, name: str, is_resource: bool = False) -> Buffer:
    """Return the buffer of a variable op in the session."""
    container = node.resource(list, kind=_ALL[0], name=_ALL[1])
    buffer: Buffer = node.resource(lambda: Buffer(name, is_resource, container), kind="variable")
    return buffer
