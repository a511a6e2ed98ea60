"""Many single examples parsed at once are those parsed one by one."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import stillflow as tf
from stillflow import errors
from stillflow.graph.node import Node
from stillflow.ops.io.parsing.single_example import (
    parse_single_example_kernel,
    parse_single_examples,
)

FEATURES = {
    "image": tf.FixedLenFeature([], tf.string),
    "label": tf.FixedLenFeature([], tf.int64, default_value=-1),
    "point": tf.FixedLenFeature([2], tf.float32, default_value=[0.5, 1.5]),
    "rows": tf.FixedLenSequenceFeature([2], tf.float32, allow_missing=True),
    "words": tf.FixedLenSequenceFeature([], tf.string, allow_missing=True),
    "ids": tf.VarLenFeature(tf.int64),
    "names": tf.VarLenFeature(tf.string),
}


def example(number):
    """Return one of the examples, in which one feature after the other is missing."""
    features = {
        "image": {"bytes_list": {"value": [b"image%d" % number]}},
        "label": {"int64_list": {"value": [number * 100]}},
        "point": {"float_list": {"value": [number, 2.5]}},
        "rows": {"float_list": {"value": [number] * (number % 3 * 2)}},
        "words": {"bytes_list": {"value": [b"w"] * (number % 4)}},
        "ids": {"int64_list": {"value": list(range(-number % 5))}},
        "names": {"bytes_list": {"value": [b"n%d" % number] * (number % 3)}},
    }
    for place, name in enumerate(features):
        if name != "image" and number % 11 == place:
            del features[name]
            break
    return tf.train.Example(features={"feature": features}).SerializeToString()


def node_of(features):
    with tf.Graph().as_default():
        parsed = tf.parse_single_example(tf.placeholder(tf.string, []), features)
        first = next(iter(parsed.values()))
        return Node((first.values if isinstance(first, tf.SparseTensor) else first).op)


@pytest.fixture(scope="module")
def node():
    return node_of(FEATURES)


def defaults_of(node):
    values = [node.value(1 + place) for place in range(len(node.inputs) - 1)]
    return [value if value.dtype == object else torch.from_numpy(value) for value in values]


def scalar(text):
    made = np.empty((), object)
    made[()] = text
    return made


def listed(value):
    return value.dtype, tuple(value.shape), value.tolist()


@pytest.mark.parametrize("count", [1, 5, 200], ids=["one", "a few", "many"])
def test_every_row_is_what_the_kernel_makes_of_that_example(node, count):
    texts, defaults = [example(number) for number in range(count)], defaults_of(node)
    outputs = parse_single_examples(node)(np.array(texts, object), *defaults)
    kernel = parse_single_example_kernel(node)
    assert len(outputs) == len(node.outputs)
    for row, text in enumerate(texts):
        expected = kernel(scalar(text), *defaults)
        for output, value in zip(outputs, expected, strict=True):
            found = output[row]
            if isinstance(found, bytes):
                found = scalar(found)
            assert listed(found) == listed(value)


def test_dense_features_are_one_tensor(node):
    outputs = parse_single_examples(node)([example(n) for n in range(9)], *defaults_of(node))
    image, label, point = outputs[6:9]
    assert image.shape == (9,)
    assert label.shape == (9,)
    assert point.shape == (9, 2)


def test_one_bad_example_is_refused(node):
    texts = [example(1), b"\x0a\x05abc", example(2)]
    with pytest.raises(errors.InvalidArgumentError):
        parse_single_examples(node)(texts, *defaults_of(node))


def test_an_example_that_lacks_what_must_be_there_is_refused(node):
    with pytest.raises(errors.InvalidArgumentError, match="is required but could not be found"):
        parse_single_examples(node)([example(1), b""], *defaults_of(node))


def test_one_output_is_a_list_too():
    node = node_of({"label": tf.FixedLenFeature([], tf.int64)})
    texts = [example(2), example(3)]
    (labels,) = parse_single_examples(node)(texts, torch.zeros(0, dtype=torch.int64))
    assert labels.tolist() == [200, 300]
