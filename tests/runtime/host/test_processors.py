"""Number of threads to use, from the time that those of the process wait."""

from __future__ import annotations

import sys

import pytest

from stillflow.runtime.host.processors import Processors, seconds_waited


class Machine:
    """A clock, and processors of which some are left by other programs."""

    def __init__(self, most, free):
        self.now, self.waited, self.free = 0.0, 0.0, free
        self.processors = Processors(most, lambda: self.waited, lambda: self.now)

    def run(self, seconds):
        """Use the set number of threads, some of which wait for a processor; return the number."""
        used = []
        for _ in range(round(seconds / 0.01)):
            used.append(self.processors.count())
            self.waited += 0.01 * max(0, used[-1] - self.free)
            self.now += 0.01
        return used


def test_all_are_used_while_nothing_else_runs():
    assert set(Machine(4, free=4).run(60)) == {4}


@pytest.mark.parametrize(("most", "free"), [(2, 1), (8, 3), (64, 63)])
def test_others_leave_fewer(most, free):
    used = Machine(most, free).run(5)
    assert used[0] == most
    assert used[-1] in (free, free + 1)
    assert used.count(most) < 0.1 * len(used)


def test_one_more_is_tried_less_and_less_often():
    machine = Machine(2, free=1)
    first, later = machine.run(10).count(2), machine.run(100).count(2)
    assert 0 < later < 0.03 * 10_000
    assert later / 10 < first


def test_processors_that_others_leave_are_used_again():
    machine = Machine(2, free=1)
    machine.run(5)
    machine.free = 2
    assert machine.run(20)[-1] == 2


def test_one_thread_is_never_too_many():
    assert Machine(2, free=0).run(5)[-1] == 1


def test_all_are_used_where_the_system_does_not_say():
    assert Processors(8, lambda: None).count() == 8


@pytest.mark.skipif(sys.platform != "linux", reason="reads what Linux says")
def test_the_time_that_threads_waited_only_grows():
    before = seconds_waited()
    assert 0 <= before <= seconds_waited()
