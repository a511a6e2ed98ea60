"""Log of operations' devices."""

from __future__ import annotations

import pytest

import stillflow as tf


@pytest.fixture
def logging(monkeypatch):
    monkeypatch.setenv("TF_CPP_MIN_LOG_LEVEL", "0")
    tf.debugging.set_log_device_placement(True)
    yield
    tf.debugging.set_log_device_placement(False)


def test_says_where_each_operation_runs(eager, logging, capsys, cpu):
    assert tf.debugging.get_log_device_placement()
    tf.matmul(tf.ones([2, 2]), tf.ones([2, 2]))
    tf.debugging.Assert(True, [])
    tf.debugging.set_log_device_placement(False)
    tf.add(1, 2)
    host = "in device /job:localhost/replica:0/task:0/device:CPU:0"
    said = capsys.readouterr().err.splitlines()
    assert f"Executing op MatMul {host}" in said
    assert not any("Executing op Add" in line for line in said)
    assert not tf.debugging.get_log_device_placement()


def test_asked_twice_it_says_it_once(eager, logging, capsys):
    tf.debugging.set_log_device_placement(True)
    tf.tanh(1.0)
    assert capsys.readouterr().err.count("Executing op Tanh") == 1


def test_silence_is_respected(eager, logging, capsys, monkeypatch):
    monkeypatch.setenv("TF_CPP_MIN_LOG_LEVEL", "1")
    tf.tanh(1.0)
    assert "Executing" not in capsys.readouterr().err
