"""Distances of sequences: of every type of elements, with the loop in C and without."""

from __future__ import annotations

import numpy as np
import pytest

import stillflow as tf
from stillflow.ops.arrays import edit_distance as module

pytestmark = pytest.mark.usefixtures("graph", "either_way")

# By hand: (truth, guess, changes).
WORDS = [
    ("kitten", "sitting", 3),
    ("", "abc", 3),
    ("abc", "", 3),
    ("flaw", "lawn", 2),
    ("a", "a", 0),
]


def sparse(words, as_item):
    """Return a row of elements for each word; those without any have no place."""
    places = [(row, column) for row, word in enumerate(words) for column in range(len(word))]
    items = np.array([as_item(letter) for word in words for letter in word])
    if items.dtype.kind == "S":
        items = items.astype(object)
    return tf.SparseTensor(np.array(places, np.int64), items, [len(words), 9])


TYPES = {
    "strings": str.encode,
    "int32": lambda letter: np.int32(ord(letter)),
    "int64": lambda letter: np.int64(ord(letter)),
    "floats": lambda letter: np.float32(ord(letter) / 2),
}


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("normalize", [False, True])
def test_changes_between_words(kind, normalize):
    truths, guesses, changes = zip(*WORDS, strict=True)
    found = tf.edit_distance(
        sparse(guesses, TYPES[kind]), sparse(truths, TYPES[kind]), normalize=normalize
    )
    expected = np.float32(changes)
    if normalize:
        expected = np.float32(
            [c / len(t) if t else np.inf for c, t in zip(changes, truths, strict=True)]
        )
    with tf.Session() as session:
        np.testing.assert_array_equal(session.run(found), expected)


def test_what_is_not_a_number_equals_nothing():
    nan = tf.SparseTensor([[0, 0]], np.float32([np.nan]), [1, 1])
    with tf.Session() as session:
        assert session.run(tf.edit_distance(nan, nan)).tolist() == [1]


def test_sequences_that_lie_in_several_dimensions():
    truth = tf.SparseTensor([[0, 1, 0], [1, 0, 0], [1, 0, 1]], [1, 2, 3], [2, 2, 2])
    guess = tf.SparseTensor([[1, 0, 0]], [3], [2, 2, 2])
    with tf.Session() as session:
        found = session.run(tf.edit_distance(guess, truth, normalize=False))
    assert found.tolist() == [[0, 1], [1, 0]]


# Of TensorFlow 1.15.5, which goes through both tensors once: not in order, some do not meet.
OUT_OF_ORDER = [
    ([[3, 3], [3, 3], [1, 3], [1, 2], [0, 3], [2, 0], [0, 0], [2, 1]], [1, 1, 1, 0, 1, 0, 0, 1],
     [[2, 3], [3, 2], [0, 1]], [2, 0, 2], [1, 2, 1, 2], [np.inf, np.inf, np.inf, 2]),
    ([[1, 3], [1, 3], [3, 2], [3, 0], [1, 1], [1, 3]], [0, 1, 2, 2, 0, 1],
     [[0, 3], [2, 0], [3, 3], [2, 3], [2, 3], [0, 2], [0, 0], [0, 1], [1, 2], [0, 0], [1, 3]],
     [1, 1, 1, 2, 2, 2, 0, 2, 1, 0, 1], [1, 1, 2, 2], [1, 1, 1, 2]),
    ([[3, 2], [3, 3], [3, 2]], [0, 1, 2], [[1, 2], [2, 3], [2, 3], [3, 2], [2, 3]],
     [2, 1, 2, 1, 0], [0, 1, 1, 2], [0, 1, 1, 2]),
]  # fmt: skip


@pytest.mark.parametrize("case", OUT_OF_ORDER)
def test_sequences_out_of_order_are_compared_as_by_tensorflow(case):
    guess, guess_values, truth, truth_values, *expected = case
    both = [
        tf.SparseTensor(*each, [4, 4]) for each in ((guess, guess_values), (truth, truth_values))
    ]
    with tf.Session() as session:
        found = [tf.edit_distance(*both, normalize=normalize) for normalize in (False, True)]
        assert [each.tolist() for each in session.run(found)] == expected


def test_sequences_outside_of_the_shape_raise():
    inside, outside = ([[0, 0]], [1], [2, 2]), ([[0, 0], [5, 0]], [1, 2], [2, 2])
    for pair in ((inside, outside), (outside, inside)):
        with (
            tf.Session() as session,
            pytest.raises(tf.errors.InvalidArgumentError, match="outside"),
        ):
            session.run(tf.edit_distance(*(tf.SparseTensor(*each) for each in pair)))


def test_random_sequences_are_as_far_apart_as_one_by_one():
    rng = np.random.RandomState(0)
    pairs = [
        (rng.randint(0, 4, rng.randint(1, 9)), rng.randint(0, 4, rng.randint(1, 9)))
        for _ in range(200)
    ]
    both = [
        tf.SparseTensor(
            [(row, column) for row, each in enumerate(part) for column in range(len(each))],
            np.concatenate(part), [200, 9])
        for part in zip(*pairs, strict=True)
    ]  # fmt: skip
    expected = [module.levenshtein(one.tolist(), other.tolist()) for one, other in pairs]
    with tf.Session() as session:
        assert session.run(tf.edit_distance(*both, normalize=False)).tolist() == expected
