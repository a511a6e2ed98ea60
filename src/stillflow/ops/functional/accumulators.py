"""Lists in which loops keep the values of their bodies."""

from __future__ import annotations

from stillflow.graph.func_graph import FuncGraph
from stillflow.graph.operation import Tensor
from stillflow.ops.functional.nodes import positions


def accumulator_of(tensor: Tensor) -> Tensor | None:
    """Return the list to which the loop's body pushes a tensor in every iteration."""
    graph = tensor.graph
    assert isinstance(graph, FuncGraph)
    inputs, outputs = positions(graph.inputs), positions(graph.outputs)
    for user in tensor.consumers():
        if user.type != "TensorListPushBack" or user._inputs[0] not in inputs:
            continue
        pushed = user._outputs[0]
        if pushed not in outputs:  # functions return an Identity of their results
            pushed = pushed._consumers[0]._outputs[0]
            if pushed.op.type != "Identity":
                continue
        if outputs.get(pushed) == inputs[user._inputs[0]]:
            return pushed
    return None
