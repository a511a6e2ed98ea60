"""Variants that hold numbers: constants in graphs, sums, zeros, messages."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import stillflow as tf
from stillflow.ops.io.variants import from_message, to_message
from stillflow.protos import TensorProto, VariantTensorDataProto


def message(kind: str, values: Any, *shape: int) -> Any:
    made = TensorProto(dtype=tf.variant.as_datatype_enum)
    made.tensor_shape.CopyFrom(tf.TensorShape(shape).as_proto())
    for value in np.ravel(values):
        made.variant_val.append(VariantTensorDataProto(type_name=kind, metadata=value.tobytes()))
    return made


# What TensorFlow 1.15.5 prints of a constant, of zeros like it, and of the sum of it and itself.
PRINTED = [
    ("int", np.int32(3), ("int value: 3", "int value: 0", "int value: 6")),
    ("float", np.float32(1.5), ("float value: 1.5", "float value: 0", "float value: 3")),
    ("double", np.float64(2.5), ("double value: 2.5", "double value: 0", "double value: 5")),
    ("bool", np.bool_(True), ("bool value: 1", "bool value: 0", "bool value: 1")),
]


@pytest.mark.parametrize("kind, value, printed", PRINTED)
def test_numbers_print(
    session: Any, capfd: Any, kind: str, value: Any, printed: tuple[str, ...]
) -> None:
    number = tf.constant(message(kind, value))
    assert number.op.get_attr("value") == message(kind, value)
    shown = [number, tf.zeros_like(number), tf.add_n([number, number])]
    session.run(tf.Print(number, shown, message="seen").op)
    expected = "".join(f"[Variant<type: {each}>]" for each in printed)
    assert f"seen{expected}\n" in capfd.readouterr().err


def test_several(session: Any, capfd: Any) -> None:
    numbers = tf.constant(message("int", np.int32([3, 4]), 2))
    shown = [numbers, tf.zeros_like(numbers), tf.fill([1], numbers[1])]
    session.run(tf.Print(tf.shape(numbers), shown).op)
    first, second, zero = (f"Variant<type: int value: {number}>" for number in (3, 4, 0))
    assert f"[{first} {second}][{zero} {zero}][{second}]\n" in capfd.readouterr().err
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"non-scalar.*inputs\[0 has shape"):
        session.run(tf.add_n([numbers, numbers]).op)


def test_sums_of_two_kinds_are_refused(session: Any) -> None:
    mixed = [message("int", np.int32(1)), message("float", np.float32(1))]
    with pytest.raises(tf.errors.InvalidArgumentError, match="cannot be added"):
        session.run(tf.add_n([tf.constant(each) for each in mixed]).op)


@pytest.mark.parametrize("kind, value", [("long", np.int64(1)), ("int", np.int64(1))])
def test_what_cannot_be_read_is_refused(kind: str, value: Any) -> None:
    with pytest.raises(tf.errors.InternalError, match="Could not decode variant"):
        from_message(message(kind, value))


def test_messages_give_numbers_back() -> None:
    again = from_message(to_message(from_message(message("float", np.float32(0.25)))))
    assert str(again) == "Variant<type: float value: 0.25>"
