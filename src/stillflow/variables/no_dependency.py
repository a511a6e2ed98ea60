"""Values assigned to an attribute without becoming a part of the object."""

from __future__ import annotations

from typing import Any

from stillflow.graph.export import export


@export("contrib.checkpoint.NoDependency")
class NoDependency:
    """Assigned to an attribute, lets what is in it be no part of the object.

    Args:
      value: what the attribute becomes.
    """

    def __init__(self, value: Any) -> None:
        self.value = value
