"""Options that disturb a run of the suite: random order and the garbage collector.

    pytest --shuffle 7 --collect-garbage between tests/train

runs the tests in an order drawn from the seed 7, and collects garbage after each of them. No test
depends on the tests before it, nor on the moment in which Python frees an object.
"""

from __future__ import annotations

import gc
import random
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis.strategies import none

CHOICES = {
    "between": "a full collection after every test, so that nothing survives by accident",
    "often": "a collection every few allocations, so that garbage is freed inside a test",
    "never": "no collection, so that what is part of a cycle stays alive",
}
# Objects, young and middle-aged collections; Python's own are 700 (2000 since 3.12), 10 and 10.
OFTEN = (200, 3, 2)
ALL = 500


def add_options(parser: pytest.Parser) -> None:
    """Add `--shuffle` and `--collect-garbage`."""
    parser.addoption(
        "--shuffle", type=int, metavar="SEED",
        help="run the tests in a random order, drawn from this seed",
    )  # fmt: skip
    when = "; ".join(f"{name}: {text}" for name, text in CHOICES.items())
    parser.addoption("--collect-garbage", choices=CHOICES, help=when)


def shuffle(items: list[pytest.Item], seed: int | None) -> None:
    """Put tests in an order drawn from a seed; all processes of one run draw the same one."""
    if seed is not None:
        items.sort(key=lambda item: item.nodeid)  # independent of the order of the arguments
        random.Random(seed).shuffle(items)


class Collector:
    """Plugin that decides when Python collects garbage.

    Args:
      when: one of `CHOICES`.
    """

    def __init__(self, when: str) -> None:
        self._when = when
        self._tests = 0

    def _collect(self) -> None:
        """Collect the garbage of one test: what survives is frozen, and not looked at again.

        To look at everything takes 0.3 s late in a run; it is done once in `ALL` tests.
        """
        if self._tests % ALL == 0:
            gc.unfreeze()
        self._tests += 1
        gc.collect()
        gc.freeze()

    def pytest_collection_finish(self) -> None:
        _no_example()
        self._collect()
        if self._when == "never":
            gc.disable()
        elif self._when == "often":
            gc.set_threshold(*OFTEN)

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_teardown(self) -> Iterator[None]:
        yield
        if self._when == "between":
            self._collect()


@given(none())
def _no_example(_: None) -> None:
    """Do nothing, but let hypothesis ask who refers to NumPy's generator: freezing hides that."""
