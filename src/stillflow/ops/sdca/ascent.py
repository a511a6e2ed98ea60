"""Dual coordinate ascent: the order of examples, and a step on each of them in turn.

The native loops are used (`native/sdca.c`) where they are built; the Python functions do the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow import native
from stillflow.graph.lazy import torch
from stillflow.ops.random.philox import Philox
from stillflow.ops.random.range_samplers import Words
from stillflow.ops.sdca.examples import Problem
from stillflow.ops.sdca.losses import LARGEST, Place
from stillflow.ops.sdca.native_kernels import loops_of

_DECAY = 0.1  # how much rarer an example becomes each time that it is drawn


def train(problem: Problem, order: np.ndarray, state: np.ndarray) -> None:
    """Train on examples one after the other; change the columns' deltas and `state`.

    `order` has their numbers, int64 [n]; `state`, float32 [examples, 4], dual variable, primal and
    dual loss, and weight. InvalidArgumentError for labels that the loss does not know.
    """
    labels = problem.loss.labels(problem.labels)
    library = native.library()
    if library is not None:
        order = np.ascontiguousarray(order)
        loops = loops_of(problem, labels)
        library.ascend(loops.address, order.ctypes.data, len(order), state.ctypes.data)
        return
    with np.errstate(all="ignore"):
        for number in order.tolist():
            _train_on(problem, number, labels[number], state[number])


def _train_on(problem: Problem, number: int, label: Any, row: np.ndarray) -> None:
    loss, weight, dual = problem.loss, np.float64(problem.example_weights[number]), row[0]
    wx, before = _predict(problem, number)
    curvature = problem.partitions * weight * (problem.norms[number] / problem.l2)
    at = Place(np.float64(label), np.float64(dual), np.float64(wx), curvature)
    updated = loss.update(at)
    _move(problem, number, (updated - at.dual) * weight / problem.l2)
    lower = loss.dual(at.dual, at.label)
    row[:] = (
        updated,
        loss.primal(np.float64(before), at.label) * weight,
        lower if lower == LARGEST else lower * weight,
        weight,
    )


def _predict(problem: Problem, number: int) -> tuple[float, float]:
    """Return the prediction for an example, with and without the step's updates."""
    wx = before = 0.0
    partitions = np.float32(problem.partitions)
    for each in problem.sparse:
        part = slice(each.starts[number], each.starts[number + 1])
        values, places = each.values[part].astype(np.float64), each.places[part]
        weights = each.weights[places]
        moved = weights + each.deltas[places] * partitions
        before += float(values @ _shrunk(weights.astype(np.float64), problem.shrinkage))
        wx += float(values @ _shrunk(moved.astype(np.float64), problem.shrinkage))
    shrinkage = np.float32(problem.shrinkage)
    for column in problem.dense:
        row, moved = column.rows[number], column.weights + column.deltas * partitions
        before += float(row @ _shrunk(column.weights, shrinkage))
        wx += float(row @ _shrunk(moved, shrinkage))
    return wx, before


def _predictions(problem: Problem) -> np.ndarray:
    """Return the predictions for all examples, float64 [examples]."""
    count = len(problem.labels)
    library = native.library()
    if library is None:
        return np.array([_predict(problem, number)[0] for number in range(count)])
    result = np.empty(count)
    loops = loops_of(problem, problem.labels)  # has to live as long as the call
    library.predict_examples(loops.address, count, result.ctypes.data)
    return result


def _shrunk(weights: np.ndarray, shrinkage: Any) -> np.ndarray:
    return np.sign(weights) * np.maximum(np.abs(weights) - shrinkage, 0)


def _move(problem: Problem, number: int, step: Any) -> None:
    """Add an example's features, times a number, to the deltas."""
    for each in problem.sparse:
        part = slice(each.starts[number], each.starts[number + 1])
        places = each.places[part]
        each.deltas[places] = each.deltas[places] + each.values[part].astype(np.float64) * step
    for column in problem.dense:
        column.deltas += column.rows[number] * np.float32(step)


# ---- the order of examples


def shuffled(problem: Problem) -> np.ndarray:
    """Return all examples, in a new random order each time."""
    return torch.randperm(len(problem.labels)).numpy()


def drawn(problem: Problem, state: np.ndarray) -> np.ndarray:
    """Draw as many examples as there are, more often those far from their optimum.

    One that has been drawn is drawn ten times less often; after as many draws in vain as there
    are examples, the first example takes the places that are left, as in TensorFlow.
    """
    count = len(problem.labels)
    order = np.zeros(count, np.int64)
    if not count:
        return order
    weights, stream, library = _weights(problem, state), Philox.from_seeds(0, 0), native.library()
    position = (stream.key, stream.low, stream.high)
    if library is not None and not library.draw_examples(
        *position, weights.ctypes.data, count, _DECAY, order.ctypes.data
    ):
        return order
    thresholds, others = _alias_table(weights)
    words, chance = Words(stream), np.random.default_rng()
    times = [0] * count
    taken = vain = 0
    while taken < count and vain < count:
        draw = words.unit()
        number = words.below(count)
        picked = number if draw < thresholds[number] else int(others[number])
        if chance.random() > _DECAY ** times[picked]:
            vain += 1
            continue
        times[picked] += 1
        order[taken] = picked
        taken += 1
    return order


def _weights(problem: Problem, state: np.ndarray) -> np.ndarray:
    """Return the sampling weights of examples, float32 [examples], up to a common factor."""
    loss = problem.loss
    with np.errstate(all="ignore"):
        wx = _predictions(problem)
        labels = problem.loss.labels(problem.labels).astype(np.float64)
        far = np.abs(state[: len(labels), 0] + loss.slope(wx, labels))
        spread = np.sqrt(problem.norms + problem.l2 * loss.smoothness)
        return (problem.example_weights * spread * far).astype(np.float32)


def _alias_table(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Walker's alias method: a number drawn evenly stands for itself or for another one.

    Returns below which draw it is itself, float32 [n] as `weights`, and the other, int64 [n].
    """
    count = len(weights)
    with np.errstate(all="ignore"):
        total = np.cumsum(weights, dtype=np.float64)[-1]
        shares = (weights * np.float32(count) / total).tolist()
    others = np.arange(count)
    low = [number for number, share in enumerate(shares) if share < 1]
    high = [number for number, share in enumerate(shares) if not share < 1]
    while high and low:
        short, long = low.pop(), high.pop()
        others[short] = long
        shares[long] -= 1 - shares[short]
        (low if shares[long] < 1 else high).append(long)
    thresholds = np.array(shares, np.float32)
    thresholds[high + low] = 1
    others[high + low] = high + low
    return thresholds, others
