"""Elements of a list of strings, one after the other."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow.graph import dims
from stillflow.graph.arrays import Array
from stillflow.graph.card import op
from stillflow.graph.node import Node
from stillflow.graph.parts import Kernel, OutputDims

obtain_next_op = op("ObtainNext(list: string, counter: &int64) -> out_element: string", writes=(1,))


@obtain_next_op.shape
def obtain_next_shape(node: Node) -> OutputDims:
    dims.with_rank(node.dims(0), 1)
    dims.with_rank(node.dims(1), 0)
    return ()


@obtain_next_op.kernel
def obtain_next_kernel(node: Node) -> Kernel:
    def obtain(strings: Any, counter: Any) -> Array:
        if not len(strings):
            raise ValueError("ObtainNext of an empty list")  # TensorFlow divides by zero
        with counter.lock:
            current = counter.read()
            place = (int(current) + 1) % len(strings)
            current.fill_(place)
        return np.array(strings[place], object)

    return obtain
