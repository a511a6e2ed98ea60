"""CTC against PyTorch's own loss and against all paths counted one by one."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch

import stillflow as tf
from stillflow import native
from stillflow.ops.recurrent import ctc_beams, native_kernels
from stillflow.ops.recurrent.ctc_lattice import loss_and_gradient, without_blanks


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def read(path, blank):
    return [k for k, _ in itertools.groupby(path) if k != blank]


def test_losses_and_gradients_are_those_of_torch():
    random = np.random.RandomState(0)
    logits = random.randn(9, 4, 6)
    labels = [[0, 0, 1], [2], [3, 3, 3, 3], [4, 1, 4]]
    lengths = np.array([9, 3, 8, 6])
    losses, gradient = loss_and_gradient(logits, labels, lengths, merge_repeated=True)
    x = torch.tensor(logits, requires_grad=True)
    expected = torch.nn.functional.ctc_loss(
        torch.log_softmax(x, -1),
        torch.tensor([*itertools.chain(*labels)]),
        torch.tensor(lengths),
        torch.tensor([len(label) for label in labels]),
        blank=5,
        reduction="none",
    )
    expected.sum().backward()
    np.testing.assert_allclose(losses, expected.detach(), rtol=1e-9)
    np.testing.assert_allclose(gradient, x.grad, rtol=1e-7, atol=1e-10)


def test_the_widest_beam_search_finds_the_likeliest_labels():
    logits = np.random.RandomState(1).randn(4, 3)
    p = softmax(logits)
    totals: dict[tuple[int, ...], float] = {}
    for path in itertools.product(range(3), repeat=4):
        key = tuple(read(path, 2))
        totals[key] = totals.get(key, 0) + np.prod([p[t, k] for t, k in enumerate(path)])
    best = sorted(totals, key=totals.get, reverse=True)[:3]
    found, scores = ctc_beams.search(logits, 100, 3, merge_repeated=False)
    assert [tuple(labels) for labels in found] == best
    np.testing.assert_allclose(scores, np.log([totals[key] for key in best]), rtol=1e-9)


def test_more_paths_than_beams_are_refused():
    with pytest.raises(ValueError, match="requested more paths than the beam width"):
        ctc_beams.search(np.zeros((2, 3)), 1, 2, merge_repeated=True)


def test_equally_likely_labels_come_in_the_order_of_their_beams():
    found, scores = ctc_beams.search(np.zeros((2, 4)), 3, 3, merge_repeated=False)
    assert len({tuple(labels) for labels in found}) == 3
    assert scores == sorted(scores, reverse=True)


def test_a_sequence_without_steps_has_no_labels():
    assert ctc_beams.search(np.zeros((0, 3)), 4, 1, merge_repeated=True) == ([[]], [0.0])


def test_labels_end_at_the_first_blank():
    assert without_blanks([[0, 1, 4, 4]], [9], 5, collapse=False, ignore_longer=False) == [[0, 1]]
    assert without_blanks([[0, 0, 1]], [9], 5, collapse=True, ignore_longer=False) == [[0, 1]]


@pytest.mark.parametrize("merge", [True, False])
def test_the_likeliest_labels_of_every_step(merge):
    logits = np.random.RandomState(2).randint(0, 3, (9, 5, 4)).astype(np.float32)
    lengths = [9, 0, 4, 1, 9]
    with tf.Graph().as_default(), tf.Session() as session:
        (decoded,), scores = session.run(
            tf.nn.ctc_greedy_decoder(tf.constant(logits), lengths, merge_repeated=merge)
        )
    rows = []
    for b, length in enumerate(lengths):
        path = [int(np.argmax(step)) for step in logits[:length, b]]
        runs = [label for label, _ in itertools.groupby(path)] if merge else path
        rows.append([label for label in runs if label != 3])
    assert decoded.values.tolist() == [label for row in rows for label in row]
    places = [[b, place] for b, row in enumerate(rows) for place in range(len(row))]
    assert decoded.indices.tolist() == places
    assert decoded.dense_shape.tolist() == [5, max(map(len, rows))]
    assert decoded.values.dtype == decoded.indices.dtype == np.int64
    expected = [-logits[:length, b].max(1).sum() for b, length in enumerate(lengths)]
    np.testing.assert_array_equal(scores[:, 0], np.float32(expected))


def batch_of_labels(random, batch, classes, longest):
    return [
        random.randint(0, classes - 1, random.randint(1, longest + 1)).tolist()
        for _ in range(batch)
    ]


@pytest.mark.parametrize("merge", [True, False])
@pytest.mark.parametrize("scale", [1, 30, 1000])
def test_the_loop_gives_what_arrays_give(merge, scale):
    if native.library() is None:
        pytest.skip("the loops in C were not built")
    random = np.random.RandomState(scale)
    logits = (random.randn(40, 7, 9) * scale).astype(np.float32)
    labels = batch_of_labels(random, 7, 9, 12)
    lengths = np.array([40, 31, 25, 26, 39, 30, 40], np.int32)
    expected = loss_and_gradient(logits, labels, lengths, merge)
    found = native_kernels.ctc_loss_and_gradient(logits, labels, lengths, merge)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def test_the_loop_knows_what_cannot_be_read():
    if native.library() is None:
        pytest.skip("the loops in C were not built")
    random = np.random.RandomState(2)
    logits = random.randn(3, 4, 5).astype(np.float32)
    logits[1, 3] = np.nan
    labels, lengths = [[1, 1, 1], [0], [2, 3, 2, 3], [1]], np.array([3, 0, 3, 3])
    losses, gradient = native_kernels.ctc_loss_and_gradient(logits, labels, lengths, True)
    used = [0, 2, 3]
    expected = loss_and_gradient(logits[:, used], [labels[b] for b in used], lengths[used], True)
    np.testing.assert_allclose(losses[used], expected[0], rtol=1e-5)
    np.testing.assert_allclose(gradient[:, used], expected[1], rtol=1e-5, atol=1e-6)
    assert np.isinf(losses[[0, 2]]).all() and np.isnan(losses[3])
    assert losses[1] == 0 and not gradient[:, 1].any()
