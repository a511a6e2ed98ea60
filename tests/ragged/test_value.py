from __future__ import annotations

import numpy as np
import pytest

import stillflow as tf


def test_a_value_says_what_it_is_made_of() -> None:
    value = tf.ragged.constant_value([[[1, 2]], [], [[3], [4, 5]]])
    assert value.to_list() == [[[1, 2]], [], [[3], [4, 5]]]
    assert value.ragged_rank == 2
    assert value.shape == (3, None, None)
    assert value.flat_values.tolist() == [1, 2, 3, 4, 5]
    assert [splits.tolist() for splits in value.nested_row_splits] == [[0, 1, 1, 3], [0, 2, 3, 5]]
    assert str(tf.ragged.constant_value([[1], []])) == "<tf.RaggedTensorValue [[1], []]>"


@pytest.mark.parametrize("values, splits, error", [
    ([1], np.array([0, 1]), TypeError),
    (np.array([1]), [0, 1], TypeError),
    (np.array([1]), np.array([0.0, 1.0]), TypeError),
    (tf.ragged.constant_value([[1]]), np.array([0, 1], np.int32), ValueError),
])  # fmt: skip
def test_parts_of_other_kinds_are_refused(values: object, splits: object, error: type) -> None:
    with pytest.raises(error):
        tf.ragged.RaggedTensorValue(values, splits)
