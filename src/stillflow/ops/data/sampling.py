"""Datasets of some elements of others, by chance or by time: SamplingDataset, SleepDataset."""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np

from stillflow.graph.node import Node
from stillflow.graph.parts import Kernel
from stillflow.ops.data.background import release, wait
from stillflow.ops.data.pipeline import (
    TYPED,
    Context,
    Dataset,
    Elements,
    as_dataset,
    invalid,
    scalar,
    unary,
)
from stillflow.ops.data.shuffling import seeds_of, stream
from stillflow.ops.data.walk import Element, State, Walk

sampling_dataset_op = unary("SamplingDataset", "rate: float, seed: int64, seed2: int64", TYPED)
sleep_dataset_op = unary(
    "SleepDataset", "sleep_microseconds: int64", TYPED,
    at_most={"input_dataset": 0, "sleep_microseconds": 0},
)  # fmt: skip

_MANTISSA = (1 << 23) - 1
_SHORT = 0.02  # seconds that nobody minds to wait for when a session is closed


class _Sampling(Walk):
    """Each element with the probability `rate`, a float32."""

    def __init__(self, source: Elements, rate: Any, seeds: tuple[int, int]) -> None:
        self.source = source
        self.rate = rate
        self.seeds = seeds
        self.draw = stream(*seeds)
        self.count = 0

    def __next__(self) -> Element:
        while True:
            element: Element = next(self.source)
            self.count += 1
            if np.float32(self.draw() & _MANTISSA) / np.float32(1 << 23) < self.rate:
                return element

    def save(self, state: State) -> None:
        self.put(state, "num_random_samples", self.count)
        self.put(state, "seed", self.seeds[0])
        self.put(state, "seed2", self.seeds[1])
        super().save(state)

    def restore(self, state: State) -> None:
        self.count = self.integer(state, "num_random_samples")
        self.seeds = self.integer(state, "seed"), self.integer(state, "seed2")
        self.draw = stream(*self.seeds)
        self.draw.drawn = 4 * self.count  # TensorFlow goes on after as many blocks of four numbers
        super().restore(state)


@sampling_dataset_op.kernel
def sampling_dataset_kernel(node: Node) -> Kernel:
    def run(value: Any, rate: Any, seed: Any, seed2: Any) -> Dataset:
        source, seeds = as_dataset(value), seeds_of(seed, seed2)
        part = np.float32(scalar(rate))

        def make(context: Context, prefix: str) -> Elements:
            return _Sampling(source.iterate(context, prefix), part, seeds)

        return source.like("Sampling", make)

    return run


class _Sleeping(Walk):
    """Walk that waits before each element, and notices the end of the session meanwhile."""

    def __init__(self, source: Elements, waits: Any, seconds: float) -> None:
        self.source = source
        self.waits = waits
        self.seconds = seconds

    def __next__(self) -> Element:
        if self.seconds <= _SHORT:
            time.sleep(self.seconds)
        else:
            self._sleep()
        return next(self.source)

    def _sleep(self) -> None:
        over = threading.Lock()
        over.acquire()
        timer = threading.Timer(self.seconds, release, [over])
        timer.daemon = True
        timer.start()
        try:
            wait(self.waits, over)
        finally:
            timer.cancel()


@sleep_dataset_op.kernel
def sleep_dataset_kernel(node: Node) -> Kernel:
    def run(value: Any, sleep_microseconds: Any) -> Dataset:
        source, seconds = as_dataset(value), scalar(sleep_microseconds) / 1e6
        if seconds < 0:
            raise invalid("`sleep_microseconds` must be >= 0")

        def make(context: Context, prefix: str) -> Elements:
            return _Sleeping(source.iterate(context, prefix), context.waits, seconds)

        return source.like("Sleep", make, source.size)

    return run
