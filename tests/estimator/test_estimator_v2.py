"""The estimator of TensorFlow 2's names."""

from __future__ import annotations

import pytest

import stillflow as tf

EstimatorV2 = tf.compat.v2.estimator.Estimator


def nothing(features, labels, mode):
    """Fail: a model function that is never called."""


def test_it_is_an_estimator_without_the_old_export(tmp_path):
    assert issubclass(EstimatorV2, tf.estimator.Estimator)
    made = EstimatorV2(nothing, str(tmp_path))
    assert made.model_dir == str(tmp_path)
    with pytest.raises(AttributeError, match="Please use `export_saved_model` instead"):
        _ = made.export_savedmodel


@pytest.mark.parametrize("base", [EstimatorV2, tf.estimator.Estimator])
def test_subclasses_may_not_replace_what_it_does(base):
    class Other(base):
        def train(self):
            """Not allowed."""

    with pytest.raises(ValueError, match=r"does override \['train'\]"):
        Other(nothing)


def test_a_static_method_may_take_the_place_of_that_check(monkeypatch, tmp_path):
    class Other(EstimatorV2):
        def train(self):
            """Train, which is allowed then."""

    monkeypatch.setattr(
        EstimatorV2, "_assert_members_are_not_overridden", staticmethod(lambda _: None)
    )
    assert Other(nothing, str(tmp_path)).train() is None
