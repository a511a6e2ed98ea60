"""Tests that strategies share: of any strategy, of those with one device, of those with two."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import stillflow as tf
from stillflow import errors, nest
from stillflow.data.dataset_v1 import DatasetV1, make_initializable_iterator
from stillflow.distribute import context
from stillflow.distribute.reduce_op import ReduceOp
from stillflow.distribute.values import select_replica
from stillflow.eager.backprop import GradientTape
from stillflow.eager.gradient_functions import implicit_grad
from stillflow.files.records import tf_record_iterator
from stillflow.functional.polymorphic import function
from stillflow.graph import dtypes
from stillflow.graph.api import control_dependencies, device
from stillflow.graph.eager_mode import executing_eagerly, graph_mode
from stillflow.graph.graph import Graph
from stillflow.layers.core import Dense
from stillflow.ops.arrays.shape import reshape
from stillflow.ops.constants import constant
from stillflow.ops.gradients.gradients import gradients
from stillflow.protos import ConfigProto, Event
from stillflow.runtime.session.session import Session
from stillflow.testing.local_cluster import create_local_cluster
from stillflow.testing.test_case import TestCase
from stillflow.train.global_step import get_or_create_global_step
from stillflow.variables.base import (
    Variable,
    VariableAggregation,
    VariableSynchronization,
    VariableV2,
)
from stillflow.variables.collections import global_variables_initializer
from stillflow.variables.initializers import Zeros
from stillflow.variables.variable_scope import get_variable
from stillflow_contrib.distribute.step_fn import filtered

_WORKER_1 = "/job:worker/replica:0/task:1/device:CPU:0"
Values = Sequence[Any]


class _TestException(Exception):
    pass


def _fail(*unused: Any) -> None:
    raise _TestException


def _merge(fn: Callable[..., Any]) -> Callable[[], Any]:
    """Return a function of a replica that calls `fn` for all of them."""
    return lambda: context.get_replica_context().merge_call(fn)


def _call(fn: Callable[..., Any]) -> Callable[[Any], Any]:
    """Return a function of all replicas that calls `fn` in each."""
    return lambda strategy: strategy.extended.call_for_each_replica(fn)


def _reducer(how: ReduceOp) -> Callable[[Any], Any]:
    return lambda value: context.get_replica_context().all_reduce(how, value)


def _training_step(strategy: Any, rate: float) -> Callable[[], tuple[list[Any], list[Any]]]:
    """Return a step that trains a weight to be 1: the weights before it, and after it."""
    layer, extended = Dense(1, use_bias=False), strategy.extended

    def loss(x: Any) -> Any:
        error = reshape(layer(x), []) - constant(1.0)
        return error * error

    gradients = filtered(implicit_grad(loss))

    def step() -> tuple[list[Any], list[Any]]:
        before, after = [], []
        one = constant([[1.0]])
        for grad, variable in extended.call_for_each_replica(gradients, args=(one,)):
            before.append(extended.read_var(variable))
            with control_dependencies([before[-1]]):
                grad = extended.reduce_to(ReduceOp.SUM, grad, destinations=variable)
                updates = extended.update(
                    variable, lambda v, g: v.assign_sub(rate * g), args=(grad,), group=False
                )
                with control_dependencies(updates):
                    after.append(extended.read_var(variable))
        return before, after

    return step


class DistributionTestBase(TestCase):
    """Tests of any strategy."""

    def _test_minimize_loss_eager(self, strategy: Any) -> None:
        with strategy.scope():
            step = _training_step(strategy, 0.2)
            weights = [step() for _ in range(10)]
        self._assert_closer_to_one(weights[0][0][0].numpy(), weights[-1][1][0].numpy())

    def _assert_closer_to_one(self, before: Any, after: Any) -> None:
        self.assertLess(abs(after - 1), abs(before - 1))

    def _test_minimize_loss_graph(
        self, strategy: Any, soft_placement: bool = False, learning_rate: float = 0.2
    ) -> None:
        config = ConfigProto(allow_soft_placement=soft_placement)
        config.gpu_options.per_process_gpu_memory_fraction = 0.3
        with graph_mode(), Graph().as_default():
            with self.cached_session(config=config) as session, strategy.scope():
                fetches = _training_step(strategy, learning_rate)()
                global_variables_initializer().run()
                weights = [session.run(fetches) for _ in range(10)]
        self._assert_closer_to_one(weights[0][0][0], weights[-1][1][0])

    def _test_summary_for_replica_zero_only(self, strategy: Any) -> None:
        folder = tempfile.mkdtemp()
        recorded = tf.contrib.summary.always_record_summaries()

        def summarize() -> Any:
            with writer.as_default():
                number = context.get_replica_context().replica_id_in_sync_group
                return tf.compat.v2.summary.write("a", number)

        with self.cached_session() as session, strategy.scope(), recorded:
            step = get_or_create_global_step()
            if not executing_eagerly():
                step.initializer.run()
            tf.compat.v2.summary.experimental.set_step(0)
            writer = tf.contrib.summary.create_file_writer(folder)
            written = strategy.unwrap(strategy.extended.call_for_each_replica(summarize))
            if not executing_eagerly():
                for fetch in (writer.init(), written, writer.close()):
                    session.run(fetch)
            (name,) = os.listdir(folder)
            records = list(tf_record_iterator(os.path.join(folder, name)))
            self.assertLen(records, 2)  # the file's version, and that of the first replica
            (value,) = Event.FromString(records[1]).summary.value
            self.assertEqual((value.tag, value.simple_value), ("a", 0.0))

    def _test_replica_id(self, strategy: Any) -> None:
        found: list[int] = []
        with strategy.scope():

            def note() -> None:
                replica = context.get_replica_context()
                found.append(int(self.evaluate(replica.replica_id_in_sync_group)))

            strategy.extended.call_for_each_replica(note)
            replicas = range(len(strategy.extended.worker_devices))
            self.assertEqual(sorted(found), list(replicas))

    def _test_call_and_merge_exceptions(self, strategy: Any) -> None:
        within = _merge(_fail)
        with strategy.scope():
            for fn in (_fail, within, _merge(_call(_fail)), _merge(_call(within))):
                with self.assertRaises(_TestException):
                    strategy.extended.call_for_each_replica(fn)

    def _input_fn_to_test_input_context(
        self, dataset_or_callable_fn: Callable[[], Any], expected_num_replicas_in_sync: int,
        expected_num_input_pipelines: int, expected_input_pipeline_id: int | None,
    ) -> Callable[[Any], Any]:  # fmt: skip
        """Return an input function that checks its context; the numbers count up if None."""
        calls: list[Any] = []

        def input_fn(given: Any) -> Any:
            number = expected_input_pipeline_id
            number = len(calls) if number is None else number
            calls.append(given)
            self.assertEqual(
                (given.num_replicas_in_sync, given.num_input_pipelines, given.input_pipeline_id),
                (expected_num_replicas_in_sync, expected_num_input_pipelines, number),
            )
            return dataset_or_callable_fn()

        return input_fn

    def _check_values(self, expected: Values, fetch: Callable[[], Any], ignore_order: bool) -> None:
        same = self.assertCountEqual if ignore_order else self.assertEqual
        for values in expected:
            same(values, self.evaluate(fetch()))

    def _test_input_fn_iterable(
        self, strategy: Any, input_fn: Any, expected_values: Values, ignore_order: bool = False
    ) -> None:
        made = strategy.experimental_distribute_datasets_from_function(input_fn)
        if not executing_eagerly():
            self._test_input_fn_iterator(
                make_initializable_iterator(made), strategy.extended.worker_devices,
                expected_values, ignore_order=ignore_order,
            )  # fmt: skip
            return
        for again in (False, True):
            iterator = iter(made)

            def fetch(iterator: Any = iterator) -> list[Any]:
                return list(strategy.experimental_local_results(next(iterator)))

            self._check_values(expected_values, fetch, ignore_order)
            if not again:
                self.assertRaises(StopIteration, fetch)

    def _test_input_fn_iterator(
        self, iterator: Any, devices: Values, expected_values: Values, sess: Any = None,
        test_reinitialize: bool = True, ignore_order: bool = False,
    ) -> None:  # fmt: skip
        evaluate = sess.run if sess else self.evaluate
        same = self.assertCountEqual if ignore_order else self.assertEqual

        def fetch() -> Any:
            element = iterator.get_next()
            return evaluate([select_replica(number, element) for number in range(len(devices))])

        for _ in range(1 + test_reinitialize):
            evaluate(iterator.initialize())
            for values in expected_values:
                same(values, fetch())
            self.assertRaises(errors.OutOfRangeError, fetch)

    def _test_global_step_update(self, strategy: Any) -> None:
        with strategy.scope():
            step = get_variable(
                "global_step", shape=[], dtype=dtypes.int64, initializer=Zeros(), trainable=False,
                aggregation=VariableAggregation.ONLY_FIRST_REPLICA,
            )  # fmt: skip
            self.evaluate(global_variables_initializer())
            added, value = strategy.extended.call_for_each_replica(
                lambda: (step.assign_add(1), step.read_value())
            )
            self.evaluate(strategy.group(added))
            parts = strategy.experimental_local_results(value)
            self.assertEqual(self.evaluate(parts), (1,) * len(parts))

    def _test_numpy_dataset(self, strategy: Any) -> None:
        rows = np.asarray([[1, 2], [6, 12], [2, 4], [5, 10], [3, 6], [4, 8]]), np.arange(6)[::-1]
        extended, size = strategy.extended, 6
        if not extended._global_batch_size:
            size //= strategy.num_replicas_in_sync
        with strategy.scope(), self.cached_session() as session:
            dataset = extended.experimental_make_numpy_dataset(rows, session=session).repeat(2)
            whole = extended.experimental_require_static_shapes
            iterator = strategy.make_dataset_iterator(dataset.batch(size, drop_remainder=whole))
            self.evaluate(iterator.initialize())

            def fetch() -> list[Any]:
                parts = strategy.experimental_run(lambda element: element, iterator)
                local = [strategy.experimental_local_results(part) for part in parts]
                return [np.concatenate(each) for each in self.evaluate(local)]

            for _ in range(2):
                for given, got in zip(rows, fetch(), strict=True):
                    self.assertAllEqual(given, got)
            self.assertRaises(errors.OutOfRangeError, fetch)

    def _test_trainable_variable(self, strategy: Any) -> None:
        on_read = VariableSynchronization.ON_READ
        for kind in (Variable, VariableV2):
            with strategy.scope():
                self.assertTrue(kind(1.0).trainable)
                for wanted in (None, True, False):
                    made = kind(1.0, synchronization=on_read, trainable=wanted)
                    self.assertEqual(made.trainable, bool(wanted))


class _Replicas(TestCase):
    """Base of tests of what replicas compute from a dataset's elements, and of its gradients."""

    _count = 1
    _sums: Any
    _means: Any
    _of_gradients: tuple[Any, Any, Any, Any]
    _dataset: Callable[[Any], Any]

    def _test_all_reduce_sum(self, strategy: Any) -> None:
        self._test_collective_comms(strategy, _reducer(ReduceOp.SUM), *self._sums)

    def _test_all_reduce_mean(self, strategy: Any) -> None:
        self._test_collective_comms(strategy, _reducer(ReduceOp.MEAN), *self._means)

    def _test_all_reduce_sum_gradients(self, strategy: Any) -> None:
        given = self._of_gradients[:2]
        self._test_collective_comms_gradients(strategy, _reducer(ReduceOp.SUM), *given)

    def _test_all_reduce_mean_gradients(self, strategy: Any) -> None:
        given = self._of_gradients[2:]
        self._test_collective_comms_gradients(strategy, _reducer(ReduceOp.MEAN), *given)

    def _test_all_reduce_sum_gradient_tape(self, strategy: Any) -> None:
        given = self._of_gradients[:2]
        self._test_collective_comms_gradient_tape(strategy, _reducer(ReduceOp.SUM), *given)

    def _test_all_reduce_mean_gradient_tape(self, strategy: Any) -> None:
        given = self._of_gradients[2:]
        self._test_collective_comms_gradient_tape(strategy, _reducer(ReduceOp.MEAN), *given)

    def _results(self, strategy: Any, step: Callable[..., Any], inputs: Any) -> Any:
        iterator = strategy.make_input_fn_iterator(lambda _: type(self)._dataset(inputs))
        self.evaluate(iterator.initialize())
        return strategy.experimental_run(step, iterator)

    def _test_collective_comms(
        self, strategy: Any, comm_fn: Any, inputs: Any, expected: Any
    ) -> None:
        made = self._results(strategy, comm_fn, inputs)
        outputs = self.evaluate([strategy.experimental_local_results(each) for each in made])
        for values, output in zip(expected, outputs, strict=True):
            self.assertAllEqual([values] * self._count, output)

    def _test_collective_comms_gradients(
        self, strategy: Any, comm_fn: Any, inputs: Any, expected_grads: Any
    ) -> None:
        if executing_eagerly():
            self.skipTest("`tf.gradients` is not supported with eager execution.")

        def step(factor: Any) -> Any:
            x = constant(42.0)
            return gradients(comm_fn(x) * factor, [x])[0]

        self._check(strategy, step, inputs, expected_grads)

    def _test_collective_comms_gradient_tape(
        self, strategy: Any, comm_fn: Any, inputs: Any, expected_grads: Any
    ) -> None:
        def step(factor: Any) -> Any:
            x = constant(42.0)
            with GradientTape() as tape:
                tape.watch(x)
                y = comm_fn(x) * factor
            return tape.gradient(y, x)

        self._check(strategy, step, inputs, expected_grads)

    def _check(self, strategy: Any, step: Any, inputs: Any, expected: Any) -> None:
        made = self._results(strategy, step, inputs)
        self.assertAllEqual(expected, self.evaluate(strategy.experimental_local_results(made)))

    def _check_run(self, strategy: Any, first: Any, *expected: Any) -> None:
        """Check `first` in each replica, and what follows from it: x; 2 * x, x * x; and a sum."""

        def values(made: Any) -> Any:
            return self.evaluate(nest.map_structure(strategy.unwrap, made))

        run = strategy.experimental_run_v2
        x = run(first)
        both = run(lambda x: {"a": x * 2, "b": x * x}, args=(x,))
        total = run(lambda b, a: a + 2 * b + 2, kwargs=both)
        found = (values(x), values(both)["a"], values(both)["b"], values(total))
        for own, wanted in zip(found, expected, strict=True):
            self.assertAllEqual(wanted, own)


class OneDeviceDistributionTestBase(_Replicas):
    """Tests of strategies with one device."""

    _sums = ((4.0, [42.0, 43.0]),) * 2
    _means = ((2.0, [21.0, 22.0]),) * 2
    _of_gradients = [4.0], [4.0], [5.0], [5.0]
    _dataset = DatasetV1.from_tensors

    def _test_run(self, strategy: Any) -> None:
        self._check_run(strategy, lambda: constant(4.0), [4.0], [8.0], [16.0], [42.0])

    def _run_on_worker(self, strategy: Any, run: Callable[[Any, Any], Any]) -> None:
        if executing_eagerly():
            self.skipTest("cross-device tests are not supported with eager execution.")
        workers, _ = create_local_cluster(2, 0)
        inputs = strategy.make_input_fn_iterator(lambda _: DatasetV1.range(5))
        operation = run(lambda x: x + 1, inputs)
        with Session(target=workers[1].target) as session:
            session.run(inputs.initialize())
            session.run(operation)

    def _test_device_and_input_device_are_colocated(self, strategy: Any) -> None:
        self._run_on_worker(strategy, strategy.experimental_run)

    def _test_device_and_input_device_are_colocated_with_function(self, strategy: Any) -> None:
        def run(fn: Any, inputs: Any) -> Any:
            with device(_WORKER_1):
                return function(strategy.experimental_run)(fn, inputs)

        self._run_on_worker(strategy, run)


class TwoDeviceDistributionTestBase(_Replicas):
    """Tests of strategies with two devices."""

    _count = 2
    _inputs = ([1.0, 3.0], [[39.0, 2.0], [3.0, 41.0]])
    _sums = _inputs, (4.0, [42.0, 43.0])
    _means = _inputs, (2.0, [21.0, 21.5])
    _of_gradients = [1.0, 3.0], [4.0, 4.0], [1.0, 3.0], [2.0, 2.0]
    _dataset = DatasetV1.from_tensor_slices

    def _test_run(self, strategy: Any) -> None:
        def first() -> Any:
            return context.get_replica_context().replica_id_in_sync_group + 1

        self._check_run(strategy, first, [1, 2], [2, 4], [1, 4], [6, 14])
