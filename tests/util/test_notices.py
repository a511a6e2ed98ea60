"""Notices of deprecated names: texts, places and numbers are TensorFlow's."""

import logging
import os
import pickle

import pytest
from tests.util import deprecated_program

import stillflow as tf
from stillflow._namespace import public_names
from stillflow.util import deprecation
from stillflow.util.notices import rows


@pytest.fixture
def notices(monkeypatch):
    monkeypatch.setattr(deprecation, "_PRINTED_WARNING", {})
    found = deprecated_program.Notices()
    logger = logging.getLogger("tensorflow")
    logger.addHandler(found)
    yield found.found
    logger.removeHandler(found)


def test_a_program_has_the_notices_of_tensorflow(notices):
    with tf.Graph().as_default():
        deprecated_program.program(tf)
    record = os.path.splitext(deprecated_program.__file__)[0] + ".txt"
    with open(record, encoding="utf-8") as file:
        assert "\n".join(notices) + "\n" == file.read()


def titles(function):
    """Return what notices call a function, the outermost decorator's first."""
    found = []
    while "_tf_decorator" in vars(function):
        decorator = function._tf_decorator
        if decorator.decorator_name == "deprecated":
            found.append(decorator)
        function = decorator.decorated_target
    return found


def test_functions_have_a_decorator_for_each_notice_and_no_other():
    for path, lines in rows().items():
        value = tf
        for part in path.split(".") if path in public_names() else ():
            value = getattr(value, part)
        if value is not tf and not isinstance(value, type):
            assert len(titles(value)) == len(lines), path


def test_deprecated_functions_can_be_pickled_and_are_the_same_by_all_their_names():
    for function in (tf.to_float, tf.layers.dense, tf.contrib.data.unbatch, tf.reduce_sum):
        assert pickle.loads(pickle.dumps(function)) is function
    assert tf.sparse_add is tf.sparse.add and tf.where is not tf.compat.v2.where


def test_another_name_of_the_function_gives_no_notice(notices):
    unused = tf.data.experimental.scan(0, lambda old, new: (old, new))
    assert titles(tf.contrib.data.scan) and not titles(tf.data.experimental.scan) and unused
    assert titles(tf.initialize_all_variables) and not titles(tf.global_variables_initializer)
    assert not notices


def test_members_are_decorated_once():
    assert len(titles(tf.data.Dataset.make_one_shot_iterator)) == 1

    assert len(titles(tf.zeros_initializer.__init__)) == 1
    assert len(titles(tf.contrib.learn.BaseEstimator.__init__)) == 1


def test_names_that_tensorflow_2_moved_and_unused_operations_give_no_notice(notices):
    with tf.Graph().as_default():
        tf.placeholder(tf.float32), tf.initializers.global_variables(), tf.contrib.layers
    assert not notices
