"""Weak collections may grow while a loop runs over them, as another thread may make them do."""

from __future__ import annotations

import gc
import weakref

from stillflow.util.weak import LiveSet, live_items


class _Thing:
    pass


def test_a_set_may_grow_while_it_is_gone_through():
    things = [_Thing() for _ in range(3)]
    live: LiveSet[_Thing] = LiveSet()
    for thing in things:
        live.add(thing)
    more = [_Thing() for _ in range(100)]
    seen = []
    for thing in live:
        seen.append(thing)
        for each in more:
            live.add(each)
    assert set(seen) == set(things)
    assert set(live) == {*things, *more}


def test_a_set_does_not_keep_what_it_holds():
    live: LiveSet[_Thing] = LiveSet()
    kept, dropped, deleted = _Thing(), _Thing(), _Thing()
    for thing in (kept, dropped, deleted, kept):
        live.add(thing)
    live.discard(dropped)
    live.discard(dropped)
    del deleted, thing
    gc.collect()
    assert list(live) == [kept]


def test_items_of_a_dictionary_may_grow_and_go_meanwhile():
    keys = [_Thing() for _ in range(3)]
    held: weakref.WeakKeyDictionary[_Thing, int] = weakref.WeakKeyDictionary(
        {key: number for number, key in enumerate(keys)}
    )
    seen = []
    more = [_Thing() for _ in range(100)]
    for key, number in live_items(held):
        seen.append(number)
        held.update(dict.fromkeys(more, 7))
        held.pop(keys[2], None)
        del key
    assert sorted(seen) in ([0, 1], [0, 1, 2])
