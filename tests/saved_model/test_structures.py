from __future__ import annotations

from typing import Any, NamedTuple

import pytest

import stillflow as tf
from stillflow.saved_model.structures import NotEncodableError, StructureCoder, decode, encode


class Pair(NamedTuple):
    first: int
    second: Any


@pytest.mark.parametrize("structure", [
    [1, 2.5, "a", None, True], (1, ("b",)), {"x": [], "y": {}}, tf.TensorShape([2, 3]),
    tf.float32, tf.TensorSpec([2], tf.int32, "name"), tf.SparseTensorSpec([None, 4], tf.string),
    tf.RaggedTensorSpec([None, None], tf.int64, 1, tf.int32),
])  # fmt: skip
def test_structures_come_back(structure: Any) -> None:
    message = encode(structure)
    assert decode(type(message).FromString(message.SerializeToString())) == structure


def test_named_tuples_come_back_by_name() -> None:
    back = decode(encode(Pair(1, ["x"])))
    assert type(back).__name__ == "Pair"
    assert back == Pair(1, ["x"])


def test_what_has_no_form_is_refused() -> None:
    assert not StructureCoder().can_encode([object()])
    with pytest.raises(NotEncodableError, match="No encoder"):
        encode(1j)


def test_signatures_name_the_parts_of_ragged_tensors() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        rows = tf.ragged.constant([[1, 2], [3]])
        info = tf.saved_model.build_tensor_info(rows)
        assert [part.name for part in info.composite_tensor.components] == [
            rows.values.name, rows.row_splits.name,
        ]  # fmt: skip
        back = tf.saved_model.get_tensor_from_tensor_info(info)
        assert session.run(back).to_list() == [[1, 2], [3]]
