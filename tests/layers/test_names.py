"""Names for layers."""

import pytest

import stillflow as tf
from stillflow.layers.names import to_snake_case, unique_object_name


@pytest.mark.parametrize(
    ("name", "expected"),
    [("Dense", "dense"), ("Conv2DTranspose", "conv2d_transpose"), ("MyRNNCell", "my_rnn_cell"),
     ("_Hidden", "private__hidden"), ("a", "a")],
)  # fmt: skip
def test_classes_give_names_in_snake_case(name, expected):
    assert to_snake_case(name) == expected


def test_names_are_numbered_by_graph():
    assert [unique_object_name("a") for _ in range(2)] == ["a_1", "a_2"]
    assert unique_object_name("a", namespace="other") == "a_1"
    with tf.Graph().as_default():
        assert unique_object_name("a") == "a_1"


def test_names_may_begin_at_the_name_itself_and_avoid_others():
    assert [unique_object_name("a", zero_based=True) for _ in range(2)] == ["a", "a_1"]
    assert unique_object_name("b", avoid_names={"b_1", "b_2"}) == "b_3"
