"""Content of a TensorArray during a run, and its errors."""

from __future__ import annotations

import pytest
import torch

from stillflow.errors import InvalidArgumentError, UnimplementedError
from stillflow.graph import dtypes
from stillflow.ops.tensor_array import whole
from stillflow.ops.tensor_array.store import ArrayStore


def array(size=2, element=None, **options):
    return ArrayStore("a", dtypes.float32, size, element, **options)


def row(*numbers):
    return torch.tensor(numbers, dtype=torch.float32)


def test_elements_are_kept_without_a_copy():
    store, value = array(), row(1, 2)
    store.write(0, value)
    assert store.read(0) is value


def test_an_element_is_given_up_when_read():
    store = array()
    store.write(0, row(1))
    store.read(0)
    with pytest.raises(InvalidArgumentError, match="Could not read index 0 twice because it was"):
        store.read(0)
    with pytest.raises(InvalidArgumentError, match="because it has already been read"):
        store.write(0, row(1))


def test_elements_stay_if_told_so():
    store = array(clear_after_read=False)
    store.write(0, row(1))
    assert store.read(0) is store.read(0)


@pytest.mark.parametrize("index", [-1, 2])
def test_places_that_are_not_there(index):
    with pytest.raises(InvalidArgumentError, match=f"Tried to write to index {index} but array is"):
        array().write(index, row(1))
    with pytest.raises(InvalidArgumentError, match=f"Tried to read from index {index} but array"):
        array().read(index)


def test_a_dynamic_array_grows():
    store = array(0, dynamic_size=True)
    store.write(3, row(1))
    assert store.size() == 4


def test_what_was_not_written_reads_as_zeros_if_the_shape_is_known():
    assert array(element=(2, 1)).read(1).tolist() == [[0.0], [0.0]]
    with pytest.raises(InvalidArgumentError, match="the element shape is not fully defined: <unk"):
        array().read(1)


def test_shapes_must_fit():
    store = array(element=(None,), identical=True)
    store.write(0, row(1, 2))
    with pytest.raises(InvalidArgumentError, match=r"value shape is \[1\] which is incompatible"):
        store.write(1, row(1))
    with pytest.raises(InvalidArgumentError, match="because it has already been written to"):
        store.write(0, row(3, 4))


def test_gradients_are_summed_and_start_as_zeros():
    store, first = array(), row(1, 2)
    store.write(0, row(5, 5))
    grad = store.gradient(b"gradients")
    assert store.gradient(b"gradients") is grad is not store.gradient(b"gradients_1")
    grad.write(0, first)
    for _ in range(2):
        grad.write(0, row(10, 10))
    assert grad.read(0).tolist() == [21.0, 22.0]
    assert first.tolist() == [1.0, 2.0]  # nobody's memory was changed
    assert store.gradient(b"gradients_1").read(0).tolist() == [0.0, 0.0]
    with pytest.raises(InvalidArgumentError, match="Unable to create a gradients"):
        grad.gradient(b"second")


def test_gradients_may_have_more_dimensions():
    store = array(element=(2,))
    store.write(0, row(5, 5))
    assert store.gradient(b"jacobian", (3,)).read(0).shape == (3, 2)


def test_a_closed_array_refuses_everything():
    store = array()
    store.close()
    for action in (store.size, lambda: store.read(0), lambda: store.write(0, row(1))):
        with pytest.raises(InvalidArgumentError, match="has already been closed"):
            action()


def test_whole_arrays():
    store = array(3)
    whole.scatter(store, [2, 0, 1], torch.arange(6.0).reshape(3, 2), dtypes.float32)
    assert whole.gather(store, [0, 1], dtypes.float32, None).tolist() == [[2, 3], [4, 5]]
    parts = array(2)
    whole.split(parts, row(1, 2, 3), [1, 2], dtypes.float32)
    value, lengths = whole.concat(parts, dtypes.float32, ())
    assert (value.tolist(), lengths.tolist()) == ([1, 2, 3], [1, 2])
    with pytest.raises(UnimplementedError, match="TensorArray has size zero, but element shape"):
        whole.gather(array(0), [], dtypes.float32, None)
    assert whole.gather(array(0), [], dtypes.float32, (2,)).shape == (0, 2)


def whole_array(**options):
    store = array(3, identical=True, **options)
    rows = torch.arange(6.0).reshape(3, 2)
    store.write_many([0, 1, 2], rows)
    return store, rows


def test_rows_of_a_tensor_stay_one_tensor():
    store, rows = whole_array()
    assert store.element == (2,)
    assert store.peek([0, 1, 2], dtypes.float32) is rows
    assert store.read_many([0, 1, 2]) is rows
    with pytest.raises(InvalidArgumentError, match="Could not read index 1 twice because it was"):
        store.read(1)
    with pytest.raises(InvalidArgumentError, match="because it has already been read"):
        store.write(1, row(1, 2))


@pytest.mark.parametrize("indices", [[1, 0, 2], [2], [0, 1]])
def test_some_rows_of_a_whole_array(indices):
    store, rows = whole_array()
    found = store.read_many(indices)
    assert [each.tolist() for each in found] == rows[indices].tolist()
    assert store.peek([0, 1, 2], dtypes.float32) is None
    left = [index for index in range(3) if index not in indices]
    assert [store.read(index).tolist() for index in left] == rows[left].tolist()


def test_a_whole_array_may_be_read_again_if_told_so():
    store, rows = whole_array(clear_after_read=False)
    assert store.read_many([0, 1, 2]) is store.read_many([0, 1, 2])
    assert store.read(2).tolist() == rows[2].tolist()
    with pytest.raises(InvalidArgumentError, match="because it has already been read"):
        store.write(0, row(1, 2))


def test_a_whole_array_is_full():
    store, _ = whole_array()
    with pytest.raises(InvalidArgumentError, match="because it has already been written to"):
        store.write(0, row(1, 2))
    with pytest.raises(InvalidArgumentError, match="because it has already been written to"):
        store.write_many([0, 1, 2], torch.zeros(3, 2))
    store.close()
    with pytest.raises(InvalidArgumentError, match="has already been closed"):
        store.read(0)


def test_a_whole_dynamic_array_grows():
    store, rows = whole_array(dynamic_size=True)
    store.write(3, row(7, 8))
    assert [store.read(index).tolist() for index in range(4)] == [*rows.tolist(), [7, 8]]


def test_rows_of_another_shape_are_refused():
    store = array(2, element=(3,))
    with pytest.raises(InvalidArgumentError, match="incompatible with the TensorArray's inferred"):
        store.write_many([0, 1], torch.zeros(2, 2))


def test_a_gathered_array_has_memory_of_its_own():
    store, rows = whole_array()
    found = whole.gather(store, [0, 1, 2], dtypes.float32, (2,))
    found.zero_()
    assert rows.sum() == 15


def test_whole_gradients_are_added_to():
    store, rows = whole_array(clear_after_read=False)
    grads = store.gradient(b"g")
    grads.write_many([0, 1, 2], rows)
    grads.write_many([0, 1, 2], rows)
    grads.write(1, row(1, 1))
    assert [grads.read(index).tolist() for index in range(3)] == [[0, 2], [5, 7], [8, 10]]
    assert rows.sum() == 15
