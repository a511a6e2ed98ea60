"""Variables of models: finding them, and giving them values."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import stillflow as tf

pytestmark = pytest.mark.usefixtures("graph")  # each test builds one of its own

framework = tf.contrib.framework


def names(variables) -> list[str]:
    return [variable.op.name for variable in variables]


def test_variables_are_found_by_scope_suffix_and_name() -> None:
    for scope in ("a", "b"):
        with tf.variable_scope(scope):
            framework.model_variable("w", [2])
            framework.local_variable(0, name="n")
    assert names(framework.get_variables("a")) == ["a/w"]
    assert names(framework.get_model_variables()) == ["a/w", "b/w"]
    assert names(framework.get_local_variables(suffix="n")) == ["a/n", "b/n"]
    assert names(framework.get_variables_by_name("w", scope="b")) == ["b/w"]
    with pytest.raises(TypeError, match="can only concatenate str"):
        framework.get_variables_by_name(["w"])
    assert names(framework.get_variables_to_restore(exclude=["a"])) == ["b/w"]
    found = framework.filter_variables(framework.get_variables(), exclude_patterns=["^b"])
    assert names(found) == ["a/w"]
    assert framework.get_unique_variable("a/w").op.name == "a/w"
    with pytest.raises(ValueError, match="Couldn't find variable c"):
        framework.get_unique_variable("c")


def test_values_are_assigned() -> None:
    variable = tf.get_variable("v", [2, 2])
    assign, feeds = framework.assign_from_values({"v": np.arange(4.0)})
    with tf.Session() as session:
        session.run(assign, feeds)
        assert session.run(variable).tolist() == [[0, 1], [2, 3]]


def saved(folder: Path) -> str:
    with tf.Graph().as_default(), tf.Session() as session:
        tf.get_variable("old", initializer=[1.0, 2.0])
        session.run(tf.global_variables_initializer())
        return tf.train.Saver().save(session, str(folder / "model"))


def test_values_come_from_a_checkpoint_under_another_name(tmp_path: Path) -> None:
    path = saved(tmp_path)
    new, other = tf.get_variable("new", [2]), tf.get_variable("other", [2])
    assign, feeds = framework.assign_from_checkpoint(path, {"old": new})
    restore = framework.assign_from_checkpoint_fn(path, {"old": other, "no": new}, True)
    with tf.Session() as session:
        session.run(assign, feeds)
        restore(session)
        assert session.run([new, other])[1].tolist() == session.run(new).tolist() == [1, 2]


def test_what_a_checkpoint_lacks_is_refused_unless_it_may_lack(tmp_path: Path) -> None:
    path, variable = saved(tmp_path), tf.get_variable("new", [2])
    with pytest.raises(ValueError, match=r"Checkpoint is missing variable \[new\]"):
        framework.assign_from_checkpoint(path, [variable])
    assert framework.assign_from_checkpoint_fn(path, [variable], True) is None
    with pytest.raises(ValueError, match="Total size of new array must be unchanged for old"):
        framework.assign_from_checkpoint(path, {"old": tf.get_variable("three", [3])})


def test_devices_are_dealt_out_in_turn() -> None:
    choose = framework.VariableDeviceChooser(num_tasks=2)
    devices = [framework.variable(n, [1], device=choose).device for n in "abc"]
    assert devices == [f"/job:ps/task:{task}/device:CPU:0" for task in (0, 1, 0)]
