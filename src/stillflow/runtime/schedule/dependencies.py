"""The dependency model of plans, and the scheduler that gives every order in the runtime.

    before = dependencies([Access((), {"a"}), Access({"a"}, {"b"})])  # [set(), {0}]
    schedule(before)  # [0, 1]

Operations and steps are alike here: each reads and writes some keys. A value is written by its
producer and read by its consumers, and so is the end of an operation that others wait for. A
variable is written by its updates and read by all that looks at its memory, under any alias. What
the outside sees is a key, too. The other modules of this package say which keys a step has. They
add the constraints and priorities by which TensorFlow, or a device, asks for another order.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from typing import Any, NamedTuple

from stillflow.runtime.ir.steps import ANY


class Group(Enum):
    """Groups with a fixed place in a schedule; all others run in one piece where possible."""

    FIRST = "as soon as ready"
    LAST = "when nothing else is ready"


class Strength(Enum):
    """Constraints that give way, the first of these first, where they contradict dependencies."""

    RENDEZVOUS = 0
    ACCESS = 1


class Access(NamedTuple):
    """The keys that an operation or step reads and writes."""

    reads: Collection[Hashable]
    writes: Collection[Hashable]


def dependencies(accesses: Iterable[Access]) -> list[set[int]]:
    """Return for each access the numbers of the earlier ones that it has to follow.

    Reads follow writes; writes follow reads and writes.
    """
    written: dict[Hashable, int] = {}
    readers: dict[Hashable, list[int]] = {}
    result: list[set[int]] = []
    for number, (reads, writes) in enumerate(accesses):
        before = {written[key] for each in (*reads, *writes) for key in _same(each, written)}
        for each in writes:
            for key in _same(each, readers):
                before.update(readers[key])
        for key in reads:
            readers.setdefault(key, []).append(number)
        for key in writes:
            written[key], readers[key] = number, []
        before.discard(number)
        result.append(before)
    return result


def _same(key: Hashable, known: Mapping[Hashable, Any]) -> Iterator[Hashable]:
    """Yield the known keys that may be the same."""
    if key == ANY:
        yield from (each for each in known if isinstance(each, int))
    else:
        if key in known:
            yield key
        if isinstance(key, int) and ANY in known:
            yield ANY


def followers(before: Sequence[Collection[int]]) -> list[list[int]]:
    """Return for each the numbers of those that wait for it."""
    result: list[list[int]] = [[] for _ in before]
    for number, others in enumerate(before):
        for other in others:
            result[other].append(number)
    return result


def inherit(before: Sequence[Collection[int]], keys: Sequence[Any]) -> list[Any]:
    """Return priorities by which each comes as early as the first of those that wait for it."""
    result: list[Any] = [None] * len(keys)
    for number in sorted(range(len(keys)), key=keys.__getitem__):
        stack = [number]
        while stack:
            last = stack.pop()
            if result[last] is None:
                result[last] = (keys[number], keys[last])
                stack.extend(before[last])
    return result


def schedule(
    before: Sequence[Collection[int]],
    keys: Sequence[Any] | None = None,
    groups: Sequence[Any] | None = None,
    preferred: Sequence[Mapping[int, Strength]] | None = None,
) -> list[int]:
    """Return numbers in an order in which each follows all that it waits for.

    Args:
      before: the dependencies of each.
      keys: priorities, the lowest first; None for the order of the numbers.
      groups: of each: one of `Group`, or any value. A group goes on as long as one of it is ready,
        but for those that come first.
      preferred: more that each should follow. Of these the weakest give way if nothing is ready.

    Returns:
      Fewer numbers than there are if they wait for each other in a circle.
    """
    if keys is groups is preferred is None:
        return _by_number(before)
    return _Scheduler(before, keys, groups, preferred).run()


def _by_number(before: Sequence[Collection[int]]) -> list[int]:
    """Return the numbers, the lowest first; most come after all that they wait for anyway."""
    done: dict[int, None] = {}
    waiting: dict[int, list[int]] = {}
    missing: dict[int, int] = {}
    for number, others in enumerate(before):
        late = [other for other in others if other not in done]
        if late:
            missing[number] = len(late)
        for other in late:
            waiting.setdefault(other, []).append(number)
        ready = [] if late else [number]
        while ready:
            first = heapq.heappop(ready)
            done[first] = None
            for follower in waiting.pop(first, ()):
                missing[follower] -= 1
                if not missing[follower]:
                    heapq.heappush(ready, follower)
    return list(done)


class _Scheduler:
    """List scheduling."""

    def __init__(
        self, before: Sequence[Collection[int]], keys: Any, groups: Any, preferred: Any
    ) -> None:
        self._keys = range(len(before)) if keys is None else keys
        self._groups = groups
        self._before = before
        self._wished: list[dict[int, Strength]] = [dict(each) for each in preferred or ()]
        self._missing = [len(others) for others in before]
        for number, wished in enumerate(self._wished):
            for other in before[number]:
                wished.pop(other, None)
            self._missing[number] += len(wished)
        waited_for = [(*own, *more) for own, more in zip(before, self._wished)]
        self._followers = followers(waited_for if self._wished else before)
        self._ready: dict[Any, list[tuple[Any, int]]] = {}
        self._done: dict[int, None] = {}

    def run(self) -> list[int]:
        for number, count in enumerate(self._missing):
            if not count:
                self._release(number)
        present: Any = Group.LAST
        while len(self._done) < len(self._missing):
            present = self._next_group(present)
            if not self._ready.get(present) and not self._give_way():
                break
            if self._ready.get(present):
                self._finish(heapq.heappop(self._ready[present])[1])
        return list(self._done)

    def _release(self, number: int) -> None:
        group = None if self._groups is None else self._groups[number]
        heapq.heappush(self._ready.setdefault(group, []), (self._keys[number], number))

    def _next_group(self, present: Any) -> Any:
        if self._ready.get(Group.FIRST):
            return Group.FIRST
        if present is not Group.LAST and self._ready.get(present):
            return present
        groups = [each for each, ready in self._ready.items() if ready and each is not Group.LAST]
        return min(groups, key=lambda each: self._ready[each][0], default=Group.LAST)

    def _finish(self, number: int) -> None:
        self._done[number] = None
        for other in self._followers[number]:
            if self._wished and number in self._wished[other]:
                del self._wished[other][number]
            self._missing[other] -= 1
            if not self._missing[other]:
                self._release(other)

    def _give_way(self) -> bool:
        """Release one that waits for no dependency, but for the weakest constraints."""
        free = [
            (max(strength.value for strength in wished.values()), self._keys[number], number)
            for number, wished in enumerate(self._wished)
            if wished and self._done.keys() >= set(self._before[number])
        ]
        if free:
            number = min(free)[-1]
            for other in self._wished[number]:
                self._followers[other].remove(number)
            self._wished[number].clear()
            self._missing[number] = 0
            self._release(number)
        return bool(free)
