"""Datasets of GraphDefs that make them: DatasetFromGraph."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from stillflow import errors
from stillflow.graph import dtypes, trust
from stillflow.graph.card import op
from stillflow.graph.func_graph import FuncGraph
from stillflow.graph.importer import import_graph_def
from stillflow.graph.parts import Kernel
from stillflow.ops.data.pipeline import invalid, scalar

if TYPE_CHECKING:
    from stillflow.ops.data.pipeline import Dataset


dataset_from_graph_op = op(
    "DatasetFromGraph(graph_def: string) -> handle: variant",
    effect="state",
    calls=True,
    differentiable=False,
)
dataset_from_graph_op.shape(lambda node: ())

_MOST = 32  # graphs that are not read again


@functools.lru_cache(_MOST)
def _body(serialized: bytes, policy: trust.Policy | None) -> FuncGraph:
    """Return a function's body for a graph's last `_Retval`, which obeys `policy` too.

    InvalidArgumentError if it is no graph, NotFoundError if it gives nothing, or holds unknown
    operations.
    """
    from stillflow.protos import GraphDef

    graph = GraphDef()
    try:
        graph.ParseFromString(serialized)
    except Exception:
        raise invalid("Could not parse GraphDef") from None
    ends = [node for node in graph.node if node.op == "_Retval"]
    if not ends:
        raise errors.not_found("FetchOutputs node : not found")
    wanted = ends[-1].input[0]
    for node in ends:
        graph.node.remove(node)
    body = FuncGraph("dataset_from_graph")
    with body.as_default():
        name = wanted if ":" in wanted else f"{wanted}:0"
        body.outputs = import_graph_def(graph, return_elements=[name], name="") or []
    body._trust = policy
    for function in body._functions.values():
        function.trust = policy
    return body


@dataset_from_graph_op.kernel
def dataset_from_graph_kernel(node: Any) -> Kernel:
    def run(graph_def: Any) -> Dataset:
        if graph_def.ndim:
            raise invalid("graph_def must be a scalar")
        body = _body(scalar(graph_def), trust.of(node.op.graph))
        (found,) = node.function(body, on_host=True)()
        kind = body.outputs[0].dtype
        if kind != dtypes.variant:
            raise errors.internal(
                f"Output 0 of type {dtypes.cpp_name(kind)} does not match declared output type "
                f"variant for node node {node.name}"
            )
        return found

    return run
