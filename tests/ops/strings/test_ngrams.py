"""N-grams of many sequences at once are those of each."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import stillflow as tf


def grams(words, width):
    return [b" ".join(words[n : n + width]) for n in range(len(words) - width + 1)]


@pytest.mark.parametrize("keeps_short", [True, False])
def test_no_run_crosses_the_end_of_a_sequence(session, keeps_short):
    words = [b"%d" % n for n in range(40)]
    splits = [0, 12, 13, 13, 30, 31, 40]
    found = tf.raw_ops.StringNGrams(
        data=np.array(words, object), data_splits=splits, separator=" ", ngram_widths=[2, 3],
        left_pad="<", right_pad=">", pad_width=0, preserve_short_sequences=keeps_short,
    )  # fmt: skip
    values, ends = session.run([found.ngrams, found.ngrams_splits])
    for row, (start, stop) in enumerate(pairwise(splits)):
        sequence = words[start:stop]
        made = grams(sequence, 2) + grams(sequence, 3)
        if keeps_short and len(sequence) == 1:
            made = sequence
        assert values[ends[row] : ends[row + 1]].tolist() == made
