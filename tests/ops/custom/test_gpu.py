"""Kernels for GPUs: their memory, and the host's where the registration says so."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import numpy as np
import pytest
from tests.simulated_cuda import CudaTensor, simulated_cuda

import stillflow as tf
from stillflow.ops.custom import device_memory

from .building import library


@pytest.fixture
def there(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Simulate a GPU whose memory the kernels of these tests may use, as they run on the host."""
    monkeypatch.setattr(CudaTensor, "data_ptr", lambda self: self.held.data_ptr())
    with simulated_cuda():
        yield


def test_a_kernel_finds_its_inputs_where_its_registration_says(there: None) -> None:
    ops = library(tf, "gpu")
    x = np.arange(6, dtype=np.float32)
    with tf.Graph().as_default(), tf.Session() as session:
        y, counts = session.run(ops.scale_there(x, tf.constant(2) + 1))
    assert y.tolist() == (3 * x).tolist() and counts.tolist() == [6, 1, 1, 1]


def test_types_that_no_kernel_of_the_gpu_takes_run_on_the_host(there: None) -> None:
    ops = library(tf, "gpu")
    with tf.Graph().as_default(), tf.Session() as session:
        y, counts = session.run(ops.scale_there([1, 2], 5))
        assert (y.tolist(), counts.tolist()) == ([5, 10], [2, 0, 0, 0])
        with pytest.raises(tf.errors.InvalidArgumentError, match="No OpKernel was registered"):
            session.run(ops.scale_there(tf.constant([1.0], tf.float64), 5))


def test_kernels_keep_memory_of_the_gpu(there: None) -> None:
    ops = library(tf, "gpu")
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32)
        fetches = ops.remember_there(x * 1.0)
        runs = [session.run(fetches, {x: value}) for value in ([1.0, 2], [3.0, 4], [5.0, 6])]
    assert [run.before.tolist() for run in runs] == [[1, 2], [1, 2], [3, 4]]
    assert [run.sum.tolist() for run in runs] == [[3], [10], [21]]
    del session, fetches, x
    gc.collect()
    assert not device_memory._held


def test_elements_that_no_kernel_writes_are_zero_there_too(there: None) -> None:
    ops = library(tf, "gpu")
    with tf.Graph().as_default(), tf.Session() as session:
        assert session.run(ops.half_written_there([7.0] * 4)).tolist() == [1, 0, 1, 0]


def test_a_variable_of_the_gpu_changes_in_place(there: None) -> None:
    ops = library(tf, "gpu")
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.Variable([1.0, 2.0], use_resource=False)
        added = ops.add_there(v, 3.0)
        session.run(v.initializer)
        session.run(added.op)
        assert session.run(v).tolist() == [4, 5]


def test_without_a_gpu_the_kernels_that_are_there_are_listed(cpu: None) -> None:
    ops = library(tf, "gpu")
    with tf.Graph().as_default(), tf.Session() as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"device='GPU'"):
            session.run(ops.half_written_there([1.0]))
