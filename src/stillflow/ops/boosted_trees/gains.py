"""Weights and gains of leaves, from sums of gradients and Hessians."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow.graph.arrays import Array

# A split's gain has to exceed this.
LOWEST = np.finfo(np.float32).min
# Hessians below are taken for zero.
_LEAST_HESSIAN = np.float32(1e-15)


def weights_and_gains(gradients: Any, hessians: Any, l1: Any, l2: Any) -> tuple[Any, Any]:
    """Return the best weights of leaves with one logit each, and their gains, all float32."""
    if l1 > 0:
        zero = np.abs(gradients) <= l1
        gradients = np.where(gradients > l1, gradients - l1, gradients + l1)
    else:
        zero = np.zeros(np.shape(gradients), bool)
    curvature = hessians + l2
    zero |= curvature <= _LEAST_HESSIAN
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        weights = np.where(zero, np.float32(0), -gradients / curvature)
        return weights, np.where(zero, np.float32(0), -gradients * weights)


def vectors_and_gains(gradients: Any, hessians: Any, l1: Any, l2: Any) -> tuple[Any, Any]:
    """Return weights [leaves, logits] and gains [leaves] of leaves with several logits.

    `gradients` are [leaves, logits]; `hessians` as well, or whole: [leaves, logits * logits].
    """
    width = gradients.shape[1]
    if width == 1:
        weights, gains = weights_and_gains(gradients[:, 0], hessians[:, 0], l1, l2)
        return weights[:, None], gains
    if hessians.shape[1] == width:
        curvature = hessians + l2
        with np.errstate(divide="ignore", invalid="ignore"):
            weights = -(np.float32(1) / curvature) * gradients
        for row in np.flatnonzero((curvature == 0).any(1)):
            weights[row] = _solved(np.diag(curvature[row]), gradients[row])
    else:
        full = hessians.reshape(-1, width, width) + l2 * np.eye(width, dtype=np.float32)
        weights = np.stack([_solved(*each) for each in zip(full, gradients, strict=True)])
    return weights, (-gradients * weights).sum(1)


def _solved(matrix: Any, gradient: Any) -> Array:
    """Return the weight that a Hessian and a gradient ask for.

    The shortest if there are several.
    """
    try:
        return -np.linalg.solve(matrix, gradient).astype(np.float32)
    except np.linalg.LinAlgError:
        return -np.linalg.lstsq(matrix, gradient, rcond=None)[0].astype(np.float32)


def first_best(gains: Any, tolerance: float) -> Array:
    """Return in each row the first choice whose gain is the largest, within `tolerance`.

    `gains` are [rows, choices]; -1 stands for rows of nothing but NaN and minus infinity.
    """
    best = gains.argmax(1)
    top = np.take_along_axis(gains, best[:, None], 1)
    with np.errstate(invalid="ignore"):
        near = top - gains < tolerance
    earlier = np.arange(gains.shape[1]) < best[:, None]
    unclear = (near & earlier).any(1) | ~np.isfinite(top[:, 0])
    for row in np.flatnonzero(unclear):
        best[row] = _first_best(gains[row].tolist(), tolerance)
    return best


def _first_best(gains: list[float], tolerance: float) -> int:
    """Return the same, as one gain after the other is looked at.

    None is taken that is below all.
    """
    best, top = -1, float(LOWEST)
    for index, gain in enumerate(gains):
        if gain - top >= tolerance:
            best, top = index, gain
    return best
