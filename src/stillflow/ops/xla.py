"""XlaClusterOutput: the output of a compiled cluster."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow.graph.card import op
from stillflow.graph.node import Node
from stillflow.graph.parts import Gradients, Kernel, OutputDims
from stillflow.ops.samples import Sample, Samples

xla_cluster_output_op = op("XlaClusterOutput(input: T) -> outputs: T; T: type", view=True)


@xla_cluster_output_op.shape
def xla_cluster_output_shape(node: Node) -> OutputDims:
    return node.dims(0)


@xla_cluster_output_op.kernel
def xla_cluster_output_kernel(node: Node) -> Kernel:
    return node.same(0)


@xla_cluster_output_op.gradient
def xla_cluster_output_gradient(node: Node, grad: Any) -> Gradients:
    raise RuntimeError(
        "Gradient computation of graph in xla.compile() is prohibited because it can cause "
        "performance degradation. Please move gradient computation inside xla.compile()."
    )


@xla_cluster_output_op.samples
def xla_cluster_output_samples() -> Samples:
    yield Sample(np.arange(3.0, dtype=np.float32), grad=False)
