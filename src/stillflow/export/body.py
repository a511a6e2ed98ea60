"""The statements of one function of an exported model."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Any

import torch

from stillflow.export import literals
from stillflow.export.arguments import Argument
from stillflow.export.capture import Parameter, changes
from stillflow.export.functions import undecorated
from stillflow.export.literals import UnwritableError
from stillflow.export.problems import Problem
from stillflow.export.resolving import is_bindable, takes_ours
from stillflow.graph.arrays import Array
from stillflow.graph.node import Call, Numbers
from stillflow.graph.operation import Operation, Tensor
from stillflow.ops.torch_sources import every as every
from stillflow.ops.torch_sources.parts import Span, Text
from stillflow.ops.variables.buffer import Buffer
from stillflow.runtime.ir.facts import PlanNode
from stillflow.runtime.ir.steps import Guard, Name, Step
from stillflow.runtime.plan.trace import Tracer

if TYPE_CHECKING:
    from stillflow.export.layers import Layer
    from stillflow.export.torch_writer import ModelWriter

_WIDTH = 100
_LONG = 40  # characters of an integer's expression that has no name
# Functions that are written as operators.
_OPERATORS = {
    "torch.add": "+", "torch.sub": "-", "torch.mul": "*", "torch.div": "/",
    "torch.true_divide": "/", "torch.subtract": "-", "torch.multiply": "*",
    "operator.add": "+", "operator.sub": "-", "operator.mul": "*", "operator.truediv": "/",
}  # fmt: skip


class Names:
    """Generator of unused names."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._numbers = dict.fromkeys(taken, 1)

    def __call__(self, wish: str) -> str:
        """Return the wish, or the wish with a number."""
        name = wish
        while name in self._numbers:
            self._numbers[wish] += 1
            name = f"{wish}_{self._numbers[wish]}"
        self._numbers[name] = 1
        return name


class Body:
    """The lines of one function: `forward`, or a loop.

    Attributes:
      lines: the written lines.
      problems: the operations that have no source.
    """

    def __init__(self, model: ModelWriter, tracer: Tracer, depth: int = 2) -> None:
        self.model, self.tracer, self.depth = model, tracer, depth
        self.wanted = model.wanted
        self._records: list[tuple[Any, str, str]] = []
        self.problems: list[Problem] = []
        self.names = Names(literals.RESERVED)
        self.local: dict[str, str] = {}  # names of the plan -> expressions
        self.hosts: dict[str, Numbers] = {}  # names of the plan -> integers of the host
        self._joined: set[str] = set()  # values of branches that are one value
        self.spans: dict[str, str] = {}  # names of the plan -> ranges of Python
        self._called: dict[str, str] = {}  # results of layers, by key
        self.made: dict[str, str] = {}  # hosts of which there is a tensor, by name
        self._tensors: dict[str, Tensor] = {}
        for tensor, value in tracer.values.items():
            self._tensors.setdefault(value.name, tensor)
        self._guard: Guard = ()  # of the step that is written

    # ---- lines

    def begin(self) -> None:
        """Start with no line; names stay in use."""
        self._records = []

    def line(self, text: str, comment: str = "", guard: Guard = ()) -> None:
        """Add a line that runs under a guard."""
        self._records.append((guard or (), text, comment))

    @property
    def lines(self) -> list[str]:
        """The lines of the function, with their `if`s and `else`s."""
        return _blocks(self._records, 0, self.depth, lambda name: self.local.get(name, name))

    def name_for(self, name: str, op: Operation | None) -> str:
        """Return a readable local name for a value: after its operation."""
        tensor = self._tensors.get(name)
        wish = name if tensor is None else tensor.op.name
        if op is not None and tensor is None:
            wish = op.name
        parts = [literals.identifier(part).strip("_") for part in wish.split("/")[-2:]]
        wish = literals.identifier("_".join(filter(None, parts)).lower())
        found = self.local[name] = self.names(wish)
        return found

    # ---- values

    def expression(self, name: str) -> str:
        """Return the value of a name of the plan as an expression of a tensor."""
        if name in self.hosts:
            return self._tensor_of(name)
        if name in self.local:
            return self.local[name]
        parameter = self.model.program.parameters.get(name) if self.is_outer else None
        if parameter is not None:
            return self.model.parameter(parameter)
        if name in self.tracer.constants:
            value = self.tracer.constants[name]
            weight = self.model.weights.get(id(value))
            if weight is not None:
                return self.model.parameter(weight)
            if hasattr(value, "value") and isinstance(value.value, torch.Tensor):
                return self.model.variable(value)
            made = self.model.constant(value, self._tensors.get(name))
            self.local[name] = made
            return made
        return name

    @property
    def is_outer(self) -> bool:
        return self.tracer is self.model.program.tracer

    def _tensor_of(self, name: str) -> str:
        """Return the tensor of integers of the host, made where it is first asked for."""
        if name not in self.made:
            numbers = self.hosts[name].texts
            tensor = self._tensors.get(name)
            dtype = "torch.int32" if tensor is None else str(_torch_type(tensor))
            text = numbers if isinstance(numbers, str) else literals.sequence_text(numbers, list)
            made = self.name_for(f"{name} of tensor", None if tensor is None else tensor.op)
            self.line(f"{made} = torch.tensor({text}, dtype={dtype}, device=self.device)",
                      guard=self._guard)  # fmt: skip
            if self._guard:
                return made
            self.made[name] = made
        return self.made[name]

    def argument(self, tensor: Tensor) -> Argument:
        """Return an input of an operation, for its card."""
        name = self.tracer.values[tensor].name
        known = self._known(tensor, name)
        number = numbers = None
        host = self.hosts.get(name)
        if host is not None:
            number = host.texts if isinstance(host.texts, str) else None
            numbers = host.texts if isinstance(host.texts, tuple) else None
        elif known is not None and known.dtype.kind in "fiub":
            if known.ndim == 0:
                number = literals.number_text(known.item())
            elif known.ndim == 1 and known.dtype.kind in "iu":
                numbers = tuple(map(str, known.tolist()))
        span = self.spans.get(name)
        return Argument(lambda: self.expression(name), known, number, numbers, span)

    def _known(self, tensor: Tensor, name: str) -> Array | None:
        """Return the value of a small constant that is no weight, as an array; else None."""
        known = self.tracer.facts.value(tensor)
        value = self.tracer.constants.get(name)
        small = isinstance(value, torch.Tensor) and value.numel() <= literals.MOST_ITEMS
        if known is not None or not small or id(value) in self.model.weights:
            return known
        assert isinstance(value, torch.Tensor)
        return (value.float() if value.dtype == torch.bfloat16 else value).cpu().numpy()

    # ---- steps

    def step(self, step: Step) -> None:
        """Write a step; one without source becomes a problem."""
        is_known = step.kind == "read" and self.is_outer and step.outputs[0] in self.parameters
        if is_known and not self.model.program.changes:
            return
        self._guard = step.guard
        writer = self.model.found.writers.get(id(step))
        try:
            getattr(self, f"_{step.kind}")(step) if writer is None else writer.write(self)
        except UnwritableError as error:
            assert step.op is not None
            self.problems.append(Problem(step.op, f"has no source outside of Stillflow: {error}"))
            for name in step.outputs:
                self.name_for(name, step.op)

    @property
    def parameters(self) -> dict[str, Parameter]:
        return self.model.program.parameters

    def _call(self, step: Step) -> None:
        op = step.op
        assert op is not None
        if id(step) in self.model.found.inside:
            return
        layer = self.model.found.layers.get(id(step))
        if layer is not None:
            self._layer(step, layer)
            return
        answer = self._host_arithmetic(step)
        part = op.card.torch_source_part
        if part is not None and answer is None:
            node = PlanNode(op, self.tracer.facts)
            answer = part(node, *[self.argument(tensor) for tensor in op._inputs])
        if isinstance(answer, Numbers):
            self.hosts[step.outputs[0]] = self._short(answer, step)
            return
        if isinstance(answer, list):
            for name, each in zip(step.outputs, answer, strict=True):
                self._output(step, name, each)
            return
        if not step.outputs or step.outputs == ["_"]:
            if changes(op) or op.card.effect != "pure" or answer is not None:
                self.line(self._text_of(step, answer), op.name, step.guard)
            return
        if isinstance(answer, Span):
            self.spans[step.outputs[0]] = answer.listed
        text = self._text_of(step, answer)
        targets = ", ".join(self.name_for(name, op) for name in step.outputs)
        self.line(f"{targets} = {text}", op.name, step.guard)

    def _short(self, numbers: Numbers, step: Step) -> Numbers:
        """Numbers whose long expressions have names."""
        if isinstance(numbers.texts, tuple):
            return Numbers(tuple(self._named(text, step) for text in numbers.texts))
        return Numbers(self._named(numbers.texts, step))

    def _named(self, text: str, step: Step) -> str:
        if len(text) <= _LONG:
            return text
        name = self.names("size")
        self.line(f"{name} = {text}", guard=step.guard)
        return name

    def _layer(self, step: Step, layer: Layer) -> None:
        """Write the call of a layer; one that stands in two branches is called before them."""
        assert step.op is not None
        target = step.outputs[0]
        if layer.key in self._called:
            self.local[target] = self._called[layer.key]
            return
        self.model.layer(layer)
        text = layer.call(self)
        name = self._called[layer.key] = self.name_for(target, step.op)
        self.line(f"{name} = {text}", step.op.name, () if layer.plain else step.guard)

    def _output(self, step: Step, name: str, answer: Any) -> None:
        """Write one of several outputs that have expressions of their own."""
        assert step.op is not None
        if isinstance(answer, Numbers):
            self.hosts[name] = answer
        elif name in self.wanted:
            text = self._text_of(step, answer)
            self.line(f"{self.name_for(name, step.op)} = {text}", step.op.name, step.guard)

    def _text_of(self, step: Step, answer: Any) -> str:
        if answer is None:
            return self.call_text(step.function, step.arguments, step.keywords)
        if isinstance(answer, Call):
            return self.call_text(answer.function, answer.args, answer.kwargs)
        return str(answer)

    def _host_arithmetic(self, step: Step) -> Numbers | None:
        """Return the result of integer arithmetic on the host, constant or of this run only."""
        op = step.op
        assert op is not None
        scalar = op.card.scalar
        if scalar is None or op._outputs[0].dtype.name not in ("int32", "int64", "bool"):
            return None
        names = [self.tracer.values[tensor].name for tensor in op._inputs]
        if not any(name in self.hosts for name in names):
            return None
        arguments = [self.argument(tensor) for tensor in op._inputs]
        lengths = {len(each.numbers) for each in arguments if each.numbers is not None} - {1}
        if len(lengths) > 1 or any(a.number is None and a.numbers is None for a in arguments):
            return None
        if all(each.number is not None for each in arguments):
            return Numbers(f"({scalar.text.format(*[each.number for each in arguments])})")
        count = lengths.pop() if lengths else 1
        columns = [
            [each.number] * count if each.number is not None
            else list(each.numbers or ()) * (count if len(each.numbers or ()) == 1 else 1)
            for each in arguments
        ]  # fmt: skip
        return Numbers(tuple(f"({scalar.text.format(*row)})" for row in zip(*columns, strict=True)))

    def call_text(self, function: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> str:
        """Return a call as an expression."""
        name, args, kwargs = self._callee(function, args, kwargs)
        operator = _OPERATORS.get(name)
        if operator and len(args) == 2 and not kwargs:
            left, right = (self._operand(arg) for arg in args)
            if right == {"*": "1.0", "/": "1.0", "+": "0.0", "-": "0.0"}[operator]:
                return left
            return f"{left} {operator} {right}"
        texts = [self._written(arg) for arg in args]
        named = [f"{key}={self._written(value)}" for key, value in kwargs.items()]
        if name.startswith("torch.Tensor.") and texts:
            return (
                f"{texts[0]}.{name.removeprefix('torch.Tensor.')}({', '.join(texts[1:] + named)})"
            )
        return f"{name}({', '.join(texts + named)})"

    def _callee(
        self, function: Any, args: Sequence[Any], kwargs: dict[str, Any]
    ) -> tuple[str, Sequence[Any], dict[str, Any]]:
        """Return the name of a function, and the arguments that it is not written for."""
        functions = self.model.functions
        if isinstance(function, functools.partial) and takes_ours(
            (*function.args, *function.keywords.values())
        ):
            args = (*function.args, *args)
            kwargs = {**function.keywords, **kwargs}
            function = function.func
        function = undecorated(function)
        if not isinstance(function, FunctionType) or not takes_ours((*args, *kwargs.values())):
            return functions.expression(function), args, kwargs
        names = function.__code__.co_varnames[: function.__code__.co_argcount]
        named = dict(zip(names, args, strict=False))
        rest = {**named, **kwargs}
        bound = {name: value for name, value in rest.items() if is_bindable(value)}
        kept = {name: value for name, value in rest.items() if name not in bound}
        extra = args[len(named) :]
        if extra:
            raise UnwritableError("a function of any number of arguments")
        return functions.name_of(function, bound), (), kept

    def _operand(self, arg: Any) -> str:
        if isinstance(arg, Name):
            constant = self.tracer.constants.get(str(arg))
            if (
                id(constant) not in self.model.weights
                and isinstance(constant, torch.Tensor)
                and constant.ndim == 0
            ):
                text = literals.number_text(constant.item())
                if text is not None and constant.dtype not in (torch.bool, torch.complex64):
                    return f"({text})" if text.startswith("-") else text
        return self._written(arg)

    def _written(self, arg: Any) -> str:
        if isinstance(arg, Name):
            if isinstance(self.tracer.constants.get(str(arg)), Buffer):
                return f"{self.model.functions.name_of(Buffer)}({self.expression(str(arg))})"
            return self.expression(str(arg))
        if isinstance(arg, (Argument, Text)):
            return str(arg)
        if isinstance(arg, Tensor):
            return self.expression(self.tracer.values[arg].name)
        if isinstance(arg, torch.device):
            return "self.device"
        return self.model.functions.expression(arg)

    def _bool(self, step: Step) -> None:
        source, target = step.inputs[0], step.outputs[0]
        if self.is_outer and source in self.model.program.training:
            self.local[target] = "self.training"
            return
        if source in self.hosts:
            self.local[target] = str(self.hosts[source].texts)
            return
        name = self.name_for(target, step.op)
        self.line(f"{name} = bool({self.expression(source)})", guard=step.guard)

    def _alias(self, step: Step) -> None:
        value, index = step.outputs
        if value in self._joined or self._is_one(step):
            self._joined.add(value)
            self.local[value] = self.expression(step.inputs[0])
            return
        for name in (value, index):
            if name not in self.local:
                self.name_for(name, step.op)
        text = self.expression(step.inputs[0])
        comment = step.op.name if step.op is not None else ""
        self.line(f"{self.local[value]} = {text}", comment, step.guard)
        if index in self.model.wanted:
            made = f"torch.tensor({step.arguments[0]}, dtype=torch.int32, device=self.device)"
            self.line(f"{self.local[index]} = {made}", guard=step.guard)

    def _is_one(self, step: Step) -> bool:
        """Return True if all branches that are joined give one value, which no branch makes."""
        if not self.is_outer or step.outputs[1] in self.wanted:
            return False
        steps = self.model.program.steps
        sources = [
            s.inputs[0] for s in steps if s.kind == "alias" and s.outputs[0] == step.outputs[0]
        ]
        texts = {self.local.get(name) for name in sources}
        return len(texts) == 1 and texts <= set(self._called.values())

    def _flag(self, step: Step) -> None:
        name = step.outputs[0]
        if name not in self.local:
            self.name_for(name, step.op)
        self.line(f"{self.local[name]} = {step.arguments[0]}", guard=step.guard)

    def _number(self, step: Step) -> None:
        raise UnwritableError("a counter of a loop")

    def _read(self, step: Step) -> None:
        text, state = self.expression(step.inputs[0]), self.tracer.constants.get(step.inputs[0])
        if state is None and step.inputs[0] not in getattr(self.tracer, "parameters", ()):
            self.local[step.outputs[0]] = f"{text}.read()"  # a handle that the run chooses
        elif self.model.program.changes and getattr(state, "is_resource", False):
            self.line(f"{self.name_for(step.outputs[0], None)} = {text}.clone()", guard=step.guard)
        else:
            self.local[step.outputs[0]] = text

    def _copy(self, step: Step) -> None:
        self.local[step.outputs[0]] = self.expression(step.inputs[0])

    def _loop(self, step: Step) -> None:
        from stillflow.export.torch_loops import write_loop

        write_loop(self, step)


def _blocks(records: Sequence[Any], place: int, depth: int, name_of: Any) -> list[str]:
    """Return a block's lines; lines under one predicate become one `if` and `else`.

    Records are guard, text and comment of each line; `place` predicates are around the block,
    `depth` indents it.
    """
    lines: list[str] = []
    indent = "    " * depth
    at = 0
    while at < len(records):
        guard, text, comment = records[at]
        if len(guard) == place:
            full = f"{indent}{text}  # {comment}" if comment else f"{indent}{text}"
            if comment and len(full) > _WIDTH:
                lines.append(f"{indent}# {comment}")
                full = f"{indent}{text}"
            lines.append(full)
            at += 1
            continue
        name = guard[place][0]
        end = at
        while end < len(records) and records[end][0][place : place + 1] in (
            ((name, True),), ((name, False),),
        ):  # fmt: skip
            end += 1
        yes = [each for each in records[at:end] if each[0][place][1]]
        no = [each for each in records[at:end] if not each[0][place][1]]
        for test, part in ((f"if {name_of(name)}:" if yes else "", yes),
                           ("else:" if yes else f"if not {name_of(name)}:", no)):  # fmt: skip
            if part:
                lines.append(f"{indent}{test}")
                lines += _blocks(part, place + 1, depth + 1, name_of)
        at = end
    return lines


def _torch_type(tensor: Tensor) -> Any:
    return getattr(torch, tensor.dtype.base_dtype.torch_name or "float32")
