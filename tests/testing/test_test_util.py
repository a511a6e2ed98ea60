"""Module that tests import as tensorflow.python.framework.test_util."""

from __future__ import annotations

import gc
import unittest
import weakref

import numpy as np
import pytest

import stillflow as tf
from stillflow.testing import test_util


def run(cls):
    """Run a test case; return how many ran, failed and were skipped."""
    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(cls).run(result)
    problems = result.failures + result.errors
    assert all("expected" in text for _, text in problems), problems
    return result.testsRun, len(problems), len(result.skipped)


def test_decorators_run_a_test_in_the_modes_that_they_name():
    class Case(test_util.TensorFlowTestCase):
        @test_util.run_deprecated_v1
        def test_one(self):
            self.assertEqual(self.evaluate(tf.constant(3)), 3)

        @test_util.run_in_graph_and_eager_modes
        def test_two(self):
            self.assertEqual(tf.executing_eagerly(), tf.get_default_session() is None)
            self.assertEqual(self.evaluate(tf.constant(3)), 3)

        @test_util.run_in_graph_and_eager_modes(use_gpu=False)
        def test_three(self):
            self.assertIn("/device:CPU:0", tf.constant(1).device)

        @test_util.run_v1_only("reason")
        def test_four(self):
            self.fail("expected")

        @test_util.run_v2_only
        def test_five(self):
            self.fail("not run")

        @test_util.disable_xla("reason")
        @test_util.deprecated_graph_mode_only()
        def test_six(self):
            self.fail("expected")

    ran, failed, skipped = run(Case)
    assert (ran - 1, failed, skipped - 1) == (6, 2, 1)  # less `test_session`


def test_what_stands_for_a_session_in_eager_execution():
    class Case(test_util.TensorFlowTestCase):
        @test_util.run_in_graph_and_eager_modes
        def test_sessions(self):
            eager = tf.executing_eagerly()
            with self.session(graph=tf.Graph()) as session:
                self.assertEqual(tf.executing_eagerly(), eager)
                if eager:
                    with self.assertRaisesRegex(AttributeError, "while eager execution"):
                        session.run(tf.constant(3))
            with self.test_session() as session:
                self.assertEqual(session is None, eager)
            with self.cached_session() as session:
                three = tf.constant(3)
                self.assertEqual(session.run([three, three]), [3, 3])
                self.assertEqual(session.run(three, feed_dict={}), 3)
                if eager:
                    with self.assertRaisesRegex(RuntimeError, "feed_dict is not supported"):
                        session.run(three, feed_dict={three: 4})
                    with self.assertRaisesRegex(RuntimeError, "Optional args"):
                        session.run(three, None)

    ran, failed, skipped = run(Case)
    assert (ran - 1, failed, skipped - 1) == (1, 0, 0)  # less `test_session`


def test_class_decorators():
    seen = []

    @test_util.with_control_flow_v2
    @test_util.run_all_in_graph_and_eager_modes
    class Case(test_util.TensorFlowTestCase):
        def test_one(self):
            seen.append(tf.get_default_session() is not None)

        @test_util.disable_control_flow_v2("reason")
        def test_two(self):
            seen.append("once")

    run(Case)
    assert sorted(map(str, seen)) == ["False", "False", "True", "True", "once", "once"]


def test_conditions():
    calls = []

    class Case:
        @test_util.skip_if(lambda: True)
        def test_left_out(self):
            calls.append("left out")

        @test_util.skip_if(False)
        def test_run(self):
            calls.append("run")

    test_util.for_all_test_methods(test_util.skip_if, False)(Case)
    Case().test_left_out()
    Case().test_run()
    assert calls == ["run"]
    with pytest.raises(ValueError, match="should be string"):
        test_util.run_v1_only(None)
    with pytest.raises(ValueError, match="only supports test methods"):
        test_util.run_in_graph_and_eager_modes(Case)


def test_layouts_of_sizes():
    assert test_util.NHWCToNCHW([1, 2, 3, 4]) == [1, 4, 2, 3]
    assert test_util.NCHWToNHWC([1, 5, 2, 3, 4]) == [1, 2, 3, 4, 5]
    packed = test_util.NHWCToNCHW_VECT_C([1, 2, 3, 8])
    assert packed == [1, 2, 2, 3, 4]
    assert test_util.NCHW_VECT_CToNHWC(packed) == [1, 2, 3, 8]
    with pytest.raises(ValueError, match="evenly divisible by 4"):
        test_util.NHWCToNCHW_VECT_C([1, 2, 3, 7])
    with pytest.raises(ValueError, match="must be 4"):
        test_util.NCHW_VECT_CToNHWC([1, 2, 2, 3, 5])


def test_layouts_of_tensors():
    value = np.arange(48.0).reshape(1, 2, 3, 8)
    with tf.Graph().as_default(), tf.Session() as session:
        tensor = tf.constant(value)
        moved, there, back = session.run(
            [
                test_util.NHWCToNCHW(tensor),
                test_util.NHWCToNCHW_VECT_C(tensor),
                test_util.NCHW_VECT_CToNHWC(test_util.NHWCToNCHW_VECT_C(tensor)),
            ]
        )
    assert np.array_equal(moved, value.transpose(0, 3, 1, 2))
    assert there.shape == (1, 2, 2, 3, 4) and np.array_equal(back, value)


def test_looking_into_graphs():
    graph = tf.Graph()
    with graph.as_default():
        tf.constant(1, name="c")
        with test_util.force_cpu():
            assert tf.constant(1).device == "/device:CPU:0"
    assert test_util.assert_ops_in_graph({"c": "Const"}, graph)["c"].op == "Const"
    assert test_util.get_node_def_from_graph("c", graph.as_graph_def()).name == "c"
    assert test_util.get_node_def_from_graph("d", graph.as_graph_def()) is None
    with pytest.raises(ValueError, match="Expected op for node c is different"):
        test_util.assert_ops_in_graph({"c": "Add"}, graph)
    with pytest.raises(ValueError, match="Not all expected ops are present"):
        test_util.assert_ops_in_graph({"d": "Add"}, graph)


def test_combinations():
    assert [dict(item) for item in test_util._combine_named_parameters(a=1, b=["x", "y"])] == [
        {"a": 1, "b": "x"},
        {"a": 1, "b": "y"},
    ]
    named = test_util.generate_combinations_with_testcase_name(b="x-1", a=2)
    assert named[0]["testcase_name"] == "_test_a_2_b_x1"


def test_lists_of_symbolic_tensors_are_equal_where_they_are_the_same_tensors():
    with tf.Graph().as_default():
        case, a, b = tf.test.TestCase(), tf.zeros([2, 3]), tf.zeros([2, 3])
        case.assertAllEqual((a, b), [a, b])
        with pytest.raises(AssertionError):
            case.assertAllEqual((a, b), (b, a))


def test_a_test_runs_as_a_function_too_and_its_assertions_with_it():
    seen = []

    class Case(test_util.TensorFlowTestCase):
        @test_util.also_run_as_tf_function
        def test_one(self):
            seen.append(tf.executing_eagerly())
            total = tf.constant([1.0, 2.0]) + 1.0
            self.assertAllClose(total, [2.0, 3.0])
            self.assertAllGreater(total, 1.0)
            self.assertAllEqual(tf.shape(total), [2])

        @test_util.also_run_as_tf_function
        def test_two(self):
            eager = tf.executing_eagerly()
            self.assertAllEqual(tf.constant(1), 1 if eager else 2, msg="expected")

    assert run(Case) == (3, 1, 1)  # test_session, which is no test, is skipped
    assert seen == [True, False]


def test_what_has_no_gradient_is_not_compared():
    with tf.Graph().as_default(), tf.Session(), pytest.raises(AssertionError, match="dx = None"):
        x = tf.constant([1.0])
        tf.test.compute_gradient(x, [1], tf.stop_gradient(x), [1])


def test_a_match_of_an_error_keeps_nothing_of_the_test():
    class Thing:
        pass

    case = test_util.TensorFlowTestCase("run")

    def matched():
        thing = Thing()
        with case.assertRaisesWithPredicateMatch(ValueError, "no"):
            raise ValueError("no")
        return weakref.ref(thing)

    gc.collect()
    gc.disable()
    try:
        assert matched()() is None
    finally:
        gc.enable()
    for kind, text in [(KeyError, "no"), (ValueError, "yes")]:
        with pytest.raises(AssertionError, match="Exception of type"):
            with case.assertRaisesWithPredicateMatch(kind, text):
                raise ValueError("no")
    with pytest.raises(AssertionError, match="ValueError not raised"):
        with case.assertRaisesWithPredicateMatch(ValueError, "no"):
            pass
