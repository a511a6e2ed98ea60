"""tf.contrib.learn.ModeKeys."""

import pytest

import stillflow as tf

ModeKeys = tf.contrib.learn.ModeKeys


def test_modes_are_words_that_estimators_do_not_share():
    assert (ModeKeys.TRAIN, ModeKeys.EVAL, ModeKeys.INFER) == ("train", "eval", "infer")
    ModeKeys.validate("infer")
    with pytest.raises(ValueError, match=r"^Invalid mode predict\.$"):
        ModeKeys.validate("predict")
