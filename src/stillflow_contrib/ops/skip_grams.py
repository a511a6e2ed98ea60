"""SkipGramGenerateCandidates: words with the words around them, at random distances."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow.graph import dims as dims_lib
from stillflow.graph.arrays import Array
from stillflow.graph.card import op
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.ops.kernels import either
from stillflow.ops.random.range_samplers import Words
from stillflow.ops.random.streams import OpStream, op_stream
from stillflow.ops.samples import Bad, Sample, Samples

skip_gram_generate_candidates_op = op(
    """
    SkipGramGenerateCandidates(input_tensor: T, min_skips: int32, max_skips: int32, start: int32,
                               limit: int32, emit_self_as_target: bool) -> (tokens: T, labels: T)
    T: type
    seed: int = 0
    seed2: int = 0
    flags: stateful
""",
    differentiable=False,
    numbers=("start", "limit"),
)


@skip_gram_generate_candidates_op.shape
def skip_gram_generate_candidates_shape(node: Node) -> OutputDims:
    for place, rank in enumerate((1, 0, 0, 0, 0)):
        dims_lib.with_rank(node.dims(place), rank)
    return [(None,), (None,)]


def _reach(stream: OpStream, count: int, least: int, most: int) -> list[int]:
    """Return for each of `count` words the number of words on each side to take."""
    # A number of the stream for each, and one to spare; C rounds towards zero.
    numbers = Words(stream.reserve(int((count + 1 + 3) / 4)))
    return [least + numbers.below(most - least + 1) for _ in range(count)]


def _pairs(reach: list[int], start: int, with_itself: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return the places of the words, and those of their neighbours."""
    end = start + len(reach)
    tokens, labels = [], []
    for token, skips in enumerate(reach, start):
        around = range(max(start, token - skips), min(end, token + skips + 1))
        near = [place for place in around if with_itself or place != token]
        labels.extend(near)
        tokens.extend([token] * len(near))
    return np.array(tokens, np.int64), np.array(labels, np.int64)


def _chosen(
    stream: OpStream, size: int, least: int, most: int, start: int, limit: int, with_itself: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return the words of `size` that are in the pairs, as places."""
    if least < 0 or most < 0:
        raise ValueError("Both min_skips and max_skips must be >= 0.")
    if least > most:
        raise ValueError("min_skips must be <= max_skips.")
    if start < 0:  # TensorFlow reads the memory before the words
        raise ValueError(f"start must be >= 0, but is {start}")
    end = size if limit < 0 else min(start + limit, size)
    return _pairs(_reach(stream, end - start, least, most), start, with_itself)


@skip_gram_generate_candidates_op.kernel
def skip_gram_generate_candidates_kernel(node: Node) -> Kernel:
    stream = op_stream(node)

    def of_tensors(words: Any, *settings: Any) -> tuple[torch.Tensor, torch.Tensor]:
        places = _chosen(stream, len(words), *(value.item() for value in settings))
        return tuple(words[torch.from_numpy(place).to(words.device)] for place in places)

    def of_arrays(words: Any, *settings: Any) -> tuple[Array, Array]:
        places = _chosen(stream, words.size, *(value.item() for value in settings))
        return tuple(words[place] for place in places)

    return either(node, of_tensors, of_arrays)


_WORDS = np.array([b"a", b"b", b"c", b"d"], object)


@skip_gram_generate_candidates_op.samples
def skip_gram_generate_candidates_samples() -> Samples:
    one, two, all_of_them = np.int32(1), np.int32(2), np.int32(-1)
    yield Sample(_WORDS, one, two, np.int32(0), all_of_them, np.bool_(False), seed=3, seed2=4)
    yield Sample(np.arange(5), one, two, one, two, np.bool_(True), seed=3, seed2=4, grad=False)
    yield Bad(_WORDS, two, one, one, one, np.bool_(True), match="min_skips must be <= max_skips")
    yield Bad(_WORDS, one, two, all_of_them, one, np.bool_(True), match="start must be >= 0")
    yield Bad(_WORDS, all_of_them, one, one, one, np.bool_(True), match="must be >= 0")
    yield Bad(_WORDS.reshape(2, 2), one, two, one, one, np.bool_(True), match="rank 1")
