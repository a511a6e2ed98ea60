"""Calls that the library protobuf has dropped."""

from __future__ import annotations

from pathlib import Path

HERE = Path(__file__).parent


def test_calls_give_what_they_gave_under_tensorflow(launcher):
    out, said = launcher.program((HERE / "old_protobuf.py").read_text())
    assert out == (HERE / "old_protobuf.txt").read_text()
    assert said.count("reflection.MakeClass was removed") <= 1


def test_numbers_of_numpy_may_be_truth_values(launcher):
    out, _ = launcher.program("""
        import numpy as np
        import tensorflow as tf
        value = tf.train.Int64List().value
        value.append(np.bool_(True))
        value.extend(np.array([True, False]))
        print(list(value))
        """)
    assert out == "[1, 1, 0]\n"
