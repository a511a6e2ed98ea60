"""Forward and backward probabilities of connectionist temporal classification (Graves, 2006)."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow.errors import failed_precondition


class Lattice:
    """The paths through which labels can be read off, for a batch of sequences.

    Args:
      labels: the labels of each sequence, without blanks.
      lengths: [batch], how many steps each has.
      blank: the class of the blank.
      merge_repeated: whether a label that stays counts once.
    """

    def __init__(
        self, labels: list[list[int]], lengths: np.ndarray, blank: int, merge_repeated: bool
    ) -> None:
        self.lengths = lengths
        self.sizes = np.array([2 * len(sequence) + 1 for sequence in labels])
        width = int(self.sizes.max())
        self.states = np.full((len(labels), width), blank)
        for row, sequence in enumerate(labels):
            self.states[row, 1 : 2 * len(sequence) : 2] = sequence
        label = self.states != blank
        self.may_stay = ~label | merge_repeated
        self.may_skip = label.copy()  # from the state two before
        self.may_skip[:, :2] = False
        if merge_repeated:
            self.may_skip[:, 2:] &= self.states[:, 2:] != self.states[:, :-2]
        self.inside = np.arange(width) < self.sizes[:, None]

    def log_probs(self, log_y: np.ndarray) -> np.ndarray:
        """[time, batch, states]: the logarithms of the states' classes' probabilities."""
        rows = np.arange(len(self.sizes))[:, None]
        return log_y[:, rows, self.states]

    def forward(self, log_p: np.ndarray) -> np.ndarray:
        """[time, batch, states]: of beginnings that end in a state."""
        alpha = np.full_like(log_p, -np.inf)
        alpha[0, :, :2] = np.where(self.inside[:, :2], log_p[0, :, :2], -np.inf)
        for t in range(1, len(alpha)):
            before = alpha[t - 1]
            total = np.where(self.may_stay, before, -np.inf)
            total[:, 1:] = np.logaddexp(total[:, 1:], before[:, :-1])
            skipped = np.where(self.may_skip[:, 2:], before[:, :-2], -np.inf)
            total[:, 2:] = np.logaddexp(total[:, 2:], skipped)
            alpha[t] = np.where(self.inside, log_p[t] + total, -np.inf)
        return alpha

    def backward(self, log_p: np.ndarray) -> np.ndarray:
        """[time, batch, states]: of the ends that follow a state."""
        beta = np.full_like(log_p, -np.inf)
        width = self.states.shape[1]
        last = np.arange(width) >= self.sizes[:, None] - 2
        ends = np.where(last & self.inside, 0.0, -np.inf)
        for t in range(len(beta) - 1, -1, -1):
            if t + 1 < len(beta):
                after = beta[t + 1] + log_p[t + 1]
                total = np.where(self.may_stay, after, -np.inf)
                total[:, :-1] = np.logaddexp(total[:, :-1], after[:, 1:])
                skipped = np.where(self.may_skip[:, 2:], after[:, 2:], -np.inf)
                total[:, :-2] = np.logaddexp(total[:, :-2], skipped)
                beta[t] = total
            beta[t] = np.where((self.lengths - 1 == t)[:, None], ends, beta[t])
        return beta


def loss_and_gradient(
    logits: np.ndarray, labels: list[list[int]], lengths: np.ndarray, merge_repeated: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Losses [batch] and their gradients [time, batch, classes], of sequences with steps.

    The last class of `logits` [time, batch, classes] is the blank; a label that stays counts once
    if `merge_repeated`. All `lengths` are positive.
    """
    shifted = logits.astype(np.float64)
    shifted -= shifted.max(axis=2, keepdims=True)
    log_y = shifted - np.log(np.exp(shifted).sum(axis=2, keepdims=True))
    lattice = Lattice(labels, lengths, logits.shape[2] - 1, merge_repeated)
    with np.errstate(invalid="ignore", divide="ignore"):
        log_p = lattice.log_probs(log_y)
        paths = lattice.forward(log_p) + lattice.backward(log_p)
        likelihood = np.logaddexp.reduce(paths[0], axis=1)
        found = np.isfinite(likelihood)
        share = np.exp(paths - np.where(found, likelihood, 0.0)[:, None])
    gradient = np.exp(log_y)
    share = np.where(found[:, None], share, 0.0)
    time, batch = np.arange(len(log_y))[:, None, None], np.arange(len(labels))[None, :, None]
    np.subtract.at(gradient, (time, batch, lattice.states[None]), share)
    active = np.arange(len(log_y))[:, None] < lengths
    return -likelihood, np.where(active[:, :, None], gradient, 0.0)


def read_labels(indices: np.ndarray, values: np.ndarray, batch: int) -> list[list[int]]:
    """Return sequences' labels, of a sparse tensor; FailedPreconditionError outside the batch."""
    labels: list[list[int]] = [[] for _ in range(batch)]
    for (row, _), value in zip(indices.tolist(), values.tolist(), strict=True):
        if not 0 <= row < batch:
            raise failed_precondition(
                f"labels batch index must be between 0 and {batch} but saw: {row}"
            )
        labels[row].append(value)
    return labels


def without_blanks(
    labels: list[list[int]], lengths: Any, classes: int, collapse: bool, ignore_longer: bool
) -> list[list[int]]:
    """Return each sequence's labels up to the first blank; ValueErrors have TF's messages.

    `lengths` are numbers of steps; more labels than steps are allowed if `ignore_longer`.
    """
    result = []
    for b, label in enumerate(labels):
        if any(value >= classes for value in label):
            raise ValueError(
                f"All labels must be less than num_classes, batch: {b} num_classes: {classes} "
                f"labels: {_join(label)}"
            )
        if not label:
            raise ValueError(f"Labels length is zero in batch {b}")
        kept: list[int] = []
        finished = False
        for i, value in enumerate(label):
            if i and collapse and value == label[i - 1]:
                continue
            if value >= classes - 1:
                finished = True
            elif finished:
                raise ValueError(
                    "Saw a non-null label (index >= num_classes - 1) following a null label, "
                    f"batch: {b} num_classes: {classes} labels: {_join(label)} labels seen so "
                    f"far: {_join(kept)}"
                )
            else:
                kept.append(value)
        if any(value < 0 for value in kept):
            raise ValueError(
                f"All labels must be nonnegative integers, batch: {b} labels: {_join(kept)}"
            )
        if not ignore_longer and len(label) > lengths[b]:
            raise ValueError(
                f"Not enough time for target transition sequence (required: {len(label)}, "
                f"available: {lengths[b]}){b}You can turn this error into a warning by using the "
                "flag ignore_longer_outputs_than_inputs"
            )
        result.append(kept)
    return result


def _join(values: list[int]) -> str:
    return ",".join(map(str, values))
