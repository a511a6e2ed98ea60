"""Beam search over the labels of connectionist temporal classification.

A beam that is dropped in a step is forgotten, and TensorFlow's treatment of it is visible in the
result: if its parent comes later in the same step and does not restore it, it is skipped itself.
Equally likely beams go in the order that C++'s heap gives them, which is that of `heapq` as long as
beams compare by nothing but their likelihood.
"""

from __future__ import annotations

from bisect import bisect_right
from heapq import heapify, heappop, heapreplace
from math import exp, inf, log1p

import numpy as np

# How much less likely than the last beam a label may look before it is not tried: rounding.
_SLACK = 1e-6


class _Beam:
    """A sequence of labels, and the logarithms of its probabilities now and a step before."""

    __slots__ = (
        "blank", "children", "kin", "label", "labelled", "old_blank", "old_total", "parent",
        "total",
    )  # fmt: skip

    def __init__(self, parent: _Beam | None, label: int) -> None:
        self.parent, self.label = parent, label
        self.children: dict[int, _Beam] = {}
        self.kin: list[int] = []  # labels of the children that were kept in the last step
        self.old_total = self.old_blank = -inf
        self.forget()

    def forget(self) -> None:
        self.total = self.blank = self.labelled = -inf

    def labels(self, merge_repeated: bool) -> list[int]:
        found: list[int] = []
        beam, previous = self, -1
        while beam.parent is not None:
            if not merge_repeated or beam.label != previous:
                found.append(beam.label)
            beam, previous = beam.parent, beam.label
        return found[::-1]


class _Leaf(float):
    """A kept beam; the number is the logarithm of its probability.

    `beam` is None for a new one, which adds `label` to `parent`.
    """

    __slots__ = ("beam", "label", "parent")
    beam: _Beam | None
    parent: _Beam
    label: int

    def taken(self) -> _Beam:
        """Return the beam; a new one is made now that it stays."""
        beam = self.beam
        if beam is None:
            beam = self.parent.children.get(self.label)
            if beam is None:
                beam = self.parent.children[self.label] = _Beam(self.parent, self.label)
            beam.total = beam.labelled = float(self)
            beam.blank = -inf
        return beam


def _leaf(beam: _Beam) -> _Leaf:
    leaf = _Leaf(beam.total)
    leaf.beam = beam
    return leaf


class _Best:
    """The most likely beams: a list of up to `width` beams, a heap after one more."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.clear()

    def clear(self) -> None:
        self.leaves: list[_Leaf] = []
        self.is_heap = self.least_first = False

    def limit(self) -> float:
        """Return the probability that a new beam must exceed.

        The least likely beam is then first.
        """
        leaves = self.leaves
        if len(leaves) < self.width:
            return -inf
        if not (self.is_heap or self.least_first):
            place = leaves.index(min(leaves))
            leaves[0], leaves[place] = leaves[place], leaves[0]
            self.least_first = True
        return leaves[0]

    def push(self, leaf: _Leaf) -> None:
        leaves = self.leaves
        if self.is_heap:
            if leaf > leaves[0]:
                heapreplace(leaves, leaf)
            return
        leaves.append(leaf)
        if self.least_first and not leaf > leaves[0]:
            leaves[0], leaves[-1] = leaves[-1], leaves[0]
        if len(leaves) > self.width:
            heapify(leaves)
            heappop(leaves)
            self.is_heap = True

    def join(self, leaf: _Leaf) -> float:
        """Put a beam above the limit in, for the last one if need be: the new limit."""
        leaves = self.leaves
        if self.is_heap:
            gone = heapreplace(leaves, leaf).beam
            if gone is not None:
                gone.forget()
            return leaves[0]
        if len(leaves) == self.width:
            gone = leaves[0].beam
            leaves[0] = _Leaf(-inf)
            if gone is not None:
                gone.forget()
        self.push(leaf)
        return self.limit()

    def take(self) -> list[_Beam]:
        """Remove and return all, most likely first."""
        leaves = self.leaves
        if self.is_heap:
            ordered = [heappop(leaves) for _ in range(len(leaves))][::-1]
        else:
            ordered = sorted(leaves, reverse=True)
        self.clear()
        return [leaf.taken() for leaf in ordered]


class _Labels:
    """The logarithms of the labels' probabilities in one step: `log_probs` with the blank last.

    `unlikely` has minus those of `order`, the labels without the blank, most likely first.
    """

    __slots__ = ("log_probs", "order", "unlikely")

    def __init__(self, log_probs: list[float], order: list[int]) -> None:
        self.log_probs, self.order = log_probs, order
        self.unlikely = [-log_probs[label] for label in order]

    def above(self, log_prob: float) -> list[int]:
        """Labels that are at least so likely, in the order of their numbers."""
        return sorted(self.order[: bisect_right(self.unlikely, _SLACK - log_prob)])


def _steps(logits: np.ndarray) -> list[_Labels]:
    x = logits.astype(np.float64)
    x -= x.max(axis=1, keepdims=True)
    x -= np.log(np.exp(x).sum(axis=1, keepdims=True))
    order = np.argsort(-x[:, :-1], axis=1, kind="stable")
    return [_Labels(*pair) for pair in zip(x.tolist(), order.tolist(), strict=True)]


def search(
    logits: np.ndarray, beam_width: int, top_paths: int, merge_repeated: bool
) -> tuple[list[list[int]], list[float]]:
    """Return the most likely labels of a sequence, and the logarithms of their probabilities.

    The last class of `logits` [time, classes] is the blank; repeated labels come out once if
    `merge_repeated`. ValueError if there are fewer than `top_paths`.
    """
    root = _Beam(None, -1)
    root.total = root.blank = 0.0
    best = _Best(beam_width)
    best.push(_leaf(root))
    for labels in _steps(logits) if len(logits) else ():
        beams = best.take()
        _prolong(beams, labels.log_probs, best)
        for beam in beams:
            if beam.old_total > best.limit():
                _branch(beam, labels, best)
            beam.kin = []
    if top_paths > beam_width:
        raise ValueError("requested more paths than the beam width.")
    if top_paths > len(best.leaves):
        raise ValueError("Less leaves in the beam search than requested.")
    top = _Best(top_paths)
    for leaf in best.leaves:
        top.push(leaf)
    chosen = top.take()
    return [beam.labels(merge_repeated) for beam in chosen], [beam.total for beam in chosen]


def _prolong(beams: list[_Beam], log_probs: list[float], best: _Best) -> None:
    """Extend beams that stay: by a blank, or by their last label again."""
    blank = log_probs[-1]
    for beam in beams:
        beam.old_total, beam.old_blank = beam.total, beam.blank
    for beam in beams:
        parent, labelled = beam.parent, beam.labelled
        if parent is not None:
            if parent.total != -inf:
                parent.kin.append(beam.label)
                other = parent.old_blank if beam.label == parent.label else parent.old_total
                if labelled < other:
                    labelled, other = other, labelled
                if other != -inf:
                    labelled += log1p(exp(other - labelled))
            labelled += log_probs[beam.label]
        beam.labelled = labelled
        beam.blank = other = beam.old_total + blank
        if labelled < other:
            labelled, other = other, labelled
        if other != -inf:
            labelled += log1p(exp(other - labelled))
        beam.total = labelled
        best.push(_leaf(beam))


def _branch(beam: _Beam, labels: _Labels, best: _Best) -> None:
    """Add one more label to a beam, where that is likely enough."""
    before, children, log_probs = beam.old_total, beam.children, labels.log_probs
    limit = best.limit()
    # In the order of labels: a beam dropped before its label is processed comes back as a new one.
    likely = labels.above(limit - before)
    for label in sorted({*likely, *beam.kin}) if beam.kin else likely:
        child = children.get(label)
        if child is not None and child.total != -inf:
            continue
        total = log_probs[label] + (beam.old_blank if label == beam.label else before)
        if total > limit:
            leaf = _Leaf(total)
            leaf.beam, leaf.parent, leaf.label = None, beam, label
            limit = best.join(leaf)
        elif child is not None:
            child.old_total = child.old_blank = -inf
