"""The dependency model, and the scheduler."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from stillflow.runtime.ir.steps import ANY
from stillflow.runtime.schedule.dependencies import (
    Access,
    Group,
    Strength,
    dependencies,
    inherit,
    schedule,
)  # fmt: skip


def access(reads="", writes=""):
    return Access([*reads], [*writes])


def test_reads_follow_writes_and_writes_follow_reads():
    found = dependencies([
        access(writes="a"), access("a", "b"), access("a"), access(writes="a"), access("a"),
    ])  # fmt: skip
    assert found == [set(), {0}, {0}, {0, 1, 2}, {3}]


def test_a_variable_that_only_the_run_knows_may_be_any():
    found = dependencies([
        Access([], [1]), Access([ANY], []), Access([2], []), Access([], [ANY]), Access([1], []),
    ])  # fmt: skip
    assert found == [set(), {0}, set(), {0, 1, 2}, {0, 3}]


def test_priorities_hold_within_dependencies():
    assert schedule([{2}, set(), set()]) == [1, 2, 0]
    assert schedule([set(), set(), {1}], keys=[2, 1, 0]) == [1, 2, 0]


def test_a_priority_is_inherited_by_all_that_is_waited_for():
    before = [set(), {3}, set(), set()]
    assert schedule(before, inherit(before, range(4))) == [0, 3, 1, 2]


def test_a_group_goes_on_while_one_of_it_is_ready():
    groups = ["gpu", None, "gpu", None, "gpu"]
    assert schedule([(), (), (), {2}, {3}], groups=groups) == [0, 2, 1, 3, 4]


def test_the_first_and_the_last_group_have_their_places():
    groups = [None, Group.LAST, Group.FIRST, None]
    assert schedule([(), (), {0}, {1}], groups=groups) == [0, 2, 1, 3]


def test_constraints_give_way_to_dependencies_the_weakest_first():
    rendezvous, other = {0: Strength.RENDEZVOUS}, {1: Strength.ACCESS}
    assert schedule([{1}, set()], preferred=[{}, rendezvous]) == [1, 0]
    assert schedule([set(), set()], preferred=[other, rendezvous]) == [1, 0]
    assert schedule([set(), set()], preferred=[{1: Strength.RENDEZVOUS}, {}]) == [1, 0]


def test_what_waits_for_itself_in_a_circle_is_left_out():
    assert schedule([{1}, {0}, set()]) == [2]


@st.composite
def problems(draw):
    """Draw accesses, priorities and groups."""
    keys = st.sets(st.sampled_from(["a", "b", "c", 0, 1, ANY]), max_size=2)
    accesses = draw(st.lists(st.builds(Access, keys, keys), max_size=12))
    size = len(accesses)
    order = draw(st.permutations(range(size)))
    kinds = st.sampled_from([None, "gpu", Group.FIRST, Group.LAST])
    return accesses, order, draw(st.lists(kinds, min_size=size, max_size=size))


def replay(accesses, order):
    """Return what each access reads: who wrote each key last. Any key may be another there."""
    last, seen = {}, {}
    for number in order:
        reads, writes = accesses[number]
        seen[number] = {key: last.get(key) for key in reads} | {"any": last.get(ANY)}
        if ANY in reads:
            seen[number] |= {key: last.get(key) for key in (0, 1)}
        last.update(dict.fromkeys(writes, number))
        if ANY in writes:
            last.update(dict.fromkeys((0, 1), number))
    return {number: seen[number] for number in seen if accesses[number].reads}, last


@given(problems())
def test_in_any_schedule_all_read_what_they_read_in_the_given_order(problem):
    accesses, keys, groups = problem
    before = dependencies(accesses)
    order = schedule(before, keys, groups)
    assert sorted(order) == [*range(len(accesses))]
    numbers = range(len(accesses))
    expected, final = replay(accesses, numbers)
    found, last = replay(accesses, order)
    for number in expected:
        reads = set(accesses[number].reads) | ({0, 1} if ANY in accesses[number].reads else set())
        for key in reads - {ANY}:
            assert found[number][key] == expected[number][key]
    assert last == final


@given(problems(), st.data())
def test_whatever_is_preferred_dependencies_hold(problem, data):
    accesses, keys, groups = problem
    before = dependencies(accesses)
    numbers = st.integers(0, max(0, len(accesses) - 1))
    wishes = st.dictionaries(numbers, st.sampled_from([*Strength]), max_size=3)
    preferred = [{n: s for n, s in data.draw(wishes).items() if n != own} for own in keys]
    preferred = [preferred[keys.index(number)] for number in range(len(accesses))]
    order = schedule(before, keys, groups, preferred)
    place = {number: position for position, number in enumerate(order)}
    assert sorted(order) == [*range(len(accesses))]
    assert all(place[other] < place[number] for number in place for other in before[number])
