"""Candidate sampling: classes to compare true classes with, for losses over large vocabularies."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from stillflow.errors import invalid_argument, not_found
from stillflow.graph import dims
from stillflow.graph.card import Card, op
from stillflow.graph.export import export
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.graph.random_seed import get_seed
from stillflow.ops.random.range_samplers import (
    FixedUnigramSampler,
    LearnedUnigramSampler,
    LogUniformSampler,
    Sampler,
    UniformSampler,
    sample_candidates,
)
from stillflow.ops.random.streams import OpStream
from stillflow.ops.samples import Bad, Sample, Samples

# Words that an execution reserves for each class it samples.
_RESERVED_WORDS = 2048


class _State:
    """State of a sampling op in a session: its stream and its learned counts."""

    def __init__(self, node: Node, sampler: Sampler) -> None:
        self.stream = OpStream(node.seed, node.seed2)
        self.sampler = sampler
        self.lock = threading.Lock()


def _candidate_shape(node: Node) -> list[tuple[int | None, ...]]:
    given = node.dims(0)
    if node.planning and given is not None and len(given) != 2:
        raise ValueError("true_classes must be a matrix")
    batch = dims.with_rank(given, 2)[0]
    return [(node.num_sampled,), (batch, node.num_true), (node.num_sampled,)]


def _checked(true_classes: Any, node: Node) -> np.ndarray:
    columns = true_classes.shape[1]
    if columns != node.num_true:
        raise ValueError(
            f"true_classes must have num_true columns, expected: {columns} was: {node.num_true}"
        )
    classes: np.ndarray = true_classes.cpu().numpy()
    return classes


def _sampling_kernel(make: Callable[[Node], Sampler]) -> Callable[[Node], Any]:
    def kernel(node: Node) -> Callable[..., Any]:
        state = node.own_state(lambda: _State(node, make(node)))
        count, unique, device = node.num_sampled, node.unique, node.device

        def run(true_classes: Any) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
            classes = _checked(true_classes, node)
            sampler = state.sampler
            if unique and count > sampler.range:
                raise ValueError("Sampler's range is too small.")
            start = state.stream.reserve(-(-_RESERVED_WORDS * count // 4))
            flat = classes.reshape(-1)
            with state.lock:
                found = sample_candidates(sampler, start, count, unique, flat)
                if isinstance(sampler, LearnedUnigramSampler):
                    sampler.learn(flat)
            expected = found.true_expected.reshape(classes.shape)
            arrays = (found.sampled, expected, found.sampled_expected)
            return tuple(torch.from_numpy(array).to(device) for array in arrays)

        return run

    return kernel


_OUTPUTS = "(sampled_candidates: int64, true_expected_count: float, sampled_expected_count: float)"


def _sampling_op(name: str, attrs: str, make: Callable[[Node], Sampler], **effect: Any) -> Card:
    text = f"""
        {name}(true_classes: int64) -> {_OUTPUTS}
        num_true: int >= 1
        num_sampled: int >= 1
        unique: bool
        {attrs}
        seed: int = 0
        seed2: int = 0
        flags: stateful
    """
    card = op(text, devices="host", **effect)
    card.shape(_candidate_shape)
    card.kernel(_sampling_kernel(make))
    return card


def _fixed_sampler(node: Node) -> Sampler:
    vocabulary, unigrams = node.vocab_file.decode(), list(node.unigrams)
    if not vocabulary and not unigrams:
        raise ValueError("Must provide either vocab_file or unigrams.")
    if vocabulary and unigrams:
        raise ValueError("Must only provide one of vocab_file and unigrams.")
    sampler = FixedUnigramSampler(
        _read_weights(vocabulary) if vocabulary else unigrams,
        node.distortion,
        node.num_reserved_ids,
        node.num_shards,
        node.shard,
    )
    if sampler.range != node.range_max:
        raise ValueError(
            f"range_max is {node.range_max}, but there are weights for {sampler.range} classes"
        )
    return sampler


def _read_weights(path: str) -> list[float]:
    """Return the last comma-separated field of each line."""
    weights = []
    try:
        with open(path, encoding="utf-8") as file:
            for line in file:
                text = line.rstrip("\n")
                try:
                    weights.append(float(text.split(",")[-1]))
                except ValueError:
                    raise invalid_argument(f"Wrong vocabulary format at line: {text}") from None
    except OSError as error:
        raise not_found(f"{path}; {error.strerror}") from error
    return weights


uniform_candidate_sampler_op = _sampling_op(
    "UniformCandidateSampler", "range_max: int >= 1", lambda node: UniformSampler(node.range_max)
)
log_uniform_candidate_sampler_op = _sampling_op(
    "LogUniformCandidateSampler",
    "range_max: int >= 1",
    lambda node: LogUniformSampler(node.range_max),
)
learned_unigram_candidate_sampler_op = _sampling_op(
    "LearnedUnigramCandidateSampler",
    "range_max: int >= 1",
    lambda node: LearnedUnigramSampler(node.range_max),
)
thread_unsafe_unigram_candidate_sampler_op = _sampling_op(
    "ThreadUnsafeUnigramCandidateSampler",
    "range_max: int >= 1",
    lambda node: LearnedUnigramSampler(node.range_max),
)
fixed_unigram_candidate_sampler_op = _sampling_op(
    "FixedUnigramCandidateSampler",
    """range_max: int >= 1
        vocab_file: string = ""
        distortion: float = 1
        num_reserved_ids: int = 0
        num_shards: int >= 1 = 1
        shard: int >= 0 = 0
        unigrams: list(float) = []""",
    _fixed_sampler,
    effect="reads files",
    harmless=lambda node: not node.vocab_file,
)


@uniform_candidate_sampler_op.samples
def uniform_candidate_sampler_samples() -> Samples:
    true_classes = np.array([[0, 3], [2, 1]])
    attrs: dict[str, Any] = {"num_true": 2, "num_sampled": 4, "range_max": 9, "seed": 1, "seed2": 2}
    yield Sample(true_classes, unique=True, **attrs)
    yield Sample(true_classes, unique=False, **attrs)
    yield Bad(true_classes[0], unique=False, match="Shape must be rank 2 but is rank 1", **attrs)


all_candidate_sampler_op = op(
    f"""
    AllCandidateSampler(true_classes: int64) -> {_OUTPUTS}
    num_true: int >= 1
    num_sampled: int >= 1
    unique: bool
    seed: int = 0
    seed2: int = 0
    flags: stateful
""",
    devices="host",
)
all_candidate_sampler_op.shape(_candidate_shape)


@all_candidate_sampler_op.kernel
def all_candidate_sampler_kernel(node: Node) -> Kernel:
    count, device = node.num_sampled, node.device

    def run(true_classes: Any) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        shape = _checked(true_classes, node).shape
        return (
            torch.arange(count, device=device),
            torch.ones(shape, device=device),
            torch.ones(count, device=device),
        )

    return run


compute_accidental_hits_op = op(
    """
    ComputeAccidentalHits(true_classes: int64, sampled_candidates: int64) -> (indices: int32, ids: int64, weights: float)
    num_true: int
    seed: int = 0
    seed2: int = 0
""",  # noqa: E501 - a signature is one line
    devices="host",
)


@compute_accidental_hits_op.shape
def compute_accidental_hits_shape(node: Node) -> OutputDims:
    given = node.dims(0)
    if (
        node.planning
        and given is not None
        and (len(given) != 2 or given[1] not in (None, node.num_true))
    ):
        raise ValueError("true_candidates must be a batch_size * num_true matrix")
    true_classes = dims.with_rank(given, 2)
    dims.with_value(true_classes[1], node.num_true)
    dims.with_rank(node.dims(1), 1)
    return [(None,), (None,), (None,)]


@compute_accidental_hits_op.kernel
def compute_accidental_hits_kernel(node: Node) -> Kernel:
    device = node.device

    def run(
        true_classes: Any, sampled_candidates: Any
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        flat = true_classes.reshape(-1).cpu().numpy()
        sampled = sampled_candidates.cpu().numpy()
        order = np.argsort(sampled, kind="stable")
        # Of equal candidates the last one counts.
        place = np.searchsorted(sampled[order], flat, side="right") - 1
        hit = np.empty(0, np.int64)
        if len(order):
            hit = np.nonzero((place >= 0) & (sampled[order[place]] == flat))[0]
        rows = np.asarray(hit, np.int64) // max(node.num_true, 1)
        ids = order[place[hit]] if len(order) else np.empty(0, np.int64)
        weights = np.full(len(rows), -np.finfo(np.float32).max, np.float32)
        arrays = (rows.astype(np.int32), ids.astype(np.int64), weights)
        return tuple(torch.from_numpy(array).to(device) for array in arrays)

    return run


@compute_accidental_hits_op.samples
def compute_accidental_hits_samples() -> Samples:
    true_classes = np.array([[0, 3], [2, 1]])
    yield Sample(true_classes, np.array([3, 7, 2, 3]), num_true=2)
    yield Sample(true_classes, np.array([8]), num_true=2)
    yield Bad(true_classes, np.array([3]), num_true=3, match="Dimension must be 3 but is 2")


def _seeded(card: Card, true_classes: Any, seed: int | None, name: str | None, **attrs: Any) -> Any:
    seed1, seed2 = get_seed(seed)
    return card(true_classes, seed=seed1, seed2=seed2, name=name, **attrs)


@export("random.uniform_candidate_sampler", "nn.uniform_candidate_sampler")
def uniform_candidate_sampler(
    true_classes: Any,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    seed: int | None = None,
    name: str | None = None,
) -> Any:
    """Sample classes that are all equally likely.

    Args:
      true_classes: int64 [batch, num_true], the target classes.
      num_true: how many target classes an example has.
      num_sampled: how many classes to sample for the whole batch.
      unique: whether the sampled classes must all be different.
      range_max: the number of classes.
      seed: the operation's seed; see `tf.set_random_seed`.
      name: of the operation.

    Returns:
      sampled_candidates, int64 [num_sampled], and how often each target class and each sampled
      class is expected among the sampled: true_expected_count, float [batch, num_true], and
      sampled_expected_count, float [num_sampled].
    """
    return _seeded(
        uniform_candidate_sampler_op, true_classes, seed, name,
        num_true=num_true, num_sampled=num_sampled, unique=unique, range_max=range_max,
    )  # fmt: skip


@export("random.log_uniform_candidate_sampler", "nn.log_uniform_candidate_sampler")
def log_uniform_candidate_sampler(
    true_classes: Any,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    seed: int | None = None,
    name: str | None = None,
) -> Any:
    """Sample classes with a preference for low numbers, as in words sorted by frequency.

    Class k has probability (log(k + 2) - log(k + 1)) / log(range_max + 1). Arguments and results
    are those of `uniform_candidate_sampler`.
    """
    return _seeded(
        log_uniform_candidate_sampler_op, true_classes, seed, name,
        num_true=num_true, num_sampled=num_sampled, unique=unique, range_max=range_max,
    )  # fmt: skip


@export("random.learned_unigram_candidate_sampler", "nn.learned_unigram_candidate_sampler")
def learned_unigram_candidate_sampler(
    true_classes: Any,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    seed: int | None = None,
    name: str | None = None,
) -> Any:
    """Sample classes by their frequency as target classes in earlier executions.

    Arguments and results are those of `uniform_candidate_sampler`.
    """
    return _seeded(
        learned_unigram_candidate_sampler_op, true_classes, seed, name,
        num_true=num_true, num_sampled=num_sampled, unique=unique, range_max=range_max,
    )  # fmt: skip


@export("random.fixed_unigram_candidate_sampler", "nn.fixed_unigram_candidate_sampler")
def fixed_unigram_candidate_sampler(
    true_classes: Any,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    vocab_file: str = "",
    distortion: float = 1.0,
    num_reserved_ids: int = 0,
    num_shards: int = 1,
    shard: int = 0,
    unigrams: Any = (),
    seed: int | None = None,
    name: str | None = None,
) -> Any:
    """Sample classes by weights, given in a file or as a list.

    Args:
      true_classes: int64 [batch, num_true], the target classes.
      num_true: how many target classes an example has.
      num_sampled: how many classes to sample for the whole batch.
      unique: whether the sampled classes must all be different.
      range_max: the number of classes.
      vocab_file: a text file with a line per class, whose last comma-separated field is the
        class's weight.
      distortion: the power to which weights are raised first.
      num_reserved_ids: how many classes that are never sampled come before those with weights.
      num_shards, shard: keep only every `num_shards`-th class, from number `shard` on.
      unigrams: the weights, instead of `vocab_file`.
      seed: the operation's seed; see `tf.set_random_seed`.
      name: of the operation.

    Returns:
      The result of `uniform_candidate_sampler`.
    """
    return _seeded(
        fixed_unigram_candidate_sampler_op, true_classes, seed, name,
        num_true=num_true, num_sampled=num_sampled, unique=unique, range_max=range_max,
        vocab_file=vocab_file, distortion=distortion, num_reserved_ids=num_reserved_ids,
        num_shards=num_shards, shard=shard, unigrams=list(unigrams),
    )  # fmt: skip


@export("random.all_candidate_sampler", "nn.all_candidate_sampler")
def all_candidate_sampler(
    true_classes: Any,
    num_true: int,
    num_sampled: int,
    unique: bool,
    seed: int | None = None,
    name: str | None = None,
) -> Any:
    """Sample every class exactly once: `num_sampled` is the number of classes.

    Arguments and results are those of `uniform_candidate_sampler`.
    """
    return _seeded(
        all_candidate_sampler_op, true_classes, seed, name,
        num_true=num_true, num_sampled=num_sampled, unique=unique,
    )  # fmt: skip


@export("nn.compute_accidental_hits")
def compute_accidental_hits(
    true_classes: Any,
    sampled_candidates: Any,
    num_true: int,
    seed: int | None = None,
    name: str | None = None,
) -> Any:
    """Find sampled classes that happen to be target classes.

    Args:
      true_classes: int64 [batch, num_true], the target classes.
      sampled_candidates: int64 [num_sampled], from a candidate sampler.
      num_true: how many target classes an example has.
      seed: not used.
      name: of the operation.

    Returns:
      For each hit: indices, int32, the row of `true_classes`; ids, int64, the position in
      `sampled_candidates`; weights, float, the lowest number there is, to be added to logits.
    """
    seed1, seed2 = get_seed(seed)
    return compute_accidental_hits_op(
        true_classes, sampled_candidates, num_true=num_true, seed=seed1, seed2=seed2, name=name
    )
