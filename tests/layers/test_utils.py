"""Arguments of convolutional layers and the lengths that follow from them."""

import itertools

import pytest

import stillflow as tf
from stillflow.layers import utils

SIZES = list(itertools.product((5, 6, 9), (1, 2, 3), (1, 2, 3), ("valid", "same")))


@pytest.mark.parametrize(("length", "size", "stride", "padding"), SIZES)
def test_lengths_of_outputs_are_those_of_convolutions(length, size, stride, padding):
    x = tf.zeros([1, length, 1])
    y = tf.nn.conv1d(x, tf.zeros([size, 1, 1]), stride, padding.upper())
    assert utils.conv_output_length(length, size, padding, stride) == y.shape[1]


@pytest.mark.parametrize(("length", "size", "stride", "padding"), SIZES)
def test_transposed_lengths_are_those_that_give_the_length_again(length, size, stride, padding):
    longer = utils.deconv_output_length(length, size, padding, stride=stride)
    assert utils.conv_output_length(longer, size, padding, stride) == length


def test_dilation_widens_the_filter():
    assert utils.conv_output_length(9, 3, "valid", 1, dilation=3) == 3
    assert utils.conv_output_length(9, 3, "full", 1, dilation=2) == 13
    assert utils.deconv_output_length(3, 3, "valid", stride=1, dilation=2) == 7


def test_output_padding_decides_between_the_lengths_that_fit():
    lengths = [utils.deconv_output_length(4, 3, "same", output_padding=p, stride=2) for p in (0, 1)]
    assert lengths == [7, 8]


def test_unknown_lengths_stay_unknown():
    assert utils.conv_output_length(None, 3, "same", 1) is None
    assert utils.conv_input_length(None, 3, "same", 1) is None
    assert utils.deconv_output_length(None, 3, "same") is None


def test_input_lengths_undo_output_lengths():
    for size in (1, 3, 5):
        assert utils.conv_input_length(4, size, "valid", 2) == 3 * 2 + size


def test_numbers_stand_for_as_many_as_there_are_dimensions():
    assert utils.normalize_tuple(2, 3, "n") == (2, 2, 2)
    assert utils.normalize_tuple([1, 2], 2, "n") == (1, 2)


@pytest.mark.parametrize(
    ("value", "message"),
    [(1.5, "Received: 1.5"), ([1], r"Received: \[1\]"), (["a", 1], "including element a of type")],
)
def test_other_numbers_are_refused(value, message):
    with pytest.raises(ValueError, match=f"must be a tuple of 2 integers. {message}|{message}"):
        utils.normalize_tuple(value, 2, "strides")


def test_data_formats_and_paddings():
    assert utils.convert_data_format("channels_first", 5) == "NCDHW"
    assert utils.normalize_data_format("Channels_Last") == "channels_last"
    assert utils.normalize_data_format(None) == "channels_last"
    assert utils.normalize_padding("SAME") == "same"
    for function, arguments in [
        (utils.convert_data_format, ("NHWC", 4)), (utils.convert_data_format, ("channels_last", 6)),
        (utils.normalize_data_format, ("NHWC",)), (utils.normalize_padding, ("full",)),
    ]:  # fmt: skip
        with pytest.raises(ValueError):
            function(*arguments)


def test_predicates_may_be_variables():
    variable = tf.get_variable("v", initializer=True)
    assert utils.constant_value(variable) is None
    assert utils.constant_value(1) is utils.constant_value(tf.constant(True)) is True
    one = utils.smart_cond(variable, lambda: tf.constant(1), lambda: tf.constant(2))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(one) == 1
    assert utils.smart_cond(False, lambda: 1, lambda: 2) == 2
