"""The part of a layer that keeps the losses and updates which calling it adds."""

from __future__ import annotations

import functools
from typing import Any

from stillflow import nest
from stillflow.distribute.context import has_strategy, in_cross_replica_context
from stillflow.errors import InaccessibleTensorError
from stillflow.graph.api import name_scope
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.eager_mode import executing_eagerly, executing_eagerly_outside_functions
from stillflow.graph.operation import Operation, Tensor
from stillflow.graph.tensor_like import is_tensor
from stillflow.keras.backend.config import floatx
from stillflow.layers.attributes import layers_in
from stillflow.layers.call_context import call_context
from stillflow.layers.reachability import reachable_from
from stillflow.layers.symbolic_graph import in_function, is_symbolic, symbolic_graph
from stillflow.ops.arrays.shape import shape
from stillflow.ops.functional.nodes import (
    CondBranchFuncGraph,
    WhileBodyFuncGraph,
    WhileCondFuncGraph,
)
from stillflow.ops.math.cast import cast
from stillflow.util.notices import noticed

_NOT_OF_A_METRIC = (
    "We do not support adding an aggregated metric result tensor that is not the output of a "
    "`tf.keras.metrics.Metric` metric instance. Without having access to the metric instance we "
    "cannot reset the state of a metric after every epoch during training. You can create a "
    "`tf.keras.metrics.Metric` instance and pass the result here or pass an un-aggregated result "
    "with `aggregation` parameter set as `mean`. For example: `self.add_metric(tf.reduce_sum("
    "inputs), name='mean_activation', aggregation='mean')`"
)

_NOT_SYMBOLIC = (
    "Expected a symbolic Tensors or a callable for the loss value. Please wrap your loss "
    "computation in a zero argument `lambda`."
)


_IN_A_BRANCH = (
    "You are using the method `{method}` in a control flow branch in your layer, e.g.:\n\n"
    "    def call(self, inputs, training=None):\n"
    "        if training:\n"
    "            self.{method}(...)\n\n"
    "Compute a value in each of the branches, and call {method} after them; or make the layer with "
    "`dynamic=True`, which runs its Python code at every step."
)


_REGULARIZED = (
    "You are using a layer with `activity_regularizer` in a control flow branch, e.g.:\n\n"
    "    def call(self, inputs, training=None):\n"
    "        if training:\n"
    "            return self.dense(inputs)\n\n"
    "Call that layer outside of the branch; or make the layer around it with `dynamic=True`, which "
    "runs its Python code at every step."
)


def _check_not_in_branch(tensor: Any, method: str) -> None:
    """Raise RuntimeError for a branch's or loop's tensor, which nothing outside can use."""
    home = tensor.home if isinstance(tensor, Tensor) else None
    branches = CondBranchFuncGraph, WhileBodyFuncGraph, WhileCondFuncGraph
    if isinstance(home, branches) and executing_eagerly_outside_functions():
        message = _REGULARIZED if method == "activity_regularizer" else _IN_A_BRANCH
        raise RuntimeError(message.format(method=method))


def _made_update(update: Any) -> Operation:
    """Return an update, or the result of its function.

    RuntimeError if the function takes what a branch or loop has computed.
    """
    if not callable(update):
        return update
    try:
        return update()
    except InaccessibleTensorError as error:
        raise RuntimeError(_IN_A_BRANCH.format(method="add_update")) from error


class Contributions:
    """Losses and updates of a layer and of the layers inside it."""

    trainable: Any
    stateful: bool
    _losses: list[Any]
    _eager_losses: list[Any]  # of the last call, where operations run when they are called
    _callable_losses: list[Any]
    _updates: list[Any]
    _metrics: list[Any]
    _inbound_nodes: list[Any]
    _activity_regularizer: Any
    _of_children: Any  # of Weights

    @property
    def updates(self) -> list[Any]:
        """The operations that must run when the layer is trained."""
        if not self.trainable and not self.stateful:
            return []
        with symbolic_graph().as_default():
            own = [_made_update(update) for update in self._updates]
        return own + self._of_children("updates")

    @property
    def losses(self) -> list[Any]:
        """The losses, including those of regularizers, which are made at every access."""
        made = [loss() for loss in self._callable_losses]
        own = (self._eager_losses or self._losses) + [loss for loss in made if loss is not None]
        return own + self._of_children("losses")

    def _clear_losses(self) -> None:
        """Forget the losses of the last call, in eager execution."""
        self._eager_losses.clear()
        for layer in layers_in(self._layers):  # type: ignore[attr-defined]
            layer._clear_losses()

    def add_loss(self, losses: Any, inputs: Any = None) -> None:
        """Add losses: tensors, or functions without arguments that give one.

        Args:
          inputs: what they depend on; None for nothing.
        """
        found = nest.flatten(losses)
        # An assignment, if of nothing: object graphs that TensorFlow saves have it for a part.
        self._callable_losses += [
            functools.partial(_tagged, loss, inputs) for loss in found if callable(loss)
        ]
        for loss in found:
            if loss is not None and not callable(loss):
                _check_not_in_branch(loss, "add_loss")
                loss = _tagged(loss, inputs)
                of_this_call = in_function() or not is_symbolic(loss)
                if of_this_call and not call_context.in_call:
                    raise ValueError(_NOT_SYMBOLIC)
                (self._eager_losses if of_this_call else self._losses).append(loss)

    @noticed("keras.layers.Layer")
    def add_update(self, updates: Any, inputs: Any = None) -> None:
        """Add updates: operations, tensors, or functions without arguments that give one.

        Args:
          inputs: ignored; whether they depend on the layer's inputs is found out.
        """
        if executing_eagerly() or in_function():
            if not call_context.frozen:
                for update in updates if isinstance(updates, list) else [updates]:
                    if callable(update):
                        update()
            return
        if has_strategy() and in_cross_replica_context():
            return  # replicas make their own
        if call_context.in_call:
            relevant = call_context.inputs
        else:
            relevant = [node.input_tensors for node in self._inbound_nodes]
        updates = updates if isinstance(updates, list) else [updates]
        if executing_eagerly_outside_functions():
            # Operations run with the call; functions wait until `updates` is read.
            self._updates += [
                functools.partial(_update, update, relevant)
                for update in updates
                if callable(update) or not call_context.in_call
            ]
            return
        self._updates += [_update(update, relevant) for update in updates]

    def get_updates_for(self, inputs: Any) -> list[Any]:
        """Return the updates that depend on `inputs`; those that depend on none for None."""
        return _depending(self.updates, "_unconditional_update", inputs)

    def get_losses_for(self, inputs: Any) -> list[Any]:
        """Return the losses that depend on `inputs`; those that depend on none for None."""
        return _depending(self.losses, "_unconditional_loss", inputs)

    def add_metric(self, value: Any, aggregation: str | None = None, name: Any = None) -> None:
        """Add a metric to a model's results.

        Args:
          value: a tensor, or the result of a `Metric` that was called.
          aggregation: "mean" for the mean of the tensor's elements over batches.
          name: of the metric.

        Raises:
          ValueError: for another aggregation, no name, or something that is no tensor.
        """
        if aggregation is not None and aggregation != "mean":
            raise ValueError(
                "We currently support only `mean` sample-wise metric aggregation. You provided "
                f"aggregation=`{aggregation}`"
            )
        made_by = getattr(value, "_metric_obj", None)
        if name is None and made_by is None:
            raise ValueError(
                "Please provide a name for your metric like `self.add_metric(tf.reduce_sum("
                "inputs), name='mean_activation', aggregation='mean')`"
            )
        name = name if made_by is None else made_by.name
        _check_not_in_branch(value, "add_metric")
        symbolic = is_symbolic(value)
        if call_context.in_call and (in_function() or not symbolic):
            self._add_metric_at_once(value, made_by, name)
        elif not symbolic:
            raise ValueError(
                f"Expected a symbolic Tensor for the metric value, received: {value!s}"
            )
        elif call_context.in_call:
            Contributions._add_symbolic_metric(self, value, aggregation, name)
        else:
            self._add_symbolic_metric(value, aggregation, name)

    def _add_metric_at_once(self, value: Any, made_by: Any, name: Any) -> None:
        """Update the metric of a name by a value; the first call makes the metric."""
        known = [metric for metric in self._metrics if metric.name == name]
        if known and made_by is None:
            known[0](value)
        elif not known:
            self._metrics.append(_mean_of(value, name) if made_by is None else made_by)

    def _add_symbolic_metric(self, value: Any, aggregation: Any, name: Any) -> None:
        known = [metric for metric in self._metrics if metric.name == name]
        if len(known) > 1:
            raise ValueError(
                "Please provide different names for the metrics you have added. We found "
                f'{len(known)} metrics with the name: "{name}"'
            )
        if aggregation is None:
            if not known and not hasattr(value, "_metric_obj"):
                raise ValueError(_NOT_OF_A_METRIC)
            self._metrics += [] if known else [value._metric_obj]
        elif known:
            known[0](value)
        else:
            self._metrics.append(_mean_of(value, name))

    def _regularize_activity(self, inputs: Any, outputs: Any) -> None:
        if not self._activity_regularizer:
            return
        with name_scope("ActivityRegularizer"):
            for output in nest.flatten(outputs):
                _check_not_in_branch(output, "activity_regularizer")
                loss = self._activity_regularizer(output)
                batch_size = cast(shape(output)[0], loss.dtype)
                self.add_loss(loss / batch_size, inputs=inputs)


def _mean_of(value: Any, name: Any) -> Any:
    from stillflow.keras.metrics.base import Mean

    metric = Mean(name=name)
    metric(value)
    return metric


def _tagged(loss: Any, inputs: Any) -> Any:
    if callable(loss):
        loss = loss()
    if loss is None:
        return None
    if not is_tensor(loss):
        loss = convert_to_tensor(loss, dtype=floatx())
    loss._unconditional_loss = inputs is None
    return loss


def _update(x: Any, relevant: Any) -> Operation:
    if callable(x):
        return _update(x(), relevant)
    if not isinstance(x, Operation):
        x = x.op if hasattr(x, "op") else convert_to_tensor(x)
    x._unconditional_update = id(x) not in reachable_from(relevant, [x])
    return x


def _depending(items: list[Any], unconditional: str, inputs: Any) -> list[Any]:
    if inputs is None:
        return [item for item in items if getattr(item, unconditional)]
    items = [item for item in items if not getattr(item, unconditional)]
    reachable = reachable_from(nest.flatten(inputs), items)
    return [item for item in items if id(item) in reachable]
