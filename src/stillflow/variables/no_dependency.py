"""Values assigned to an attribute without becoming a part of the object."""

from __future__ import annotations

from typing import Any

from stillflow.graph.export import export


@export("contrib.checkpoint.NoDependency")
class NoDependency:
    """Wrapper of an attribute's value that keeps it from becoming a part of the object.

    Args:
      value: what the attribute becomes.
    """

    def __init__(self, value: Any) -> None:
        self.value = value
