"""Forms of the suppression of boxes, and of the greedy decoder of labels."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow_contrib.onnx_models.nodes import Nodes, form


@form("NonMaxSuppressionV5")
def non_max_suppression(o: Nodes) -> list[Any]:
    _, scores, _, _, lowest, sigma = o.ins()
    del sigma
    o.only(float(o.known(5)) == 0 and not o.a.pad_to_max_output_size, "soft or padded")
    chosen = o.nms(o.w, lowest)
    return [chosen, o.Gather(scores, chosen, axis=0), o.to(o.Size(chosen), "int32")]


@form("CombinedNonMaxSuppression")
def combined_non_max_suppression(o: Nodes) -> list[Any]:
    """Suppress class by class as images of their own, and take the best of each image."""
    boxes, scores, limit, total, overlap, lowest = o.ins()
    count, classes = o.size(scores, 1), o.size(scores, 2)
    images = o.size(scores, 0)
    each = o.Mul(count, classes)
    boxes = o.Expand(boxes, o.cat(images, count, classes, [4]))
    boxes = o.Transpose(boxes, perm=[0, 2, 1, 3])
    flat = o.Transpose(scores, perm=[0, 2, 1])
    found = o.NonMaxSuppression(
        o.Reshape(boxes, o.cat([-1], count, [4])), o.Reshape(flat, o.cat([-1], [1], count)),
        o.vec(limit), o.Reshape(overlap, [1]), o.Reshape(lowest, [1]),
    )  # fmt: skip
    places = o.Add(o.Mul(o.Slice(found, [0], [1], [1]), count), o.Slice(found, [2], [3], [1]))
    least = np.float32(np.finfo(np.float32).min)
    kept = o.ScatterND(
        o.Expand(least, o.Mul(images, each)), places,
        o.GatherND(o.Reshape(flat, [-1]), places),
    )  # fmt: skip
    size = o.vec(total)
    if o.a.pad_per_class:
        size = o.Min(size, o.Mul(o.vec(limit), classes))
    filled = o.Expand(least, o.cat(images, size))
    kept = o.Concat(o.Reshape(kept, o.cat(images, each)), filled, axis=1)
    best, which = o.TopK(kept, size, outputs=2)
    valid = o.Greater(best, least)
    which = o.Min(which, o.Sub(each, [1]))
    rows = o.Reshape(boxes, o.cat(images, each, [4]))
    taken = o.GatherND(rows, o.Unsqueeze(which, [2]), batch_dims=1)
    taken = o.Where(o.Unsqueeze(valid, [2]), taken, np.float32(0))
    if o.a.clip_boxes:
        taken = o.inside(taken, np.float32(0), np.float32(1))
    labels = o.to(o.Div(which, count), "float32")
    return [
        taken, o.Where(valid, best, np.float32(0)), o.Where(valid, labels, np.float32(0)),
        o.ReduceSum(o.to(valid, "int32"), [1], keepdims=0),
    ]  # fmt: skip


@form("CTCGreedyDecoder")
def ctc_greedy_decoder(o: Nodes) -> list[Any]:
    """Take the best label of each step, without blanks and repetitions."""
    logits, lengths = o.x, o.i64(o.y)
    steps, images, classes = (o.size(logits, axis) for axis in range(3))
    labels = o.ArgMax(logits, axis=2, keepdims=0)
    best = o.ReduceMax(logits, [2], keepdims=0)
    inside = o.Less(o.Unsqueeze(o.numbers(steps), [1]), o.Unsqueeze(lengths, [0]))
    kept = o.And(inside, o.Not(o.Equal(labels, o.Sub(classes, [1]))))
    if o.a.merge_repeated:
        before = o.Concat(
            o.Expand(np.int64(-1), o.cat([1], images)), o.Slice(labels, [0], [-1], [0]), axis=0
        )
        kept = o.And(kept, o.Not(o.Equal(labels, before)))
    kept, labels = o.Transpose(kept, perm=[1, 0]), o.Transpose(labels, perm=[1, 0])
    found = o.i64(kept)
    place = o.Sub(o.CumSum(found, np.int64(1)), [1])
    chosen = o.Transpose(o.NonZero(kept), perm=[1, 0])
    indices = o.Concat(
        o.Slice(chosen, [0], [1], [1]), o.Unsqueeze(o.GatherND(place, chosen), [1]), axis=1
    )
    longest = o.ReduceMax(o.ReduceSum(found, [1], keepdims=0), keepdims=0)
    total = o.ReduceSum(o.Where(inside, best, 0), [0], keepdims=0)
    return [
        indices, o.GatherND(labels, chosen), o.cat(images, o.Unsqueeze(longest, [0])),
        o.Neg(o.Unsqueeze(total, [1])),
    ]  # fmt: skip
