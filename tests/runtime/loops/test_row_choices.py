"""Rows chosen by the bits of their numbers: exactly what `tf.where` chooses."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import stillflow as tf
from stillflow.ops.arrays.row_masks import choose, keep, row_mask
from stillflow.runtime.loops.row_choices import MIN_ELEMENTS

pytestmark = pytest.mark.usefixtures("graph")  # each test builds one of its own

ROWS, WIDTH = 64, MIN_ELEMENTS // 64
ODD = [np.nan, np.inf, -np.inf, -0.0, 1e-40]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_masks_choose_bit_by_bit(dtype):
    bits = torch.int32 if dtype == torch.float32 else torch.int64
    x = torch.tensor([ODD, ODD], dtype=dtype)
    y = torch.tensor([[1.0] * 5, [2.0] * 5], dtype=dtype)
    mask = row_mask(torch.tensor([True, False]), (-1, 1), bits)
    found, kept = choose(mask, x, y), keep(mask, x)
    assert torch.equal(found.view(bits), torch.stack([x[0], y[1]]).view(bits))
    assert torch.equal(kept.view(bits), torch.stack([x[0], torch.zeros_like(x[0])]).view(bits))
    assert torch.equal(choose(mask, y, x).view(bits), torch.stack([y[0], x[1]]).view(bits))


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "bool"])
@pytest.mark.parametrize("dims", [(ROWS, WIDTH), (ROWS, 2), (ROWS, 2, 3)])
def test_rows_are_chosen_by_conditions_that_change(dims, dtype):
    held = tf.placeholder(tf.int32, [ROWS])
    x, y = (tf.placeholder(dtype, dims) for _ in range(2))

    def turn(i, first, second):
        early, late = i < held, i + 2 < held
        chosen = tf.where(early, second, first), tf.where(late, second, first)
        return (i + 1, *chosen)

    results = tf.while_loop(lambda i, *_: i < 3, turn, [0, x, y])[1:]
    random = np.random.RandomState(0)
    lengths = random.randint(0, 6, ROWS)
    first, second = (random.randint(0, 2, dims).astype(dtype) for _ in range(2))
    with tf.Session() as session:
        found = session.run(results, {held: lengths, x: first, y: second})
    column = lengths.reshape(-1, *[1] * (len(dims) - 1))
    for i in range(3):
        early, late = (np.where(limit < column, second, first) for limit in (i, i + 2))
        first, second = early, late
    np.testing.assert_array_equal(found[0], first)
    np.testing.assert_array_equal(found[1], second)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
def test_states_of_sequences_that_have_ended_stay(dtype):
    lengths = np.arange(ROWS) % 5
    start = np.ones((ROWS, WIDTH), dtype)
    held = tf.placeholder(tf.int32, [ROWS])
    state = tf.placeholder(dtype, [ROWS, WIDTH])

    def turn(i, state, taken):
        alive = i < held
        return i + 1, tf.where(alive, state * 2, state), tf.where(alive, state, taken)

    _, last, taken = tf.while_loop(lambda i, *_: i < 5, turn, [0, state, tf.zeros_like(state)])
    with tf.Session() as session:
        values = session.run([last, taken], {held: lengths, state: start})
    np.testing.assert_array_equal(values[0], start * 2 ** lengths[:, None].astype(dtype))
    np.testing.assert_array_equal(
        values[1], np.where(lengths, 2.0 ** (lengths - 1.0), 0)[:, None] * start
    )


def test_what_is_not_chosen_leaves_no_trace_in_gradients():
    lengths = np.array([0, 3] * (ROWS // 2))
    held = tf.placeholder(tf.int32, [ROWS])
    state = tf.placeholder(tf.float32, [ROWS, WIDTH])

    def turn(i, now):
        return i + 1, tf.where(i < held, now * 3, now)

    _, last = tf.while_loop(lambda i, _: i < 4, turn, [0, state])
    slope = tf.gradients(
        last,
        state,
        grad_ys=tf.placeholder_with_default(
            np.full((ROWS, WIDTH), np.inf, np.float32), [ROWS, WIDTH]
        ),
    )[0]
    one = tf.gradients(last, state)[0]
    start = np.full((ROWS, WIDTH), np.nan, np.float32)
    with tf.Session() as session:
        infinite, ones = session.run([slope, one], {held: lengths, state: start})
    assert (infinite == np.inf).all()
    np.testing.assert_array_equal(ones[:2, 0], [1, 27])


@pytest.mark.parametrize("also_whole", [False, True])
def test_conditions_that_are_repeated_along_the_row(also_whole):
    ended = tf.placeholder(tf.bool, [4, 2])
    scores = tf.placeholder(tf.float32, [4, 2, MIN_ELEMENTS])
    count = tf.placeholder(tf.int32, [])

    def turn(i, now, seen):
        whole = tf.tile(tf.expand_dims(ended, 2), [1, 1, MIN_ELEMENTS])
        chosen = tf.where(whole, tf.fill(tf.shape(now), -1.0), now * 2)
        return i + 1, chosen, tf.cast(whole, tf.float32) if also_whole else seen

    start = [0, scores, tf.zeros_like(scores)]
    _, last, seen = tf.while_loop(lambda i, *_: i < count, turn, start)
    data = np.random.RandomState(0).rand(4, 2, MIN_ELEMENTS).astype(np.float32)
    which = np.array([[True, False], [False, False], [True, True], [False, True]])
    with tf.Session() as session:
        values = session.run([last, seen], {ended: which, scores: data, count: 2})
    np.testing.assert_array_equal(values[0], np.where(which[..., None], -1, data * 4))
    assert (values[1] == (which[..., None] if also_whole else 0)).all()
