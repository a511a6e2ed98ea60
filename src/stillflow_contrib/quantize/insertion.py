"""Rounding inserted between operations of a graph and their consumers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import stillflow as tf
from stillflow.graph.graph import Graph
from stillflow.graph.operation import Operation, Tensor
from stillflow.platform import tf_logging as logging
from stillflow_contrib.quantize.edges import (
    Consumers,
    quantization_step,
    reroute_tensor,
    without_prefix,
)
from stillflow_contrib.quantize.layer_matches import LayerMatch, find_layers
from stillflow_contrib.quantize.ranges import last_value_quantize, moving_avg_quantize

_RELUS = frozenset({"Relu", "Relu6"})
_ACTIVATIONS = _RELUS | {"Identity"}
_SUMS_AND_PRODUCTS = frozenset({"Add", "AddV2", "Mul"})
_PASS_THROUGH = frozenset(
    {"Reshape", "Identity", "BatchToSpaceND", "SpaceToBatchND", "MaxPool", "Max"}
)
_ROUNDING = frozenset(
    {"FakeQuantWithMinMaxVars", "FakeQuantWithMinMaxArgs", "FakeQuantWithMinMaxVarsPerChannel"}
)


@dataclass
class Insertion:
    """Settings of the rounding.

    Attributes:
      is_training: whether ranges follow the values.
      weight_bits, activation_bits: of the integers.
      symmetric: whether ranges are symmetric around 0.
      ema_decay: of the averages of ranges.
      quant_delay: after how many steps rounding starts; at once if it is None or 0.
      vars_collection: a collection of the variables of ranges.
      scope: the name scope that is changed, with a slash at its end; everything if it is empty.
    """

    is_training: bool
    weight_bits: int = 8
    activation_bits: int = 8
    symmetric: bool = False
    ema_decay: float = 0.999
    quant_delay: int | None = None
    vars_collection: str = tf.GraphKeys.GLOBAL_VARIABLES
    scope: str = ""

    def round_weights(self, name: str, producer: Operation, consumers: set[Operation]) -> None:
        """Round weights, if all their consumers are in scope."""
        if self._all_in_scope(consumers, name):
            self._insert(
                name, producer, consumers, last_value_quantize,
                num_bits=self.weight_bits, narrow_range=True, symmetric=self.symmetric,
            )  # fmt: skip

    def round_values(
        self,
        name: str,
        producer: Operation,
        consumers: set[Operation],
        init_min: float = -6.0,
        within: bool = False,
        symmetric: bool | None = None,
    ) -> None:
        """Round the output of an operation, if it is in scope.

        Args:
          name: of the variable scope.
          producer: the operation.
          consumers: the operations that get rounded values.
          init_min: the lower end of the range at the start.
          within: whether all consumers have to be in scope too.
          symmetric: as the attribute, unless it is given.
        """
        if self._all_in_scope([producer, *(consumers if within else ())], name):
            self._insert(
                name, producer, consumers, moving_avg_quantize,
                num_bits=self.activation_bits, init_min=init_min, ema_decay=self.ema_decay,
                symmetric=self.symmetric if symmetric is None else symmetric,
            )  # fmt: skip

    def _all_in_scope(self, ops: Any, name: str) -> bool:
        outside = [op.name for op in ops if not op.name.startswith(self.scope)]
        if outside:
            logging.info("No %s: %s is not in scope %s.", name, outside[0], self.scope)
        return not outside

    def _insert(
        self,
        name: str,
        producer: Operation,
        consumers: set[Operation],
        quantize: Callable[..., Tensor],
        **settings: Any,
    ) -> None:
        outer = tf.get_default_graph().get_name_scope()
        name = without_prefix(name, f"{outer}/") if outer else name
        values = producer.outputs[0]
        if _is_rounded(values):  # a sum may be part of several layers
            return
        rounded = quantize(
            values, is_training=self.is_training, vars_collection=self.vars_collection,
            name_prefix=name, **settings,
        )  # fmt: skip
        if self.quant_delay and self.quant_delay > 0:
            started = tf.greater_equal(
                quantization_step(), self.quant_delay, name=f"{name}/activate_quant"
            )
            rounded = _delayed(started, rounded, values, f"{name}/delayed_quant")
        if reroute_tensor(rounded, values, can_modify=consumers) < len(consumers):
            names = ", ".join(op.name for op in consumers)
            raise ValueError(f"No inputs quantized for ops: [{names}]")


def _delayed(started: Tensor, rounded: Tensor, values: Tensor, name: str) -> Tensor:
    return tf.cond(started, lambda: rounded, lambda: values, name=name)


def _is_rounded(tensor: Tensor) -> bool:
    """Return True if a tensor is rounded, directly or after a reshape."""
    waiting = tensor.consumers()
    while waiting:
        op = waiting.pop()
        if op.type in _ROUNDING:
            return True
        if op.type in ("Reshape", "Identity"):
            for output in op.outputs:
                waiting.extend(output.consumers())
    return False


def insert_rounding(graph: Graph, how: Insertion) -> None:
    """Round weights and activations of layers, and sums and products of rounded values.

    Args:
      graph: the graph, changed.
      how: the settings.

    Raises:
      ValueError: if something does not take what it is known to take.
    """
    done = _round_layers(graph, how)
    consumers = Consumers(graph)
    for op in graph.get_operations():
        if _is_to_be_rounded(op, done):
            name = _join(op.name, f"activation_{op.type}_quant")
            # TensorFlow does not hand these on whether ranges are symmetric.
            how.round_values(name, op, consumers.consumer_operations(op), symmetric=False)


def _round_layers(graph: Graph, how: Insertion) -> set[Operation]:
    """Round layers; return the operations whose values need no other rounding."""
    users = Consumers(graph).consumer_operations
    done: set[Operation] = set()
    for match in find_layers(graph):
        context = _parent(match.layer.name)
        outer = _parent(context) if match.bypass is not None else context
        if match.weights is not None:
            weights = match.weights.op
            how.round_weights(_join(context, "weights_quant"), weights, users(weights))
        if match.activation is not None:
            name = _join(outer, "act_quant")
            how.round_values(name, match.activation, users(match.activation), init_min=0.0)
            done.add(match.activation)
        _round_bypass(match, context, outer, users, how, done)
        _round_post_activation_bypass(match, users, how, done)
    return done


def _round_bypass(
    match: LayerMatch,
    context: str,
    outer: str,
    users: Callable[[Operation], set[Operation]],
    how: Insertion,
    done: set[Operation],
) -> None:
    """Round both addends of a layer's bypass, and the sum."""
    if match.bypass is None or match.bias_add is None:
        return
    name = _join(context, "conv_quant")
    how.round_values(name, match.bias_add, users(match.bias_add), within=True)
    done.add(match.bias_add)
    # A sum and the activation after it will be one kernel.
    if not _is_activated(match.bypass, users(match.bypass), _ACTIVATIONS):
        name = _join(outer, "add_quant")
        how.round_values(name, match.bypass, users(match.bypass), within=True)
        done.add(match.bypass)


def _round_post_activation_bypass(
    match: LayerMatch,
    users: Callable[[Operation], set[Operation]],
    how: Insertion,
    done: set[Operation],
) -> None:
    total = match.post_activation_bypass
    if total is not None and not _is_activated(total, users(total), _RELUS):
        name = _join(_parent(total.name), "post_activation_bypass_quant")
        how.round_values(name, total, users(total))
        done.add(total)


def _is_activated(op: Operation, users: set[Operation], activations: frozenset[str]) -> bool:
    found = any(user.type in activations for user in users)
    if found:
        logging.info("%s is followed by an activation: not quantized.", op.name)
    return found


def _is_to_be_rounded(op: Operation, done: set[Operation]) -> bool:
    """Return True if an operation is a sum or product of rounded values."""
    if op in done or op.type not in _SUMS_AND_PRODUCTS:
        return False
    users = op.outputs[0].consumers()
    if len(users) == 1 and users[0].type in _RELUS:
        return False
    return any(_comes_from_rounding(tensor.op, done) for tensor in op.inputs)


def _comes_from_rounding(source: Operation, done: set[Operation]) -> bool:
    while source.type in _PASS_THROUGH:
        source = source.inputs[0].op
    if source.type == "FakeQuantWithMinMaxVars" or source.name.find("delayed_quant/Merge") > 0:
        return True
    return source.type in _SUMS_AND_PRODUCTS and any(
        _is_to_be_rounded(tensor.op, done) for tensor in source.inputs
    )


def _parent(name: str) -> str:
    return name.rpartition("/")[0]


def _join(context: str, name: str) -> str:
    return f"{context}/{name}" if context else name
