"""Copies of parts of a graph, into the same graph or another, with other inputs where asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from stillflow.graph.export import export
from stillflow.graph.graph import Graph
from stillflow.graph.operation import Operation, Tensor
from stillflow_contrib.graph_editor import reroute, select, util
from stillflow_contrib.graph_editor.subgraph import SubGraphView, make_view


@export(
    "contrib.graph_editor.transform.replace_t_with_placeholder_handler",
    "contrib.graph_editor.replace_t_with_placeholder_handler",
)
def replace_t_with_placeholder_handler(info: Any, t: Tensor) -> Tensor:
    """Return a placeholder for a tensor, where the copy goes.

    Args:
      info: The state of a `Transformer`.
      t: The tensor.
    """
    with info.graph_.as_default():
        return util.make_placeholder_from_tensor(t, scope=info.scope_)


@export(
    "contrib.graph_editor.transform.keep_t_if_possible_handler",
    "contrib.graph_editor.keep_t_if_possible_handler",
)
def keep_t_if_possible_handler(info: Any, t: Tensor) -> Tensor:
    """Return the tensor itself if the copy goes into its graph, else a placeholder."""
    return t if info.graph is info.graph_ else replace_t_with_placeholder_handler(info, t)


@export(
    "contrib.graph_editor.transform.assign_renamed_collections_handler",
    "contrib.graph_editor.assign_renamed_collections_handler",
)
def assign_renamed_collections_handler(info: Any, elem: Any, elem_: Any) -> None:
    """Put a copy into the collections of the original; those of one's own are renamed.

    Args:
      info: The state of a `Transformer`.
      elem: An operation or tensor.
      elem_: Its copy.
    """
    known = util.get_predefined_collection_names()
    for name, collection in info.collections.items():
        if elem in collection:
            info.graph_.add_to_collection(name if name in known else info.new_name(name), elem_)


@export(
    "contrib.graph_editor.transform.transform_op_if_inside_handler",
    "contrib.graph_editor.transform_op_if_inside_handler",
)
def transform_op_if_inside_handler(
    info: Any, op: Operation, keep_if_possible: bool = True
) -> Operation | None:
    """Return the copy of an operation that is copied; else itself if it may stay, or None.

    Args:
      info: The state of a `Transformer`.
      op: The operation.
      keep_if_possible: Whether it stays where the copy goes into its graph.
    """
    if op in info.sgv.ops:
        return info.transformed_ops[op]
    return op if keep_if_possible and info.graph is info.graph_ else None


@export("contrib.graph_editor.transform.copy_op_handler", "contrib.graph_editor.copy_op_handler")
def copy_op_handler(
    info: Any,
    op: Operation,
    new_inputs: Any,
    copy_shape: bool = False,
    nodedef_fn: Callable[[Any], Any] | None = None,
) -> tuple[Operation, list[Tensor]]:
    """Copy an operation.

    Args:
      info: The state of a `Transformer`.
      op: The operation.
      new_inputs: The inputs of the copy.
      copy_shape: Whether its outputs get the static shapes of the original's.
      nodedef_fn: Changes the `NodeDef` of the copy.

    Returns:
      The copy and its outputs.

    Raises:
      TypeError: If `new_inputs` is a bool.
    """
    if isinstance(new_inputs, bool):
        raise TypeError("the `new_inputs` argument must be an iterable.")
    node_def = op.node_def
    node_def.name = info.graph_.unique_name(info.new_name(op.name))
    if nodedef_fn is not None:
        node_def = nodedef_fn(node_def)
    made = Operation(
        node_def, info.graph_, new_inputs, op._output_types, [], op._input_types, None, op.op_def
    )
    if copy_shape:
        for tensor, copied in zip(op.outputs, made.outputs):
            copied.set_shape(tensor.get_shape())
    if op._original_op is not None:
        made._original_op = op._original_op
    return made, made.outputs


@export("contrib.graph_editor.transform.TransformerInfo", "contrib.graph_editor.TransformerInfo")
class TransformerInfo:
    """Map from original to copied elements.

    Args:
      info: What the `Transformer` knew.
    """

    def __init__(self, info: Any) -> None:
        self._graph: Graph = info.graph
        self._scope: str = info.scope
        self._graph_: Graph = info.graph_
        self._scope_: str = info.scope_
        self._transformed_ops: dict[Operation, Operation] = info.transformed_ops
        self._transformed_ts: dict[Tensor, Tensor] = info.transformed_ts

    def _copies(self, top: Any) -> Mapping[Any, Any]:
        if isinstance(top, Operation):
            return self._transformed_ops
        if isinstance(top, Tensor):
            return self._transformed_ts
        raise TypeError(f"Expected a tf.Tensor or a tf.Operation, got a {type(top)}")

    def transformed(self, original: Any, missing_fn: Callable[[Any], Any] | None = None) -> Any:
        """Return the copies of nested tensors and operations.

        Args:
          original: The originals.
          missing_fn: Of what has none; None gives None.

        Raises:
          TypeError: If something is neither.
        """

        def copied(top: Any) -> Tensor | None:
            found = self._copies(top).get(top)
            return missing_fn(top) if found is None and missing_fn is not None else found

        return util.transform_tree(original, copied)

    def original(self, transformed: Any, missing_fn: Callable[[Any], Any] | None = None) -> Tensor:
        """Return the originals of nested copies; as `transformed`, the other way round."""

        def source(top: Any) -> Any:
            for original, copied in self._copies(top).items():
                if copied is top:
                    return original
            return None if missing_fn is None else missing_fn(top)

        return util.transform_tree(transformed, source)

    def __str__(self) -> str:
        lines = ["Transform result info:"]
        if self._graph is self._graph_:
            lines.append(f"  Within graph[{id(self._graph)}]{'' if self._scope_ else ' IN-PLACE'}")
        else:
            lines.append(f"  graph[{id(self._graph)}] => graph[{id(self._graph_)}]")
        if self._scope:
            lines.append(f"  Relative to source scope: {self._scope}")
        if self._scope_:
            lines.append(f"  Scope destination: {self._scope_}")
        lines.append("Operations mapping:")
        lines += [f"  {op.name} => {made.name}" for op, made in self._transformed_ops.items()]
        return "\n".join(lines) + "\n"


@dataclass(eq=False)
class _Copying:
    """State of a copy; handlers get this as `info`, names that end in _ are of the copy."""

    sgv: SubGraphView
    graph_: Graph
    scope_: str
    scope: str
    transformed_ops: dict[Operation, Operation] = field(default_factory=dict)
    transformed_ts: dict[Tensor, Tensor] = field(default_factory=dict)
    stand_ins: list[tuple[Tensor, Tensor, Operation]] = field(default_factory=list)

    def __post_init__(self) -> None:
        assert self.sgv.graph is not None
        self.graph = graph = self.sgv.graph
        self.ops, self.sgv_inputs_set = frozenset(self.sgv.ops), frozenset(self.sgv.inputs)
        self.control_outputs = util.ControlOutputs(graph)
        keys = graph.get_all_collection_keys()
        self.collections = {key: graph.get_collection(key) for key in keys}

    def new_name(self, name: str) -> str:
        """Return the name of a copy, relative to its scope like the original's to its own.

        Raises:
          ValueError: If the original is not in the scope that is copied from.
        """
        if not name.startswith(self.scope):
            raise ValueError(f"{name} does not belong to source scope: {self.scope}.")
        return self.scope_ + name[len(self.scope) :]


@export("contrib.graph_editor.transform.Transformer", "contrib.graph_editor.Transformer")
class Transformer:
    """Copier of a view. Its handlers of each kind of element can be replaced.

    Attributes:
      transform_op_handler: Of info, an operation, the copy's inputs: the copy and its outputs.
      assign_collections_handler: Of info, an operation or tensor, its copy.
      transform_control_input_handler: Of info, an operation that another waits for: what the copy
        waits for, or None.
      transform_external_input_handler: Of info, an input of the view: what the copy takes.
      transform_external_hidden_input_handler: The same, of a tensor that is taken but no input.
      transform_original_op_handler: Of info, what a gradient is of: what that of the copy is.
    """

    def __init__(self) -> None:
        self.transform_op_handler: Callable[..., Any] = copy_op_handler
        self.transform_control_input_handler: Callable[..., Any] = transform_op_if_inside_handler
        self.assign_collections_handler: Callable[..., Any] = assign_renamed_collections_handler
        self.transform_external_input_handler: Callable[..., Any] = (
            replace_t_with_placeholder_handler
        )
        self.transform_external_hidden_input_handler: Callable[..., Any] = (
            keep_t_if_possible_handler
        )
        self.transform_original_op_handler: Callable[..., Any] = transform_op_if_inside_handler

    def __call__(
        self,
        sgv: Any,
        dst_graph: Any,
        dst_scope: str,
        src_scope: str = "",
        reuse_dst_scope: bool = False,
    ) -> tuple[SubGraphView, TransformerInfo]:
        """Copy a view.

        Args:
          sgv: The view, or an argument of `make_view`.
          dst_graph: The graph of the copy.
          dst_scope: Its scope, made unique.
          src_scope: The scope of the original, taken off names.
          reuse_dst_scope: Whether the scope is taken as it is.

        Returns:
          A view of the copy, and the map from originals to copies.

        Raises:
          TypeError: If `dst_graph` is no graph.
          ValueError: If the original is not in `src_scope`, or an operation is its own copy.
        """
        view = make_view(sgv)
        if not isinstance(dst_graph, Graph):
            raise TypeError(f"Expected a tf.Graph, got: {type(dst_graph)}")
        dst_scope = util.scope_finalize(dst_scope)
        if dst_scope and not reuse_dst_scope:
            dst_scope = util.scope_finalize(dst_graph.unique_name(dst_scope[:-1]))
        info = _Copying(view, dst_graph, dst_scope, util.scope_finalize(src_scope))
        self._copy_ops(info)
        _close_cycles(info)
        self._connect_control_inputs(info)
        return _copied_view(info), TransformerInfo(info)

    def _copy_ops(self, info: _Copying) -> None:
        for op in sorted(info.sgv.ops, key=lambda op: op._id_value):
            inputs = [self._input(info, tensor, op) for tensor in op.inputs]
            made, outputs = self.transform_op_handler(info, op, inputs)
            if made is op:
                raise ValueError("In-place transformation not allowed.")
            info.transformed_ops[op] = made
            self.assign_collections_handler(info, op, made)
            for tensor, copied in zip(op.outputs, outputs):
                info.transformed_ts[tensor] = copied
                self.assign_collections_handler(info, tensor, copied)

    def _input(self, info: _Copying, tensor: Tensor, op: Operation) -> Tensor:
        """Return the input of an operation's copy for a tensor."""
        if tensor in info.transformed_ts:
            return info.transformed_ts[tensor]
        if tensor in info.sgv_inputs_set:
            return self.transform_external_input_handler(info, tensor)
        if tensor.op not in info.ops:
            handler = self.transform_external_hidden_input_handler
            return handler(info, tensor)
        # A loop: the back edge does not exist yet.
        if op.type == "Merge":
            stand_in = self._input(info, op.inputs[0], op)
        elif tensor.op.type == "Enter":
            stand_in = self._input(info, tensor.op.inputs[0], op)
        else:
            with info.graph_.as_default():
                stand_in = util.make_placeholder_from_tensor(tensor, info.scope_, "geph_tmp")
        info.stand_ins.append((tensor, stand_in, op))
        return stand_in

    def _connect_control_inputs(self, info: _Copying) -> None:
        for op in info.sgv.ops:
            made = info.transformed_ops[op]
            if op._original_op is not None:
                original = self.transform_original_op_handler(info, op._original_op)
                if original is not None:
                    made._original_op = original
            waited = [self.transform_control_input_handler(info, ci) for ci in op.control_inputs]
            reroute.add_control_inputs(made, [ci for ci in waited if ci is not None])


def _close_cycles(info: _Copying) -> None:
    for tensor, stand_in, op in info.stand_ins:
        made = info.transformed_ops[op]
        index = [taken is stand_in for taken in made.inputs].index(True)
        made._update_input(index, info.transformed_ts[tensor])


def _copied_view(info: _Copying) -> SubGraphView:
    """Return a view of the copy, its inputs and outputs in the order of the original's."""
    made = SubGraphView(list(info.transformed_ops.values()))

    def common(originals: Any, there: Any) -> list[Tensor]:
        copies = (info.transformed_ts.get(tensor) for tensor in originals)
        return [tensor for tensor in copies if tensor is not None and tensor in list(there)]

    return made.remap(common(info.sgv.inputs, made.inputs), common(info.sgv.outputs, made.outputs))


@export("contrib.graph_editor.transform.copy", "contrib.graph_editor.copy")
def copy(
    sgv: Any,
    dst_graph: Any = None,
    dst_scope: str = "",
    src_scope: str = "",
    reuse_dst_scope: bool = False,
) -> tuple[SubGraphView, TransformerInfo]:
    """Copy a view, with placeholders for its inputs.

    Args:
      sgv: The view, or an argument of `make_view`.
      dst_graph: The graph of the copy; by default that of the view.
      dst_scope, src_scope, reuse_dst_scope: As for `Transformer.__call__`.

    Returns:
      A view of the copy, and the map from originals to copies.

    Raises:
      TypeError: If `dst_graph` is no graph.
    """
    view = make_view(sgv)
    target = view.graph if dst_graph is None else dst_graph
    return Transformer()(view, target, dst_scope, src_scope, reuse_dst_scope=reuse_dst_scope)


@export(
    "contrib.graph_editor.transform.copy_with_input_replacements",
    "contrib.graph_editor.copy_with_input_replacements",
)
def copy_with_input_replacements(
    sgv: Any,
    replacement_ts: Mapping[Tensor, Tensor],
    dst_graph: Any = None,
    dst_scope: str = "",
    src_scope: str = "",
    reuse_dst_scope: bool = False,
) -> tuple[SubGraphView, TransformerInfo]:
    """Copy a view with other inputs.

    Args:
      sgv: The view, or an argument of `make_view`.
      replacement_ts: For inputs of the view, what the copy takes; others stay.
      dst_graph, dst_scope, src_scope, reuse_dst_scope: As for `copy`.

    Returns:
      As for `copy`.

    Raises:
      TypeError: If `dst_graph` is no graph.
    """
    view = make_view(sgv)
    copier = Transformer()

    def replaced(info: Any, tensor: Tensor) -> Tensor:
        if tensor in replacement_ts:
            return replacement_ts[tensor]
        return keep_t_if_possible_handler(info, tensor)

    copier.transform_external_input_handler = replaced
    target = view.graph if dst_graph is None else dst_graph
    return copier(view, target, dst_scope, src_scope, reuse_dst_scope=reuse_dst_scope)


def _with_whole_loops(ops: list[Operation], control_ios: util.ControlOutputs) -> list[Operation]:
    """Operations, and all others of the loops that they are in."""
    contexts = dict.fromkeys(op._control_flow_context for op in ops)
    result = list(ops)
    for context in contexts:
        if context is not None and context.IsWhileContext():
            enters = [tensor.op for tensor in context.loop_enters]
            exits = [tensor.op for tensor in context.loop_exits]
            found = select.get_walks_intersection_ops(enters, exits, control_ios=control_ios)
            util.concatenate_unique(result, found)
    return result


@export("contrib.graph_editor.transform.graph_replace", "contrib.graph_editor.graph_replace")
def graph_replace(
    target_ts: Any,
    replacement_ts: Mapping[Tensor, Tensor],
    dst_scope: str = "",
    src_scope: str = "",
    reuse_dst_scope: bool = False,
) -> Tensor | dict[str, Tensor | list[Tensor]]:
    """Return tensors with others replaced: the operations between are copied.

    Args:
      target_ts: Nested tensors.
      replacement_ts: For tensors they depend on, the replacements.
      dst_scope, src_scope, reuse_dst_scope: As for `copy`.

    Returns:
      The copies, nested as `target_ts`.

    Raises:
      ValueError: If the targets depend on none of them.
    """
    targets = util.flatten_tree(target_ts)
    control_ios = util.ControlOutputs(util.get_unique_graph(targets, check_types=Tensor))
    ops = select.get_walks_intersection_ops(list(replacement_ts), targets, control_ios=control_ios)
    if not ops:
        raise ValueError("Targets and replacements are not connected!")
    _, info = copy_with_input_replacements(
        _with_whole_loops(ops, control_ios), replacement_ts, None, dst_scope, src_scope,
        reuse_dst_scope,
    )  # fmt: skip
    return info.transformed(target_ts, lambda tensor: tensor)
