"""Python functions as operations: what they may return, and what becomes of what they raise."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import stillflow as tf
from stillflow.ops.py_func import functions

INVALID, INTERNAL = tf.errors.InvalidArgumentError, tf.errors.InternalError


def _run(function, inputs, types, **options):
    with tf.Graph().as_default(), tf.Session() as session:
        return session.run(tf.py_func(function, inputs, types, **options))


REFUSED = [
    (lambda: 1, tf.float32, INVALID, "0-th value returned by pyfunc_[0-9]+ is int64, but expec"),
    (lambda: 1.5, tf.int32, INVALID, "0-th value returned by .* is double, but expects int32"),
    (lambda: "x", tf.float32, INVALID, "0-th value returned by .* is string, but expects float"),
    (lambda: np.float32(1), tf.float64, INVALID, "is float, but expects double"),
    (lambda: (1.0, 2.0), tf.float64, INVALID, "returns 2 values, but expects to see 1 values."),
    (lambda: 1.0, [tf.float64] * 2, INVALID, "returns 1 values, but expects to see 2 values."),
    (lambda: None, tf.float64, INVALID, "returns 0 values, but expects to see 1 values."),
    (lambda: 1.0, [], INVALID, "returns 1 values, but expects to see 0 values."),
    (lambda: [[1.0], [2.0, 3.0]], tf.float64, INVALID, "returns 2 values, but expects to see 1"),
    (lambda: np.array([], [("a", "f4")]), tf.float32, INTERNAL, "Unsupported numpy data type"),
    (lambda: {"a": 1}, tf.int64, INTERNAL, "Unsupported object type dict"),
    (lambda: np.array(["a", 1], object), tf.string, INTERNAL, "Unsupported object type int"),
    (lambda: np.array([None], object), tf.string, INTERNAL, "Unsupported object type NoneType"),
    (lambda: np.zeros(3, "M8[s]"), tf.int64, INTERNAL, "Unsupported numpy type: NPY_DATETIME"),
    (lambda: np.longdouble(1), tf.float64, INTERNAL, "Unsupported numpy type: NPY_LONGDOUBLE"),
]


@pytest.mark.parametrize(("function", "types", "error", "match"), REFUSED)
def test_results_of_other_types_or_counts_are_refused(function, types, error, match):
    with pytest.raises(error, match=match):
        _run(function, [], types)


@pytest.mark.parametrize(
    ("raised", "error"),
    [
        (ValueError, INVALID),
        (TypeError, INVALID),
        (StopIteration, tf.errors.OutOfRangeError),
        (MemoryError, tf.errors.ResourceExhaustedError),
        (NotImplementedError, tf.errors.UnimplementedError),
        (KeyError, tf.errors.UnknownError),
    ],
)
@pytest.mark.parametrize("make", [tf.py_func, tf.py_function])
def test_what_a_function_raises_comes_back_with_its_traceback(make, raised, error):
    def outer():
        def inner():
            raise raised("blah")

        inner()

    with tf.Graph().as_default(), tf.Session() as session:
        with pytest.raises(error) as info:
            session.run(make(outer, [], tf.float32))
    first, rest = info.value.message.split("\n", 1)
    assert first.startswith(raised.__name__) and "blah" in first
    assert rest.startswith("Traceback (most recent call last):")
    assert rest.index("in outer") < rest.index("in inner")


def test_strings_of_any_kind_become_bytes():
    mixed = np.array([b" there", " ya"], dtype=object)
    assert _run(lambda: mixed, [], tf.string).tolist() == [b" there", b" ya"]
    assert _run(lambda x: x + b"!", ["hö"], tf.string) == "hö!".encode()


def test_a_function_without_results_gives_the_operation_or_nothing():
    assert _run(lambda: None, [], []) is None
    assert _run(lambda x: None, [1], [], stateful=False) == []


def test_functions_are_forgotten_with_their_graph():
    gc.collect()
    before = functions.size()

    def build():
        with tf.Graph().as_default():
            c = tf.constant(1.0)
            tf.py_func(lambda x: x + c.shape.ndims, [c], tf.float32)
            tf.py_function(lambda x: x + 1, [c], tf.float32)
            assert functions.size() == before + 2

    build()
    gc.collect()
    assert functions.size() == before


def test_a_graph_of_another_process_has_no_functions():
    with tf.Graph().as_default() as graph:
        tf.py_func(lambda: 1.0, [], tf.float64, name="f")
        graph_def = graph.as_graph_def()
    graph_def.node[0].attr["token"].s = b"pyfunc_elsewhere"
    with tf.Graph().as_default(), tf.Session() as session:
        tf.import_graph_def(graph_def, name="")
        with pytest.raises(INVALID, match="callback pyfunc_elsewhere is not found"):
            session.run("f:0")


def test_only_functions_are_called():
    for make in (tf.py_func, tf.py_function):
        with pytest.raises(ValueError, match="Expected func to be callable, got func of type"):
            make(3, [], tf.float32)


def test_a_function_without_state_is_called_once_if_it_always_gets_the_same():
    calls = []
    with tf.Graph().as_default(), tf.Session() as session:
        fed = tf.placeholder(tf.float32, [])
        one = tf.py_func(lambda: calls.append(1) or np.float32(len(calls)), [], tf.float32, False)
        other = tf.py_func(lambda x: x + np.float32(len(calls)), [fed], tf.float32, False)
        assert [float(session.run(one)) for _ in range(3)] == [1.0, 1.0, 1.0]
        assert [float(session.run(other, {fed: x})) for x in (1.0, 2.0)] == [2.0, 3.0]
