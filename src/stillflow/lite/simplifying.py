"""Fewer operators by arithmetic: sums and products with constants, bounds, trivial moves."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stillflow.lite.draft import Step
from stillflow.lite.draft_view import View
from stillflow.lite.model_tensors import Array
from stillflow.lite.schema import ACTIVATIONS

# Operations of reals that change nothing: the constant, and its places among the operands.
_NEUTRAL = {"ADD": (0, (0, 1)), "SUB": (0, (1,)), "MUL": (1, (0, 1)), "DIV": (1, (1,))}


def _neutral(view: View, step: Step) -> bool:
    """Return a sum with zeros, or a product with ones, is a copy."""
    if step.kind not in _NEUTRAL or step.options.get("activation"):
        return False
    number, places = _NEUTRAL[step.kind]
    for place in places:
        operand, source = view.value(step.inputs[place]), step.inputs[1 - place]
        if operand is None or operand.dtype != np.float32 or not np.all(operand == number):
            continue
        if view.same_shape(source, step.outputs[0]):
            return view.pass_on(step, source) or view.copy(step, source)
    return False


def _transposed_in_place(view: View, step: Step) -> bool:
    """Return a transposition that moves only dimensions of size 1 is a change of shape."""
    if step.kind != "TRANSPOSE" or step.inputs[0] in view.draft.unshaped:
        return False
    order, shape = view.value(step.inputs[1]), view.draft.shape(step.inputs[0])
    if order is None:
        return False
    moved = [axis for axis in order if shape[axis] != 1]
    return moved == sorted(moved) and view.copy(step, step.inputs[0])


def _reshaped_twice(view: View, step: Step) -> bool:
    """Return the last of several changes of shape is enough."""
    before = view.before(step.inputs[0], "RESHAPE") if step.kind == "RESHAPE" else None
    if before is None:
        return False
    step.inputs[0] = before.inputs[0]
    view.replace(step, before)
    return True


def _repeated(view: View, step: Step) -> bool:
    """Return a tensor repeated along one dimension is a concatenation."""
    if step.kind != "TILE":
        return False
    counts = view.value(step.inputs[1])
    if counts is not None and np.all(counts == 1):
        return view.pass_on(step, step.inputs[0]) or view.copy(step, step.inputs[0])
    if counts is None or np.count_nonzero(counts != 1) != 1 or counts.min() < 1:
        return False
    axis = int(np.argmax(counts != 1))
    step.kind, step.options_kind = "CONCATENATION", "Concatenation"
    step.inputs = step.inputs[:1] * int(counts[axis])
    step.options = {"axis": axis}
    return True


def _clipped(view: View, step: Step) -> bool:
    """Bounds of -1 and 1, in either order, are an activation function."""
    if step.kind not in ("MAXIMUM", "MINIMUM"):
        return False
    inner_kind = "MINIMUM" if step.kind == "MAXIMUM" else "MAXIMUM"
    outer = _with_number(view, step, -1 if step.kind == "MAXIMUM" else 1)
    inner = view.before(outer, inner_kind) if outer else None
    if inner is None:
        return False
    source = _with_number(view, inner, 1 if step.kind == "MAXIMUM" else -1)
    if not source:
        return False
    step.kind, step.inputs = "RELU_N1_TO_1", [source]
    view.replace(step, inner)
    return True


def _with_number(view: View, step: Step, number: float) -> str:
    """Return the operand next to a constant that is this number, "" if there is none."""
    for place in (0, 1):
        value = view.value(step.inputs[place])
        if value is None or value.size != 1 or value.dtype != np.float32:
            continue
        if np.isclose(value.item(), number, rtol=1e-6, atol=0):
            return step.inputs[1 - place]
    return ""


def _reciprocal(view: View, step: Step) -> bool:
    """Return a division of reals by a constant is a product."""
    if step.kind != "DIV" or view.value(step.inputs[0]) is not None:
        return False
    divisor = view.value(step.inputs[1])
    if divisor is None or divisor.dtype != np.float32 or not np.all(divisor):
        return False
    name = view.draft.constant(f"{step.outputs[0]}/recip", np.float32(1) / divisor)
    step.kind, step.options_kind, step.inputs[1] = "MUL", "Mul", name
    return True


def _product_with_zeros(view: View, step: Step) -> bool:
    """Return a product with zeros, unless it is asked for, is a constant."""
    result = step.outputs[0]
    if step.kind != "MUL" or result in {*view.draft.outputs, *view.draft.unshaped}:
        return False
    for name in step.inputs:
        value = view.value(name)
        if value is not None and value.dtype == np.float32 and not np.any(value):
            shape = view.draft.shapes.pop(result)
            view.draft.constants[result] = np.zeros(shape, np.float32)
            view.replace(step, step)
            return True
    return False


def _operand(view: View, step: Step) -> tuple[int, Array] | None:
    """Return place and value of a sum's or product's constant operand of reals."""
    values = [view.value(name) for name in step.inputs]
    if step.options.get("activation") or (values[0] is None) == (values[1] is None):
        return None
    place = 0 if values[0] is not None else 1
    value = values[place]
    if step.inputs[place] in view.draft.drawn:
        return None
    return (place, value) if value is not None and value.dtype == np.float32 else None


def _constant_product(view: View, step: Step) -> bool:
    """Return a product with one constant, then another, is one product."""
    outer = _operand(view, step) if step.kind == "MUL" else None
    before = outer and view.before(step.inputs[1 - outer[0]], "MUL")
    inner = before and _operand(view, before)
    if not outer or not before or not inner:
        return False
    name = view.draft.constant(step.outputs[0], inner[1] * outer[1])
    step.inputs = [before.inputs[1 - inner[0]], name]
    view.replace(step, before)
    return True


def _constant_sum(view: View, step: Step) -> bool:
    """Return a sum or difference with one constant, then another, is one sum or difference."""
    outer = _operand(view, step) if step.kind in ("ADD", "SUB") else None
    before = outer and view.before(step.inputs[1 - outer[0]], "ADD", "SUB")
    inner = before and _operand(view, before)
    if not outer or not before or not inner:
        return False
    (sign, constant), (inner_sign, inner_constant) = (
        _signed(step.kind, *outer), _signed(before.kind, *inner)
    )  # fmt: skip
    total, x = constant + sign * inner_constant, before.inputs[1 - inner[0]]
    if step.kind == before.kind == "SUB" and outer[0] == inner[0] == 1:
        step.inputs = [x, view.draft.constant(step.outputs[0], -total)]
        view.replace(step, before)
        return True
    name = view.draft.constant(step.outputs[0], total)
    is_sum = sign * inner_sign > 0
    step.kind, step.options_kind = ("ADD", "Add") if is_sum else ("SUB", "Sub")
    step.inputs = [x, name] if is_sum else [name, x]
    view.replace(step, before)
    return True


def _signed(kind: str, place: int, constant: Array) -> tuple[np.float32, Array]:
    """Return the sign of the tensor in a sum or difference, and its constant as a summand."""
    if kind == "ADD":
        return np.float32(1), constant
    return (np.float32(-1), constant) if place == 0 else (np.float32(1), -constant)


def _hard_swish(view: View, step: Step) -> bool:
    """Replace x * relu6(x + 3) / 6 by its own operator."""
    if step.kind != "MUL" or step.options.get("activation"):
        return False
    for inner_place in (0, 1):
        inner = view.before(step.inputs[inner_place], "MUL")
        if inner is None or inner.options.get("activation"):
            continue
        factors = [step.inputs[1 - inner_place], *inner.inputs]
        for x, bounded, sixth in _orders(factors):
            value = view.value(sixth)
            if value is None or value.size != 1 or not np.isclose(value.item(), 1 / 6, 1e-6, 0):
                continue
            gone = _bounded(view, x, bounded)
            if gone:
                step.kind, step.options_kind, step.options = "HARD_SWISH", "", {}
                step.inputs = [x]
                view.replace(step, inner, *gone)
                return True
    return False


def _orders(factors: list[str]) -> Iterator[tuple[str, str, str]]:
    for i in range(3):
        for j in range(3):
            if i != j:
                yield factors[i], factors[j], factors[3 - i - j]


def _bounded(view: View, x: str, name: str) -> list[Step]:
    """Return the steps that compute relu6(x + 3), none if a tensor is something else."""
    relu = view.before(name, "RELU6")
    total = view.before(relu.inputs[0] if relu else name, "ADD")
    if total is None or _with_number(view, total, 3) != x:
        return []
    activation = ACTIVATIONS[total.options.get("activation", 0)]
    if activation != ("NONE" if relu else "RELU6"):
        return []
    return [relu, total] if relu else [total]


def _parametric_rectifier(view: View, step: Step) -> bool:
    """relu(x) - alpha * relu(-x) is an operator of its own, as Keras writes it."""
    if step.kind != "ADD" or step.options.get("activation"):
        return False
    for positive, scaled in (step.inputs, step.inputs[::-1]):
        relu, product = view.before(positive, "RELU"), view.before(scaled, "MUL")
        factor = product and _operand(view, product)
        if not relu or not product or not factor:
            continue
        below = view.before(product.inputs[1 - factor[0]], "RELU")
        negative = below and view.before(below.inputs[0], "NEG")
        x = relu.inputs[0]
        if not below or not negative or negative.inputs[0] != x:
            continue
        if not view.same_shape(x, step.outputs[0]):
            continue
        alpha = view.draft.constant(f"{step.outputs[0]}/alpha", -factor[1])
        step.kind, step.options_kind, step.options = "PRELU", "", {}
        step.inputs = [x, alpha]
        view.replace(step, relu, product, below, negative)
        return True
    return False


PATTERNS = (
    _hard_swish, _parametric_rectifier, _reciprocal, _neutral, _product_with_zeros,
    _constant_product, _constant_sum, _transposed_in_place, _reshaped_twice, _repeated, _clipped,
)  # fmt: skip
