"""Functions applied to the values of ragged tensors: `tf.ragged.map_flat_values`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stillflow.graph.api import control_dependencies
from stillflow.graph.export import export
from stillflow.ragged.conversion import (
    MISMATCH,
    convert_to_tensor_or_ragged_tensor,
    is_ragged,
)
from stillflow.ragged.splits import assert_splits_match
from stillflow.ragged.tensor import RaggedTensor


@export("ragged.map_flat_values")
def map_flat_values(op: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a function with the innermost values of ragged tensors in their place.

    Args:
      op: takes and gives tensors.
      *args, **kwargs: of `op`; all ragged tensors in them, in lists and dicts too, have the same
        rows.

    Returns:
      A ragged tensor with the values that `op` gives; what it gives if no argument is ragged.

    Raises:
      ValueError: if the rows are known to differ.
    """
    found: list[Any] = []
    flat_args = _flat(args, found)
    flat_kwargs = _flat(kwargs, found)
    if not found:
        return op(*args, **kwargs)
    if len({splits[0].dtype for splits in found}) > 1:
        raise ValueError(MISMATCH)
    with control_dependencies(assert_splits_match(found)):
        values = op(*flat_args, **flat_kwargs)
        return RaggedTensor.from_nested_row_splits(values, found[0], validate=False)


def _flat(value: Any, found: list[Any]) -> Any:
    """`value` with the innermost values of ragged tensors; their splits are added to `found`."""
    if is_ragged(value):
        ragged = convert_to_tensor_or_ragged_tensor(value)
        assert isinstance(ragged, RaggedTensor)
        found.append(ragged.nested_row_splits)
        return ragged.flat_values
    if isinstance(value, (list, tuple)):
        items = [_flat(item, found) for item in value]
        return items if isinstance(value, list) else tuple(items)
    if isinstance(value, dict):
        return {key: _flat(item, found) for key, item in value.items()}
    return value
