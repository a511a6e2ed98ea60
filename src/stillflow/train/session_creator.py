"""What makes sessions for those that may have to make one anew."""

from __future__ import annotations

import abc
from typing import Any

from stillflow.graph.export import export


@export("train.SessionCreator")
class SessionCreator(abc.ABC):
    """The base of what makes sessions for a `MonitoredSession`."""

    @abc.abstractmethod
    def create_session(self) -> Any:
        """A session, its variables initialized or restored."""
        raise NotImplementedError(f"create_session is not implemented for {self}.")
