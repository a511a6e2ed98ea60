"""Series of pandas as eager tensors; goldens (eager/constants) have the cases of NumPy alone."""

from __future__ import annotations

import pytest

from stillflow.graph.eager_arrays import as_eager_array

pandas = pytest.importorskip("pandas")

# Recorded under TensorFlow 1.15.5: numbers are looked up by labels to find the type.
SERIES = {
    "in order": ([1, 2, 3], None, "int32"),
    "shuffled": ([1, 2, 3], [2, 0, 1], "int32"),
    "some": ([1, 2, 3], [5, 7, 9], "int32"),
    "halves": ([1.5, 2.0], None, "float64"),
    "some halves": ([1.5, 2.0], [1, 3], "float32"),
    "named halves": ([1.5, 2.0], ["p", "q"], "float64"),
}


@pytest.mark.parametrize("name", SERIES)
def test_series_give_their_values_in_order(name):
    values, index, dtype = SERIES[name]
    array = as_eager_array(pandas.Series(values, index=index), None)
    assert array.tolist() == values and array.dtype == dtype


def test_series_of_strings_and_frames():
    array = as_eager_array(pandas.Series(["a", "b"], index=[5, 7]), None)
    assert array.tolist() == [b"a", b"b"]
    with pytest.raises(ValueError, match="non-rectangular"):
        as_eager_array(pandas.DataFrame({"a": [1, 2]}), None)
