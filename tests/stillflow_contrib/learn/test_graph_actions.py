"""Values of a graph, in a session of their own."""

from __future__ import annotations

from pathlib import Path

import pytest

import stillflow as tf
from stillflow_contrib.learn.graph_actions import run_feeds, run_n


def test_variables_keep_their_values_between_runs() -> None:
    with tf.Graph().as_default():
        total = tf.get_variable("total", initializer=1.0)
        found = run_n({"sum": tf.assign_add(total, 2.0)}, n=3)
    assert [one["sum"] for one in found] == [3.0, 5.0, 7.0]


def test_each_feed_gives_a_result() -> None:
    with tf.Graph().as_default():
        given = tf.placeholder(tf.float32, [])
        found = run_feeds({"twice": 2 * given}, [{given: 1.0}, {given: 4.0}])
    assert [one["twice"] for one in found] == [2.0, 8.0]


def test_a_checkpoint_gives_the_values(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        total = tf.get_variable("total", initializer=1.0)
        session.run(total.assign(6.0))
        path = tf.train.Saver().save(session, str(tmp_path / "model"))
        assert run_n({"it": total + 0}, restore_checkpoint_path=path) == [{"it": 6.0}]


def test_nothing_to_run_is_refused() -> None:
    with pytest.raises(ValueError, match="output_dict is invalid"):
        run_n({})
