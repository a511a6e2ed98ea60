"""Functions of elements computed for many elements at once."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import stillflow as tf
from stillflow.ops.queues.elements import stacked
from stillflow.ops.values import from_array
from stillflow.runtime.loops.rows import row_plan
from stillflow.runtime.resources import Resources

pytestmark = pytest.mark.usefixtures("graph")  # each test builds one of its own


def plan(feeds, outputs, same=()):
    dims = {tensor: tuple(tensor.shape.as_list()) for tensor in feeds}
    return row_plan(Resources(lambda op: "cpu", from_array), dims, same, outputs)


def string(value):
    array = np.empty((), object)
    array[()] = value
    return array


def example(image, label):
    made = tf.train.Example()
    made.features.feature["image"].bytes_list.value.append(image)
    made.features.feature["label"].int64_list.value.append(label)
    return string(made.SerializeToString())


def compute(function, elements, *captured):
    with torch.inference_mode():
        return function(*stacked(elements), *captured)


def test_numbers_are_computed_together():
    x, y = tf.placeholder(tf.float32, [3]), tf.placeholder(tf.float32, [])
    found = plan([x, y], [tf.reshape(x * y + 1.0, [3, 1]), tf.reduce_sum(x), y])
    elements = [(torch.arange(3.0) + i, torch.tensor(float(i))) for i in range(5)]
    for (x_row, y_row), (product, total, same) in zip(
        elements, compute(found, elements), strict=True
    ):
        assert product.tolist() == (x_row * y_row + 1).reshape(3, 1).tolist()
        assert total == x_row.sum() and same == y_row


def test_examples_are_parsed_together():
    text = tf.placeholder(tf.string, [])
    features = {
        "image": tf.FixedLenFeature([], tf.string), "label": tf.FixedLenFeature([], tf.int64)
    }  # fmt: skip
    parsed = tf.parse_single_example(text, features)
    pixels = tf.reshape(tf.decode_raw(parsed["image"], tf.uint8), [2, 2])
    found = plan([text], [tf.cast(pixels, tf.float32) / 2.0, parsed["image"], parsed["label"]])
    rows = compute(found, [(example(bytes([i, 2, 3, 4]), i),) for i in range(4)])
    assert [label.item() for _, _, label in rows] == [0, 1, 2, 3]
    assert [image.item() for _, image, _ in rows] == [bytes([i, 2, 3, 4]) for i in range(4)]
    assert rows[3][0].tolist() == [[1.5, 1.0], [1.5, 2.0]]


def test_lines_are_decoded_together():
    line = tf.placeholder(tf.string, [])
    first, second = tf.decode_csv(line, [[0], [""]])
    found = plan([line], [first * 2, second, tf.string_to_hash_bucket_fast(second, 10)])
    rows = compute(found, [(string(b"%d,a%d" % (i, i)),) for i in range(3)])
    assert [(a.item(), b.item()) for a, b, _ in rows] == [(0, b"a0"), (2, b"a1"), (4, b"a2")]


@pytest.mark.parametrize("compare", [tf.equal, tf.not_equal])
def test_strings_are_compared_with_one_string_together(compare):
    line = tf.placeholder(tf.string, [])
    first, second = tf.decode_csv(line, [[""], [""]])
    found = plan([line], [compare(first, ">50K"), compare("b", second), compare(first, second)])
    lines = [b">50K,b", b"a,>50K", b"c,c"]
    rows = [[x.item() for x in row] for row in compute(found, [(string(x),) for x in lines])]
    expected = [[True, True, False], [False, False, False], [False, False, True]]
    assert rows == [[x == (compare is tf.equal) for x in row] for row in expected]


def test_vectors_of_strings_are_compared_with_a_shared_string_but_not_a_shared_vector():
    words, other = tf.placeholder(tf.string, [2]), tf.placeholder(tf.string, [2])
    elements = [(np.array([b"a", b"b"], object),), (np.array([b"b", b"a"], object),)]
    found = compute(plan([words], [tf.equal(words, "a")]), elements)
    assert [row[0].tolist() for row in found] == [[True, False], [False, True]]
    assert plan([words], [tf.equal(words, ["a", "b"])]) is None
    assert plan([words, other], [tf.equal(words, other)], [other]) is None


STRINGS = [b" Ab1", b"12", b"a,b "]


@pytest.mark.parametrize(
    "function",
    [
        tf.strings.length,
        tf.strings.lower,
        tf.strings.upper,
        tf.strings.strip,
        lambda text: tf.strings.regex_replace(text, "[a-z]", "x"),
        lambda text: tf.strings.regex_full_match(text, "[0-9]*"),
        lambda text: tf.strings.to_hash_bucket(text, 7),
        lambda text: tf.strings.to_hash_bucket_fast(text, 7),
        lambda text: tf.strings.to_hash_bucket_strong(text, 7, [1, 2]),
        lambda text: tf.strings.to_number(tf.strings.regex_replace(text, "[^0-9]", "7")),
    ],
)
def test_strings_are_treated_together_as_one_by_one(function):
    text = tf.placeholder(tf.string, [])
    result = function(text)
    rows = compute(plan([text], [result]), [(string(value),) for value in STRINGS])
    with tf.Session() as session:
        expected = [session.run(result, {text: value}) for value in STRINGS]
    assert [row[0].item() for row in rows] == expected


def test_what_does_not_depend_on_an_element_is_made_for_each():
    x, shared = tf.placeholder(tf.float32, [2]), tf.placeholder(tf.float32, [2])
    found = plan([x, shared], [x + shared, shared * 2.0, tf.constant(b"text")], [shared])
    elements = [(torch.full((2,), float(i)),) for i in range(3)]
    rows = list(compute(found, elements, torch.tensor([1.0, 2.0])))
    assert [row[0].tolist() for row in rows] == [[1, 2], [2, 3], [3, 4]]
    with torch.inference_mode():
        rows[0][1].zero_()
    assert [row[1].tolist() for row in rows] == [[0, 0], [2, 4], [2, 4]]
    assert [row[2].item() for row in rows] == [b"text"] * 3


def test_rows_do_not_hold_the_memory_of_others():
    x = tf.placeholder(tf.float32, [50])
    rows = compute(plan([x], [x * 2.0]), [(torch.ones(50),) for _ in range(4)])
    assert [row[0].untyped_storage().nbytes() for row in rows] == [200] * 4


@pytest.mark.parametrize(
    "outputs",
    [
        lambda text: tf.parse_single_example(text, {"a": tf.VarLenFeature(tf.int64)})["a"].values,
        lambda text: tf.image.decode_jpeg(text),
        lambda text: tf.py_func(lambda x: x, [text], tf.string),
        lambda text: tf.random_uniform([2]),
        lambda text: tf.cond(tf.equal(text, "a"), lambda: 1, lambda: 2),
        lambda text: tf.string_join([text, text]),
        lambda text: tf.while_loop(lambda i: i < 3, lambda i: i + 1, [0]),
    ],
)
def test_other_functions_take_one_element_at_a_time(outputs):
    text = tf.placeholder(tf.string, [])
    assert plan([text], [outputs(text)]) is None
