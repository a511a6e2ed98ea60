"""Strategies with one replica."""

from __future__ import annotations

import copy

import pytest

import stillflow as tf
from stillflow.distribute.context import get_cross_replica_context
from stillflow.testing.gradient_checks import (
    create_identity_with_grad_check_fn,
    create_identity_with_nan_gradients_fn,
)

pytestmark = pytest.mark.usefixtures("graph")  # each test builds one of its own

CPU = "/replica:0/task:0/device:CPU:0"


def strategies():
    return [tf.distribute.OneDeviceStrategy("/cpu:0"), tf.distribute.MirroredStrategy(["/cpu:0"])]


def test_without_a_scope_the_default_strategy_is_there():
    strategy = tf.distribute.get_strategy()
    assert not tf.distribute.has_strategy() and strategy.num_replicas_in_sync == 1
    assert tf.distribute.get_replica_context().strategy is strategy
    assert not tf.distribute.in_cross_replica_context()
    with strategy.scope() as entered:
        assert entered is strategy and not tf.distribute.has_strategy()
    with pytest.raises(RuntimeError, match="single instance"):
        copy.deepcopy(strategy)
    with pytest.raises(RuntimeError, match=r"worker_devices\(\) method unsupported"):
        _ = strategy.extended.worker_devices


@pytest.mark.parametrize("strategy", strategies())
def test_a_scope_makes_variables_on_its_device(strategy):
    with strategy.scope():
        assert tf.distribute.get_strategy() is strategy
        assert tf.distribute.in_cross_replica_context()
        with strategy.scope():  # once more changes nothing
            v = tf.Variable(1.0)
        w = tf.get_variable("w", [2])
    outside = tf.Variable(1.0)
    assert v.device == w.device == CPU and "VarHandleOp" in v.handle.op.type
    assert strategy.extended.variable_created_in_scope(v)
    assert not strategy.extended.variable_created_in_scope(outside)
    assert strategy.extended.worker_devices == (CPU,)
    assert not tf.distribute.has_strategy()


@pytest.mark.parametrize("strategy", strategies())
def test_a_step_runs_in_the_replica(strategy):
    def step(x):
        context = tf.distribute.get_replica_context()
        assert context.strategy is strategy and not tf.distribute.in_cross_replica_context()
        assert context.devices == (CPU,) and context.num_replicas_in_sync == 1

        def merge(whole, value):
            assert whole is strategy and get_cross_replica_context() is strategy
            return value * 2.0

        total = context.all_reduce(tf.distribute.ReduceOp.SUM, tf.identity(x))
        return context.merge_call(merge, args=(total,)), context.replica_id_in_sync_group

    with strategy.scope():
        doubled, number = strategy.experimental_run_v2(step, args=(tf.constant([1.0, 3.0]),))
        mean = strategy.reduce("mean", doubled, axis=0)
    with tf.Session() as session:
        assert session.run([mean, number]) == [4.0, 0]
    assert strategy.experimental_local_results(doubled) == (doubled,)


def test_updates_run_where_variables_are():
    (strategy, _) = strategies()
    with strategy.scope():
        v = tf.Variable(1.0)
        update = strategy.extended.update(v, lambda var, by: var.assign_add(by), args=(2.0,))
        read = strategy.extended.read_var(v)
    with tf.Session() as session:
        session.run(v.initializer)
        session.run(update)
        assert session.run(read) == 3.0


def test_strategies_do_not_mix():
    one, other = strategies()
    with pytest.raises(RuntimeError, match=r'Need to be inside "with strategy\.scope\(\)"'):
        one.extended.colocate_vars_with(None)
    with one.scope():
        with pytest.raises(RuntimeError, match=r"Mixing different tf\.distribute\.Strategy"):
            other.extended.reduce_to("sum", 1.0, "/cpu:0")
        with pytest.raises(RuntimeError, match="Mixing different"), other.scope():
            pass
        with pytest.raises(RuntimeError, match="Must not be called inside"):
            tf.distribute.experimental_set_strategy(other)
    context = tf.distribute.get_replica_context()
    with one.scope(), pytest.raises(RuntimeError, match="Need to be inside `call_for_each_rep"):
        context.merge_call(lambda strategy: None)
    with pytest.raises(RuntimeError, match="Must only deepcopy"):
        copy.copy(one)


def test_a_strategy_is_set_for_good():
    strategy, other = strategies()
    tf.distribute.experimental_set_strategy(strategy)
    assert tf.distribute.get_strategy() is strategy
    tf.distribute.experimental_set_strategy(other)
    assert tf.distribute.get_strategy() is other
    tf.distribute.experimental_set_strategy(None)
    assert not tf.distribute.has_strategy()


def test_what_needs_several_tasks_is_refused_by_name():
    with pytest.raises(ValueError, match="In-graph multi-worker training"):
        tf.distribute.MirroredStrategy(["/job:worker/task:0/cpu:0", "/job:worker/task:1/cpu:0"])
    with pytest.raises(AssertionError, match="No duplicates allowed"):
        tf.distribute.MirroredStrategy(["/cpu:0", "/device:CPU:0"])


def test_batches_are_shared_evenly_or_not_at_all():
    context = tf.distribute.InputContext(num_replicas_in_sync=3)
    assert context.get_per_replica_batch_size(6) == 2
    with pytest.raises(ValueError, match="is not divisible by"):
        context.get_per_replica_batch_size(7)


def test_reductions_come_of_aggregations():
    of = tf.distribute.ReduceOp.from_variable_aggregation
    assert of(tf.VariableAggregation.MEAN) is tf.distribute.ReduceOp.MEAN
    with pytest.raises(ValueError, match="Could not convert from"):
        of(tf.VariableAggregation.NONE)
    assert tf.distribute.get_loss_reduction() is tf.distribute.ReduceOp.SUM


def test_gradients_that_pass_through_are_checked():
    x = tf.constant(3.0)
    good = tf.gradients(create_identity_with_grad_check_fn(2.0, tf.float32)(x) * 2.0, x)
    bad = tf.gradients(create_identity_with_grad_check_fn(1.0)(x) * 2.0, x)
    nan = tf.gradients(create_identity_with_nan_gradients_fn(tf.constant(True))(x) * 2.0, x)
    with tf.Session() as session:
        assert session.run(good) == [2.0]
        assert session.run(nan) != session.run(nan)
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run(bad)
