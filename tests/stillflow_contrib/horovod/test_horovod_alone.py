"""Horovod's modules in a program of one process, and how they are horovod_names."""

from __future__ import annotations

import importlib
import sys

import numpy as np
import pytest

import stillflow as tf
from stillflow.facade import horovod_names


@pytest.fixture
def hvd():
    """Return the module `horovod.tensorflow`, initialized."""
    tf.install(revive=False)
    module = importlib.import_module("horovod.tensorflow")
    module.init()
    yield module
    module.shutdown()
    tf.uninstall()


def test_modules_are_served_by_their_names(hvd) -> None:
    import horovod

    assert horovod.__version__ == horovod_names.VERSION
    for name in horovod_names.MODULES:
        assert importlib.import_module(name).__name__ == name
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("horovod.torch")
    assert hvd.mpi_ops.allgather is hvd.allgather


def test_names_are_forgotten_with_tensorflow() -> None:
    tf.install(revive=False)
    importlib.import_module("horovod.keras")
    tf.uninstall()
    assert not [name for name in sys.modules if name.startswith("horovod")]
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("horovod.tensorflow")


def test_a_program_without_a_launcher_is_the_only_rank(hvd) -> None:
    facts = [hvd.rank(), hvd.size(), hvd.local_rank(), hvd.local_size(), hvd.cross_rank(),
             hvd.cross_size()]  # fmt: skip
    assert facts == [0, 1, 0, 1, 0, 1]
    assert hvd.is_homogeneous()
    assert hvd.gloo_built()
    assert not hvd.mpi_built()
    assert hvd.mpi_threads_supported()


def test_ranks_are_unknown_before_init(hvd) -> None:
    hvd.shutdown()
    with pytest.raises(ValueError, match=r"use hvd.init\(\)"):
        hvd.rank()
    with tf.Graph().as_default(), tf.Session() as session:
        total = hvd.allreduce(tf.ones([2]))
        with pytest.raises(tf.errors.FailedPreconditionError, match="has not been initialized"):
            session.run(total)


def test_operations_of_one_rank_give_their_input(hvd) -> None:
    x = np.arange(6.0, dtype=np.float32).reshape(3, 2)
    with tf.Graph().as_default(), tf.Session() as session:
        tensors = [
            hvd.allreduce(x), hvd.allgather(tf.constant(x)), hvd.broadcast(tf.constant(x), 0),
            hvd.alltoall(tf.constant(x)), hvd.allreduce(x, op=hvd.Sum, postscale_factor=1.0),
        ]  # fmt: skip
        for value in session.run(tensors):
            np.testing.assert_array_equal(value, x)


def test_a_broadcast_from_a_rank_that_there_is_not_fails(hvd) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        tensor = hvd.broadcast(tf.ones([2]), 3)
        with pytest.raises(tf.errors.FailedPreconditionError, match="root rank 3, of 1 ranks"):
            session.run(tensor)


def test_arguments_that_exclude_each_other(hvd) -> None:
    with tf.Graph().as_default():
        with pytest.raises(ValueError, match="supersedes average"):
            hvd.allreduce(tf.ones([2]), average=True, op=hvd.Sum)
        with pytest.raises(ValueError, match="doesn't inherit"):
            hvd.DistributedOptimizer(object())
        with pytest.raises(ValueError, match="gradient_predivide_factor"):
            hvd.DistributedOptimizer(
                tf.train.AdamOptimizer(), op=hvd.Sum, gradient_predivide_factor=2.0
            )
        with pytest.raises(ValueError, match="groups"):
            hvd.DistributedOptimizer(tf.train.AdamOptimizer(), groups="all")


def test_elastic_training_says_by_name_that_it_is_not_supported(hvd) -> None:
    with pytest.raises(tf.errors.UnimplementedError, match=r"hvd\.elastic\.run"):
        hvd.elastic.run(lambda state: None)
    with pytest.raises(tf.errors.UnimplementedError, match="part of the ranks"):
        hvd.init([1])


def test_utilities_know_tensorflow_alone(hvd) -> None:
    util = importlib.import_module("horovod.common.util")
    util.check_extension("horovod.tensorflow", "HOROVOD_WITH_TENSORFLOW", __file__)
    with pytest.raises(ImportError, match="Extension horovod"):
        util.check_extension("horovod.torch", "HOROVOD_WITH_PYTORCH", __file__)
    assert util.extension_available("tensorflow") and not util.extension_available("torch")
    assert util.split_list(list(range(7)), 3) == [[0, 1, 2], [3, 4], [5, 6]]


def test_synchronized_batch_norm_of_one_rank_is_batch_norm(hvd) -> None:
    x = np.arange(12, dtype=np.float32).reshape(4, 3) ** 2
    with tf.Graph().as_default(), tf.Session() as session:
        found = hvd.SyncBatchNormalization(axis=-1)(x, training=True)
        expected = tf.keras.layers.BatchNormalization(axis=-1, fused=False)(x, training=True)
        session.run(tf.global_variables_initializer())
        np.testing.assert_array_equal(*session.run([found, expected]))
    with pytest.raises(ValueError, match="fused=True"):
        hvd.SyncBatchNormalization(fused=True)


def test_a_model_is_loaded_with_its_optimizer_distributed(hvd, tmp_path, monkeypatch) -> None:
    pytest.importorskip("h5py")
    monkeypatch.setitem(sys.modules, "keras", None)  # as where the package is not installed
    path = str(tmp_path / "model.h5")
    with tf.Graph().as_default(), tf.Session():
        model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(2,))])
        model.compile(tf.keras.optimizers.SGD(0.25), "mse")
        model.save(path)
        expected = model.get_weights()
    with tf.Graph().as_default(), tf.Session():
        loaded = importlib.import_module("horovod.keras").load_model(path)
        np.testing.assert_array_equal(loaded.get_weights()[0], expected[0])
        names = [kind.__name__ for kind in type(loaded.optimizer).__mro__]
        assert "SGD" in names[1:]  # below the class whose gradients are reduced
        assert tf.keras.backend.get_value(loaded.optimizer.lr) == 0.25


def test_an_optimizer_of_a_program_needs_no_learning_rate(hvd) -> None:
    """The base class knows its name alone; so it is in TensorFlow."""
    import horovod.tensorflow.keras as hvd_keras

    class Plain(tf.keras.optimizers.Optimizer):
        def get_config(self):
            return super().get_config()

        def _resource_apply_dense(self, grad, var, apply_state=None):
            return var.assign_add(grad)

    assert Plain("plain").get_config() == {"name": "plain"}
    wrapped = hvd_keras.DistributedOptimizer(Plain("plain"), backward_passes_per_step=2)
    assert (type(wrapped).__module__, type(wrapped).__name__) == ("horovod._keras", "Plain")
