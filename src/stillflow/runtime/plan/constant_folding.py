"""Running the kernel of an operation whose inputs are constants, while the graph is built."""

from __future__ import annotations

import numpy as np
import torch

from stillflow.errors import OpError
from stillflow.graph import evaluate
from stillflow.graph.constant_value import MAX_ELEMENTS, constant_value
from stillflow.graph.operation import Operation
from stillflow.ops.value_arrays import to_array
from stillflow.ops.values import from_array
from stillflow.runtime.ir.facts import Facts, PlanNode
from stillflow.runtime.plan.checks import check
from stillflow.runtime.plan.trace import Tracer
from stillflow.runtime.resources import resources_of_host


def compute(op: Operation) -> list[np.ndarray] | None:
    """Return the outputs of an operation as arrays, or None if it fails or they are large.

    An invalid operation raises its error when it runs.

    Args:
      op: a pure operation whose inputs all have known values.
    """
    facts = Facts(resources_of_host(), {})
    values = []
    for tensor in op._inputs:
        array = constant_value(tensor)
        assert array is not None
        facts._dims[tensor] = array.shape
        facts.values[tensor] = from_array(array)
        values.append(facts.values[tensor])
    tracer, node = Tracer(facts), PlanNode(op, facts)
    try:
        check(op, node, facts)
        with torch.inference_mode():
            results = tracer.compute(op, node, values)
    except OpError:
        return None
    arrays = [np.array(to_array(value)) for value in results]
    return arrays if all(array.size <= MAX_ELEMENTS for array in arrays) else None


evaluate.compute.provide(compute)
