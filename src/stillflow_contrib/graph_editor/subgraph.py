"""A part of a graph with its inputs and outputs in an order of one's own."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from stillflow.graph.export import export
from stillflow.graph.graph import Graph
from stillflow.graph.operation import Operation, Tensor
from stillflow_contrib.graph_editor import select, util


def _picked(indices: Iterable[Any], ts: list[Tensor], repetition: bool) -> list[Tensor]:
    """Tensors of a list by their index or by themselves; ValueError if they are not in it."""
    mapping = [item if isinstance(item, int) else ts.index(item) for item in indices]
    for index in mapping:
        if not 0 <= index < len(ts):
            raise ValueError(f"Out of [0, {len(ts)}[ range: {index}")
    if not repetition and len(set(mapping)) != len(mapping):
        raise ValueError(f"Found repetition in mapping: {mapping}")
    return [ts[index] for index in mapping]


@export("contrib.graph_editor.SubGraphView", "contrib.graph_editor.subgraph.SubGraphView")
class SubGraphView:
    """Some operations of a graph as one: their inputs and outputs.

    The graph stays as it is. Views can be remapped: their inputs left out or put into another
    order, their outputs repeated too.

    Args:
      inside_ops: The operations; what `make_list_of_op` takes.
      passthrough_ts: Tensors that go in and come out without an operation of these.

    Raises:
      TypeError: If something is no operation or tensor.
      ValueError: If they are in several graphs.
    """

    def __init__(self, inside_ops: Any = (), passthrough_ts: Any = ()) -> None:
        self._ops = list(util.make_list_of_op(inside_ops))
        through = util.make_list_of_t(passthrough_ts)
        self._graph: Graph | None = util.get_unique_graph(
            [*self._ops, *through], none_if_empty=True
        )
        inputs, outputs, inside = select.compute_boundary_ts(self._ops)
        connected = frozenset([*inputs, *outputs, *inside])
        self._passthrough_ts = [tensor for tensor in through if tensor not in connected]
        self._input_ts = inputs + self._passthrough_ts
        self._output_ts = outputs + self._passthrough_ts

    def __copy__(self) -> SubGraphView:
        result = type(self).__new__(type(self))
        result._assign_from(self)
        return result

    def _assign_from(self, other: Any) -> None:
        """Make this the same as another view."""
        if not isinstance(other, SubGraphView):
            raise TypeError(f"Expected SubGraphView, got: {type(other)}")
        self._graph = other._graph
        for part in ("_ops", "_passthrough_ts", "_input_ts", "_output_ts"):
            setattr(self, part, list(getattr(other, part)))

    def copy(self) -> SubGraphView:
        """Another view of the same."""
        return copy.copy(self)

    # ---- Other inputs and outputs

    def remap_default(
        self, remove_input_map: bool = True, remove_output_map: bool = True
    ) -> SubGraphView:
        """Return a view with all inputs, all outputs, or both."""
        result = self.copy()
        inputs, outputs, _ = select.compute_boundary_ts(self._ops)
        if remove_input_map:
            result._input_ts = inputs + self._passthrough_ts
        if remove_output_map:
            result._output_ts = outputs + self._passthrough_ts
        return result

    def remap(
        self,
        new_input_indices: Iterable[Any] | None = None,
        new_output_indices: Iterable[Any] | None = None,
    ) -> SubGraphView:
        """Return a view with some inputs and outputs.

        Args:
          new_input_indices: Which of the inputs; tensors, or their indices. None for all.
          new_output_indices: Which of the outputs; one may be there more than once.

        Raises:
          ValueError: If it is no input or output, or an input is there twice.
        """
        result = self.copy()
        if new_input_indices is not None:
            result._input_ts = _picked(new_input_indices, self._input_ts, repetition=False)
        if new_output_indices is not None:
            result._output_ts = _picked(new_output_indices, self._output_ts, repetition=True)
        return result

    def remap_inputs(self, new_input_indices: Iterable[Any]) -> SubGraphView:
        """Remap the inputs; see `remap`."""
        return self.remap(new_input_indices=new_input_indices)

    def remap_outputs(self, new_output_indices: Iterable[Any]) -> SubGraphView:
        """Remap the outputs; see `remap`."""
        return self.remap(new_output_indices=new_output_indices)

    def remap_outputs_make_unique(self) -> SubGraphView:
        """Return a view where each output is there once."""
        result = self.copy()
        result._output_ts = list(dict.fromkeys(self._output_ts))
        return result

    def remap_outputs_to_consumers(self) -> SubGraphView:
        """Return a view where each output is there as often as an operation takes it."""
        result = self.remap_outputs_make_unique()
        result._output_ts = [
            tensor for tensor in result._output_ts for _ in range(len(tensor.consumers()))
        ]
        return result

    def remove_unused_ops(self, control_inputs: bool = True) -> SubGraphView:
        """Return a view without operations that neither depend on an input nor lead to an output.

        Args:
          control_inputs: Whether edges of control count too.
        """
        result = self.copy()
        used = frozenset(
            select.get_walks_union_ops(
                self.connected_inputs,
                self.connected_outputs,
                within_ops=self._ops,
                control_inputs=control_inputs,
            )
        )
        result._ops = [op for op in self._ops if op in used]
        return result

    # ---- Its contents

    @property
    def graph(self) -> Graph | None:
        """The graph; None if the view is empty."""
        return self._graph

    @property
    def ops(self) -> list[Operation]:
        """The operations."""
        return self._ops

    @property
    def inputs(self) -> Sequence[Tensor]:
        """The inputs of the view."""
        return util.ListView(self._input_ts)  # type: ignore[return-value]

    @property
    def outputs(self) -> Sequence[Tensor]:
        """The outputs of the view."""
        return util.ListView(self._output_ts)  # type: ignore[return-value]

    @property
    def passthroughs(self) -> Sequence[Tensor]:
        """The tensors that pass through without an operation of the view."""
        return util.ListView(self._passthrough_ts)  # type: ignore[return-value]

    @property
    def connected_inputs(self) -> list[Tensor]:
        """The inputs that operations of these take."""
        return [tensor for tensor in self._input_ts if tensor not in self._passthrough_ts]

    @property
    def connected_outputs(self) -> list[Tensor]:
        """The outputs that operations of these give."""
        return [tensor for tensor in self._output_ts if tensor not in self._passthrough_ts]

    def op(self, op_id: int) -> Operation:
        """Return an operation by its place in `ops`."""
        return self._ops[op_id]

    def find_op_by_name(self, op_name: str) -> Operation:
        """Return an operation by its name.

        Raises:
          ValueError: If it is not in the view.
        """
        for op in self._ops:
            if op.name == op_name:
                return op
        raise ValueError(f"{op_name} not in subgraph.")

    def is_passthrough(self, t: Tensor) -> bool:
        """Return True if a tensor is one of `passthroughs`."""
        return t in self._passthrough_ts

    def input_index(self, t: Tensor) -> int:
        """Return the index of a tensor in `inputs`.

        Raises:
          ValueError: If it is not there.
        """
        return self._index(t, self._input_ts, "inputs")

    def output_index(self, t: Tensor) -> int:
        """Return the index of a tensor in `outputs`.

        Raises:
          ValueError: If it is not there.
        """
        return self._index(t, self._output_ts, "outputs")

    def _index(self, tensor: Tensor, ts: list[Tensor], kind: str) -> int:
        if tensor not in ts:
            raise ValueError(f"Can't find {tensor.name} in {kind} of this subgraph.")
        return ts.index(tensor)

    def consumers(self) -> list[Operation]:
        """Return the operations outside of the view that take its outputs."""
        inside = frozenset(self._ops)
        users = (op for tensor in self._output_ts for op in tensor.consumers())
        return list(dict.fromkeys(op for op in users if op not in inside))

    def __bool__(self) -> bool:
        return self._graph is not None

    def __enter__(self) -> SubGraphView:
        return self

    def __exit__(self, *unused: object) -> None:
        pass

    def __str__(self) -> str:
        if not self:
            return "SubGraphView: empty"

        def tensor_name(tensor: Tensor) -> str:
            return f"{tensor.name} *" if tensor in self._passthrough_ts else tensor.name

        lines = [f"SubGraphView (graphid={id(self.graph)}):"]
        lists: list[tuple[str, Iterable[Any], Callable[[Any], str]]] = [
            ("ops", self._ops, lambda op: op.name),
            ("inputs", self._input_ts, tensor_name),
            ("outputs", self._output_ts, tensor_name),
        ]
        for title, items, name in lists:
            names = [f"  {name(item)}" for item in items]
            lines.append(f"** {title}[{len(names)}]:" if names else f"** {title}: empty")
            lines += names
        return "\n".join(lines) + "\n"


def _check_graph(view: Any, graph: Any) -> SubGraphView:
    if not isinstance(view, SubGraphView):
        raise TypeError(f"Expected a SubGraphView, got: {type(graph)}")
    if graph is not None and view.graph is not None:
        if not isinstance(graph, Graph):
            raise TypeError(f"Expected a tf.Graph, got: {type(graph)}")
        if view.graph is not graph:
            raise ValueError("Graph mismatch.")
    return view


@export(
    "contrib.graph_editor.sgv",
    "contrib.graph_editor.make_view",
    "contrib.graph_editor.subgraph.make_view",
)
def make_view(*args: Any, **kwargs: Any) -> SubGraphView:
    """Return a view of operations.

    Args:
      *args, **kwargs: As for `select_ops_and_ts`; or a view, which is given back.

    Raises:
      ValueError: If it is not in the graph of the argument `graph`.
    """
    if len(args) == 1 and isinstance(args[0], SubGraphView):
        view = args[0]
    else:
        view = SubGraphView(*select.select_ops_and_ts(*args, **kwargs))
    return _check_graph(view, kwargs.get("graph"))


@export(
    "contrib.graph_editor.sgv_scope",
    "contrib.graph_editor.make_view_from_scope",
    "contrib.graph_editor.subgraph.make_view_from_scope",
)
def make_view_from_scope(scope: str, graph: Any) -> SubGraphView:
    """Return a view of the operations in a name scope.

    Args:
      scope: The scope.
      graph: An argument of `make_list_of_op`.
    """
    return SubGraphView(select.get_name_scope_ops(graph, scope))
