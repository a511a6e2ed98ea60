"""Plans for shapes that change: few are made, and they hold for what comes."""

from __future__ import annotations

import numpy as np
import pytest

import stillflow as tf
from stillflow.runtime.plan import plan
from stillflow.runtime.plan.shape_policy import AT_ONCE, EARNED, MOST, Recent, SeenShapes


def test_the_first_shapes_have_plans_of_their_own():
    seen = SeenShapes()
    shapes = [((8, length),) for length in range(AT_ONCE)]
    assert [seen.rely_on(shape) for shape in shapes] == shapes
    assert [seen.rely_on(shape) for shape in shapes] == shapes


def test_later_plans_rely_on_what_was_always_the_same():
    seen = SeenShapes()
    found = [seen.rely_on(((8, length, 3), (8,))) for length in range(6)]
    assert found[AT_ONCE:] == [((8, None, 3), (8,))] * (6 - AT_ONCE)
    assert seen.rely_on(((7, 1, 3), (7,))) == ((None, None, 3), (None,))
    assert seen.rely_on(((8, 9, 3), (8,))) == ((None, None, 3), (None,))


def test_ranks_may_change_as_well():
    seen = SeenShapes()
    for shape in ((2,), (2, 3), (2, 3, 4)):
        last = seen.rely_on((shape,))
    assert last == (None,)


def test_a_shape_that_comes_often_earns_a_plan():
    seen = SeenShapes()
    for length in range(MOST):
        seen.rely_on(((length,),))
    often = [seen.rely_on(((99,),)) for _ in range(EARNED + 2)]
    assert often == [((None,),)] * EARNED + [((99,),)] * 2


def test_only_so_many_earn_one():
    seen = SeenShapes()
    found = {seen.rely_on(((length,),)) for _ in range(2 * EARNED) for length in range(2 * MOST)}
    assert len(found) == MOST + 1


@pytest.fixture
def plans(monkeypatch):
    made = []
    make_plan = plan.make_plan

    def spy(resources, request):
        made.append(list(request.feeds.values()))
        return make_plan(resources, request)

    monkeypatch.setattr(plan, "make_plan", spy)
    return made


def test_a_session_makes_few_plans_for_many_lengths(plans):
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, None, 3])
        y = tf.reduce_sum(tf.nn.softmax(x * tf.cast(tf.shape(x)[1], tf.float32)), [1, 2])
        (slope,) = tf.gradients(y, x)
        for length in (4, 7, 1, 9, 2, 7, 12):
            values, slopes = session.run([y, slope], {x: np.ones((5, length, 3))})
            np.testing.assert_allclose(values, [length] * 5, rtol=1e-5)
            np.testing.assert_allclose(slopes, np.zeros((5, length, 3)), atol=1e-5)
    assert plans == [[(5, 4, 3)], [(5, 7, 3)], [(5, None, 3)]]


def test_shapes_are_remembered_when_the_graph_changes(plans):
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None])
        y = tf.reduce_sum(x)
        for length in (4, 7, 1):
            session.run(y, {x: np.ones(length)})
        tf.constant(1.0)
        session.run(y, {x: np.ones(9)})
    assert plans == [[(4,)], [(7,)], [(None,)], [(None,)]]


def test_items_that_are_used_stay_and_others_go() -> None:
    cache: Recent[int, str] = Recent(8)
    for number in range(100):
        cache.put(number, str(number))
        assert cache[0] == "0"
        assert cache.kept() <= 8
    assert (cache[99], cache[50]) == ("99", None)
    cache.clear()
    assert (cache.kept(), cache[0]) == (0, None)
