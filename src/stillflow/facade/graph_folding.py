"""``tensorflow.python.grappler.tf_optimizer``: graphs without unnecessary operations.

Two of the many rewrites of TensorFlow's optimizer, which do not change the meaning of a graph:
operations that no fetch depends on are removed, and those that depend on constants alone become
constants.
"""

from __future__ import annotations

from typing import Any

from stillflow import protos
from stillflow.graph.graph import Graph
from stillflow.graph.importer import import_graph_def
from stillflow.graph.operation import Operation
from stillflow.graph.tensor_proto import make_tensor_proto
from stillflow.runtime.schedule.prune import needed_ops
from stillflow.runtime.session.session import Session

_CONTROL_FLOW = frozenset({"Switch", "Merge", "Enter", "Exit", "NextIteration", "LoopCond"})


def OptimizeGraph(
    config_proto: Any, metagraph: Any, verbose: bool = True,
    graph_id: bytes = b"graph_to_optimize", cluster: Any = None,
) -> Any:  # fmt: skip
    """Return a graph with constants instead of nodes that depend on constants only.

    The collection "train_op" of the `MetaGraphDef` names the fetches; the `GraphDef` has the
    operations that these need. The other arguments are ignored.
    """
    if type(config_proto).__name__ != "ConfigProto":
        raise TypeError(f"Expected config_proto to be a ConfigProto, saw type {type(config_proto)}")
    graph = Graph()
    with graph.as_default():
        import_graph_def(metagraph.graph_def, name="")
    names = metagraph.collection_def["train_op"].node_list.value
    fetches = [graph.get_operation_by_name(name.partition(":")[0]) for name in names]
    ops = needed_ops([], fetches, ())
    folded = _folded(graph, ops, set(fetches))
    left = [op for op in fetches if op not in folded]
    kept = set(needed_ops([], left, [op.outputs[0] for op in folded]))
    result = protos.GraphDef(versions=metagraph.graph_def.versions)
    for op in ops:
        if op in folded:
            result.node.append(_constant(op, folded[op]))
        elif op in kept:
            result.node.append(op.node_def)
    return result


def _folded(graph: Graph, ops: list[Operation], fetched: set[Operation]) -> dict[Operation, Any]:
    """Return the values of the last operations on the ways from constants."""
    known: set[Operation] = set()
    wanted: set[Operation] = set()
    for op in ops:
        inputs = [tensor.op for tensor in op.inputs]
        if (
            op.card.foldable
            and op.type not in _CONTROL_FLOW
            and not op.type.startswith("Placeholder")
            and not op.control_inputs
            and known.issuperset(inputs)
        ):
            known.add(op)
            continue
        wanted.update(known.intersection(inputs))
    wanted |= known & fetched
    chosen = [op for op in wanted if op.type != "Const" and len(op.outputs) == 1]
    values = Session(graph=graph).run([op.outputs[0] for op in chosen])
    return dict(zip(chosen, values, strict=True))


def _constant(op: Operation, value: Any) -> Any:
    node = protos.NodeDef(name=op.name, op="Const", device=op.device)
    dtype = op.outputs[0].dtype
    node.attr["dtype"].type = dtype.as_datatype_enum
    node.attr["value"].tensor.CopyFrom(make_tensor_proto(value, dtype, list(value.shape)))
    return node
