"""Weights in fewer bits: as integers that stand for reals, or as halves."""

from __future__ import annotations

import numpy as np

from stillflow.lite.draft import Draft, Step
from stillflow.lite.model_tensors import Array, Quantization, whole

# Operators whose weights can be integers, and which input these are.
_WEIGHTS = {
    "CONV_2D": 1,
    "DEPTHWISE_CONV_2D": 1,
    "EMBEDDING_LOOKUP": 1,
    "FULLY_CONNECTED": 1,
    "GATHER": 0,
}
# Operators that compute with integer weights, and the version of those that do.
_HYBRID_VERSIONS = {"CONV_2D": 2, "FULLY_CONNECTED": 3}
_PASSING = frozenset({"EMBEDDING_LOOKUP", "GATHER"})
_LEAST_SIZE = 1024  # smaller weights are not worth it
_LARGEST = 127


def quantize_weights(draft: Draft) -> None:
    """Store large weights as integers of 8 bits; operators that cannot use these get reals."""
    for step in list(draft.steps):
        index = _WEIGHTS.get(step.kind)
        if index is None:
            continue
        name = step.inputs[index]
        weights = draft.constants.get(name)
        if weights is None or weights.dtype != np.float32 or weights.size < _LEAST_SIZE:
            continue
        draft.constants[name], draft.quantizations[name] = symmetric(weights)
        _serve_readers(draft, name)


def symmetric(values: Array, axis: int | None = None) -> tuple[Array, Quantization]:
    """Return float32 as integers up to 127 on both sides of zero.

    Indices of the dimension `axis` have a scale each; None for one scale of all.
    """
    others = tuple(i for i in range(values.ndim) if i != axis)
    largest = np.abs(values).max(others if axis is not None else None, keepdims=True)
    is_zero = largest == 0
    scales = np.where(is_zero, 0 if axis is not None else 1, largest / np.float32(_LARGEST))
    inverses = np.where(is_zero, 0, np.float32(_LARGEST) / np.where(is_zero, 1, largest))
    steps = whole(values * inverses.astype(np.float32))
    integers = np.clip(steps, -_LARGEST, _LARGEST).astype(np.int8)
    return integers, Quantization(scales.reshape(-1).astype(np.float32), 0, axis or 0)


def _serve_readers(draft: Draft, name: str) -> None:
    readers = [step for step in draft.steps if name in step.inputs]
    if len(readers) == 1 and readers[0].kind in _PASSING:  # it picks integers as well as reals
        passed = readers[0].outputs[0]
        draft.dtypes[passed] = np.dtype(np.int8)
        draft.quantizations[passed] = draft.quantizations[name]
        name, readers = passed, [step for step in draft.steps if passed in step.inputs]
    widened = []
    for step in readers:
        if step.kind in _HYBRID_VERSIONS and step.inputs.index(name) == _WEIGHTS[step.kind]:
            step.version = _HYBRID_VERSIONS[step.kind]
        else:
            widened.append(step)
    if widened or name in draft.outputs:
        _widen(draft, name, widened)


def store_halves(draft: Draft) -> None:
    """Store all real constants as halves, which are widened where they are read."""
    for name in sorted({name for step in draft.steps for name in step.inputs}):
        value = draft.constants.get(name)
        if value is not None and value.dtype == np.float32:
            draft.constants[name] = value.astype(np.float16)
            _widen(draft, name, [step for step in draft.steps if name in step.inputs])


def _widen(draft: Draft, name: str, readers: list[Step]) -> None:
    """Put a step before the first reader that makes reals of a tensor."""
    reals = draft.declare(draft.free_name(f"{name}_dequantize"), draft.shape(name), np.float32)
    for step in readers:
        step.inputs = [reals if source == name else source for source in step.inputs]
    draft.outputs = [reals if source == name else source for source in draft.outputs]
    first = min((draft.steps.index(step) for step in readers), default=len(draft.steps))
    draft.steps.insert(first, Step("DEQUANTIZE", [name], [reals], version=2))
