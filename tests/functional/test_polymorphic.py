"""tf.function in graphs: traces, calls, gradients."""

from __future__ import annotations

import numpy as np
import pytest
from tests.running import run

import stillflow as tf
from stillflow.functional.polymorphic import defun, function
from stillflow.functional.wrapped_graphs import wrap_function

pytestmark = pytest.mark.usefixtures("graph")  # each test builds one of its own


def test_results_come_in_the_structure_of_the_function():
    @function
    def f(x, scale=2.0):
        return {"a": x * scale, "b": (x, None)}

    made = f(tf.constant([1.0, 2.0]), scale=3.0)
    assert made["b"][1] is None
    np.testing.assert_array_equal(run(made["a"]), [3.0, 6.0])
    assert made["a"].op.type == "PartitionedCall"


def test_a_function_is_traced_once_for_each_kind_of_arguments():
    traced = []

    @defun
    def f(x, n):
        traced.append(n)
        return x * float(n)

    for x, n in ((1.0, 2), (3.0, 2), (1.0, 3)):
        assert run(f(tf.constant(x), n)) == x * n
    f(tf.constant([1.0]), 2)
    assert traced == [2, 3, 2]


def test_effects_happen_in_the_order_of_the_program():
    v = tf.Variable(1.0, use_resource=True)

    @function
    def f():
        v.assign_add(2.0)
        v.assign(v * 10.0)
        return v.read_value()

    assert run(f()) == 30.0


def test_variables_are_captured_and_have_gradients():
    v = tf.Variable([2.0, 3.0], use_resource=True)

    @function
    def f(x):
        return tf.reduce_sum(tf.tanh(x * v))

    x = tf.constant([0.5, -0.5])
    y = f(x)
    made = run([y, *tf.gradients(y, [x, v])])
    plain = tf.reduce_sum(tf.tanh(x * v))
    for one, other in zip(made, run([plain, *tf.gradients(plain, [x, v])]), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)
    concrete = f.get_concrete_function(x)
    assert concrete.variables == [v]
    assert y.op.get_attr("f").name.startswith("__forward_f_")


def test_second_gradients_and_branches():
    @function
    def f(x):
        return tf.cond(x > 0, lambda: x * x * x, lambda: -x)

    x = tf.placeholder(tf.float32, [])
    y = f(x)
    (first,) = tf.gradients(y, x)
    assert run([y, first], {x: 2.0}) == [8.0, 12.0]
    assert run([y, first], {x: -2.0}) == [2.0, -1.0]

    @function
    def cube(x):
        return x * x * x

    (first,) = tf.gradients(cube(x), x)
    (second,) = tf.gradients(first, x)
    assert run([first, second], {x: 2.0}) == [12.0, 12.0]


def test_a_signature_fixes_types_and_shapes():
    @function(input_signature=[tf.TensorSpec([None], tf.float32)])
    def f(x):
        return x + 1.0

    np.testing.assert_array_equal(run(f([1.0, 2.0])), [2.0, 3.0])
    with pytest.raises(ValueError, match="incompatible with input_signature"):
        f(tf.constant([1]))
    with pytest.raises(TypeError, match=r"Received 2 argument\(s\)"):
        f(tf.constant([1.0]), tf.constant([1.0]))
    with pytest.raises(TypeError, match="must be either a tuple or a list"):
        function(input_signature=3)(f)


def test_methods_and_nested_functions():
    class Model:
        def __init__(self):
            self.w = tf.Variable(2.0, use_resource=True)

        @function
        def twice(self, x):
            return x * self.w

        @function
        def four(self, x):
            return self.twice(self.twice(x))

    assert run(Model().four(tf.constant(3.0))) == 12.0


def test_a_tensor_is_no_python_condition_without_autograph():
    @tf.function(autograph=False)
    def f(x):
        return x if x > 0 else -x

    with pytest.raises(TypeError, match="not allowed"):
        f(tf.constant(1.0))


def test_what_is_no_tensor_cannot_be_returned():
    @function
    def f():
        return object()

    with pytest.raises(TypeError, match="must return zero or more Tensors"):
        f()


def test_a_wrapped_function_takes_what_is_no_tensor_as_it_is():
    spec = tf.TensorSpec([], tf.float32)
    f = wrap_function(lambda a, b, c: a * b + c["x"], [spec, 3, {"x": spec}])
    with tf.Session() as session:
        assert session.run(f(tf.constant(2.0), tf.constant(1.0))) == 7


def test_wrapped_functions_take_tensors_in_order():
    f = wrap_function(lambda a, b: a - b, [tf.TensorSpec([], tf.float32)] * 2)
    assert run(f(tf.constant(5.0), tf.constant(3.0))) == 2.0


def test_a_concrete_function_checks_shapes_where_a_graph_is_built():
    function = tf.function(lambda argument_name: argument_name + 1.0)
    concrete = function.get_concrete_function(tf.TensorSpec([1], tf.float32))
    with pytest.raises(
        ValueError,
        match=r"The argument 'argument_name' .*Expected shape \(1,\), but got shape \(2,\)",
    ):
        concrete(tf.constant([1.0, 2.0]))


def test_captures_stand_between_arguments_and_values_of_calls():
    given = {"x": 2.0}

    @defun
    def f(x):
        late = tf.get_default_graph().capture_call_time_value(lambda: given["x"], tf.TensorSpec(()))
        return x + late * outside

    outside = tf.constant(10.0)
    body = f.get_concrete_function(tf.TensorSpec((), tf.float32)).graph
    assert [each.op.type for each in body.inputs] == ["Placeholder"] * 3
    assert body.arguments == body.inputs[:1]
    assert body.internal_captures == body.inputs[1:2]
    assert body.deferred_internal_captures == body.inputs[2:]
    assert body.external_captures == [outside]
    assert run(f(tf.constant(1.0))) == 21.0


def test_a_look_at_the_variables_computes_no_values_of_calls():
    computed = []

    @defun
    def f(x):
        late = tf.get_default_graph().capture_call_time_value(
            lambda: computed.append(1) or 2.0, tf.TensorSpec(())
        )
        return x + late

    concrete = f.get_concrete_function(tf.TensorSpec((), tf.float32))
    assert concrete.variables == [] and computed == []


def test_names_of_concrete_functions_are_bytes_and_known_while_they_live():
    from stillflow.facade.eager_context import context

    f = function(lambda x: x)
    name = f.get_concrete_function(tf.TensorSpec((), tf.float32)).name
    assert name.startswith(b"__inference_")
    assert context().has_function(name) and context().has_function(name.decode())
    assert not context().has_function("nothing")
