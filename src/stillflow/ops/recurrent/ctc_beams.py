"""Beam search over the labels of connectionist temporal classification."""

from __future__ import annotations

import heapq
import itertools
from bisect import bisect_left
from math import exp, inf, log, log1p

import numpy as np


def _add(a: float, b: float) -> float:
    """The logarithm of a sum of numbers given by their logarithms."""
    if a < b:
        a, b = b, a
    return a if b == -inf else a + log1p(exp(b - a))


class _Beam:
    """A sequence of labels, and the logarithms of its probabilities now and a step before."""

    __slots__ = (
        "blank", "children", "label", "labelled", "old_blank", "old_total", "parent", "total",
    )  # fmt: skip

    def __init__(self, parent: _Beam | None, label: int) -> None:
        self.parent, self.label = parent, label
        self.children: dict[int, _Beam] = {}
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


class _Best:
    """The likeliest beams."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.heap: list[tuple[float, int, _Beam]] = []
        self.order = itertools.count(0, -1)

    def may_join(self, total: float) -> bool:
        return total > -inf and (len(self.heap) < self.width or total > self.heap[0][0])

    def push(self, beam: _Beam) -> None:
        entry = (beam.total, next(self.order), beam)
        if len(self.heap) < self.width:
            heapq.heappush(self.heap, entry)
        elif beam.total > self.heap[0][0]:
            heapq.heapreplace(self.heap, entry)

    def take(self) -> list[_Beam]:
        """All, likeliest first; none are left."""
        beams = [beam for _, _, beam in sorted(self.heap, key=lambda e: (-e[0], -e[1]))]
        self.heap = []
        return beams


def search(
    logits: np.ndarray, beam_width: int, top_paths: int, merge_repeated: bool
) -> tuple[list[list[int]], list[float]]:
    """The likeliest labels of a sequence, and the logarithms of their probabilities.

    Args:
      logits: [time, classes]; the last class is the blank.
      beam_width: how many beginnings are kept.
      top_paths: how many sequences are asked for.
      merge_repeated: whether repeated labels come out once.

    Raises:
      ValueError: if there are not so many.
    """
    root = _Beam(None, -1)
    root.total = root.blank = 0.0
    best = _Best(beam_width)
    best.push(root)
    for row in logits.astype(np.float64):
        peak = float(row.max())
        step = (row - (peak + log(float(np.exp(row - peak).sum())))).tolist()
        beams = best.take()
        _prolong(beams, step, best)
        likeliest = sorted(enumerate(step[:-1]), key=lambda pair: -pair[1])
        for beam in beams:
            if best.may_join(beam.old_total):
                _branch(beam, likeliest, best)
    if top_paths > beam_width:
        raise ValueError("requested more paths than the beam width.")
    if top_paths > len(best.heap):
        raise ValueError("Less leaves in the beam search than requested.")
    chosen = best.take()[:top_paths]
    return [beam.labels(merge_repeated) for beam in chosen], [beam.total for beam in chosen]


def _prolong(beams: list[_Beam], step: list[float], best: _Best) -> None:
    """Lets beams stay as they are: by a blank, or by their last label again."""
    for beam in beams:
        beam.old_total, beam.old_blank = beam.total, beam.blank
    for beam in beams:
        parent = beam.parent
        if parent is not None:
            if parent.total != -inf:
                same = beam.label == parent.label
                before = parent.old_blank if same else parent.old_total
                beam.labelled = _add(beam.labelled, before)
            beam.labelled += step[beam.label]
        beam.blank = beam.old_total + step[-1]
        beam.total = _add(beam.blank, beam.labelled)
        best.push(beam)


def _branch(beam: _Beam, likeliest: list[tuple[int, float]], best: _Best) -> None:
    """Adds one more label to a beam, where that is likely enough.

    Args:
      beam: the beam.
      likeliest: labels and the logarithms of their probabilities, likeliest first.
      best: the likeliest beams.
    """
    enough = -inf if len(best.heap) < best.width else best.heap[0][0] - beam.old_total
    count = bisect_left(likeliest, -enough, key=lambda pair: -pair[1])
    # In the order of labels: a beam that gave way before its turn comes back as a new one.
    for label, log_prob in sorted(likeliest[:count]):
        child = beam.children.get(label)
        if child is None:
            child = beam.children[label] = _Beam(beam, label)
        if child.total != -inf:
            continue
        before = beam.old_blank if label == beam.label else beam.old_total
        child.total = child.labelled = log_prob + before
        child.blank = -inf
        if best.may_join(child.total):
            if len(best.heap) == best.width:
                best.heap[0][2].forget()
            best.push(child)
        else:
            child.old_total = child.old_blank = -inf
            child.forget()
