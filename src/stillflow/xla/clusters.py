"""Contexts whose operations become one program, and its outputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from stillflow import nest
from stillflow.graph.api import control_dependencies, device
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.operation import Operation, Tensor
from stillflow.ops.control_flow.contexts import XLAControlFlowContext, in_context
from stillflow.ops.control_flow.identity_and_group import identity, no_op
from stillflow.platform import tf_logging as logging
from stillflow.protos import AttrValue

# Operations that fail in a program of its own: it has no feeds, and no outputs midway.
_FED = frozenset(("Placeholder",))
_UNSUPPORTED = frozenset((
    "AudioSummary", "AudioSummaryV2", "HistogramSummary", "ImageSummary", "MergeSummary", "Print",
    "ScalarSummary", "TensorSummary", "TensorSummaryV2",
))  # fmt: skip
_MOST_LINES = 5


class ClusterContext(XLAControlFlowContext):
    """Context without control edges from outside to the operations inside, which it marks.

    Args:
      name: what marks them.
      pivot: control dependency of operations without inputs.

    Attributes:
      attribute: which attribute has the name.
      where: how messages call the device and its computations.
    """

    attribute = ""
    where = ("", "")

    def __init__(self, name: str, pivot: Operation) -> None:
        super().__init__()
        self._name = name
        self._pivot = pivot
        self._unsupported: list[Operation] = []

    def _nested(self, op: Operation) -> str:
        """Return the message for a computation inside of another."""
        raise NotImplementedError

    def _mark(self, op: Operation) -> None:
        """Add attributes to an operation."""
        op._set_attr(self.attribute, AttrValue(s=self._name.encode()))

    def AddOp(self, op: Operation) -> None:
        device_name, computations = self.where
        if op.type in _FED:
            logging.error(
                f"Operation of type {op.type} ({op.name}) is not supported {device_name}. "
                "Execution will fail if this op is used in the graph. "
            )
        if op.type in _UNSUPPORTED:
            self._unsupported.append(op)
        if any(tensor.dtype._is_ref_dtype for tensor in op.inputs):
            raise NotImplementedError(
                f"Non-resource Variables are not supported inside {computations} (operator name: "
                f"{op.name})"
            )
        if self.attribute in op.node_def.attr:
            raise ValueError(self._nested(op))
        self._mark(op)
        self._keep_inside(op)
        names = [tensor.name for tensor in op.outputs]
        context: Any = self
        while context is not None:
            context._values.update(names)
            context = context._outer_context
        if self._outer_context is not None:
            self._outer_context.AddInnerOp(op)

    def AddInnerOp(self, op: Operation) -> None:
        self.AddOp(op)
        if self._outer_context is not None:
            self._outer_context.AddInnerOp(op)

    def AddValue(self, val: Tensor) -> Tensor:
        """Return the stand-in of a tensor in here, as the contexts outside have it."""
        if val.name in self._values:
            return self._external_values.get(val.name, val)
        result = val
        self._values.add(val.name)
        if self._outer_context is not None:
            result = self._outer_context.AddValue(val)
            self._values.add(result.name)
        self._external_values[val.name] = result
        return result

    @property
    def back_prop(self) -> bool:
        loop = self.GetWhileContext()
        return loop is not None and bool(loop.back_prop)

    def _keep_inside(self, op: Operation) -> None:
        inner = [control for control in op.control_inputs if in_context(control, self)]
        outer = [control for control in op.control_inputs if not in_context(control, self)]
        if outer:
            op._remove_all_control_inputs()
            op._add_control_inputs(inner)
        if not op.inputs and not inner:
            op._add_control_inputs([self._pivot])
        for index, tensor in enumerate(op.inputs):
            real = self.AddValue(tensor)
            if real is not tensor:
                op._update_input(index, real)
        if outer:
            with control_dependencies(None):
                self.Enter()
                outer = [identity(one.outputs[0]).op for one in outer if one.outputs]
                self.Exit()
            op._add_control_inputs(outer)

    def report_unsupported_operations(self) -> None:
        """Log the operations that will fail."""
        if not self._unsupported:
            return
        lines = [f"  {op.type} ({op.name})" for op in self._unsupported[:_MOST_LINES]]
        logging.warning(
            "%d unsupported operations found: \n%s", len(self._unsupported), "\n".join(lines)
        )
        if len(self._unsupported) > _MOST_LINES:
            logging.warning(f"... and {len(self._unsupported) - _MOST_LINES} more")


# ---- outputs


def is_flat(outputs: Any) -> bool:
    """Return True if a computation returned one value, or a list of them."""
    if isinstance(outputs, dict):
        return False
    parts = outputs if isinstance(outputs, Sequence) else ()
    return not any(isinstance(part, (Sequence, dict)) for part in parts)


@dataclass(frozen=True)
class Leaving:
    """Return of values from a kind of computation.

    Attributes:
      no_tensors, no_tensors_inside: what is said of what is no tensor, in lists and in structures.
      order: what is said of operations before tensors.
      operation: what is said of an operation in a structure, before its name.
      core: where what leaves is, if it does not say so.
      mark: an attribute of what leaves; none if empty.
    """

    no_tensors: str
    no_tensors_inside: str
    order: str
    operation: str
    core: str = ""
    mark: str = ""

    def flat(self, outputs: Any) -> tuple[list[Tensor], list[Operation]]:
        """Return the tensors of a list, and the operations after them."""
        outputs = () if outputs is None else outputs
        outputs = list(outputs) if isinstance(outputs, Sequence) else [outputs]
        outputs.append(no_op())
        with device(self.core):
            converted = [_output(value, self.no_tensors) for value in outputs]
        tensors = [value for value in converted if not isinstance(value, Operation)]
        operations = [value for value in converted if isinstance(value, Operation)]
        kinds = [isinstance(value, Operation) for value in converted]
        if kinds != sorted(kinds):
            raise ValueError(self.order)
        return [self._copied(tensor, tensor.device or self.core) for tensor in tensors], operations

    def structure(self, outputs: Any) -> list[Tensor]:
        """Return the tensors of a nested structure."""
        tensors = []
        for value in nest.flatten(outputs):
            if isinstance(value, Operation):
                raise ValueError(f'{self.operation} Operation found: "{value.name}"')
            tensor = _output(value, self.no_tensors_inside)
            copied = self._copied(tensor, self.core or tensor.device)  # type: ignore[arg-type]
            if self.core:
                with device(self.core):
                    copied = identity(copied)
            tensors.append(copied)
        return tensors

    def _copied(self, tensor: Tensor, place: str) -> Tensor:
        with device(place):
            result = identity(tensor)
        if self.mark:
            result.op._set_attr(self.mark, AttrValue(b=True))
        return result


def _output(value: Any, refusal: str) -> Tensor | Operation:
    if isinstance(value, Operation):
        return value
    try:
        return convert_to_tensor(value)
    except Exception as error:
        raise ValueError(refusal.format(error)) from error
