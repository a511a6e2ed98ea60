"""Runs of neighbouring strings: StringNGrams."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from stillflow.graph import dims
from stillflow.graph.arrays import Array
from stillflow.graph.card import op
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.ops.samples import Bad, Sample, Samples
from stillflow.ops.strings.kernels import strings_of

_INT32_MAX = 2**31 - 1

string_n_grams_op = op("""
    StringNGrams(data: string, data_splits: Tsplits) -> (ngrams: string, ngrams_splits: Tsplits)
    separator: string
    ngram_widths: list(int) >= 0
    left_pad: string
    right_pad: string
    pad_width: int
    preserve_short_sequences: bool
    Tsplits: {int32, int64} = int64
""")


@string_n_grams_op.shape
def string_n_grams_shape(node: Node) -> OutputDims:
    if not node.planning:  # the kernel takes any
        dims.with_rank(node.dims(0), 1)
    return [(None,), dims.with_rank(node.dims(1), 1)]


@string_n_grams_op.kernel
def string_n_grams_kernel(node: Node) -> Kernel:
    grams = _Grams(node)

    def run(data: Any, splits: Any) -> tuple[Array, torch.Tensor]:
        data = data.reshape(-1)
        if any(width <= 0 for width in grams.widths):
            raise ValueError("ngram_widths must contain positive values")
        ends = splits.tolist()
        _check_splits(ends, len(data))
        if not len(data) or not ends:
            return strings_of([b""] * len(data), (len(data),)), torch.zeros_like(splits)
        words = data.tolist()
        found: list[bytes] = []
        counts = [0]
        runs = grams.everywhere(words) if grams.is_short_for(len(words), len(ends) - 1) else []
        for start, end in pairwise(ends):
            made = [
                gram for width, run in runs for gram in run[start : max(start, end - width + 1)]
            ]
            # Sequences that are too short for any have rules of their own.
            found += made or grams.of(words[start:end], words[start - 1] if start else b"")
            counts.append(len(found))
        return strings_of(found, (len(found),)), splits.new_tensor(counts)

    return run


def _check_splits(splits: Sequence[int], size: int) -> None:
    for place, split in enumerate(splits):
        if not 0 <= split <= size:
            raise ValueError(f"Invalid split value {split}, must be in [0,{size}]")
        if place and split < splits[place - 1]:
            raise ValueError(
                f"Invalid split value {split}, must be in [{splits[place - 1]},{size}]"
            )


class _Grams:
    """N-grams of one sequence at a time."""

    def __init__(self, node: Node) -> None:
        self.separator = node.separator
        self.widths = list(node.ngram_widths)
        self.left, self.right = node.left_pad, node.right_pad
        self.pad_width = node.pad_width
        self.preserves_short = node.preserve_short_sequences

    def is_short_for(self, words: int, sequences: int) -> bool:
        """Return True if the n-grams have fewer words than the sequences, without pads."""
        longest = max(self.widths, default=1)
        return longest * sequences <= words and not any(map(self._padding, self.widths))

    def everywhere(self, words: list[bytes]) -> list[tuple[int, list[bytes]]]:
        """Return for each width the n-grams that begin at each word, across sequences."""
        return [(width, self._runs(words, width, 0)) for width in self.widths]

    def of(self, words: list[bytes], before: bytes) -> list[bytes]:
        """Return the n-grams of a sequence, for one width after the other.

        Args:
          words: the sequence.
          before: the string in front of it, which TF shows between the pads where it is empty.
        """
        made = []
        for width in self.widths:
            padding = self._padding(width)
            if padding > _INT32_MAX // 2 - len(words):
                raise ValueError(
                    f"Pad width could lead to integer overflow, got pad_width = {padding}"
                )
            made += self._runs(words or [before], width + (not words), padding)
        if made or not words or not self.preserves_short:
            return made
        if self.pad_width < 0:
            raise ValueError(
                "Pad width should be >= 0 when preserve_short_sequences is True and "
                f"ngram_widths are not provided, got {self.pad_width}"
            )
        return self._runs(words, len(words) + 2 * self.pad_width, self.pad_width)

    def _padding(self, width: int) -> int:
        return width - 1 if self.pad_width < 0 else min(self.pad_width, width - 1)

    def _runs(self, words: list[bytes], width: int, padding: int) -> list[bytes]:
        if len(words) + 2 * padding < width:
            return []
        padded = [self.left] * padding + words + [self.right] * padding
        return list(map(self.separator.join, zip(*(padded[place:] for place in range(width)))))


@string_n_grams_op.samples
def string_n_grams_samples() -> Samples:
    words = np.array([b"a", b"b", b"c", b"d"], object)
    options: dict[str, Any] = {"separator": "|", "left_pad": "<", "right_pad": ">", "pad_width": -1}
    splits = np.array([0, 3, 3, 4], np.int64)
    short: dict[str, Any] = {"preserve_short_sequences": True}
    yield Sample(words, splits, ngram_widths=[1, 2], **options, **short)
    yield Sample(words, splits, ngram_widths=[3], **{**options, "pad_width": 0}, **short)
    yield Sample(words, splits[:0], ngram_widths=[1], **options, **short)
    yield Bad(words, splits + 2, ngram_widths=[2], match="Invalid split", **options, **short)
    yield Bad(words, splits, ngram_widths=[0], match="must contain positive", **options, **short)
