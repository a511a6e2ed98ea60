"""The strategy of TPUs, which programs only ask about."""

from __future__ import annotations

import pytest

import stillflow as tf
from stillflow.facade.lookup import lookup


def test_a_strategy_is_told_from_that_of_tpus_which_cannot_be_made() -> None:
    kind = lookup("tensorflow.python.distribute.tpu_strategy", "TPUStrategy")
    assert issubclass(kind, tf.distribute.Strategy)
    assert not isinstance(tf.distribute.get_strategy(), kind)
    with pytest.raises(tf.errors.UnimplementedError, match="TPUStrategy"):
        kind()
