"""The global step."""

import pytest

import stillflow as tf
from stillflow.train.global_step import get_or_create_global_step_read, increment_global_step


def test_there_is_one_global_step():
    assert tf.train.get_global_step() is None
    step = tf.train.get_or_create_global_step()
    assert step is tf.train.get_or_create_global_step() is tf.train.get_global_step()
    assert (step.name, step.dtype.base_dtype, step.trainable) == ("global_step:0", tf.int64, False)
    with pytest.raises(ValueError, match='"global_step" already exists'):
        tf.train.create_global_step()


def test_it_is_at_the_top_whatever_name_scope_is_open():
    with tf.name_scope("inside"):
        assert tf.train.create_global_step().name == "global_step:0"


def test_a_tensor_of_that_name_serves_as_well():
    tf.Variable(0, name="global_step")
    found = tf.train.get_global_step()
    assert found.name == "global_step:0"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: 3, "must be a Variable or Tensor"),
        (lambda: tf.Variable(1.0), "does not have integer type"),
        (lambda: tf.Variable([1]), "is not scalar"),
    ],
)
def test_what_cannot_count_is_refused(make, message):
    with pytest.raises(TypeError, match=message):
        tf.train.assert_global_step(make())


def test_its_value_is_a_python_integer():
    step = tf.train.create_global_step()
    with tf.Session() as session:
        session.run(step.initializer)
        assert tf.train.global_step(session, step) == 0
        session.run(increment_global_step(3))
        assert tf.train.global_step(session, step) == 3
        read = get_or_create_global_step_read()
        assert session.run(read) == 3
    assert read is get_or_create_global_step_read()
