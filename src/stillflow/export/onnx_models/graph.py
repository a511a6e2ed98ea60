"""Programs as ONNX graphs: branches become `If`, loops `Loop`, tensor arrays sequences.

An operation goes out by a rule or a form of the table `forms.txt`. One that has
neither goes through PyTorch: its kernel's source is exported by `torch.export` and `torch.onnx`.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from stillflow._hooks import Hook
from stillflow.export.capture import Program
from stillflow.export.onnx_models import forms
from stillflow.export.onnx_models.regions import converter  # noqa: F401 the rules
from stillflow.export.onnx_models.regions.builder import NCHW, NHWC, RULES, Builder
from stillflow.export.onnx_models.regions.maths import ONNX_TYPES
from stillflow.export.problems import ExportError, Problem, explained
from stillflow.graph.constant_value import Dims
from stillflow.graph.dtypes import DType
from stillflow.graph.operation import Tensor
from stillflow.ops.value_arrays import to_array
from stillflow.runtime.engines.region import Unfit
from stillflow.runtime.ir.step_graph import StepGraph
from stillflow.runtime.ir.steps import Step

# Makes a message of one step's program: of the program, and sizes for what it leaves open.
ByTorch = Callable[[Program, list["Place"]], Any]
# Gives the steps of a program; for those that are one operator of ONNX together, one of the kind
# "layer", whose function writes it.
layers_of: Hook[Callable[[Program], list[Step]]] = Hook("export.onnx_models.graph.layers_of")
_OF_TORCH = ONNX_TYPES.keys() - {"string", "bfloat16"}
_ODD = (AttributeError, IndexError, KeyError, TypeError, ValueError)  # of odd attributes


@dataclass(frozen=True)
class Place:
    """Input of an operation that goes through PyTorch, as an input of a program."""

    name: str
    _dims: Dims
    dtype: DType


class GraphWriter(Builder):
    """Builder of a program's graph, or of that of a loop inside it.

    Attributes:
      problems: the operations that cannot go out.
    """

    strict = False

    def __init__(
        self, steps: Iterable[Step], results: Sequence[str], tracer: Any, by_torch: ByTorch,
        outer: GraphWriter | None = None,
    ) -> None:  # fmt: skip
        graph = StepGraph(steps, dict(tracer.constants), results, values=tracer.values,
                          facts=tracer.facts)  # fmt: skip
        super().__init__(graph)
        self.tracer, self.by_torch = tracer, by_torch
        self.place = ""
        self.outer: GraphWriter = outer or self
        self.problems: list[Problem] = outer.problems if outer else []
        self.counts: dict[str, int] = outer.counts if outer else {}
        self.constants = outer.constants if outer else self.constants
        self._contents: dict[Any, str] = outer._contents if outer else {}
        self.tensors: dict[str, Tensor] = {}
        for tensor, value in tracer.values.items():
            self.tensors.setdefault(value.name, tensor)

    # ---- names and values

    def fresh(self, prefix: str = "v") -> str:
        """Return an unused name that says where it is made."""
        wish = f"{self.place}/{prefix}" if self.place else prefix
        self.counts[wish] = self.counts.get(wish, -1) + 1
        return f"{wish}_{self.counts[wish]}"

    def constant(self, array: Any, dtype: Any = None) -> str:
        """Return the name of a constant; equal ones are one."""
        value = np.ascontiguousarray(np.asarray(array, dtype)).reshape(np.shape(array))
        value = value.astype(np.float32) if value.dtype.name == "bfloat16" else value
        content = repr(value.tolist()).encode() if value.dtype == object else value.tobytes()
        key = value.dtype.str, value.dtype.name, value.shape, hashlib.blake2b(content).digest()
        if key not in self._contents:
            self._contents[key] = super().constant(value)
        return self._contents[key]

    def _key(self, tensor: Tensor) -> str:
        return self.graph.values[tensor].name

    def value(self, tensor: Tensor) -> np.ndarray | None:
        found = super().value(tensor)
        name = self._key(tensor)
        return self._held(name) if found is None and (name, NHWC) not in self._made else found

    def _held(self, name: str) -> np.ndarray | None:
        """Return the value of a constant or a variable, by its name in the plan."""
        state = self.graph.constants.get(name)
        held = getattr(state, "value", state)
        return to_array(held) if isinstance(held, (torch.Tensor, np.ndarray)) else None

    def named(self, name: str) -> str:
        """Return the name of a value of the plan; Unfit if it has none here."""
        held = functools.partial(self._held, name)
        return self.channels_last(name, held, f"{name} has no value here")

    # ---- steps

    def run(self, steps: Sequence[Step], depth: int = 0) -> None:
        """Write steps; those under one predicate become one `If`."""
        at = 0
        while at < len(steps):
            guard = steps[at].guard or ()
            if len(guard) == depth:
                self.step(steps[at])
                at += 1
                continue
            name, end = guard[depth][0], at
            while end < len(steps) and name in [n for n, _ in (steps[end].guard or ())[depth:][:1]]:
                end += 1
            self._branches(name, steps[at:end], depth)
            at = end

    def step(self, step: Step) -> None:
        """Write a step; one that cannot go out becomes a problem."""
        before = len(self.nodes), len(self._made)
        self.place = step.op.name if step.op is not None else ""
        try:
            getattr(self, f"_{step.kind}")(step)
        except (Unfit, ExportError, *_ODD) as error:
            self._undo(*before)
            assert step.op is not None
            self.problems.append(Problem(step.op, f"has no form in ONNX: {_first(error)}"))
            for name in step.outputs:
                self.bind(name, "unknown")

    def _call(self, step: Step) -> None:
        op = step.op
        assert op is not None
        if not step.outputs or "unknown" in [self._made.get((n, NHWC)) for n in step.inputs]:
            for name in step.outputs:
                self.bind(name, "unknown")
            return
        before, reason = (len(self.nodes), len(self._made)), Unfit("there is no rule")
        odd = any(t.dtype.base_dtype.is_complex for t in (*op._inputs, *op._outputs))
        if odd and op.type not in forms.COMPLEX:
            raise Unfit("of complex numbers")
        for rule in filter(None, (RULES.get(op.type), forms.FORMS.get(op.type))):
            try:
                answer = rule(self, op)
            except (Unfit, *_ODD) as error:
                self._undo(*before)
                reason = Unfit(_first(error))
                continue
            names = [answer] if isinstance(answer, str) else answer or ()
            for name, found in zip(step.outputs, names, strict=False):
                if found is not None:
                    self.bind(name, found)
            if all(map(self._is_written, step.outputs)):
                self._round(step.outputs)
                return
            self._undo(*before)
            reason = Unfit("an output has no rule")
        self._through_torch(step, reason)

    def _round(self, names: Sequence[str]) -> None:
        """Round values that stand for bfloat16: they are float32, which onnxruntime computes in."""
        for key in [key for key in self._made if key[0] in names]:
            tensor = self.tensors.get(key[0])
            if tensor is not None and tensor.dtype.base_dtype.name == "bfloat16":
                short = self.add("Cast", [self._made[key]], to=ONNX_TYPES["bfloat16"])
                self._made[key] = self.add("Cast", [short], to=ONNX_TYPES["float32"])

    def _is_written(self, name: str) -> bool:
        """Return True for values that exist, are not used, or are handles of objects."""
        is_here = (name, NHWC) in self._made or (name, NCHW) in self._made
        tensor = self.tensors.get(name)
        return is_here or tensor is None or not self.graph.uses(name) or (
            tensor.dtype.name == "resource"
        )  # fmt: skip

    def _undo(self, nodes: int, made: int) -> None:
        """Forget the nodes and names that were made after so many."""
        del self.nodes[nodes:]
        for key in [*self._made][made:]:
            del self._made[key]

    def _through_torch(self, step: Step, reason: Exception) -> None:
        """Write a step as PyTorch's exporter translates its kernel."""
        tensors = [self.tensors.get(name) for name in (*step.inputs, *step.outputs)]
        if any(t is None or t.dtype.base_dtype.name not in _OF_TORCH for t in tensors):
            raise reason
        taken = [name for name in dict.fromkeys(step.inputs) if name not in self.tracer.constants]
        places = [Place(f"in_{i}:0", self._sizes(name), self.tensors[name].dtype.base_dtype)
                  for i, name in enumerate(taken)]  # fmt: skip
        alone = Step("call", step.op, step.outputs, step.inputs, (), step.function,
                     step.arguments, step.keywords)  # fmt: skip
        results = [name for name in step.outputs if self.graph.uses(name)]
        inputs: Any = list(zip(places, taken, strict=True))
        program = Program(
            self.graph, inputs,
            [(self.tensors[name], self.tracer.values[self.tensors[name]]) for name in results],
            [alone], self.tracer,
        )  # fmt: skip
        message = self.by_torch(program, places)
        helper, compose = (
            importlib.import_module(f"onnx.{part}") for part in ("helper", "compose")
        )
        graph = compose.add_prefix_graph(message.graph, f"{self.fresh('torch')}/")
        given = {each.name.rpartition("/")[2]: each.name for each in graph.input}
        for place, name in zip(places, taken, strict=True):
            if place.name in given:
                self.nodes.append(
                    helper.make_node("Identity", [self.named(name)], [given[place.name]])
                )
        numpy_helper = importlib.import_module("onnx.numpy_helper")
        for each in graph.initializer:
            self.constants[each.name] = numpy_helper.to_array(each)
        self.nodes += graph.node
        for name, each in zip(results, graph.output, strict=True):
            self.bind(name, each.name)

    def _sizes(self, name: str) -> Dims:
        held = self._held(name)
        return self.dims(self.tensors[name]) if held is None else held.shape

    def _layer(self, step: Step) -> None:
        assert step.function is not None
        step.function(self)

    def _bool(self, step: Step) -> None:
        self.bind(step.outputs[0], self.named(step.inputs[0]))

    def _read(self, step: Step) -> None:
        self.graph.constants[step.outputs[0]] = self._held(step.inputs[0])

    def _copy(self, step: Step) -> None:
        self.bind(step.outputs[0], self.named(step.inputs[0]))

    def _alias(self, step: Step) -> None:
        self.bind(step.outputs[0], self.named(step.inputs[0]))
        self.bind(step.outputs[1], self.constant(step.arguments[0], np.int32))

    def _flag(self, step: Step) -> None:
        self.bind(step.outputs[0], self.constant(step.arguments[0], np.bool_))

    # ---- branches

    def _branches(self, predicate: str, steps: Sequence[Step], depth: int) -> None:
        inside = {id(step) for step in steps}
        leaving = [
            name for name in dict.fromkeys(n for step in steps for n in step.outputs)
            if self.graph.is_result(name)
            or any(id(user) not in inside for user in self.graph.consumers(name))
        ]  # fmt: skip
        condition, before = self.named(predicate), dict(self._made)
        outside, graphs = self.nodes, []
        for truth in (True, False):
            self.nodes, self._made = [], dict(before)
            self.run([s for s in steps if (s.guard or ())[depth][1] is truth], depth + 1)
            made = [self._or_nothing(name) for name in leaving]
            graphs.append(self.subgraph("then" if truth else "else", [], made))
        self.nodes, self._made = outside, before
        found = self.add(
            "If", [condition], len(leaving), then_branch=graphs[0], else_branch=graphs[1]
        ) if leaving else []  # fmt: skip
        for name, each in zip(leaving, [found] if isinstance(found, str) else found, strict=True):
            self.bind(name, each)

    def _or_nothing(self, name: str) -> str:
        """Return the name of a value; in a branch that does not make it, one of its type."""
        try:
            return self.named(name)
        except Unfit:
            tensor = self.tensors[name]
            dims = self.dims(tensor) or ()
            return self.constant(
                np.zeros([size or 0 for size in dims], tensor.dtype.base_dtype.as_numpy_dtype)
            )

    def subgraph(self, name: str, inputs: Sequence[str], outputs: Sequence[str]) -> Any:
        """Return the nodes as a graph inside of a node; the types are those of its values.

        Of the inputs of a loop's body the first counts iterations, the second is a truth.
        """
        helper = importlib.import_module("onnx.helper")
        leaving = [self.fresh("out") for _ in outputs]
        for each, left in zip(outputs, leaving, strict=True):
            self.nodes.append(("Identity", [each], [left], {}))
        info = helper.make_empty_tensor_value_info
        taken = [
            helper.make_tensor_value_info(each, ONNX_TYPES[kind], [])
            for each, kind in zip(inputs, ("int64", "bool"), strict=False)
        ]
        taken += map(info, inputs[2:])
        return helper.make_graph(nodes_of(self.nodes), name, taken, list(map(info, leaving)))

    # ---- loops

    def _loop(self, step: Step) -> None:
        code, *arguments = step.arguments
        tracer, parts = code.tracer, code.parts
        goes_on = [value for value in code.next.values() if value is not None]
        results = [*code.results, *(v.name for v in goes_on), code.predicate or ""]
        inner = GraphWriter(code.steps, results, tracer, self.by_torch, self)
        inner.nodes, inner.place = self.nodes, self.place
        starts = iter(arguments[len(tracer.parameters) :])
        for name, value in zip(tracer.parameters, map(str, arguments), strict=False):
            if value in self.graph.constants:
                inner.graph.constants[name] = self.graph.constants[value]
            elif (value, NHWC) in self._made or (value, NCHW) in self._made:
                inner.bind(name, self.named(value))
        names = [tracer.current[variable] for variable in code.variables]
        values = [
            inner.named(code.constants[v]) if v in code.constants else self.named(str(next(starts)))
            for v in code.variables
        ]
        inner.run(parts["before"])
        if code.predicate is not None:
            values = inner._turns(code, names, values)
        elif code.truth:
            raise Unfit("it never ends")
        inner._begin(names, values, dict(inner._made))
        inner.run([*parts["test"], *parts["end"]])
        for name, result in zip(step.outputs, code.results, strict=True):
            self.bind(name, inner.named(result))

    def _begin(self, names: Sequence[str], values: Sequence[str], made: dict[Any, str]) -> None:
        """Begin an iteration with these values of the variables."""
        self._made = made
        for name, value in zip(names, values, strict=True):
            self.bind(name, value)

    def _turns(self, code: Any, names: list[str], values: list[str]) -> list[str]:
        """Write the node of a loop, with these values at first; return the last ones."""
        parts, predicate = code.parts, code.predicate
        self.run(parts["once"])
        outside, made = self.nodes, dict(self._made)
        self._begin(names, values, dict(made))
        self.run(parts["test"])
        first = self.named(predicate)
        self.nodes = []
        taken = [self.fresh("count"), self.fresh("goes_on"), *(self.fresh("in") for _ in names)]
        self._begin(names, taken[2:], dict(made))
        self.run([*parts["test"], *parts["body"]])
        following = [
            self.named(name if code.next[v] is None else code.next[v].name)
            for v, name in zip(code.variables, names, strict=True)
        ]
        self._begin(names, following, dict(made))
        self.run(parts["test"])
        body = self.subgraph("body", taken, [self.named(predicate), *following])
        self.nodes, self._made = outside, made
        found = self.add("Loop", ["", first, *values], len(names), body=body)
        return [found] if isinstance(found, str) else list(found)


def nodes_of(nodes: Iterable[Any]) -> list[Any]:
    """Return nodes as messages."""
    helper = importlib.import_module("onnx.helper")
    return [
        node if not isinstance(node, tuple)
        else helper.make_node(
            node[0], node[1], node[2], domain=forms.DOMAINS.get(node[0], ""), **node[3]
        )
        for node in nodes
    ]  # fmt: skip


def _first(error: Exception) -> str:
    return str(getattr(error, "message", None) or error).partition("\n")[0]


def to_graph(program: Program, by_torch: ByTorch) -> GraphWriter:
    """Return a writer that has written a program.

    Raises:
      ExportError: if operations have no form in ONNX.
    """
    results = [value.name for _, value in program.outputs]
    steps = layers_of.value(program)
    writer = GraphWriter(steps, results, program.tracer, by_torch)
    for tensor, name in program.inputs:
        writer.bind(name, tensor.name)
    writer.run(steps)
    if writer.problems:
        raise explained(writer.problems, [tensor for tensor, _ in program.inputs])
    return writer
