"""The number of plans that are kept, and those that are made for new shapes."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import stillflow as tf
from stillflow.runtime.plan.cache import PlanCache
from stillflow.runtime.plan.emit import PLAN
from stillflow.runtime.plan.shape_policy import MOST


def shapes_made(plans: PlanCache[tuple], runs: list[tuple]) -> list[tuple]:
    made: list[tuple] = []
    for shapes in runs:
        if plans.find(shapes) is None:
            plans.get(shapes, lambda relied: made.append(relied) or relied)
    return made


def test_the_first_shapes_have_plans_of_their_own_then_all_share_one() -> None:
    plans: PlanCache[tuple] = PlanCache()
    runs = [((n, 4),) for n in (1, 2, 3, 4, 1, 2)]
    assert shapes_made(plans, runs) == [((1, 4),), ((2, 4),), ((None, 4),)]


def test_a_plan_that_relies_on_what_differs_now_is_dropped() -> None:
    plans: PlanCache[tuple] = PlanCache()
    made = shapes_made(plans, [((n, 4),) for n in (1, 2, 3)] + [((3, 5),), ((3, 6, 1),)])
    assert made[2:] == [((None, 4),), ((None, None),), (None,)]
    assert len(plans) == 3
    plans.clear()
    assert len(plans) == 0 and shapes_made(plans, [((9, 9),)]) == [(None,)]


def alive() -> int:
    """Return the number of functions of plans that exist."""
    gc.collect()
    codes = {id(each.__code__) for each in gc.get_objects() if type(each) is type(alive)
             and each.__code__.co_filename.startswith(PLAN)}  # fmt: skip
    return len(codes)


@pytest.mark.parametrize("way", ["plain", "traced", "function", "data set", "partial"])
def test_runs_of_many_shapes_keep_few_plans(way: str, cpu) -> None:
    before = alive()
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None], "x")
        y = tf.reduce_sum(tf.exp(x)) + 1.0
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        if way == "function":
            signature = [tf.TensorSpec([None], tf.float32)]
            doubled = tf.function(lambda v: tf.reduce_sum(v) * 2.0, input_signature=signature)
            y = tf.py_function(doubled, [x], tf.float32)
        if way == "data set":
            sizes = tf.data.Dataset.range(1, 200).map(lambda n: tf.reduce_sum(tf.ones([n])) + 1.0)
            y = sizes.make_one_shot_iterator().get_next()
        for size in range(1, 200):
            feeds = {} if way == "data set" else {x: np.zeros(size, np.float32)}
            if way == "partial":
                handle = session.partial_run_setup([y], [x])
                session.partial_run(handle, y, feeds)
            elif way == "traced":
                session.run(y, feeds, options=options, run_metadata=tf.RunMetadata())
            else:
                session.run(y, feeds)
        assert alive() - before <= 2 * (MOST + 4)


def test_the_garbage_collector_is_off_while_a_plan_is_made() -> None:
    seen: list[bool] = []

    def make(relied: tuple) -> tuple:
        seen.append(gc.isenabled())
        if relied == ((2,),):
            raise ValueError("no plan")
        return relied

    plans: PlanCache[tuple] = PlanCache()
    plans.get(((1,),), make)
    assert gc.isenabled()
    with pytest.raises(ValueError, match="no plan"):
        plans.get(((2,),), make)
    assert gc.isenabled()
    gc.disable()
    try:
        plans.get(((1, 1),), make)
        assert not gc.isenabled()
    finally:
        gc.enable()
    assert seen == [False] * 3
