"""Running and feeding ragged tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from stillflow.graph.operation import Tensor
from stillflow.ragged.tensor import RaggedTensor
from stillflow.ragged.value import RaggedTensorValue, nested_value
from stillflow.runtime.session.fetches import register_session_run_conversion_functions


def _parts(value: Any) -> tuple[Any, ...]:
    return (*value.nested_row_splits, value.flat_values)


def _fetch(tensor: RaggedTensor) -> tuple[list[Tensor], Callable[..., Any]]:
    def contract(values: list[Any]) -> RaggedTensorValue:
        *splits, flat = values
        return nested_value(flat, splits)

    return list(_parts(tensor)), contract


def _feed(tensor: RaggedTensor, value: Any) -> Iterator[tuple[Any, Any]]:
    return zip(_parts(tensor), _parts(value))


register_session_run_conversion_functions(
    RaggedTensor, _fetch, _feed, lambda tensor: list(_parts(tensor))
)
