"""Fixed unigram samplers that read their weights from a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stillflow as tf

TRUE = np.array([[0, 1]])


def sample(path: str, **options: Any) -> Any:
    sampler = tf.nn.fixed_unigram_candidate_sampler(
        TRUE, 2, 50, False, vocab_file=path, seed=4, **{"range_max": 3, **options}
    )
    with tf.Session() as session:
        return session.run(sampler)


def test_weights_from_a_file_are_those_of_a_list(tmp_path: Path) -> None:
    file = tmp_path / "vocabulary.csv"
    file.write_text("the,12,30\nof,7,10\nand,5,60\n")
    with tf.Graph().as_default():
        from_file = sample(str(file))
    with tf.Graph().as_default():
        from_list = sample("", unigrams=[30.0, 10.0, 60.0])
    for one, other in zip(from_file, from_list):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_allclose(from_file.true_expected_count, [[15, 5]], rtol=1e-6)


def test_what_is_no_vocabulary_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "vocabulary.csv"
    file.write_text("the,30\nof,many\n")
    with tf.Graph().as_default():
        with pytest.raises(tf.errors.InvalidArgumentError, match="vocabulary format at line: of,m"):
            sample(str(file))
        with pytest.raises(tf.errors.NotFoundError, match="absent; No such file"):
            sample(str(tmp_path / "absent"))
        with pytest.raises(tf.errors.InvalidArgumentError, match="either vocab_file or unigrams"):
            sample("")
        with pytest.raises(tf.errors.InvalidArgumentError, match="only provide one of"):
            sample(str(file), unigrams=[1.0])
        with pytest.raises(tf.errors.InvalidArgumentError, match="range_max is 9"):
            sample("", unigrams=[1.0, 2.0], range_max=9)


def test_true_classes_out_of_range_are_refused() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        sampler = tf.nn.learned_unigram_candidate_sampler(TRUE + 5, 2, 3, True, 6, seed=1)
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"must be in \[0, 6\)"):
            session.run(sampler)
