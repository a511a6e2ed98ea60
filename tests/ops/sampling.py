"""Ops built from the samples of their cards."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import stillflow as tf
from stillflow.graph.card import Card
from stillflow.graph.dtypes import DType
from stillflow.graph.removed_ops import REMOVED
from stillflow.ops.samples import Bad, Sample
from stillflow.runtime.devices.moves import HOST
from stillflow.runtime.ir.facts import Facts
from stillflow.runtime.ir.request import PlanRequest
from stillflow.runtime.plan.plan import make_plan
from stillflow.runtime.plan.trace import Tracer
from stillflow.runtime.schedule.prune import needed_ops

# What the graph knows of the inputs: their values, shapes, ranks, or types alone.
KNOWN = ("values", "sizes", "ranks", "types")


@dataclass
class Built:
    """A sample's op in a graph of its own."""

    graph: tf.Graph
    inputs: list[Any]
    outputs: list[tf.Tensor]
    feeds: dict[tf.Tensor, np.ndarray]

    def run(self) -> list[Any]:
        with tf.Session(graph=self.graph) as session:
            return session.run(self.outputs, self.feeds)

    def run_planned_without_shapes(self) -> list[Any]:
        """Run a plan that relies on nothing but the shapes that the graph knows."""
        with tf.Session(graph=self.graph) as session:
            unknown = {tensor: tensor._dims for tensor in self.feeds}
            plan = make_plan(session._get_resources(), PlanRequest(self.outputs, [], unknown))
            return plan(*self.feeds.values())

    def hidden_views(self) -> list[tuple[tf.Tensor, tf.Tensor]]:
        """Return outputs that share memory with an input although the plan believes they do not."""
        shapes = {tensor: value.shape for tensor, value in self.feeds.items()}
        with tf.Session(graph=self.graph) as session:
            resources = session._get_resources()
            places = [HOST] * len(shapes)
            request = PlanRequest([], [], shapes, raw=self.outputs, places=places)
            plan = make_plan(resources, request)
            values = plan(*self.feeds.values())
            tracer = Tracer(Facts(resources, shapes))
            for tensor in self.feeds:
                tracer.feed(tensor, HOST)
            tracer.run(needed_ops(self.outputs, [], self.feeds))
        roots = {tensor: value.roots for tensor, value in tracer.values.items()}
        return [
            (output, fed)
            for output, value in zip(self.outputs, values, strict=True)
            for fed, array in self.feeds.items()
            if not roots[output] & roots[fed] and _share_memory(value, array)
        ]


def arrays_of(card: Card, sample: Sample | Bad) -> list[Any]:
    """Return the inputs as arrays of the op's types: one, or a list, for each argument."""
    types: dict[str, DType] = {}
    found = []
    for arg, value in zip(card.signature.inputs, sample.args, strict=True):
        values = list(value) if arg.is_list else [value]
        arrays = []
        for item in values:
            dtype = arg.dtype or types.get(arg.type_attr or "")
            array = _array(item, dtype)
            if arg.type_attr is not None:
                types.setdefault(arg.type_attr, tf.as_dtype(_type_of(array)))
            arrays.append(array)
        found.append(arrays if arg.is_list else arrays[0])
    return found


def _array(value: Any, dtype: DType | None) -> np.ndarray:
    if isinstance(value, np.ndarray | np.generic):
        array = np.asarray(value)
    else:
        array = tf.make_ndarray(tf.make_tensor_proto(value, dtype))
    if dtype is not None and array.dtype != object and not dtype.is_quantized:
        array = array.astype(dtype.as_numpy_dtype)
    if array.dtype.kind in "SU":
        array = array.astype(object)
    return array


def _share_memory(value: Any, array: np.ndarray) -> bool:
    if isinstance(value, np.ndarray):
        return np.shares_memory(value, array)
    if not hasattr(value, "untyped_storage"):
        return False  # a handle
    storage, start = value.untyped_storage(), array.ctypes.data
    first, last = storage.data_ptr(), storage.data_ptr() + storage.nbytes()
    return array.nbytes > 0 and first < start + array.nbytes and start < last


def _type_of(array: np.ndarray) -> Any:
    return tf.string if array.dtype == object else array.dtype


def build(
    card: Card,
    arrays: list[Any],
    attrs: dict[str, Any],
    known: str,
    fixed: tuple[int, ...] = (),
    types: dict[str, DType] | None = None,
) -> Built:
    """Add the op to a new graph.

    Args:
      card: of the op.
      arrays: as `arrays_of` gives them.
      attrs: the op's attributes.
      known: one of `KNOWN`.
      fixed: positions of inputs whose value is known in any case.
      types: the types of the type attributes; by default those of the arrays.
    """
    graph = tf.Graph()
    if card.removed:
        graph._producer = REMOVED[card.name][0] - 1  # the last version that has it
    feeds: dict[tf.Tensor, np.ndarray] = {}

    def tensor(position: int, array: np.ndarray) -> tf.Tensor:
        arg = card.signature.inputs[position]
        dtype = arg.dtype or (types or {}).get(arg.type_attr or "") or tf.as_dtype(_type_of(array))
        if known == "values" or position in fixed:
            return tf.constant(array, dtype)
        shape = {"sizes": array.shape, "ranks": [None] * array.ndim, "types": None}[known]
        placeholder = tf.placeholder(dtype, shape)
        feeds[placeholder] = array
        return placeholder

    with graph.as_default():
        inputs = [
            [tensor(position, item) for item in value]
            if card.signature.inputs[position].is_list
            else tensor(position, value)
            for position, value in enumerate(arrays)
        ]
        name = card.name.lstrip("_")  # an underscore cannot begin a name
        made = card(*inputs, name=name, **attrs)
    return Built(graph, inputs, list(_tensors(made)), feeds)


def _tensors(made: Any) -> Iterator[tf.Tensor]:
    if isinstance(made, tf.Operation):
        return
    if isinstance(made, list | tuple):
        for item in made:
            yield from _tensors(item)
    else:
        yield made
