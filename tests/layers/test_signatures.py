"""Layers of `tf.layers` and `tf.keras.layers` take TensorFlow's arguments.

tests/facts/layer_signatures.json is recorded from TensorFlow 1.15.5 by tools/public_signatures.py.
"""

from __future__ import annotations

import importlib.util
import inspect
import json
import pickle
import traceback
from pathlib import Path

import pytest

import stillflow as tf
from stillflow.layers import signatures

TESTS = Path(__file__).resolve().parent.parent
RECORDED = json.loads((TESTS / "facts" / "layer_signatures.json").read_text())


@pytest.fixture(scope="module")
def public_signatures():
    path = TESTS.parent / "tools" / "public_signatures.py"
    spec = importlib.util.spec_from_file_location("public_signatures", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("symbol", RECORDED)
def test_the_arguments_are_tensorflows(symbol, public_signatures):
    assert public_signatures.describe(public_signatures.resolve(tf, symbol)) == RECORDED[symbol]


@pytest.mark.parametrize(
    "kind", [tf.layers.Conv2D, tf.layers.SeparableConv1D, tf.keras.layers.Conv3D, tf.layers.Dense]
)
def test_a_missing_and_an_unknown_argument_are_named_with_their_layer(kind):
    missing = rf"{kind.__name__}\.__init__\(\) missing \d required positional"
    with pytest.raises(TypeError, match=missing):
        kind()
    required = dict.fromkeys(
        [
            name
            for name, parameter in inspect.signature(kind).parameters.items()
            if parameter.default is parameter.empty and parameter.kind is not parameter.VAR_KEYWORD
        ],
        1,
    )
    with pytest.raises(TypeError, match="Keyword argument not understood"):
        kind(**required, colour=2)


def test_a_function_says_which_argument_is_missing_or_unknown():
    with pytest.raises(TypeError, match=r"conv2d\(\) missing 1 required .*'kernel_size'"):
        tf.layers.conv2d(tf.zeros([1, 4, 4, 1]), 2)
    with pytest.raises(TypeError, match=r"conv2d\(\) got an unexpected keyword argument 'colour'"):
        tf.layers.conv2d(tf.zeros([1, 4, 4, 1]), 2, 3, colour=2)


def test_tracebacks_show_the_line_that_derives_a_signature():
    with pytest.raises(ValueError, match="padding") as caught:
        tf.layers.conv2d(tf.zeros([1, 4, 4, 1]), 2, 3, padding="sideways")
    frames = [f for f in traceback.extract_tb(caught.tb) if f.filename.endswith("convolutional.py")]
    assert any("scoped_constructor(convolutional.Conv2D" in frame.line for frame in frames)
    assert {frame.name for frame in frames} >= {"conv2d", "__init__"}


def test_functions_and_classes_are_pickled_by_name():
    for value in (tf.layers.conv2d, tf.layers.Conv2D, tf.keras.layers.Conv2D):
        assert pickle.loads(pickle.dumps(value)) is value
    assert tf.layers.Conv2D.__init__.__qualname__ == "Conv2D.__init__"
    assert tf.layers.Conv2D.__init__.__module__ == tf.layers.Conv2D.__module__


def test_help_describes_every_argument():
    for function in (tf.layers.conv2d, tf.layers.separable_conv1d, tf.layers.batch_normalization):
        told = inspect.getdoc(function)
        arguments = told[told.index("Args:") :]
        for name in inspect.signature(function).parameters:
            assert name in arguments, name


def test_a_subclass_of_two_layers_constructs_every_base():
    class Named:
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.seen = sorted(kwargs)

    class Both(tf.layers.Conv1D, Named):
        pass

    class Mine(tf.keras.layers.Conv2DTranspose):
        def __init__(self, filters, **kwargs):
            super().__init__(filters, 3, **kwargs)

    assert Both(2, 3, name="both", trainable=False).filters == 2
    layer = Mine(4, strides=2, output_padding=1)
    assert (layer.rank, layer.strides, layer.output_padding) == (2, (2, 2), (1, 1))
    config = layer.get_config()
    again = tf.keras.layers.Conv2DTranspose.from_config(config)
    assert again.get_config() == config


def test_a_default_value_of_an_argument_that_is_not_there_is_refused():
    with pytest.raises(TypeError, match="colour"):
        signatures.with_defaults(tf.keras.layers.Dense.__init__, colour=1)
