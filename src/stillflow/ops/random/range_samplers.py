"""Samplers of class numbers 0 .. range - 1, as sampled losses use them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

from stillflow.ops.random.draws import unit_doubles
from stillflow.ops.random.native_kernels import FIXED, LOG_UNIFORM, UNIFORM, CandidateLoop
from stillflow.ops.random.philox import MASK32, MASK64, Philox

_MAX_INT32 = 2**31 - 1


class Words:
    """The 32-bit words of a stream, read one after another."""

    def __init__(self, stream: Philox) -> None:
        self._stream = stream
        self._words = np.empty(0, np.uint32)
        self._next = 0

    def take(self, count: int) -> np.ndarray:
        """Return the next `count` words."""
        if self._next + count > len(self._words):
            self._words = self._stream.words(2 * (self._next + count))
        self._next += count
        return self._words[self._next - count : self._next]

    def give_back(self, count: int) -> None:
        """Make the last `count` words the next ones again."""
        self._next -= count

    def below(self, limit: int) -> int:
        """Return a word as a number below `limit`, skipping words that would be a bias."""
        while True:
            word = int(self.take(1)[0])
            if word >= _skewed(limit, MASK32):
                return word % limit

    def below64(self, limit: int) -> int:
        """Two words taken as a number below `limit`, in the same way."""
        while True:
            low, high = self.take(2).tolist()
            if (word := low | high << 32) >= _skewed(limit, MASK64):
                return word % limit

    def unit(self) -> np.float32:
        """Return a word taken as a number from 0 up to 1."""
        mantissa = self.take(1) & np.uint32(0x7FFFFF) | np.uint32(127 << 23)
        return mantissa.view(np.float32)[0] - np.float32(1)


def _skewed(limit: int, largest: int) -> int:
    """Return the count of smallest words to skip, so that all remainders are equally frequent."""
    return 0 if limit & (limit - 1) == 0 else largest % limit + 1


class Sampler(Protocol):
    """Sampler of class numbers, with the probability of each.

    Attributes:
      range: the number of classes.
      loop: what does the same in C, if there is such a loop.
    """

    range: int
    loop: CandidateLoop | None

    def draw(self, words: Words, count: int) -> np.ndarray:
        """Return the next `count` class numbers, int64."""

    def probability(self, classes: np.ndarray) -> np.ndarray:
        """Return the probability of each of `classes` in one draw, float32."""


class UniformSampler:
    """All classes are equally likely."""

    def __init__(self, range: int) -> None:
        self.range = range
        self.loop: CandidateLoop | None = CandidateLoop(UNIFORM, range)

    def draw(self, words: Words, count: int) -> np.ndarray:
        skewed = _skewed(self.range, MASK64)
        drawn = np.empty(0, np.uint64)
        while len(drawn) < count:
            pairs = words.take(2 * (count - len(drawn))).astype(np.uint64)
            numbers = pairs[0::2] | pairs[1::2] << np.uint64(32)
            drawn = np.concatenate([drawn, numbers[numbers >= np.uint64(skewed)]])
        return (drawn % np.uint64(self.range)).astype(np.int64)

    def probability(self, classes: np.ndarray) -> np.ndarray:
        return np.full(classes.shape, 1.0 / self.range, np.float32)


class LogUniformSampler:
    """Class k has probability proportional to log(k + 2) - log(k + 1), as words by frequency."""

    def __init__(self, range: int) -> None:
        self.range = range
        self._log_range = np.log1p(float(range))
        self.loop: CandidateLoop | None = CandidateLoop(LOG_UNIFORM, range, self._log_range)

    def draw(self, words: Words, count: int) -> np.ndarray:
        pairs = words.take(2 * count)
        zeros = np.zeros(count, np.uint32)
        units = unit_doubles(np.stack([pairs[0::2], pairs[1::2], zeros, zeros]))[0]
        return (np.exp(units * self._log_range).astype(np.int64) - 1) % self.range

    def probability(self, classes: np.ndarray) -> np.ndarray:
        ratio = (classes + 2.0) / (classes + 1.0)
        return (np.log(ratio) / self._log_range).astype(np.float32)


class LearnedUnigramSampler:
    """Classes are as likely as they were frequent among those seen, each counted once more."""

    loop: CandidateLoop | None = None

    def __init__(self, range: int) -> None:
        self.range = range
        self._weights = np.ones(range, np.int64)
        self._total = range

    def draw(self, words: Words, count: int) -> np.ndarray:
        skewed = _skewed(self._total, MASK32)
        drawn = np.empty(0, np.uint32)
        while len(drawn) < count:
            more = words.take(count - len(drawn))
            drawn = np.concatenate([drawn, more[more >= skewed]])
        positions = drawn.astype(np.int64) % self._total
        return np.searchsorted(np.cumsum(self._weights), positions, side="right")

    def probability(self, classes: np.ndarray) -> np.ndarray:
        self._check(classes)
        return self._weights[classes].astype(np.float32) / np.float32(self._total)

    def learn(self, classes: np.ndarray) -> None:
        """Add `classes`, which must be in range, to the counts."""
        self._check(classes)
        counted = classes[: _MAX_INT32 - self._total]
        np.add.at(self._weights, counted, 1)
        self._total += len(counted)

    def _check(self, classes: np.ndarray) -> None:
        if len(classes) and not (classes.min() >= 0 and classes.max() < self.range):
            raise ValueError(f"true_classes must be in [0, {self.range})")


class FixedUnigramSampler:
    """Classes are as likely as given weights say.

    Args:
      weights: float32, before distortion.
      distortion: the power to which weights are raised.
      reserved: how many classes that are never drawn come before the weights' own.
      shards, shard: only every `shards`-th class, from number `shard` on, is kept.
    """

    def __init__(
        self,
        weights: Sequence[float],
        distortion: float = 1.0,
        reserved: int = 0,
        shards: int = 1,
        shard: int = 0,
    ) -> None:
        unused = len(range(shard, reserved, shards))
        # Numbers go on from the count of reserved classes kept, not of all reserved ones.
        chosen = np.asarray(weights, np.float32)[(shard - unused) % shards :: shards]
        raised = np.power(chosen.astype(np.float64), np.float32(distortion)).astype(np.float32)
        self._weights = np.concatenate([np.zeros(unused, np.float32), raised])
        self._total = np.cumsum(raised, dtype=np.float32)[-1] if len(raised) else np.float32(0)
        self.range = len(self._weights)
        self._keep, self._other = _alias_table(self._weights)
        tables = (self._keep, self._other, self._weights)
        self.loop: CandidateLoop | None = CandidateLoop(
            FIXED, self.range, tables=tables, total=float(self._total)
        )

    def draw(self, words: Words, count: int) -> np.ndarray:
        skewed = _skewed(self.range, MASK32)
        parts = []
        while count > 0:
            pairs = words.take(2 * count)
            usable = pairs[1::2] >= skewed
            good = count if usable.all() else int(usable.argmin())
            words.give_back(2 * (count - good))
            parts.append(self._pick(pairs[0 : 2 * good : 2], pairs[1 : 2 * good : 2] % self.range))
            count -= good
            if count:
                unit, bucket = words.take(1), words.below(self.range)
                parts.append(self._pick(unit, np.array([bucket])))
                count -= 1
        return np.concatenate(parts).astype(np.int64)

    def _pick(self, words: np.ndarray, buckets: np.ndarray) -> np.ndarray:
        units = (words & np.uint32(0x7FFFFF)).astype(np.float32) * np.float32(2.0**-23)
        return np.where(units < self._keep[buckets], buckets, self._other[buckets])

    def probability(self, classes: np.ndarray) -> np.ndarray:
        known = (classes >= 0) & (classes < self.range)
        found = self._weights[np.where(known, classes, 0)] / self._total
        return np.where(known, found, np.float32(0))


def _alias_table(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Walker's table: bucket i keeps its own number with probability keep[i], else other[i]."""
    total = float(np.cumsum(weights, dtype=np.float64)[-1]) if len(weights) else 0.0
    # The product is single precision, the quotient double.
    with np.errstate(divide="ignore", invalid="ignore"):
        share = ((weights * np.float32(len(weights))).astype(np.float64) / total).tolist()
    other = [-1] * len(share)
    low = [i for i, p in enumerate(share) if p < 1.0]
    high = [i for i, p in enumerate(share) if not p < 1.0]
    while high and low:
        small, large = low.pop(), high.pop()
        other[small] = large
        share[large] -= 1.0 - share[small]
        (low if share[large] < 1.0 else high).append(large)
    for left in high + low:
        share[left], other[left] = 1.0, left
    return np.array(share, np.float32), np.array(other, np.int64)


class Candidates(NamedTuple):
    """Sampled classes with expected counts of them and of the true classes."""

    sampled: np.ndarray
    true_expected: np.ndarray
    sampled_expected: np.ndarray


def sample_candidates(
    sampler: Sampler, stream: Philox, count: int, unique: bool, true_classes: np.ndarray
) -> Candidates:
    """Draws `count` classes; with `unique`, until there are that many different ones."""
    found = sampler.loop and sampler.loop.sample(stream, count, unique, true_classes)
    if found:
        return Candidates(*found)
    words = Words(stream)
    if unique:
        sampled, tries = _different(sampler, words, count)
    else:
        sampled, tries = sampler.draw(words, count), count

    def expected(classes: np.ndarray) -> np.ndarray:
        p = sampler.probability(classes)
        if tries == count:
            return p * np.float32(count)
        # 1 - (1 - p) ** tries, rounded to single precision after each function.
        logs = np.log1p(-p.astype(np.float64)).astype(np.float32) * np.float32(tries)
        return (-np.expm1(logs.astype(np.float64))).astype(np.float32)

    return Candidates(sampled, expected(true_classes), expected(sampled))


def _different(sampler: Sampler, words: Words, count: int) -> tuple[np.ndarray, int]:
    """Return the first `count` different classes and the number of draws that took."""
    drawn = sampler.draw(words, count)
    while True:
        firsts = np.sort(np.unique(drawn, return_index=True)[1])
        if len(firsts) >= count:
            firsts = firsts[:count]
            return drawn[firsts], int(firsts[-1]) + 1
        if len(drawn) > _MAX_INT32:
            raise ValueError("The sampler does not have enough classes to draw")
        drawn = np.concatenate([drawn, sampler.draw(words, len(drawn))])
