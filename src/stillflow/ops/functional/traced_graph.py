"""The body of a function while a program's Python builds it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from stillflow.graph.api import init_scope
from stillflow.graph.card import Card
from stillflow.graph.dtypes import DType
from stillflow.graph.func_graph import FuncGraph
from stillflow.graph.graph import Graph, get_default_graph
from stillflow.graph.graph_keys import VARIABLE_SCOPES, VARIABLE_STORE
from stillflow.graph.operation import Operation, Tensor
from stillflow.graph.scopes import ControlScope, control_element

_SHARED = (
    "variables",
    "local_variables",
    "trainable_variables",
    VARIABLE_STORE,
    VARIABLE_SCOPES,
)


def _outermost(tensor: Tensor) -> Tensor:
    """Return the tensor outside of all bodies that a captured tensor stands for."""
    while isinstance(tensor.home, TracedGraph):
        source = tensor.home.source_of(tensor)
        if source is tensor:
            break
        tensor = source
    return tensor


class TracedGraph(FuncGraph):
    """The body of a `tf.function`, a branch or a loop.

    Args:
      name: of the function.
      collections: its collections; by default it sees those of the graph outside, and shares those
        of variables with it.
      reads_by_value: whether variables are read once, when the body is built; None for what the
        body around does.

    Attributes:
      control_captures: operations outside that calls have to wait for.
      structured_input_signature: what it was traced for.
      watched_variables: those that it reads, or that functions read that it calls.
    """

    # Whether gradients by some rows of an argument are handed out as those by all of them.
    dense_gradients = False
    reads_by_value: bool = False

    def __init__(
        self,
        name: str,
        collections: dict[Any, list[Any]] | None = None,
        reads_by_value: bool | None = None,
    ) -> None:
        super().__init__(name)
        outer = self.outer_graph
        if reads_by_value is None:
            reads_by_value = isinstance(outer, TracedGraph) and outer.reads_by_value
        self.reads_by_value = reads_by_value
        self.seed = outer.seed
        self.control_captures: list[Any] = []
        self.structured_input_signature: Any = None
        self.watched_variables: list[Any] = []
        self._given: set[Tensor] = set()  # tensors outside that arguments stand for
        self._colocation_stack = list(outer._colocation_stack)
        if collections is not None:
            self._collections = collections
            return
        for key in outer.collections:
            items = outer._collections[key]
            self._collections[key] = items if key in _SHARED else list(items)
        for key in _SHARED:
            self._collections[key] = outer.get_collection_ref(key)

    def add_op(
        self,
        card: Card,
        inputs: list[Tensor],
        attrs: dict[str, Any],
        output_types: list[DType],
        name: str,
        device: bool = True,
    ) -> Operation:
        """Add an operation; in a body that reads by value, a read of a variable is a constant."""
        if self.reads_by_value and card.name == "ReadVariableOp":
            handle = _outermost(inputs[0])
            if not isinstance(handle.home, TracedGraph):
                with init_scope():
                    value = card(handle, **attrs)
                return self.capture(value).op
        return super().add_op(card, inputs, attrs, output_types, name, device)

    def capture_name(self, tensor: Tensor) -> str | None:
        return None if tensor.holds_value else tensor.op.name

    def take_as_argument(self, outside: Tensor, placeholder: Tensor) -> None:
        """Make an argument the stand-in of its traced value: nothing is captured for that."""
        self._captured[outside], self._sources[placeholder] = placeholder, outside
        self._given.add(outside)

    @property
    def variables(self) -> Iterator[Any]:
        """The variables that the body uses, other than its arguments."""
        return iter(self.watched_variables)

    @variables.setter
    def variables(self, variables: Iterable[Any]) -> None:
        self.watched_variables = list(variables)

    def watch_variable(self, variable: Any) -> None:
        """Keep a variable that the body reads, unless it is an argument."""
        is_given = variable.handle in self._given
        if not is_given and all(variable is not known for known in self.watched_variables):
            self.watched_variables.append(variable)
        if isinstance(self.outer_graph, TracedGraph):
            self.outer_graph.watch_variable(variable)

    def control_dependencies(self, control_inputs: Any) -> ControlScope:
        """Order inside the function as a graph does; outside operations are left to the calls."""
        if control_inputs is None:
            return super().control_dependencies(None)
        inside = []
        for control in map(control_element, control_inputs):
            if getattr(control, "graph", self) is self:
                inside.append(control)
            elif control not in self.control_captures:
                self.control_captures.append(control)
        return super().control_dependencies(inside)

    @contextmanager
    def as_default(self) -> Iterator[Graph]:
        """Make this the graph that ops are added to.

        Variable creators and device functions stay those of the outside.
        """
        around, mine = get_default_graph(), self._of_thread
        before = self._variable_creator_stack, self._device_stack, mine.strategies
        self._variable_creator_stack = around._variable_creator_stack
        mine.strategies = list(around._of_thread.strategies)
        if mine.strategies or any(callable(scope.obj) for scope in around._device_stack):
            self._device_stack = list(around._device_stack)
        try:
            with super().as_default():
                yield self
        finally:
            self._variable_creator_stack, self._device_stack, mine.strategies = before
