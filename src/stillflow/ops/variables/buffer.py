"""A variable's memory in a session."""

from __future__ import annotations

import threading
from typing import Any

from stillflow import errors


class Buffer:
    """Holds a variable's current value; what reference and resource handles point to.

    Attributes:
      name: the variable's name, for messages.
      value: a torch tensor (an object array for strings), or None while uninitialized.
      lock: held by updates that ask for `use_locking`.
    """

    __slots__ = ("is_resource", "lock", "name", "value")

    def __init__(self, name: str, is_resource: bool = False) -> None:
        self.name = name
        self.is_resource = is_resource
        self.value: Any = None
        self.lock = threading.RLock()

    def read(self) -> Any:
        """The current value.

        Raises:
          tf.errors.FailedPreconditionError: if there is none yet.
        """
        value = self.value
        if value is None:
            raise errors.FailedPreconditionError(None, None, self.missing())
        return value

    def missing(self) -> str:
        """TF's words for a variable without a value."""
        if not self.is_resource:
            return f"Attempting to use uninitialized value {self.name}"
        return (
            f"Error while reading resource variable {self.name} from Container: localhost. This "
            f"could mean that the variable was uninitialized. Not found: Container localhost does "
            f"not exist. (Could not find resource: localhost/{self.name})"
        )
