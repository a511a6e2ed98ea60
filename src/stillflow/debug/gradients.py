"""Gradients by the tensors that they belong to: `tf_debug.GradientsDebugger`.

A tensor is watched through an identity whose name has the tensor and the watcher. When gradients
are built, the identity's gradient passes its input to the watcher.
"""

from __future__ import annotations

import re
import uuid
from types import TracebackType
from typing import Any

from stillflow.debug.dump_dir import DebugDumpDir, WatchKeyDoesNotExistInDebugDumpDirError
from stillflow.graph.graph import Graph
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Gradients
from stillflow.ops.control_flow.identity_and_group import (
    debug_gradient_identity_op,
    debug_gradient_ref_identity_op,
)
from stillflow.variables.base import Variable

# The name of an identity; one that was there already is given a number.
_NAME = re.compile(r"(?P<op>.+)_(?P<output>\d+)/gradient_debug_(?P<watcher>[0-9a-f]+)(_\d+)?$")

_debuggers: dict[str, GradientsDebugger] = {}


class GradientsDebugger:
    """Debugger of the gradients inside `tf.gradients` and optimizers.

    While there are several debuggers, each gets the gradients that are built in its `with` block.

    Args:
      y_tensor: what is differentiated; for reference only.
    """

    def __init__(self, y_tensor: Tensor | None = None) -> None:
        self._uuid = uuid.uuid4().hex
        self._gradients: dict[str, Tensor] = {}
        self._y_tensor = y_tensor
        self._graph = None if y_tensor is None else y_tensor.graph
        self._active = False
        _debuggers[self._uuid] = self

    @property
    def y_tensor(self) -> Tensor | None:
        """The differentiated tensor, if set."""
        return self._y_tensor

    @property
    def graph(self) -> Graph | None:
        """The graph of the gradients; None as long as there are none."""
        return self._graph

    def __enter__(self) -> GradientsDebugger:
        self._active = True
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._active = False

    def identify_gradient(self, input_tensor: Tensor) -> Tensor:
        """Pass a tensor on to a watched consumer: the gradient flows back through it.

        Args:
          input_tensor: any tensor; references stay references.

        Returns:
          The same value, of an operation of its own.

        Raises:
          ValueError: if this debugger watches the tensor already.
        """
        op, is_ref = input_tensor.op, input_tensor.dtype._is_ref_dtype
        name = f"{op.name}_{input_tensor.value_index}/gradient_debug_{self._uuid}"
        identity = debug_gradient_ref_identity_op if is_ref else debug_gradient_identity_op
        result: Tensor = identity(input_tensor, name=name)
        if result.op.name != name:
            raise ValueError(f"The graph already contains an op named {name}")
        return result

    def watch_gradients_by_tensors(self, graph: Graph, tensors: Any) -> GradientsDebugger:
        """Watch tensors of a graph that has their consumers, but no gradients yet.

        Args:
          graph: the graph, which is changed: consumers take the values through identities.
          tensors: a tensor or variable, or a list of them.

        Returns:
          This debugger, for a `with` block.
        """
        wanted = tensors if isinstance(tensors, list) else [tensors]
        names = "|".join(re.escape(tensor.name) for tensor in wanted)
        return self.watch_gradients_by_tensor_names(graph, f"({names})$")

    def watch_gradients_by_tensor_names(
        self, graph: Graph, tensor_name_regex: str
    ) -> GradientsDebugger:
        """Watches tensors as `watch_gradients_by_tensors` does.

        Args:
          graph: the graph, which is changed.
          tensor_name_regex: what the names of the tensors begin with, a regular expression.

        Returns:
          This debugger, for a `with` block.
        """
        pattern = re.compile(tensor_name_regex)
        watched = [
            tensor
            for op in graph.get_operations()
            for tensor in op.outputs
            if pattern.match(tensor.name)
        ]
        with graph.as_default():
            for tensor in watched:
                consumers = tensor.consumers()
                identity = self.identify_gradient(tensor)
                for consumer in consumers:
                    for index, taken in enumerate(consumer._inputs):
                        if taken is tensor:
                            consumer._update_input(index, identity)
        return self

    def register_gradient_tensor(self, x_tensor_name: str, gradient_tensor: Tensor) -> None:
        """Record a gradient, if it is meant for this debugger.

        Args:
          x_tensor_name: what it is the gradient by.
          gradient_tensor: the gradient.

        Raises:
          ValueError: if it is in another graph than those before.
        """
        if len(_debuggers) > 1 and not self._active:
            return
        graph = gradient_tensor.graph
        if self._graph not in (None, graph):
            raise ValueError(
                f"The graph of the value ({graph}) is not the same as the graph {self._graph}"
            )
        self._graph = graph
        self._gradients[x_tensor_name] = gradient_tensor

    def gradient_tensor(self, x_tensor: Any) -> Tensor:
        """Return the gradient by a tensor.

        Args:
          x_tensor: the tensor, a variable, or the name of one.

        Raises:
          TypeError: if it is something else.
          LookupError: if no gradient has come for it.
        """
        name = x_tensor if isinstance(x_tensor, str) else getattr(x_tensor, "name", None)
        if not isinstance(x_tensor, (str, Tensor, Variable)):
            raise TypeError(
                "x_tensor must be a str or tf.Tensor or tf.Variable, but instead has type "
                f"{type(x_tensor)}"
            )
        if name not in self._gradients:
            raise LookupError(
                f"This GradientsDebugger has not received any gradient tensor for x-tensor {name}"
            )
        return self._gradients[name]

    def gradient_tensors(self) -> dict[str, Tensor]:
        """All gradients that have come, by the names of their tensors."""
        return self._gradients


def clear_gradient_debuggers() -> None:
    """Forget all debuggers; gradients of watched tensors can no longer be built."""
    _debuggers.clear()


@debug_gradient_identity_op.gradient
@debug_gradient_ref_identity_op.gradient
def _identity_gradient(node: Node, grad: Any) -> Gradients:
    found = _NAME.match(node.name)
    if found is not None:
        name = f"{found['op']}:{found['output']}"
        _debuggers[found["watcher"]].register_gradient_tensor(name, grad)
    return grad


def gradient_values_from_dump(
    grad_debugger: GradientsDebugger, x_tensor: Any, dump: DebugDumpDir
) -> list[Any]:
    """Return the values that a gradient had in a run that was dumped.

    `x_tensor` is what it is the gradient by: a tensor, a variable, or the name of one. There are no
    arrays if it was not computed, several if it was in a loop. LookupError if the debugger does not
    know it, ValueError if the dump is of another graph. TypeError if `x_tensor` is something else.
    """
    graph = dump.python_graph
    if graph is not None and grad_debugger.graph not in (None, graph):
        raise ValueError(
            f"This GradientsDebugger instance has a graph ({grad_debugger.graph}) that differs "
            f"from the graph of the DebugDumpDir object ({graph})."
        )
    gradient = grad_debugger.gradient_tensor(x_tensor)
    try:
        return dump.get_tensors(gradient.op.name, gradient.value_index, "DebugIdentity")
    except WatchKeyDoesNotExistInDebugDumpDirError:
        return []
