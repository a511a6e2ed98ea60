"""Choosing boxes: the loop in C takes those that the plain way takes, in the same order."""

from __future__ import annotations

import numpy as np
import pytest

import stillflow as tf
from stillflow import native
from stillflow.ops.image import suppression

pytestmark = pytest.mark.usefixtures("graph")

LOWEST = np.finfo(np.float32).min


def boxes_and_scores(kind, seed):
    """Return random boxes and scores, with the special property `kind`."""
    rng = np.random.RandomState(seed)
    boxes, scores = rng.rand(2, 40, 4).astype(np.float32)
    scores = scores[:, 0].copy()
    if kind == "equal scores":
        scores = np.round(scores, 1)
    elif kind == "equal boxes":
        boxes[::3] = boxes[0]
    elif kind == "without an area":
        boxes[::4] = 0.5
    elif kind == "not numbers":
        boxes[::5, 1], scores[::7] = np.nan, np.nan
    return boxes, scores


KINDS = ("random", "equal scores", "equal boxes", "without an area", "not numbers")


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
@pytest.mark.parametrize("sigma", [0.0, 0.5])
@pytest.mark.parametrize("lowest", [LOWEST, np.float32(0.4)])
@pytest.mark.parametrize("threshold", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("kind", KINDS)
def test_the_loop_takes_the_same_boxes(kind, threshold, lowest, sigma):
    if native.library() is None:
        pytest.skip("the loops in C were not built")
    for seed, limit in enumerate((0, 1, 7, 60)):
        boxes, scores = boxes_and_scores(kind, seed)
        settings = limit, np.float32(threshold), lowest, np.float32(sigma)
        overlap = suppression._of_boxes(boxes)
        chosen, became = suppression.choose_softly(scores, *settings, overlap)
        found = suppression._choose_in_loop(boxes, scores, *settings, False)
        assert found[0].tolist() == chosen
        assert found[1].tolist() == [float(each) for each in became]


@pytest.mark.parametrize("kind", ["random", "equal scores"])
def test_the_loop_takes_overlaps_that_are_given(kind):
    if native.library() is None:
        pytest.skip("the loops in C were not built")
    _, scores = boxes_and_scores(kind, 1)
    overlaps = np.random.RandomState(2).rand(40, 40).astype(np.float32)
    settings = 30, np.float32(0.6), LOWEST, np.float32(0)
    chosen, _ = suppression.choose_softly(scores, *settings, suppression._given(overlaps))
    assert suppression._choose_in_loop(overlaps, scores, *settings, True)[0].tolist() == chosen


@pytest.mark.parametrize("count", [0, 1])
def test_few_boxes(either_way, count):
    boxes, scores = np.zeros([count, 4], np.float32), np.ones([count], np.float32)
    boxes[:, 2:] = 1
    with tf.Session() as session:
        found = session.run(tf.image.non_max_suppression(tf.constant(boxes), scores, 5))
    assert found.tolist() == [0] * count


def test_half_boxes_are_chosen_without_the_loop():
    boxes, scores = boxes_and_scores("random", 3)
    with tf.Session() as session:
        found = session.run(
            tf.image.non_max_suppression(boxes.astype(np.float16), scores.astype(np.float16), 5)
        )
    assert len(found) == 5 and found[0] == scores.astype(np.float16).argmax()


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
@pytest.mark.parametrize("pad", [False, True])
@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_the_loop_takes_the_same_boxes_of_classes(kind, shared, pad, monkeypatch):
    if native.library() is None:
        pytest.skip("the loops in C were not built")
    given = [boxes_and_scores(kind, seed) for seed in range(6)]
    boxes = np.stack([each for each, _ in given]).reshape(2, 3, 40, 4).swapaxes(1, 2)
    scores = np.stack([each for _, each in given]).reshape(2, 3, 40).swapaxes(1, 2)
    results = []
    for _ in range(2):
        with tf.Graph().as_default(), tf.Session() as session:
            results.append([
                session.run(list(tf.image.combined_non_max_suppression(
                    boxes[:, :, :1] if shared else boxes, scores, limit, 11, 0.3, lowest,
                    pad_per_class=pad, clip_boxes=False)))
                for limit, lowest in ((1, 0.5), (7, LOWEST), (60, 0.2), (9, np.nan))
            ])  # fmt: skip
        monkeypatch.setattr(native, "library", lambda: None)
    for found, expected in zip(*results, strict=True):
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one, other)
    assert results[0][1][3].max() > 3
