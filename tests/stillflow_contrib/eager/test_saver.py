"""Checkpoints by the names of variables, without a session."""

from __future__ import annotations

import pytest

import stillflow as tf
from stillflow.eager.immediate import ImmediateGraph

tfe = tf.contrib.eager


@pytest.fixture
def eager():
    with ImmediateGraph().as_default():
        yield


def test_what_is_saved_is_restored(eager, tmp_path):
    v, w = tf.Variable([1.0, 2.0], name="v"), tf.Variable(3, name="w")
    saver = tfe.Saver([v, w])
    path = saver.save(str(tmp_path / "model"), global_step=w)
    assert path.endswith("model-3")
    assert tf.train.list_variables(path) == [("v", [2]), ("w", [])]
    v.assign([0.0, 0.0])
    saver.restore(path)
    assert v.numpy().tolist() == [1.0, 2.0]


def test_two_variables_of_one_name_are_refused(eager, tmp_path):
    saver = tfe.Saver([tf.Variable(1.0, name="v"), tf.Variable(2.0, name="v")])
    with pytest.raises(ValueError, match="with the same shared_name 'v'"):
        saver.save(str(tmp_path / "model"))


def test_variables_begin_with_what_was_saved(eager, tmp_path):
    path = tfe.Saver([tf.Variable(5.0, name="v")]).save(str(tmp_path / "model"))
    with tfe.restore_variables_on_create(path):
        assert tf.Variable(1.0, name="v").numpy() == 5.0
        assert tf.Variable(1.0, name="v").numpy() == 1.0
        with pytest.raises(tf.errors.NotFoundError, match="w not found in checkpoint"):
            tf.Variable(1.0, name="w")
    with tfe.restore_variables_on_create(path, map_func=lambda name: name[-1]):
        assert tf.Variable(1.0, name="a_v").numpy() == 5.0


def test_savers_of_eager_execution_are_for_that():
    with tf.Graph().as_default(), pytest.raises(RuntimeError, match=r"tfe\.Saver can only be used"):
        tfe.Saver([])


def test_checkpoints_hold_slots_for_those_who_come_later(eager, tmp_path):
    def trained(checkpoint=None):
        v, optimizer = tf.Variable(1.0), tf.train.MomentumOptimizer(0.1, 0.9)
        kept = tf.train.Checkpoint(v=v, optimizer=optimizer)
        if checkpoint is not None:
            kept.restore(checkpoint)
        optimizer.minimize(lambda: v * v)
        return v, kept

    _, kept = trained()
    path = kept.save(str(tmp_path / "model"))
    again, _ = trained(path)
    assert again.numpy() == pytest.approx(0.8 - 0.1 * (0.9 * 2.0 + 1.6))
