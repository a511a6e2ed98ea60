"""Functions of tf.contrib.data that tf.data.experimental has, too."""

from __future__ import annotations

import numpy as np

import stillflow as tf


def elements(dataset):
    element = tf.data.make_one_shot_iterator(dataset).get_next()
    with tf.Session() as session:
        found = []
        while True:
            try:
                found.append(session.run(element))
            except tf.errors.OutOfRangeError:
                return found


def test_elements_of_like_length_are_batched_as_by_its_successor():
    def batches(functions):
        with tf.Graph().as_default():
            dataset = tf.data.Dataset.range(1, 9).map(lambda n: tf.ones([n % 4 + 1]) * 2.0)
            bucket = functions.bucket_by_sequence_length(lambda x: tf.shape(x)[0], [3], [2, 3])
            return elements(dataset.apply(bucket))

    found, expected = batches(tf.contrib.data), batches(tf.data.experimental)
    assert [each.shape for each in found] == [each.shape for each in expected]
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


def test_records_are_read_as_by_its_successor(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("a,b\n1,x\n2,y\n3,z\n")

    def batches(functions):
        with tf.Graph().as_default():
            dataset = functions.make_csv_dataset(
                str(path), batch_size=2, label_name="a", num_epochs=1, shuffle=False
            )
            return [(b["b"].tolist(), a.tolist()) for b, a in elements(dataset)]

    assert batches(tf.contrib.data) == batches(tf.data.experimental) != []
