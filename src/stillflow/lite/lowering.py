"""From a frozen graph to a draft of a model: constants are computed, branches taken."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

import stillflow as tf
from stillflow import errors
from stillflow.graph.card import find
from stillflow.graph.constant_value import constant_value
from stillflow.graph.operation import Operation, Tensor
from stillflow.lite import custom_operators
from stillflow.lite.draft import Draft, Step
from stillflow.lite.settings import ConverterError
from stillflow.protos import GraphDef
from stillflow.train.graph_util import extract_sub_graph

Array = np.ndarray[Any, Any]

# Operations that hand on what they read.
_PASSING = frozenset({
    "CheckNumerics", "Identity", "IdentityN", "PlaceholderWithDefault", "PreventGradient",
    "Snapshot", "StopGradient",
})  # fmt: skip

_UNSUPPORTED = (
    "Some of the operators in the model are not supported by the standard TensorFlow Lite runtime. "
    "Here is a list of builtin operators you are using: {used}. Here is a list of operators for "
    "which you will need custom implementations: {lacking}."
)


def lower(
    graph_def: Any,
    inputs: Mapping[str, tuple[Any, Sequence[int]]],
    outputs: Sequence[str],
    allows_custom: bool = False,
) -> Draft:
    """Returns a draft that computes what a graph computes.

    Args:
      graph_def: a frozen graph.
      inputs: of each tensor that is fed its type and shape, which is known.
      outputs: the tensors that are asked for.
      allows_custom: whether operations that TensorFlow does not know become custom operators.

    Raises:
      ConverterError: If TensorFlow Lite lacks an operation, or its form.
    """
    cut, custom = _cut(graph_def, inputs, outputs), []
    if allows_custom:
        cut, custom = custom_operators.split(cut)
    made = {node.name for node in custom}
    wanted = [name for name in outputs if name.partition(":")[0] not in made]
    wanted = list(dict.fromkeys([*custom_operators.sources(custom), *wanted]))
    draft = _Lowering(_imported(cut), inputs, wanted).draft
    names = dict(zip(wanted, draft.outputs))
    for node in custom:
        custom_operators.add(draft, node, [names[source] for source in node.input])
    draft.outputs = [names.get(name, tensor_name(name)) for name in outputs]
    return draft


def tensor_name(name: str) -> str:
    """Returns what a model calls a tensor: without ":0"."""
    return name.removesuffix(":0")


def _cut(graph_def: Any, inputs: Mapping[str, tuple[Any, Sequence[int]]], outputs: Any) -> Any:
    """Returns the part of a graph between inputs, now placeholders, and outputs."""
    cut = GraphDef()
    cut.versions.CopyFrom(graph_def.versions)
    cut.library.CopyFrom(graph_def.library)
    for node in graph_def.node:
        if node.name in inputs:
            dtype, shape = inputs[node.name]
            placeholder = cut.node.add(name=node.name, op="Placeholder")
            placeholder.attr["dtype"].type = tf.as_dtype(dtype).as_datatype_enum
            placeholder.attr["shape"].shape.CopyFrom(tf.TensorShape(shape).as_proto())
        else:
            new = cut.node.add()
            new.CopyFrom(node)
            del new.input[:]
            # What an operation waits for does not change what it computes.
            new.input.extend(name for name in node.input if not name.startswith("^"))
            new.device = ""
            for attr in ("_output_shapes", "_class"):
                new.attr.pop(attr, None)
    return extract_sub_graph(cut, [name.partition(":")[0] for name in outputs])


def _imported(graph_def: Any) -> Any:
    unknown = sorted({node.op for node in graph_def.node if find(node.op) is None})
    if unknown:
        raise unsupported(unknown, ())
    graph = tf.Graph()
    with graph.as_default():
        try:
            tf.import_graph_def(graph_def, name="")
        except (ValueError, errors.OpError) as error:
            raise ConverterError(f"The graph cannot be read: {error}") from error
    return graph


def unsupported(lacking: Iterable[str], used: Iterable[str]) -> ConverterError:
    """Returns the error that says which operations cannot be converted."""
    return ConverterError(
        "See console for info.\n"
        + _UNSUPPORTED.format(
            used=", ".join(sorted(set(used))), lacking=", ".join(sorted(set(lacking)))
        )
    )


class _Lowering:
    """Goes through a graph once, operation by operation."""

    def __init__(self, graph: Any, inputs: Any, outputs: Sequence[str]) -> None:
        self.draft = Draft()
        self.names: dict[Tensor, str] = {}  # what the tensors of the graph are called in the draft
        self.dead: set[Tensor] = set()  # on branches that are not taken
        self.known = _known_values(graph)
        lacking: set[str] = set()
        for op in graph.get_operations():
            if op.name in inputs:
                self._input(op.outputs[0])
            elif not self._needs_no_step(op) and not self._step(op):
                lacking.add(op.type)
        if lacking:
            raise unsupported(lacking, (step.kind for step in self.draft.steps))
        self.draft.inputs = [tensor_name(name) for name in inputs]
        for name in outputs:
            self.draft.outputs.append(
                self._output(graph.get_tensor_by_name(name if ":" in name else f"{name}:0"))
            )
        self.draft.drop_unused()

    def _input(self, tensor: Tensor) -> None:
        self.names[tensor] = self.draft.declare(
            tensor_name(tensor.name), tensor.shape.as_list(), _numpy_type(tensor)
        )

    def _needs_no_step(self, op: Operation) -> bool:
        """Takes branches, and passes values on; returns whether that was all there was to do."""
        if op.type == "Merge":
            alive = [tensor for tensor in op.inputs if tensor not in self.dead]
            if len(alive) == 1:
                self._alias(op.outputs[0], alive[0])
                return True
            return not alive and self._bury(op)
        if any(tensor in self.dead for tensor in op.inputs):
            return self._bury(op)
        if op.type == "Switch":
            choice = self.known.get(op.inputs[1])
            if choice is None:
                return False
            self._alias(op.outputs[int(bool(choice))], op.inputs[0])
            self.dead.add(op.outputs[1 - int(bool(choice))])
            return True
        if op.outputs and all(tensor in self.known for tensor in op.outputs):
            return True
        if op.type in _PASSING and len(op.inputs) == len(op.outputs):
            for result, source in zip(op.outputs, op.inputs):
                self._alias(result, source)
            return True
        return not op.outputs

    def _bury(self, op: Operation) -> bool:
        self.dead.update(op.outputs)
        return True

    def _alias(self, result: Tensor, source: Tensor) -> None:
        if source in self.known:
            self.known[result] = self.known[source]
        if source in self.names:
            self.names[result] = self.names[source]

    def _step(self, op: Operation) -> bool:
        """Adds the steps of an operation; returns whether there are any."""
        from stillflow.lite.emitting import EMITTERS, Emission

        emit = EMITTERS.get(op.type)
        if emit is None:
            # What follows still is looked at, so that all that lacks is told at once.
            for tensor in op.outputs:
                self.names[tensor] = tensor_name(tensor.name)
                self.draft.declare(tensor_name(tensor.name), (), np.float32)
            return False
        for tensor in op.outputs:
            if not tensor.shape.is_fully_defined():
                if not tensor.consumers():
                    continue
                raise ConverterError(
                    f"The shape of {tensor.name}, made by {op.type}, is not known: {tensor.shape}"
                )
            self.names[tensor] = self.draft.declare(
                tensor_name(tensor.name), tensor.shape.as_list(), _numpy_type(tensor)
            )
        names = [self.names.get(tensor, tensor_name(tensor.name)) for tensor in op.inputs]
        values = {
            name: self.known[tensor]
            for name, tensor in zip(names, op.inputs)
            if tensor in self.known
        }
        emit(Emission(op, self.draft, names, values))
        return True

    def _output(self, tensor: Tensor) -> str:
        """Returns what an output is called: by its own name, even if it is only passed on."""
        name = tensor_name(tensor.name)
        if tensor in self.known:
            return self.draft.constant(name, self.known[tensor])
        source = self.names[tensor]
        if source == name:
            return name
        writer = self.draft.writers().get(source)
        if writer is not None and not self.draft.uses()[source]:
            self._rename(writer, source, name)
            return name
        self.draft.declare(name, self.draft.shapes[source], self.draft.dtypes[source])
        shape = np.array(self.draft.shapes[name], np.int32)
        self.draft.steps.append(
            Step(
                "RESHAPE",
                [source, self.draft.constant(f"{name}_shape", shape)],
                [name],
                "Reshape",
                {"new_shape": shape.tolist()},
            )
        )
        return name

    def _rename(self, writer: Any, old: str, new: str) -> None:
        writer.outputs[writer.outputs.index(old)] = new
        self.draft.declare(new, self.draft.shapes.pop(old), self.draft.dtypes.pop(old))
        self.names.update({tensor: new for tensor, name in self.names.items() if name == old})


def _numpy_type(tensor: Tensor) -> Any:
    return object if tensor.dtype == tf.string else tensor.dtype.as_numpy_dtype


def _known_values(graph: Any) -> dict[Tensor, Array]:
    """Returns the values of all tensors that do not depend on an input."""
    known: dict[Tensor, Array] = {}
    computed: list[Tensor] = []
    is_known: set[Tensor] = set()
    for op in graph.get_operations():
        for tensor in op.outputs:
            value = constant_value(tensor)
            if value is not None:
                known[tensor] = np.asarray(value)
        if all(tensor in known for tensor in op.outputs):
            is_known.update(op.outputs)
        elif _is_foldable(op) and all(tensor in is_known for tensor in op.inputs):
            is_known.update(op.outputs)
            computed += op.outputs
    wanted = [tensor for tensor in computed if tensor not in known]
    if wanted:
        fed = {tensor: value for tensor, value in known.items() if tensor.op.type != "Const"}
        with tf.Session(graph=graph) as session:
            known.update(zip(wanted, session.run(wanted, fed)))
    return known


def _is_foldable(op: Operation) -> bool:
    card = find(op.type)
    control = ("Placeholder", "Switch", "Merge", "Enter", "Exit", "NextIteration", "LoopCond")
    return bool(
        op.outputs
        and op.inputs
        and card is not None
        and card.effect == "pure"
        and op.type not in control
        and "PartitionedCall" not in op.type
    )
