"""Functions that are told of every operation that runs when it is called."""

from __future__ import annotations

import numpy as np
import pytest

import stillflow as tf
from stillflow.eager import callbacks

tfe = tf.contrib.eager


@pytest.fixture(autouse=True)
def _none_afterwards(eager):
    yield
    callbacks.clear_execution_callbacks()


def test_callbacks_are_told_of_operations_and_functions():
    told = []

    def note(op_type, inputs, attrs, outputs, op_name):
        tf.reduce_sum(outputs[0])  # of which it is not told in turn
        told.append((op_type, len(inputs), attrs, outputs[0].numpy().tolist(), op_name))

    double = tf.function(lambda x: x * 2.0, autograph=False)
    tfe.add_execution_callback(note)
    tf.matmul([[1.0]], [[2.0]], name="mm")
    tf.reduce_sum([1.0, 2.0], axis=0)
    double(tf.constant(3.0))
    tfe.clear_execution_callbacks()
    tf.constant(1.0) + 1.0
    attrs = "transpose_a", False, "transpose_b", False, "T", 1
    assert told[0] == ("MatMul", 2, attrs, [[2.0]], "mm/")
    assert told[1] == ("Sum", 2, ("keep_dims", False, "T", 1, "Tidx", 3), 3.0, None)
    assert told[2][0].startswith("__inference_") and told[2][3:] == (6.0, None)
    assert len(told) == 3


def test_results_that_are_not_finite_are_refused_where_that_is_asked_for(capsys):
    raising = tfe.ExecutionCallback.RAISE
    assert tfe.seterr(inf_or_nan="raise") == {"inf_or_nan": tfe.ExecutionCallback.IGNORE}
    message = (
        r"TFE operation Log \(name: 'lg'\) contains 1 inf\(s\) and 1 nan\(s\) out of a total of 3"
    )
    with pytest.raises(callbacks.InfOrNanError, match=message) as caught:
        tf.log([0.0, -1.0, 1.0], name="lg")
    np.testing.assert_array_equal(caught.value.value, [-np.inf, np.nan, 0.0])
    with tfe.errstate(inf_or_nan="ignore"):
        assert tf.log(0.0).numpy() == -np.inf
    with tfe.errstate(inf_or_nan=tfe.ExecutionCallback.PRINT):
        tf.log(0.0)
    assert capsys.readouterr().out.startswith("Warning: Output 1 of 1 of TFE operation Log")
    assert tfe.seterr(inf_or_nan=tfe.ExecutionCallback.IGNORE) == {"inf_or_nan": raising}
    assert tfe.seterr() == {"inf_or_nan": tfe.ExecutionCallback.IGNORE}
    assert tf.log(0.0).numpy() == -np.inf
    with pytest.raises(ValueError, match="'foo' is not a valid ExecutionCallback"):
        tfe.seterr(inf_or_nan="foo")


def test_one_kind_may_be_looked_for_alone():
    tfe.add_execution_callback(tfe.inf_callback)
    assert np.isnan(tf.log(-1.0).numpy())
    with pytest.raises(callbacks.InfOrNanError, match=r"1 inf\(s\) out"):
        tf.log(0.0)
    tfe.clear_execution_callbacks()
    tfe.add_execution_callback(tfe.nan_callback)
    assert tf.log(0.0).numpy() == -np.inf
    with pytest.raises(callbacks.InfOrNanError, match=r"1 nan\(s\) out"):
        tf.log(-1.0)


def test_modes_and_devices(eager):
    with tfe.execution_mode(tfe.ASYNC):
        assert tf.constant(1.0).numpy() == 1
    with pytest.raises(ValueError, match=r"Execution mode should be None/SYNC/ASYNC\. Got x"):
        tfe.set_execution_mode("x")
    tfe.set_execution_mode(tfe.SYNC)
    tfe.async_wait()
    assert tfe.num_gpus() >= 0
