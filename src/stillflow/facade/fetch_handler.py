"""``_FetchHandler`` of ``tensorflow.python.client.session``, which sessions of others run with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stillflow.graph.graph import Graph
from stillflow.graph.operation import Operation, Tensor
from stillflow.ops.session_tensors import TensorHandle
from stillflow.runtime.session.fetches import Fetches

_HANDLES = ("GetSessionHandle", "GetSessionHandleV2")


class FetchHandler:
    """Fetches of a structure, and the structure of their results.

    Args:
      graph: the graph of the fetches.
      fetches: the structure.
      feeds: {tensor: its value}.
      feed_handles: {tensor: the handle that it is fed by}.
    """

    def __init__(
        self, graph: Graph, fetches: Any, feeds: Mapping[Any, Any], feed_handles: Any = None
    ) -> None:
        with graph.as_default():
            self._plan = Fetches(graph, fetches)
        self._feeds = feeds
        self._feed_handles = feed_handles or {}
        self._final_fetches = [tensor for tensor in self._plan.tensors if tensor not in feeds]

    def fetches(self) -> list[Tensor]:
        """Return the tensors whose values are to be found: those that are not fed."""
        return self._final_fetches

    def targets(self) -> list[Operation]:
        """Return the operations to run."""
        return self._plan.targets

    def build_results(
        self, session: Any, tensor_values: Any
    ) -> dict[str, float | list[float | None]]:
        """Return the structure of the results.

        Args:
          session: what handles that were fetched belong to.
          tensor_values: a value for each of `fetches()`.
        """
        assert len(self._final_fetches) == len(tensor_values)
        found = dict(zip(self._final_fetches, tensor_values, strict=True))
        return self._plan.build([self._value(t, found, session) for t in self._plan.tensors])

    def _value(self, tensor: Tensor, found: dict[Tensor, Any], session: Any) -> Any:
        if tensor in self._feed_handles:
            return self._feed_handles[tensor].eval()
        value = found[tensor] if tensor in found else self._feeds[tensor]
        if tensor.op.type in _HANDLES:
            return TensorHandle(value, tensor.op.inputs[0].dtype, session)
        return value
