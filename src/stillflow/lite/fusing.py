"""Fewer operators that compute the same: each pattern is a rewriting of one step of a draft."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from stillflow.lite import simplifying
from stillflow.lite.draft import Draft, Step
from stillflow.lite.draft_view import View
from stillflow.lite.model_tensors import Array
from stillflow.lite.schema import ACTIVATIONS, PADDINGS

# Operators that multiply by weights and add a bias, and the dimension of the weights' channels.
_AFFINE = {"CONV_2D": 0, "DEPTHWISE_CONV_2D": 3, "FULLY_CONNECTED": 0}
_CLAMPS = frozenset({"RELU", "RELU6", "RELU_N1_TO_1"})
_CAN_END_WITH_CLAMP = frozenset({
    *_AFFINE, "ADD", "SUB", "MUL", "DIV", "AVERAGE_POOL_2D", "MAX_POOL_2D", "L2_NORMALIZATION",
})  # fmt: skip
# Operators that only move values.
_MOVES = frozenset({"DEPTH_TO_SPACE", "RESHAPE", "SPACE_TO_DEPTH", "SQUEEZE", "TRANSPOSE"})
_LEAST_NORM = 1e-6  # the largest epsilon with which TensorFlow Lite fuses a normalization


def fuse(draft: Draft) -> None:
    """Fuse steps until no pattern matches."""
    while any(_once(draft, pattern) for pattern in _PATTERNS):
        draft.drop_unused()


def _once(draft: Draft, pattern: Callable[[View, Step], bool]) -> bool:
    view = View(draft)
    return any(pattern(view, step) for step in list(draft.steps))


def _clamp(view: View, step: Step) -> bool:
    """Return an activation function becomes the end of the operator before it."""
    if step.kind not in _CLAMPS:
        return False
    last = view.before(step.inputs[0], *_CAN_END_WITH_CLAMP, *_MOVES)
    before: Step | None = last
    while before is not None and before.kind in _MOVES:
        before = view.before(before.inputs[0], *_CAN_END_WITH_CLAMP, *_MOVES)
    if last is None or before is None or before.options.get("activation"):
        return False
    before.options["activation"] = ACTIVATIONS.index(step.kind)
    return view.take_over(last, step)


def _before_reshape(view: View, step: Step) -> bool:
    """Return a sum or product by channel goes before a change of shape, to the weights."""
    if step.kind not in ("ADD", "SUB", "MUL", "DIV") or step.options.get("activation"):
        return False
    position = 0 if view.value(step.inputs[0]) is None else 1
    reshape, operand = view.before(step.inputs[position], "RESHAPE"), step.inputs[1 - position]
    affine = reshape and view.before(reshape.inputs[0], *_AFFINE)
    value, result = view.value(operand), step.outputs[0]
    if not reshape or not affine or value is None or affine.options.get("activation"):
        return False
    shape, old = view.draft.shape(reshape.outputs[0]), view.draft.shape(reshape.inputs[0])
    if view.draft.shape(result) != shape or not shape or shape[-1] != old[-1]:
        return False
    if value.ndim > 1 or value.size not in (1, old[-1]):
        return False
    middle = view.draft.free_name(f"{result}_by_channel")
    view.draft.declare(middle, old, view.draft.dtypes[result])
    step.inputs[position], step.outputs = reshape.inputs[0], [middle]
    reshape.inputs[0], reshape.outputs = middle, [result]
    steps = view.draft.steps
    one, other = steps.index(reshape), steps.index(step)
    steps[one], steps[other] = step, reshape
    return True


def _affine(view: View, step: Step) -> bool:
    """Fold sums and products with constants into weights and bias."""
    if step.kind not in ("ADD", "SUB", "MUL", "DIV") or step.options.get("activation"):
        return False
    position = 1 if view.value(step.inputs[1]) is not None else 0
    if position == 0 and step.kind in ("SUB", "DIV"):
        return False
    before = view.before(step.inputs[1 - position], *_AFFINE)
    operand = view.value(step.inputs[position])
    if before is None or operand is None or before.options.get("activation"):
        return False
    weights, bias = (view.value(name) for name in before.inputs[1:3])
    if bias is None or (weights is None and step.kind in ("MUL", "DIV")):
        return False
    channels = bias.shape[0]
    if operand.size not in (1, channels) or (operand.size > 1 and operand.shape[-1] != channels):
        return False
    if operand.ndim > len(view.draft.shape(step.outputs[0])):
        return False
    vector = np.broadcast_to(operand.reshape(-1), (channels,))
    if step.kind in ("ADD", "SUB"):
        _set(view, before, 2, bias + vector if step.kind == "ADD" else bias - vector)
    elif weights is not None:
        factor = vector if step.kind == "MUL" else 1 / vector
        shape = [1] * weights.ndim
        shape[_AFFINE[before.kind]] = channels
        _set(view, before, 1, weights * factor.reshape(shape))
        _set(view, before, 2, bias * factor)
    return view.take_over(before, step)


def _set(view: View, step: Step, index: int, value: Array) -> None:
    """Replace a step's constant, under the old name if nobody else reads it."""
    name, dtype = step.inputs[index], view.draft.constants[step.inputs[index]].dtype
    if view.uses[name] == 1:
        view.draft.constants[name] = value.astype(dtype)
    else:
        step.inputs[index] = view.draft.constant(name, value.astype(dtype))


def _flattened(view: View, step: Step) -> bool:
    """Return a matrix product takes rows from any shape: none has to be made for it."""
    if step.kind != "FULLY_CONNECTED":
        return False
    before = view.before(step.inputs[0], "RESHAPE")
    weights = view.draft.shape(step.inputs[1])
    if before is None or view.draft.shape(step.inputs[0])[-1] != weights[1]:
        return False
    step.inputs[0] = before.inputs[0]
    view.replace(step, before)
    return True


def _same_shape(view: View, step: Step) -> bool:
    """Return a change to the shape that is there already changes nothing."""
    if step.kind != "RESHAPE" or not view.same_shape(step.inputs[0], step.outputs[0]):
        return False
    return view.pass_on(step, step.inputs[0])


def _dilated(view: View, step: Step) -> bool:
    """Make a convolution between SpaceToBatch and BatchToSpace a dilated one."""
    if step.kind != "BATCH_TO_SPACE_ND":
        return False
    convolution = view.before(step.inputs[0], "CONV_2D", "DEPTHWISE_CONV_2D")
    if convolution is None or PADDINGS[convolution.options["padding"]] != "VALID":
        return False
    split = view.before(convolution.inputs[0], "SPACE_TO_BATCH_ND")
    options = convolution.options
    if split is None or options["stride_h"] != 1 or options["stride_w"] != 1:
        return False
    rates, pads = view.value(split.inputs[1]), view.value(split.inputs[2])
    again, crops = view.value(step.inputs[1]), view.value(step.inputs[2])
    weights = view.value(convolution.inputs[1])
    if rates is None or pads is None or again is None or crops is None or weights is None:
        return False
    if rates.shape != (2,) or not np.array_equal(rates, again):
        return False
    reach = (np.array(weights.shape[1:3]) - 1) * rates
    given = np.array(view.draft.shape(split.inputs[0])[1:3])
    made = np.array(view.draft.shape(step.outputs[0])[1:3])
    if np.array_equal(pads[:, 0], reach // 2) and np.array_equal(given, made):
        options["padding"] = PADDINGS.index("SAME")
    elif pads[:, 0].any() or not np.array_equal(given - reach, made):
        return False
    if crops[:, 0].any():
        return False
    options["dilation_h"], options["dilation_w"] = (int(rate) for rate in rates)
    convolution.version = 2 if convolution.kind == "DEPTHWISE_CONV_2D" else convolution.version
    convolution.inputs[0] = split.inputs[0]
    view.replace(convolution, split)
    return view.take_over(convolution, step)


def _chain(view: View, name: str, *kinds: str) -> list[Step]:
    """Return the steps of these kinds that end in a tensor, the last one first, or none."""
    steps = []
    for kind in kinds:
        step = view.before(name, kind)
        if step is None:
            return []
        steps.append(step)
        name = step.inputs[0]
    return steps


def _unit_length(view: View, step: Step) -> bool:
    """Return a value times the root of one over the sum of its squares is a normalization."""
    if step.kind != "MUL":
        return False
    for x, factor in (step.inputs, step.inputs[::-1]):
        steps = _chain(view, factor, "RSQRT", "MAXIMUM", "SUM", "SQUARE")
        if not steps or steps[-1].inputs[0] != x:
            continue
        _, bounded, total, _ = steps
        least, axes = view.value(bounded.inputs[1]), view.value(total.inputs[1])
        last = len(view.draft.shape(x)) - 1
        if (
            least is None
            or least.size != 1
            or least > _LEAST_NORM
            or axes is None
            or [axis % (last + 1) for axis in axes.ravel()] != [last]
            or not total.options["keep_dims"]
        ):
            continue
        step.kind, step.inputs, step.options_kind = "L2_NORMALIZATION", [x], "L2Norm"
        view.replace(step, *steps)
        return True
    return False


_PATTERNS = (
    _dilated, *simplifying.PATTERNS, _before_reshape, _affine, _clamp, _flattened, _same_shape,
    _unit_length,
)  # fmt: skip
