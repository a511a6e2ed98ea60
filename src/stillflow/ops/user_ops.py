"""tf.user_ops: the one example of an operation of one's own."""

from __future__ import annotations

import numpy as np

from stillflow.graph.card import op
from stillflow.graph.export import export
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.ops.samples import Sample, Samples

fact_op = op("Fact() -> fact: string")


@fact_op.shape
def fact_shape(node: Node) -> OutputDims:
    return None


@fact_op.kernel
def fact_kernel(node: Node) -> Kernel:
    return node.call(lambda: np.array(b"0! == 1", object))


@fact_op.samples
def fact_samples() -> Samples:
    yield Sample()


@export("user_ops.my_fact")
def my_fact() -> Tensor:
    """Return a string tensor that states a fact about factorials."""
    made: Tensor = fact_op()
    return made
