"""Consumers in a graph, and changes of edges."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container
from typing import Any

import stillflow as tf
from stillflow.graph.graph import Graph
from stillflow.graph.operation import Operation, Tensor

# Operations whose names start so are no part of a model.
SKIPPED_PREFIXES = (
    "gradients/", "RMSProp/", "Adagrad/", "Const_", "HistogramSummary", "ScalarSummary",
)  # fmt: skip

_STEP = "fake_quantization_step"


class Consumers:
    """Consumers of a model's tensors when this was made.

    Args:
      graph: the graph; what is no part of a model is left out.
    """

    def __init__(self, graph: Graph) -> None:
        self.mapping: dict[Tensor, set[Operation]] = defaultdict(set)
        for op in graph.get_operations():
            if not op.name.startswith(SKIPPED_PREFIXES):
                for tensor in op.inputs:
                    self.mapping[tensor].add(op)

    def consumer_operations(self, producer: Operation) -> set[Operation]:
        """Return the operations that took an output of `producer`."""
        return set().union(*(self.mapping[tensor] for tensor in producer.outputs))

    ConsumerOperations = consumer_operations  # as programs call it


def reroute_tensor(t0: Any, t1: Tensor, can_modify: Container[Operation] | None = None) -> int:
    """Replace `t1` by `t0` in its consumers.

    Args:
      t0: a tensor.
      t1: a tensor of the same graph.
      can_modify: the operations that may be changed; all if it is None.

    Returns:
      How many inputs changed.
    """
    places = [
        (op, index)
        for op in dict.fromkeys(t1.consumers())
        if can_modify is None or op in can_modify
        for index, tensor in enumerate(op.inputs)
        if tensor is t1
    ]
    for op, index in places:
        op._update_input(index, t0)
    return len(places)


def quantization_step() -> Tensor:
    """Return the number of runs of the rewritten graph, an int64 scalar that counts itself."""
    graph = tf.get_default_graph()
    try:
        return graph.get_tensor_by_name(f"{_STEP}/Identity:0")
    except KeyError:
        pass
    with graph.name_scope(None):
        step = tf.get_variable(
            _STEP,
            shape=[],
            dtype=tf.int64,
            initializer=tf.zeros_initializer(),
            trainable=False,
            collections=[tf.GraphKeys.GLOBAL_VARIABLES],
            aggregation=tf.VariableAggregation.ONLY_FIRST_REPLICA,
        )
        # Of one name, whichever kind of variable it is.
        with graph.name_scope(f"{step.op.name}/"):
            return tf.identity(tf.assign_add(step, 1))


def operation_or_none(graph: Graph, name: str) -> Operation | None:
    """Return the operation of a name, or None."""
    try:
        return graph.get_operation_by_name(name)
    except KeyError:
        return None


def without_prefix(text: str, prefix: str) -> str:
    """Return the text without a prefix, if it has it."""
    return text.removeprefix(prefix)
