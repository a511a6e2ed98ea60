"""Operators of specifications within a `with` statement; the goldens have the rest."""

from __future__ import annotations

import stillflow as tf

specs = tf.contrib.specs


def test_operators_are_global_within_a_statement() -> None:
    module = __name__
    with specs.ops:
        assert __name__ == module
        layer = Fr(2)  # type: ignore[name-defined]  # noqa: F821
    assert "Fr" not in globals()
    with tf.Graph().as_default():
        assert layer.funcall(tf.zeros([3, 4])).shape.as_list() == [3, 2]


def test_names_that_were_there_come_back() -> None:
    globals()["Relu"] = "mine"
    with specs.LocalImport({"Relu": specs.Relu, "other": 3}):
        assert globals()["Relu"] is specs.Relu and globals()["other"] == 3
    assert globals().pop("Relu") == "mine" and "other" not in globals()


def test_debugging_prints_calls(capsys) -> None:
    specs.debug()
    specs.Fun(max, 3).funcall(5)
    specs.debug(False)
    specs.Fun(max, 3).funcall(7)
    assert capsys.readouterr().out == f"DEBUG: {max} 5 [3] {{}}\n"
