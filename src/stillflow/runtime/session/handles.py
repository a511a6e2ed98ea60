"""Handles of tensors that a session keeps: the results of fetching one."""

from __future__ import annotations

from typing import Any

from stillflow.ops.session_tensors import HANDLES, TensorHandle
from stillflow.runtime.session.fetches import Fetches


def with_handles(handler: Fetches, session: Any) -> None:
    """Make the fetched handles of kept tensors `TensorHandle` objects."""
    handles = {
        i: tensor.op.inputs[0].dtype
        for i, tensor in enumerate(handler.tensors)
        if tensor.op.type in HANDLES
    }
    if not handles:
        return
    build = handler.build

    def with_objects(values: list[Any]) -> Any:
        values = list(values)
        for i, dtype in handles.items():
            text = values[i] if isinstance(values[i], bytes) else values[i][()]
            values[i] = TensorHandle(text, dtype, session)
        return build(values)

    handler.build = with_objects
