"""Functions that recreate a dataset, for iterators that start by themselves."""

from __future__ import annotations

from collections import deque
from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.func_graph import FuncGraph
from stillflow.graph.functions import LibraryFunction, define
from stillflow.graph.graph import get_default_graph
from stillflow.graph.operation import Operation
from stillflow.graph.random_seed import get_seed


def variant_ops(dataset: Any) -> list[Operation]:
    """Return the operations behind a dataset that give variants."""
    found = []
    waiting, seen = deque([dataset._variant_tensor.op]), set()
    while waiting:
        op = waiting.popleft()
        if op in seen:
            continue
        seen.add(op)
        if op._outputs and op._outputs[0].dtype == dtypes.variant:
            found.append(op)
        waiting.extend(tensor.op for tensor in op._inputs)
    return found


def dataset_factory(dataset: Any) -> LibraryFunction:
    """Return the function that makes a dataset, which must not depend on state (ValueError)."""
    graph_seed, op_seed = get_seed(None)
    body = FuncGraph("_make_dataset", capture_by_value=True, stateful_allowed=variant_ops(dataset))
    try:
        with body.as_default():
            if graph_seed is not None and op_seed is not None:
                body.seed = (graph_seed + 87654321 * op_seed) % (2**63 - 1)
            body.outputs = [dataset._apply_options()._variant_tensor]
            body.outputs = [t if t.home is body else body.capture(t) for t in body.outputs]
    except ValueError as error:
        if "Cannot capture a stateful node" not in str(error):
            raise
        raise ValueError(
            "Failed to create a one-shot iterator for a dataset. "
            "`Dataset.make_one_shot_iterator()` does not support datasets that capture stateful "
            "objects, such as a `Variable` or `LookupTable`. In these cases, use "
            f"`Dataset.make_initializable_iterator()`. (Original error: {error})"
        ) from error
    factory = define(
        body, "_make_dataset", description="Factory function for a dataset.", append_hash=True
    )
    factory.definition.attr["_disable_call_shape_inference"].b = True
    factory.add_to_graph(get_default_graph())
    return factory
