"""Counters of loops as Python numbers.

A call into torch costs a microsecond for any computation; `i + 1` on Python integers costs a
twentieth of that. Integer and boolean scalars that a loop only counts and compares with are kept as
Python numbers, and become tensors for operations that need them as such.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from stillflow.graph import dtypes
from stillflow.graph.dtypes import DType
from stillflow.graph.operation import Operation
from stillflow.runtime.devices.moves import HOST
from stillflow.runtime.ir.steps import Name, Step

if TYPE_CHECKING:
    from stillflow.runtime.loops.code import LoopCode

_KINDS = {dtypes.int32: "int", dtypes.int64: "int", dtypes.bool: "bool"}
_BITS = {dtypes.int32: 32, dtypes.int64: 64}

_SMALL = 1 << 12


class _Boxes(dict[int, Any]):
    """Tensors of small numbers, made once; nobody writes into them."""

    def __init__(self, dtype: torch.dtype) -> None:
        super().__init__()
        self.dtype = dtype

    def __missing__(self, number: int) -> Any:
        made = torch.scalar_tensor(number, dtype=self.dtype)
        if -_SMALL < number < _SMALL:
            self[number] = made
        return made


BOXES = {
    "int32": _Boxes(torch.int32), "int64": _Boxes(torch.int64), "bool": _Boxes(torch.bool),
}  # fmt: skip


def wrap32(number: int) -> int:
    """Return a number as 32 bits hold it."""
    return (number + (1 << 31)) % (1 << 32) - (1 << 31)


def wrap64(number: int) -> int:
    """Return a number as 64 bits hold it."""
    return (number + (1 << 63)) % (1 << 64) - (1 << 63)


GLOBALS = {"wrap32": wrap32, "wrap64": wrap64}


def keep_scalars(code: LoopCode) -> None:
    """Rewrites the parts of a loop so that its scalars are Python numbers where that pays."""
    _Scalars(code).rewrite()


class _Scalars:
    def __init__(self, code: LoopCode) -> None:
        self.code = code
        tracer = code.tracer
        self.types: dict[str, DType] = {}
        for tensor, value in tracer.values.items():
            dtype = tensor.dtype.base_dtype
            if tracer.moves is not None and tracer.moves.place(value.name) != HOST:
                continue
            if value.name[0] != "d" and dtype in _KINDS and tracer.facts.dims(tensor) == ():
                self.types[value.name] = dtype
        self.literals: dict[str, str] = {}
        for name in self.types:
            constant = tracer.constants.get(name)
            if isinstance(constant, torch.Tensor) and not constant.ndim:
                self.literals[name] = repr(constant.item())
        steady = tracer.invariant.intersection(tracer.parameters)
        self.parameters = {name for name in steady if name in self.types}
        names = tracer.current
        self.variables = {names[v]: v for v in code.variables if names[v] in self.types}
        self.numbers: set[str] = set()

    def rewrite(self) -> None:
        steps = [step for part in self.code.parts.values() for step in part]
        while not self._settled(steps):
            pass
        if not self.numbers - self.parameters:
            return
        for part, group in self.code.parts.items():
            self.code.parts[part] = [self._number_step(step) or step for step in group]
        self._unbox_parameters()
        self._box()
        self._carry()

    # ---- which names are numbers

    def _settled(self, steps: list[Step]) -> bool:
        """Find the numbers that follow from those assumed; drop variables that cannot be."""
        self.numbers = self.parameters | set(self.variables)
        for step in steps:
            if self._text(step) is not None:
                self.numbers.add(step.outputs[0])
        wrong = []
        for name, variable in self.variables.items():
            later = self.code.next[variable]
            if later is None or later.name not in self.numbers | set(self.literals):
                wrong.append(name)
        for name in wrong:
            del self.variables[name]
        return not wrong

    def _text(self, step: Step) -> str | None:
        """Return a step as Python on numbers, with places for its operands."""
        op = step.op
        if step.kind != "call" or op is None or len(step.outputs) != 1:
            return None
        names = self._operands(op)
        if step.outputs[0] not in self.types or not all(name in self.types for name in names):
            return None
        if not any(name in self.numbers for name in names):
            return None
        rule = op.card.scalar
        if rule is None:
            return None
        text, wraps, divides = rule
        if divides:  # divisors must be known, as zero is an error of its own
            return text if self.literals.get(names[1], "0") not in ("0", "-1") else None
        if not wraps:
            return text
        dtype = self.types[step.outputs[0]]
        if dtype not in _BITS:
            return None
        bits = _BITS[dtype]
        limit = 1 << (bits - 1)
        return f"w if {-limit} <= (w := {text}) < {limit} else wrap{bits}(w)"

    def _operands(self, op: Operation) -> list[str]:
        return [self.code.tracer.values[tensor].name for tensor in op._inputs]

    # ---- the new steps

    def _number_step(self, step: Step) -> Step | None:
        if step.kind == "bool" and step.inputs[0] in self.numbers - self.parameters:
            name = step.inputs[0]
            return Step("number", step.op, step.outputs, [name], step.guard, arguments=[name])
        text = self._text(step) if step.outputs and step.outputs[0] in self.numbers else None
        if text is None or step.op is None:
            return None
        operands = [self._operand(name) for name in self._operands(step.op)]
        inputs = [name for name in self._operands(step.op) if name not in self.literals]
        return Step(
            "number", step.op, step.outputs, inputs, step.guard,
            arguments=[text.format(*operands)],
        )  # fmt: skip

    def _operand(self, name: str) -> str:
        if name in self.literals:
            literal = self.literals[name]
            return f"({literal})" if literal.startswith("-") else literal
        if name in self.parameters:
            return f"{name}_n"
        return name if name in self.numbers else f"{_KINDS[self.types[name]]}({name})"

    def _unbox_parameters(self) -> None:
        numbers = [step for steps in self.code.parts.values() for step in steps]
        used = {name for step in numbers if step.kind == "number" for name in step.inputs}
        unboxed = [
            Step(
                "number", None, [f"{name}_n"], [name], (),
                arguments=[f"{_KINDS[self.types[name]]}({name})"],
            )
            for name in sorted(self.parameters & used)
        ]  # fmt: skip
        self.code.parts["before"][:0] = unboxed

    def _box(self) -> None:
        """Make tensors of numbers for the steps that want such."""
        made = self.numbers - self.parameters
        wanted: dict[str, set[str]] = {}  # name -> parts that want it as a tensor
        for part, steps in self.code.parts.items():
            for step in steps:
                for name in self._as_tensors(step, made):
                    wanted.setdefault(name, set()).add(part)
        for part, steps in self.code.parts.items():
            result: list[Step] = []
            for step in steps:
                result.append(step)
                result += [
                    self._boxing(name, step.guard) for name in step.outputs if name in wanted
                ]
            self.code.parts[part] = result
        for name in self.variables:
            parts = wanted.get(name, set())
            if "test" in parts:
                self.code.parts["test"].insert(0, self._boxing(name))
            elif "body" in parts:
                self.code.parts["body"].insert(0, self._boxing(name))
            if "end" in parts and "test" not in parts:
                self.code.parts["end"].insert(0, self._boxing(name))

    def _as_tensors(self, step: Step, made: set[str]) -> list[str]:
        """Return the numbers that a step wants as tensors; it gets their other names."""
        if step.kind in ("number", "bool"):
            return []
        wanted = []
        position = None if step.op is None else _number_place(step.op)
        for index, argument in enumerate(step.arguments):
            if isinstance(argument, Name) and argument in made and index != position:
                wanted.append(str(argument))
                step.arguments[index] = Name(f"{argument}_b")
        for key, argument in step.keywords.items():
            if isinstance(argument, Name) and argument in made:
                wanted.append(str(argument))
                step.keywords[key] = Name(f"{argument}_b")
        if step.kind in ("alias", "move") and step.inputs[0] in made:
            wanted.append(step.inputs[0])
        step.inputs = [f"{name}_b" if name in wanted else name for name in step.inputs]
        return wanted

    def _boxing(self, name: str, guard: Any = ()) -> Step:
        boxes = f"boxes_{self.types[name].name}"
        return Step("number", None, [f"{name}_b"], [name], guard, arguments=[f"{boxes}[{name}]"])

    def _carry(self) -> None:
        """Carry numbers between iterations, and return tensors at the end."""
        code, constants = self.code, self.code.tracer.constants
        for name, variable in self.variables.items():
            start = code.constants.get(variable)
            if start is not None:
                constants[start] = constants[start].item()
            else:
                code.unboxed[name] = _KINDS[self.types[name]]
            later = code.next[variable]
            if later is not None and later.name in self.literals:
                code.carried[variable] = self.literals[later.name]
        for index, name in enumerate(code.results):
            if name in self.numbers - self.parameters:
                code.parts["end"].append(self._boxing(name))
                code.results[index] = f"{name}_b"
        for value in code.tracer.values.values():
            if value.name in self.numbers:
                code.tracer.memory.borrow(value.roots)  # tensors of numbers are shared


def _number_place(op: Operation) -> int | None:
    """Return the input that an operation's kernel takes as a Python number: an array's index."""
    card = op.card
    return 1 if card.handle == "tensor array" and card.access in ("read", "write") else None
