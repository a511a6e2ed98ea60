"""Apple's GPU, simulated: operations that run there, those that cannot, and the messages."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import torch
from tests import simulated_cuda
from tests.runtime.devices import test_gpu

import stillflow as tf
from stillflow.runtime.devices import devices

HARD = tf.ConfigProto(allow_soft_placement=False)


@pytest.fixture
def apple(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TF_CPP_MIN_LOG_LEVEL", "1")
    with simulated_cuda.simulated_mps(), tf.Graph().as_default():
        yield


def places(*tensors: tf.Tensor) -> list[str]:
    """Return the types of devices on which a session computes tensors."""
    with tf.Session() as session:
        session.run(tensors)
        found = [session._placement.device_of(tensor.op) for tensor in tensors]
    return [name.rpartition("device:")[2].partition(":")[0] for name in found]


@pytest.mark.parametrize(
    "build",
    [test_gpu.perceptron, test_gpu.convolutional, test_gpu.recurrent, test_gpu.embedding],
    ids=lambda build: build.__name__,
)
def test_learns_as_on_the_cpu(apple: None, build) -> None:
    there = test_gpu.losses(build)
    here = test_gpu.losses(build, device_count={"GPU": 0})
    np.testing.assert_allclose(there, here, rtol=1e-4)


def test_the_first_gpu_is_apples(apple: None) -> None:
    with tf.Session() as session:
        kinds = [device.device_type for device in session.list_devices()]
    assert kinds == ["CPU", "GPU"]
    x = tf.placeholder_with_default(np.ones((2, 2), np.float32), [2, 2])
    assert places(tf.matmul(x, x)) == ["GPU"]


@pytest.mark.parametrize("dtype", [tf.float64, tf.complex64, tf.complex128])
def test_types_that_it_has_not_are_computed_on_the_processor(apple: None, dtype) -> None:
    x = tf.placeholder_with_default(np.ones((2, 2), dtype.as_numpy_dtype), [2, 2])
    assert places(tf.matmul(x, x), tf.square(x)) == ["CPU", "CPU"]


def test_variables_of_double_precision_train_on_the_processor(apple: None) -> None:
    v = tf.get_variable("v", initializer=np.ones(3))
    step = tf.train.AdamOptimizer(0.1).minimize(tf.reduce_sum(v * v))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(3):
            session.run(step)
        assert session.run(v).dtype == np.float64


def test_a_sum_of_single_precision_is_cast_on_its_way(apple: None) -> None:
    x = tf.placeholder(tf.float32, [4])
    wide = tf.cast(tf.reduce_sum(x), tf.float64) / 3
    with tf.Session() as session:
        assert session.run(wide, {x: [2] * 4}) == 8 / 3


def test_what_cannot_be_there_is_named_with_what_to_do(apple: None) -> None:
    with tf.device("/gpu:0"):
        x = tf.placeholder_with_default(np.ones((2, 2)), [2, 2], name="x")
        y = tf.matmul(x, x, name="wide")
    with tf.Session(config=HARD) as session, pytest.raises(tf.errors.InvalidArgumentError) as told:
        session.run(y)
    text = str(told.value)
    assert "no supported kernel for GPU devices is available" in text
    assert "Apple's GPUs have no float64" in text and "tf.device('/cpu:0')" in text
    assert "test_apple.py" in text  # the line that made the operation
    with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as session:
        assert session.run(y).tolist() == [[2, 2], [2, 2]]


def test_sums_of_int64_by_index_are_on_the_processor(apple: None) -> None:
    v = tf.get_variable("v", initializer=np.zeros(3, np.int64), use_resource=True)
    added = tf.scatter_add(v, [0, 0, 2], np.array([1, 2, 3], np.int64))
    w = tf.get_variable("w", initializer=np.zeros(3, np.float32), use_resource=True)
    there = tf.scatter_add(w, [0, 0, 2], np.array([1, 2, 3], np.float32))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run([added, there])[0].tolist() == [3, 0, 3]
        assert session.run(w).tolist() == [3, 0, 3]


def test_decompositions_are_on_the_processor(apple: None) -> None:
    x = tf.placeholder_with_default(np.eye(3, dtype=np.float32) * 4, [3, 3])
    assert places(tf.cholesky(x), tf.matrix_inverse(x)) == ["CPU", "CPU"]


def test_a_kernel_that_pytorch_lacks_is_an_error_of_the_operation(
    apple: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = tf.placeholder(tf.float32, [2, 2])
    y = tf.matmul(x, x, name="y")
    monkeypatch.setattr(simulated_cuda, "_NOT_IMPLEMENTED_BY_APPLE", ("mm",))
    with tf.Session() as session, pytest.raises(tf.errors.UnimplementedError) as told:
        session.run(y, {x: np.ones((2, 2))})
    text = str(told.value)
    assert told.value.op is y.op and "test_apple.py" in text
    assert "tf.device('/cpu:0')" in text


def test_checkpoints_go_to_the_processor(apple: None, tmp_path) -> None:
    v = tf.get_variable("v", initializer=np.arange(6, dtype=np.float32).reshape(2, 3))
    saver = tf.train.Saver()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        path = saver.save(session, str(tmp_path / "m"))
    with tf.Session(config=tf.ConfigProto(device_count={"GPU": 0})) as session:
        saver.restore(session, path)
        assert session.run(v).tolist() == [[0, 1, 2], [3, 4, 5]]


@pytest.mark.parametrize("hidden", ["", "-1"])
def test_no_visible_device_hides_it_too(monkeypatch: pytest.MonkeyPatch, hidden: str) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    monkeypatch.setattr(torch.mps, "recommended_max_memory", lambda: 5)
    find = devices._found_gpus.__wrapped__
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert [(gpu.torch_name, gpu.memory) for gpu in find()] == [("mps:0", 5)]
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", hidden)
    assert find() == ()
