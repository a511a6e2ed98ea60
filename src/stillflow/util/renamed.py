"""Arguments that were renamed while TF1 lived; the old names still work."""

from __future__ import annotations

from typing import Any


def renamed_argument(new_name: str, new_value: Any, old_name: str, old_value: Any) -> Any:
    """Return the value given under either name; ValueError if both are given."""
    if old_value is None:
        return new_value
    if new_value is not None:
        raise ValueError(f"Cannot specify both '{old_name}' and '{new_name}'")
    return old_value
