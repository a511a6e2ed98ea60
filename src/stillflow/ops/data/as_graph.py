"""Datasets as GraphDefs: the operations that make one, with the values that they were given."""

from __future__ import annotations

import uuid
from collections.abc import Collection
from typing import Any

from stillflow import errors
from stillflow.graph import attrs as attr_values
from stillflow.graph import dtypes, tensor_proto
from stillflow.graph.arrays import Array, string_scalar
from stillflow.graph.card import op
from stillflow.graph.functions import LibraryFunction, find_function
from stillflow.graph.graph import FUNCTION_CONSUMER, PRODUCER
from stillflow.graph.graphdef import fill_library
from stillflow.graph.node import Node
from stillflow.graph.parts import Kernel
from stillflow.ops.data.pipeline import Dataset, as_dataset, invalid, stateful_ops
from stillflow.ops.io.stored import to_stored
from stillflow.ops.io.variants import is_variant, to_message

dataset_to_graph_op = op(
    "DatasetToGraph(input_dataset: variant) -> graph: string"
    "\nstateful_whitelist: list(string) >= 0 = []",
    differentiable=False,
)

# Datasets after which the prefetching before them is still the last one.
_BEHIND_PREFETCH = frozenset((
    "CacheDataset", "CacheDatasetV2", "ConcatenateDataset",
    "ExperimentalMaxIntraOpParallelismDataset", "ExperimentalPrivateThreadPoolDataset",
    "FilterDataset", "MapDataset",
    "MaxIntraOpParallelismDataset", "ModelDataset", "OptimizeDataset", "ParallelMapDataset",
    "PrivateThreadPoolDataset", "RepeatDataset", "ShardDataset", "ShuffleAndRepeatDataset",
    "ShuffleDataset", "SkipDataset", "TakeDataset", "WindowDataset", "ZipDataset",
))  # fmt: skip

dataset_to_graph_op.shape(lambda node: ())


@dataset_to_graph_op.kernel
def dataset_to_graph_kernel(node: Node) -> Kernel:
    allowed = {name.decode() for name in node.op.attrs["stateful_whitelist"]}

    def run(value: Any) -> Array:
        dataset = as_dataset(value)
        _check_state(dataset, allowed)
        return string_scalar(_Writer().whole(dataset).SerializeToString(deterministic=True))

    return run


def _check_state(dataset: Dataset, allowed: Collection[str]) -> None:
    """Raise an error for functions whose state a graph cannot hold."""
    found = [*(name for body in dataset.bodies for name in stateful_ops(body)), dataset.stateful]
    for name in found:
        if name is not None and name not in allowed:
            raise errors.failed_precondition(f"{name} is stateful.")
    if dataset.resource is not None:
        raise errors.failed_precondition(dataset.resource)


def has_graph(dataset: Dataset) -> bool:
    """Return True if a dataset can be written as a graph: TensorFlow does not rewrite others."""
    operation, values = _made_by(dataset)
    if operation.type == _WITHOUT_GRAPH:
        return False
    return all(has_graph(value) for value in values if isinstance(value, Dataset))


_WITHOUT_GRAPH = "GeneratorDataset"


def check_slack(dataset: Dataset) -> None:
    """Raise InvalidArgumentError unless a prefetch ends a dataset, `_BEHIND_PREFETCH` aside."""
    operation, values = _made_by(dataset)
    kind = operation.type
    if kind == "PrefetchDataset":
        return
    sources = [value for value in values if isinstance(value, Dataset)]
    if kind not in _BEHIND_PREFETCH or not sources:
        raise invalid(
            f'Encountered unsupported op "{kind}" when rewriting the input pipeline graph to use '
            "slack in its final prefetch transformation."
        )
    for source in sources:
        check_slack(source)


def _made_by(dataset: Dataset) -> tuple[Any, tuple[Any, ...]]:
    """Return the operation that made a dataset, and its arguments.

    Rewriting leaves no trace.
    """
    while dataset.made_by is not None and dataset.made_by[0].type == "OptimizeDataset":
        dataset = as_dataset(dataset.made_by[1][0])
    if dataset.made_by is None:
        raise invalid(f"A dataset ({dataset.kind}) that no operation made has no graph")
    return dataset.made_by


def names_of(dataset: Dataset) -> dict[int, str]:
    """Return the names that operations get when TensorFlow rewrites a dataset, by dataset `id`."""
    namer = _Namer()
    namer.whole(dataset)
    return namer.names


class _Writer:
    """Writer of datasets into a graph; `names` are those of nodes, by the identity of datasets."""

    def __init__(self) -> None:
        from stillflow.protos import GraphDef

        self._graph = GraphDef()
        self._graph.versions.producer = PRODUCER
        self._functions: dict[str, Any] = {}
        self.names: dict[int, str] = {}

    def whole(self, dataset: Dataset) -> Any:
        """Return the graph that gives a dataset."""
        name = self._add(dataset)
        end = self._graph.node.add(name="dataset", op="_Retval", input=[name])
        end.attr["T"].type = dtypes.variant.as_datatype_enum
        end.attr["index"].i = 0
        if self._functions:
            fill_library(self._graph.library, self._functions)
            self._graph.versions.min_consumer = FUNCTION_CONSUMER
        return self._graph

    def _node(self, kind: str, inputs: list[str]) -> Any:
        return self._graph.node.add(name=f"{kind}/_{len(self._graph.node)}", op=kind, input=inputs)

    def _add(self, dataset: Dataset) -> str:
        operation, values = _made_by(dataset)
        inputs = [
            self._add(value) if isinstance(value, Dataset) else self._constant(value, tensor.dtype)
            for value, tensor in zip(values, operation._inputs, strict=True)
        ]
        node = self._node(operation.type, inputs)
        self.names[id(dataset)] = node.name
        for name, attr in operation.card.signature.attrs.items():
            value = operation.attrs[name]
            attr_values.fill_proto(node.attr[name], value, attr.kind)
            if attr.element == "func":
                for function in value if attr.is_list else [value]:
                    self._add_function(find_function(operation.graph, function.name))
        return str(node.name)

    def _constant(self, value: Any, dtype: Any) -> str:
        node = self._node("Const", [])
        node.attr["dtype"].type = dtype.as_datatype_enum
        node.attr["value"].tensor.CopyFrom(_message(value, dtype))
        return str(node.name)

    def _add_function(self, function: LibraryFunction | None) -> None:
        if function is None or function.name in self._functions:
            return
        self._functions[function.name] = function
        for used in function.used.values():
            self._add_function(used)


def telling_graph(dataset: Dataset) -> Any:
    """Return a graph that tells whether two datasets give the same; it may not make one again."""
    return _Teller().whole(dataset)


class _Teller(_Writer):
    """Writer with placeholders for unsupported datasets, and names of tables and variables."""

    def _add(self, dataset: Dataset) -> str:
        if _made_by(dataset)[0].type != _WITHOUT_GRAPH:
            return super()._add(dataset)
        node = self._node("Placeholder", [])
        node.attr["dtype"].type = dtypes.variant.as_datatype_enum
        node.attr["shape"].shape.SetInParent()
        return str(node.name)

    def _constant(self, value: Any, dtype: Any) -> str:
        if dtype != dtypes.resource:
            return super()._constant(value, dtype)
        name = getattr(value, "name", None) or uuid.uuid4().hex  # no other one is the same
        node = self._node("Const", [])
        node.attr["dtype"].type = dtype.as_datatype_enum
        node.attr["value"].tensor.resource_handle_val.add(name=str(name))
        return str(node.name)


class _Namer(_Writer):
    """Writer of node names only, without values."""

    def _constant(self, value: Any, dtype: Any) -> str:
        return str(self._node("Const", []).name)


def _message(value: Any, dtype: Any) -> Any:
    if dtype == dtypes.resource:
        raise errors.unimplemented(
            "Stillflow does not write datasets that use tables or variables as graphs"
        )
    if is_variant(value):
        return to_message(value)
    stored = to_stored(value)
    if stored.size > 1:
        return to_message(value, dtype, packed=True)
    return tensor_proto.to_proto(stored, dtype)
