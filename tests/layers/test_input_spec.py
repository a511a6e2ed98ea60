"""Specs of a layer's inputs."""

import pytest

import stillflow as tf
from stillflow.layers.input_spec import check_inputs

InputSpec = tf.layers.InputSpec


def check(spec, *shapes, dtype=tf.float32):
    inputs = [tf.placeholder(dtype, shape) for shape in shapes]
    check_inputs(spec, inputs if len(inputs) > 1 else inputs[0], "l")


@pytest.mark.parametrize(
    ("spec", "shape"),
    [
        (None, None),
        (InputSpec(ndim=2), [3, None]),
        (InputSpec(min_ndim=1, max_ndim=3), [3, 4]),
        (InputSpec(shape=[None, 3]), [5, 3]),
        (InputSpec(axes={-1: 3}), [None, 3]),
        (InputSpec(axes={-1: 3}), [None, None]),
        (InputSpec(dtype=tf.float32), [1]),
    ],
)
def test_what_fits_passes(spec, shape):
    check(spec, shape)


@pytest.mark.parametrize(
    ("spec", "shape", "message"),
    [
        (InputSpec(ndim=2), None, "its rank is undefined"),
        (InputSpec(ndim=2), [3], r"expected ndim=2, found ndim=1. Full shape received: \[3\]"),
        (InputSpec(max_ndim=1), [3, 4], "expected max_ndim=1, found ndim=2"),
        (InputSpec(min_ndim=3), [3, 4], ": : expected min_ndim=3, found ndim=2"),
        (InputSpec(dtype="int32"), [3], "expected dtype=int32, found dtype=<dtype: 'float32'>"),
        (InputSpec(axes={-1: 3}), [3, 4], "expected axis -1 of input shape to have value 3"),
        (InputSpec(shape=[None, 3]), [3, 4], r"incompatible with layer l: expected shape="),
    ],
)
def test_what_does_not_fit_is_refused(spec, shape, message):
    with pytest.raises(ValueError, match=message):
        check(spec, shape)


def test_there_must_be_one_input_for_each_spec():
    specs = [InputSpec(ndim=1), None]
    check(specs, [1], [2])
    with pytest.raises(ValueError, match="expects 2 inputs, but it received 1 input tensors"):
        check(specs, [1])


def test_configurations_make_equal_specs():
    spec = InputSpec(dtype="float32", min_ndim=2, axes={-1: 3})
    assert repr(InputSpec.from_config(spec.get_config())) == repr(spec)
    assert repr(spec) == "InputSpec(dtype=float32, min_ndim=2, axes={-1: 3})"


def test_axes_must_be_integers_within_the_rank():
    with pytest.raises(TypeError, match="The keys in axes must be integers"):
        InputSpec(axes={"last": 3})
    with pytest.raises(ValueError, match="Axis 2 is greater than the maximum allowed value: 1"):
        InputSpec(ndim=2, axes={2: 3})


def test_the_spec_of_a_recurrent_layer_is_a_plain_list_and_no_part_of_checkpoints():
    layer = tf.keras.layers.SimpleRNN(3)
    assert type(layer.input_spec) is list
    layer(tf.zeros([2, 3, 4]))
    assert type(layer.input_spec) is list and layer.input_spec[0].shape == (None, None, 4)
    assert "_input_spec" not in [reference.name for reference in layer._checkpoint_dependencies]
