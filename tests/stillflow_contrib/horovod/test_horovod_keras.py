"""`horovod.tensorflow.keras` and `horovod.keras`: models that ranks train together."""

from __future__ import annotations

import json

import numpy as np
import pytest
from tests.ranks import Ranks

_BEGIN = """
import json
import numpy as np
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
rank, size = hvd.rank(), hvd.size()
numbers = np.random.RandomState(0)
x = numbers.randn(16, 4).astype(np.float32)[rank * 16 // size : (rank + 1) * 16 // size]
y = x.sum(1, keepdims=True)
"""
_MODEL = """
tf.set_random_seed(3 + rank)
model = tf.keras.Sequential([tf.keras.layers.Dense(5, "tanh", input_shape=(4,)),
                             tf.keras.layers.Dense(1)])
"""


def test_two_ranks_train_as_one_does_on_the_joint_batch(ranks: Ranks) -> None:
    program = """
optimizer = hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.1, momentum=0.9))
model.compile(optimizer, "mse")
callbacks = [hvd.callbacks.BroadcastGlobalVariablesCallback(0),
             hvd.callbacks.MetricAverageCallback()]
model.set_weights([np.full(w.shape, 0.1 * (n + 1)) for n, w in enumerate(model.get_weights())])
history = model.fit(x, y, batch_size=len(x), epochs=5, verbose=0, callbacks=callbacks)
print(type(optimizer).__name__, json.dumps([float(v) for v in history.history["loss"]]))
"""
    alone, first, second = (
        *ranks.run(_BEGIN + _MODEL + program, size=1), *ranks.run(_BEGIN + _MODEL + program),
    )  # fmt: skip
    assert first == second
    kind, losses = first.split(" ", 1)
    assert kind == "SGD"
    expected = json.loads(alone.split(" ", 1)[1])
    # Sums of sixteen numbers in another order.
    np.testing.assert_allclose(json.loads(losses), expected, rtol=1e-6)


def test_variables_are_broadcast_after_the_first_batch(ranks: Ranks) -> None:
    program = """
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.Adam(0.1)), "mse")
model.fit(x, y, batch_size=len(x), epochs=2, verbose=0,
          callbacks=[hvd.callbacks.BroadcastGlobalVariablesCallback(0)])
print(json.dumps([w.tolist() for w in model.get_weights()]))
"""
    first, second = ranks.run(_BEGIN + _MODEL + program)
    assert first == second


def test_learning_rates_warm_up_and_follow_a_schedule(ranks: Ranks) -> None:
    program = """
optimizer = hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.5, momentum=0.5))
model.compile(optimizer, "mse")
callbacks = [
    hvd.callbacks.LearningRateWarmupCallback(0.5, warmup_epochs=2, verbose=1),
    hvd.callbacks.LearningRateScheduleCallback(0.5, 0.1, start_epoch=2, end_epoch=3),
    hvd.callbacks.LearningRateScheduleCallback(0.5, lambda epoch: 0.01 * epoch, start_epoch=3),
]
history = model.fit(x, y, batch_size=4, epochs=4, verbose=0, callbacks=callbacks)
print([round(float(rate), 6) for rate in history.history["lr"]])
print(round(float(tf.keras.backend.get_value(model.optimizer.momentum)), 6))
"""
    first, second = ranks.run(_BEGIN + _MODEL + program)
    rates = "[0.375, 0.5, 0.05, 0.015]\n0.5\n"
    assert second == rates
    assert first == f"\nEpoch 2: finished gradual learning rate warmup to 0.5.\n{rates}"


def test_a_saved_model_is_loaded_with_an_optimizer_that_reduces(ranks: Ranks) -> None:
    pytest.importorskip("h5py")
    program = """
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.RMSprop(0.1)), "mse")
model.fit(x, y, batch_size=len(x), verbose=0)
path = f"model{rank}.h5"
model.save(path)
loaded = hvd.load_model(path)
plain = tf.keras.models.load_model(path)
print(type(loaded.optimizer).__name__, hasattr(loaded.optimizer, "_allreduce_grads"),
      hasattr(plain.optimizer, "_allreduce_grads"))
print(hvd.allreduce(rank + 1.0), hvd.allgather([rank]).tolist(), hvd.broadcast(rank + 5, 1))
"""
    expected = "RMSprop True False\n1.5 [0, 1] 6\n"
    assert ranks.run(_BEGIN + _MODEL + program) == [expected] * 2


def test_eager_gradients_of_a_tape_are_averaged(ranks: Ranks) -> None:
    program = """
import horovod.tensorflow as hvd_tf
tf.enable_eager_execution()
v = tf.Variable([1.0, 2.0])
w = tf.Variable(3.0)
with hvd_tf.DistributedGradientTape(tf.GradientTape()) as tape:
    loss = tf.reduce_sum(v * (rank + 1.0))
print([None if g is None else g.numpy().tolist() for g in tape.gradient(loss, [v, w])])
v.assign([rank, rank])
hvd_tf.broadcast_variables([v], root_rank=1)
print(v.numpy().tolist(), hvd_tf.allreduce(tf.constant(rank + 1.0)).numpy())
for rows in (1 + rank, 2):  # of one shape in one rank, of two in the other
    print(hvd_tf.allgather(tf.fill([rows], rank)).numpy().tolist())
"""
    expected = "[[1.5, 1.5], None]\n[1.0, 1.0] 1.5\n[0, 1, 1]\n[0, 0, 1, 1]\n"
    assert ranks.run(_BEGIN + program) == [expected] * 2


def test_an_optimizer_of_a_program_adds_up_gradients_of_several_passes(ranks: Ranks) -> None:
    program = """
class Adding(tf.keras.optimizers.Optimizer):
    def _resource_apply_dense(self, grad, var, apply_state=None):
        return var.assign_add(grad)

optimizer = hvd.DistributedOptimizer(
    Adding("adding"), backward_passes_per_step=2, average_aggregated_gradients=True)
variable = tf.Variable([0.0])
(grad,) = optimizer._allreduce([tf.constant([rank + 1.0])])
apply = optimizer.apply_gradients([(grad, variable)])
session = tf.keras.backend.get_session()
session.run([variable.initializer, optimizer.iterations.initializer])
values = []
for _ in range(4):
    session.run(apply)
    values.append(session.run(variable).tolist())
print(json.dumps([values, int(session.run(optimizer.iterations))]))
"""
    for output in ranks.run(_BEGIN + program):
        assert json.loads(output) == [[[0.0], [1.5], [1.5], [3.0]], 4]
