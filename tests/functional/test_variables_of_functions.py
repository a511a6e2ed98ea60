"""Variables that functions of `tf.function` may make and change, and the names of arguments."""

from __future__ import annotations

import pytest

import stillflow as tf
from stillflow.eager.immediate import ImmediateGraph

REFUSED = "tf.function-decorated function tried to create variables on non-first call."


@pytest.fixture(autouse=True)
def _eager():
    with ImmediateGraph().as_default():
        yield


def test_variables_are_made_in_the_first_call_only():
    made = []

    @tf.function
    def once(x):
        if not made:
            made.append(tf.Variable(2.0))
        return x * made[0]

    assert once(tf.constant(3.0)).numpy() == 6 and once(tf.constant([3.0])).numpy() == [6]
    assert len(made) == 1

    @tf.function
    def always(x):
        return x * tf.Variable(2.0)

    with pytest.raises(ValueError, match=REFUSED):
        always(tf.constant(1.0))

    @tf.function
    def for_vectors_again(x):
        if len(made) < 2 or x.shape.ndims:
            made.append(tf.Variable(4.0))
        return x * made[1]

    assert for_vectors_again(tf.constant(1.0)).numpy() == 4
    with pytest.raises(ValueError, match=REFUSED):
        for_vectors_again(tf.constant([1.0]))
    assert for_vectors_again(tf.constant(2.0)).numpy() == 8


def test_defun_may_make_variables_in_every_trace():
    triple = tf.contrib.eager.defun(lambda x: x * tf.Variable(3.0))
    assert triple(tf.constant(1.0)).numpy() == 3 and triple(tf.constant([1.0])).numpy() == [3]


def test_arguments_keep_their_structure():
    @tf.function
    def append(values):
        values.append(tf.constant(1.0))
        return values[0]

    @tf.function
    def replace(values):
        values["a"] = tf.constant(1.0)
        return values["a"]

    for function, given in ((append, [tf.constant(2.0)]), (replace, {"a": tf.constant(2.0)})):
        with pytest.raises(ValueError, match="should not modify structure of input arguments"):
            function(given)


def test_concrete_functions_name_their_arguments():
    scalar = tf.TensorSpec(None, tf.float32)
    named = tf.TensorSpec(None, tf.float32, name="why")
    add = tf.function(lambda x, y: x + y, autograph=False).get_concrete_function(scalar, named)
    assert add(x=tf.constant(1.0), why=tf.constant(2.0)).numpy() == 3
    with pytest.raises(TypeError, match=r"Expected argument names \['x', 'why'\] but got values "
                       r"for \['x', 'y'\]. Missing: \['why'\]."):  # fmt: skip
        add(tf.constant(1.0), y=tf.constant(2.0))
    expected = (tf.TensorSpec(None, tf.float32, name="x"), named), {}
    assert add.structured_input_signature == expected
    assert tf.function(lambda _: tf.constant(1.0))(tf.constant(5.0)).numpy() == 1


@pytest.mark.filterwarnings("ignore:Converting sparse IndexedSlices")
def test_gradients_reach_variables_that_are_arguments():
    @tf.function
    def inner(x, variable):
        return x + tf.reduce_sum(variable.sparse_read([1, 3]))

    @tf.function
    def gradient(variable):
        def body(i, x):
            return i + 1, inner(x, variable)

        total = tf.while_loop(lambda i, _: i < 2, body, [0, 0.0])[1]
        return tf.convert_to_tensor(tf.gradients(total, variable)[0])

    variables = [tf.Variable([1.0, 2.0, 3.0, 4.0]), tf.Variable([5.0, 6.0, 7.0, 8.0])]
    assert [gradient(each).numpy().tolist() for each in variables] == [[0, 2, 0, 2]] * 2
