"""Dependencies among steps, while one after the other is done."""

from __future__ import annotations

from stillflow.runtime.schedule.dependencies import Dependencies


def test_what_waits_becomes_free_with_the_last_that_it_waits_for():
    waits = Dependencies([(), {0}, {0, 1}, ()])
    assert waits.free() == [0, 3]
    assert waits.done(0) == [1]
    assert waits.done(1) == [2]


def test_what_was_let_go_does_not_become_free_again():
    waits = Dependencies([{1}, {0}])
    assert waits.free() == []
    waits.let_go(0)
    assert waits.done(0) == [1]
    assert waits.done(1) == []
