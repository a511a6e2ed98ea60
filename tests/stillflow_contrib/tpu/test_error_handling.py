"""Errors of several threads, of which the one that says most is raised."""

from __future__ import annotations

import pytest

import stillflow as tf
from stillflow_contrib.tpu import error_handling
from stillflow_contrib.tpu.error_handling import ErrorRendezvous


def test_the_first_error_that_follows_no_other_is_raised():
    rendezvous = ErrorRendezvous(3)
    with rendezvous.catch_errors("outfeed"):
        raise tf.errors.CancelledError(None, None, "session closed")
    with rendezvous.catch_errors("infeed"):
        raise ValueError("bad file")
    rendezvous.record_done("infeed")  # an error stays
    rendezvous.record_done("main")
    with pytest.raises(ValueError, match="bad file") as info:
        rendezvous.raise_errors(timeout_sec=10)
    assert info.traceback[-1].name == "test_the_first_error_that_follows_no_other_is_raised"


def test_consequences_are_raised_if_there_is_nothing_else():
    rendezvous = ErrorRendezvous(2)
    with rendezvous.catch_errors("main"):
        raise tf.errors.AbortedError(None, None, "begins anew")  # is not told
    rendezvous.raise_errors()
    with rendezvous.catch_errors("infeed"):
        raise tf.errors.CancelledError(None, None, "closed")
    with pytest.raises(tf.errors.CancelledError, match="closed"):
        rendezvous.raise_errors()


def test_the_session_is_closed_so_that_nobody_waits(monkeypatch):
    monkeypatch.setattr(error_handling, "_GRACE", 0)
    rendezvous = ErrorRendezvous(1)
    with tf.Graph().as_default():
        session = tf.Session()
        with rendezvous.catch_errors("infeed", session):
            raise ValueError("bad file")
        rendezvous._closing.join()
        with pytest.raises(RuntimeError, match="closed"):
            session.run(tf.no_op())
