"""Lowering of a frozen graph to a draft of a model: constants are computed, branches taken."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

import stillflow as tf
from stillflow import errors
from stillflow.graph.card import find
from stillflow.graph.constant_value import constant_value
from stillflow.graph.dims import is_known
from stillflow.graph.graph import Graph
from stillflow.graph.operation import Operation, Tensor
from stillflow.graph_util import extract_sub_graph
from stillflow.lite import custom_operators
from stillflow.lite.draft import Draft, Step
from stillflow.lite.settings import ConverterError
from stillflow.protos import GraphDef

Array = np.ndarray[Any, Any]

# Operations that pass their inputs on.
_PASSING = frozenset({
    "CheckNumerics", "Identity", "IdentityN", "PlaceholderWithDefault", "PreventGradient",
    "Snapshot", "StopGradient",
})  # fmt: skip

# Operations whose results' shapes depend on values, or are those of their inputs.
_ANY_SHAPE = frozenset({"Cast", "Unique", "Where"})

_LOOP = frozenset({"Enter", "Exit", "LoopCond", "NextIteration"})
_CONTROL = frozenset({*_LOOP, "Merge", "Switch"})

_NO_CONTROL = (
    "TensorFlow Lite currently doesn't support control flow ops: {}. We are working on supporting "
    "control flow ops, please see github issue at "
    "https://github.com/tensorflow/tensorflow/issues/28485."
)

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
    """Return a draft that is equivalent to a frozen graph, from inputs of known types and shapes.

    Operations missing in TensorFlow Lite become custom operators if allowed; else ConverterError.
    """
    cut = _cut(graph_def, inputs, outputs)
    custom: list[Any] = []
    if allows_custom:
        cut, custom = custom_operators.split(cut)
    made = {node.name for node in custom}
    wanted = [name for name in outputs if name.partition(":")[0] not in made]
    wanted = list(dict.fromkeys([*custom_operators.sources(custom), *wanted]))
    draft = _Lowering(_imported(cut), inputs, wanted, allows_custom).draft
    names = dict(zip(wanted, draft.outputs))
    for node in custom:
        custom_operators.add(draft, node, [names[source] for source in node.input])
    draft.outputs = [names.get(name, tensor_name(name)) for name in outputs]
    return draft


def _known_shape(tensor: Tensor) -> tuple[int, ...] | None:
    dims = tensor._dims
    return dims if is_known(dims) else None


def tensor_name(name: str) -> str:
    """Return a tensor's name in a model: without ":0"."""
    return name.removesuffix(":0")


def _cut(graph_def: Any, inputs: Mapping[str, tuple[Any, Sequence[int]]], outputs: Any) -> Any:
    """Return the part of a graph between inputs, now placeholders, and outputs."""
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
            # Control dependencies of an operation do not change its result.
            new.input.extend(name for name in node.input if not name.startswith("^"))
            new.device = ""
            for attr in ("_output_shapes", "_class"):
                new.attr.pop(attr, None)
    return extract_sub_graph(cut, [name.partition(":")[0] for name in outputs])


def _imported(graph_def: Any) -> Graph:
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


def unsupported(lacking: Collection[str], used: Iterable[str]) -> ConverterError:
    """Return the error that says which operations cannot be converted."""
    control = sorted(_CONTROL & set(lacking))
    if control:
        return ConverterError("See console for info.\n" + _NO_CONTROL.format(", ".join(control)))
    return ConverterError(
        "See console for info.\n"
        + _UNSUPPORTED.format(
            used=", ".join(sorted(set(used))), lacking=", ".join(sorted(set(lacking)))
        )
    )


class _Lowering:
    """Goes through a graph once, operation by operation."""

    def __init__(
        self, graph: Any, inputs: Any, outputs: Sequence[str], allows_custom: bool
    ) -> None:
        self.draft, self.allows_custom = Draft(), allows_custom
        self.names: dict[Tensor, str] = {}  # names of the graph's tensors in the draft
        self.dead: set[Tensor] = set()  # on branches that are not taken
        self.known = _known_values(graph)
        self.draft.drawn = _drawn(graph)
        lacking: set[str] = set()
        for op in graph.get_operations():
            if op.name in inputs:
                self._input(op.outputs[0])
            elif not self._needs_no_step(op) and not self._step(op):
                lacking.add(op.type)
        if lacking:
            raise unsupported(lacking, (step.kind for step in self.draft.steps))
        for name, (dtype, shape) in inputs.items():
            self.draft.inputs.append(self._unread_input(tensor_name(name), dtype, shape))
        for name in outputs:
            self.draft.outputs.append(
                self._output(graph.get_tensor_by_name(name if ":" in name else f"{name}:0"))
            )
        self.draft.drop_unused()

    def _input(self, tensor: Tensor) -> None:
        self.names[tensor] = self.draft.declare(
            tensor_name(tensor.name), _known_shape(tensor), _numpy_type(tensor)
        )

    def _unread_input(self, name: str, dtype: Any, shape: Sequence[int]) -> str:
        """Declare an input that nothing reads; return its name."""
        if name not in self.draft.shapes:
            self.draft.declare(name, shape, _element_type(tf.as_dtype(dtype)))
        return name

    def _needs_no_step(self, op: Operation) -> bool:
        """Take branches, and pass values on; return True if nothing else was to be done."""
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
        """Add the steps of an operation; return whether there are any."""
        from stillflow.lite import emitting_products  # noqa: F401, fills the table
        from stillflow.lite.emitting import EMITTERS, UNARY, Emission

        emit = EMITTERS.get(op.type)
        if emit is None and (not self.allows_custom or op.type in _LOOP):
            # Later operations are still examined, so that all missing ones are reported at once.
            for tensor in op.outputs:
                self.names[tensor] = tensor_name(tensor.name)
                self.draft.declare(tensor_name(tensor.name), (), np.float32)
            return False
        for tensor in op.outputs:
            self._declare(tensor, emit is None or op.type in _ANY_SHAPE or op.type in UNARY)
        names = [self.names.get(tensor, tensor_name(tensor.name)) for tensor in op.inputs]
        values = {
            name: self.known[tensor]
            for name, tensor in zip(names, op.inputs)
            if tensor in self.known
        }
        if emit is None:
            read = [
                self.draft.constant(name, values[name]) if name in values else name
                for name in names
            ]
            custom_operators.add_known(self.draft, op, read)
            return True
        emit(Emission(op, self.draft, names, values))
        return True

    def _declare(self, tensor: Tensor, has_any_shape: bool) -> None:
        """Declare a result of an operation; ConverterError for an unknown shape, if not allowed."""
        name, shape = tensor_name(tensor.name), _known_shape(tensor)
        if shape is None and not has_any_shape:
            if not tensor.consumers():
                return
            raise ConverterError(
                f"The shape of {tensor.name}, made by {tensor.op.type}, is not known: "
                f"{tensor.shape}"
            )
        self.names[tensor] = self.draft.declare(name, shape, _numpy_type(tensor))

    def _output(self, tensor: Tensor) -> str:
        """Return an output's own name, even if it is only passed on."""
        name = tensor_name(tensor.name)
        if tensor in self.known:
            value = self.known[tensor]
            source = self.draft.constant(f"{name}_copy", value)
            return self._copy(source, self.draft.declare(name, value.shape, value.dtype))
        if tensor not in self.names:
            raise ConverterError(f"The shape of the output {tensor.name} is not known")
        source = self.names[tensor]
        if source == name:
            return name
        writer = self.draft.writers().get(source)
        if writer is not None and not self.draft.uses()[source]:
            self._rename(writer, source, name)
            return name
        shape = None if source in self.draft.unshaped else self.draft.shapes[source]
        return self._copy(source, self.draft.declare(name, shape, self.draft.dtypes[source]))

    def _copy(self, source: str, name: str) -> str:
        """Add a step that writes an output's value under its own name; return the name."""
        if name in self.draft.unshaped:
            raise ConverterError(f"The output {name} is the copy of a value of unknown shape")
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
        shape, dtype = self.draft.shapes.pop(old), self.draft.dtypes.pop(old)
        self.draft.declare(new, None if old in self.draft.unshaped else shape, dtype)
        self.names.update({tensor: new for tensor, name in self.names.items() if name == old})


def _numpy_type(tensor: Tensor) -> type[Any]:
    return _element_type(tensor.dtype)


def _element_type(dtype: Any) -> type[Any]:
    return object if dtype == tf.string else dtype.as_numpy_dtype


def _known_values(graph: Any) -> dict[Tensor, Array]:
    """Return the values of all tensors that do not depend on an input."""
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


def _drawn(graph: Any) -> set[str]:
    """Return the names of the tensors that depend on random numbers."""
    drawn: set[Tensor] = set()
    for op in graph.get_operations():
        if op.type == "RandomUniform" or any(tensor in drawn for tensor in op.inputs):
            drawn.update(op.outputs)
    return {tensor_name(tensor.name) for tensor in drawn}


def _is_foldable(op: Operation) -> bool:
    card = find(op.type)
    if op.type == "RandomUniform":  # the first numbers of a seed are constants of the model
        return bool(op.get_attr("seed") or op.get_attr("seed2"))
    control = ("Placeholder", "Switch", "Merge", "Enter", "Exit", "NextIteration", "LoopCond")
    return bool(
        op.outputs
        and op.inputs
        and card is not None
        and card.effect == "pure"
        and op.type not in control
        and "PartitionedCall" not in op.type
    )
