"""`MultiWorkerMirroredStrategy` of several workers, which are processes, or of several devices."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.ranks import Ranks

from stillflow.testing.local_cluster import free_ports
from stillflow_contrib.distribute.collective_reduction import CollectiveKeys

_PROGRAM = """
import json
import os
import numpy as np
import tensorflow as tf

rank = int(os.environ["RANK"])
jobs = json.loads(os.environ["JOBS"])
tasks = [(job, index) for job in ("chief", "worker") for index in range(len(jobs.get(job, [])))]
task = tasks[rank]
os.environ["TF_CONFIG"] = json.dumps({"cluster": jobs, "task": dict(zip(("type", "index"), task))})
rows = np.arange(24.0).reshape(12, 2) / 10.0
strategy = tf.distribute.experimental.MultiWorkerMirroredStrategy()
with strategy.scope():
    w = tf.Variable(tf.random.uniform([2, 1], seed=rank, dtype=tf.float64), name="w")
    table = tf.get_variable("table", [4, 2], tf.float64, tf.ones_initializer())
    dataset = tf.data.Dataset.from_tensor_slices(rows).repeat().batch(4)
    iterator = strategy.make_dataset_iterator(dataset)
    whole = table.get() if hasattr(table, "get") else table

    def step(x):
        x = x + tf.gather(whole, [rank, 2])
        loss = tf.reduce_sum(tf.square(tf.matmul(x, w) - 1.0)) / 4.0
        with tf.control_dependencies([tf.train.GradientDescentOptimizer(0.125).minimize(loss)]):
            return tf.identity(loss)

    losses = strategy.experimental_run(step, iterator)
    total = strategy.reduce(tf.distribute.ReduceOp.SUM, losses)
server = tf.train.Server(jobs, *task)
with tf.Session(server.target, config=strategy.update_config_proto(tf.ConfigProto())) as session:
    session.run([tf.global_variables_initializer(), iterator.initialize()])
    before = session.run([w, table])
    values = [session.run(total) for _ in range(3)]
    after = session.run([w, table])
    print(json.dumps([strategy.num_replicas_in_sync, [x.tolist() for x in before],
                      [float(x) for x in values], [x.tolist() for x in after]]), flush=True)
    ready = tf.identity(tf.constant([1.0]))
    with tf.device("/job:%s/task:%d/cpu:0" % task):
        from tensorflow.python.ops import collective_ops
        meet = collective_ops.all_reduce(tf.identity(ready), 2, 9, 9, "Add", "Id")
    session.run(meet)
os._exit(0)
"""


def _expected(w: np.ndarray) -> tuple[list[float], np.ndarray, np.ndarray]:
    """Return losses and variables of one process that trains on the joint batches."""
    table = np.ones((4, 2))
    rows = np.arange(24.0).reshape(12, 2) / 10.0
    losses = []
    for first in range(0, 12, 4):
        total, grad_w, grad_table = 0.0, np.zeros_like(w), np.zeros_like(table)
        # Each worker has every other of the batches' halves.
        halves = [rows[first : first + 2], rows[first + 2 : first + 4]]
        for rank, half in enumerate(halves):
            x = half + table[[rank, 2]]
            error = x @ w - 1.0
            total += float((error**2).sum() / 4.0)
            grad = 2.0 * error / 4.0
            grad_w += x.T @ grad
            np.add.at(grad_table, [rank, 2], grad @ w.T)
        w, table = w - 0.125 * grad_w, table - 0.125 * grad_table
        losses.append(total)
    return losses, w, table


@pytest.mark.parametrize("has_chief", [True, False])
def test_two_workers_train_as_one_process_on_the_joint_batch(
    tmp_path: Path, has_chief: bool
) -> None:
    first, second = (f"localhost:{port}" for port in free_ports(2))
    jobs = {"chief": [first], "worker": [second]} if has_chief else {"worker": [first, second]}
    outputs = Ranks(tmp_path).run(_PROGRAM, JOBS=json.dumps(jobs))
    (replicas, before, losses, after), other = (json.loads(text) for text in outputs)
    assert replicas == 2 and other == [replicas, before, losses, after]
    expected, w, table = _expected(np.asarray(before[0]))
    np.testing.assert_allclose(losses, expected, rtol=1e-12)
    np.testing.assert_allclose(after[0], w, rtol=1e-12)
    np.testing.assert_allclose(after[1], table, rtol=1e-12)


_TASK = """
import json
import os
import numpy as np
import tensorflow as tf

rank, cluster = int(os.environ["RANK"]), {"worker": json.loads(os.environ["WORKERS"])}
task = {"type": "worker", "index": rank}
os.environ["TF_CONFIG"] = json.dumps({"cluster": cluster, "task": task})
numbers = np.random.RandomState(0)
x = numbers.rand(64, 6).astype("f")
strategy = tf.distribute.experimental.MultiWorkerMirroredStrategy()
first, second = (tf.glorot_uniform_initializer(seed=seed) for seed in (3, 4))
"""
_KERAS = """
y = (x.sum(1, keepdims=True) > 3).astype("f")
with strategy.scope():
    model = tf.keras.Sequential([
        tf.keras.layers.Dense(8, "relu", input_shape=(6,), kernel_initializer=first),
        tf.keras.layers.Dense(1, "sigmoid", kernel_initializer=second)])
    model.compile(tf.keras.optimizers.SGD(0.5), "binary_crossentropy", ["accuracy"])
callbacks = [tf.keras.callbacks.ModelCheckpoint("saved%d.h5" % rank),
             tf.keras.callbacks.TensorBoard("logs%d" % rank)]
dataset = tf.data.Dataset.from_tensor_slices((x, y)).repeat().batch(16)
data = ARGUMENTS
history = model.fit(*data[0], epochs=3, verbose=0, callbacks=callbacks, **data[1]).history
print(json.dumps([np.array(history[name]).tolist() for name in ("loss", "acc")]))
print(json.dumps([float(value) for value in model.evaluate(*data[0], verbose=0, **data[2])]))
print(json.dumps(model.predict(x, batch_size=16)[:2].ravel().tolist()), flush=True)
os._exit(0)
"""
# What TensorFlow 1.15.5 prints: results are of both workers, predictions each worker's own.
_HISTORY = [
    [0.6959230452775955, 0.681050106883049, 0.6742700636386871],
    [0.5, 0.578125, 0.578125],
]
_EVALUATED = [0.662624403834343, 0.578125]
_PREDICTED = [[0.46345916390419006, 0.4610232412815094], [0.42132097482681274, 0.38498249650001526]]


@pytest.mark.parametrize(
    "arguments",
    [
        "(dataset,), {'steps_per_epoch': 4}, {'steps': 4}",
        "(x, y), {'batch_size': 16, 'shuffle': False}, {'batch_size': 16}",
    ],
    ids=["dataset", "arrays"],
)
def test_keras_models_are_trained_by_two_workers(tmp_path: Path, arguments: str) -> None:
    workers = json.dumps([f"localhost:{port}" for port in free_ports(2)])
    program = _TASK + _KERAS.replace("ARGUMENTS", arguments)
    for rank, output in enumerate(Ranks(tmp_path).run(program, WORKERS=workers)):
        history, evaluated, predicted = map(json.loads, output.splitlines()[-3:])
        np.testing.assert_allclose(history, _HISTORY, rtol=1e-6)
        np.testing.assert_allclose(evaluated, _EVALUATED, rtol=1e-6)
        np.testing.assert_allclose(predicted, _PREDICTED[rank], rtol=1e-6)
    # The chief alone saves.
    assert (tmp_path / "saved0.h5").exists() and (tmp_path / "logs0").exists()
    assert not (tmp_path / "saved1.h5").exists() and not (tmp_path / "logs1").exists()


_RESTART = """
y = (x.sum(1, keepdims=True) > 3).astype("f")
with strategy.scope():
    model = tf.keras.Sequential([
        tf.keras.layers.Dense(8, "relu", input_shape=(6,), kernel_initializer=first),
        tf.keras.layers.Dense(1, "sigmoid", kernel_initializer=second)])
    model.compile(tf.keras.optimizers.SGD(0.5, momentum=0.9), "binary_crossentropy")


class Dies(tf.keras.callbacks.Callback):
    def on_epoch_begin(self, epoch, logs=None):
        if epoch == int(os.environ["DIES_AT"]):
            names = [name for name, _ in tf.train.list_variables("backup")]
            print(json.dumps(names), flush=True)
            os._exit(1)


callbacks = [tf.keras.callbacks.ModelCheckpoint("saved{epoch}.h5"), Dies()]
dataset = tf.data.Dataset.from_tensor_slices((x, y)).repeat().batch(16)
history = model.fit(dataset, epochs=4, steps_per_epoch=4, verbose=0, callbacks=callbacks)
print(json.dumps([history.epoch, [float(loss) for loss in history.history["loss"]]]), flush=True)
os._exit(0)
"""


def test_keras_models_go_on_after_workers_have_died(tmp_path: Path) -> None:
    ranks = Ranks(tmp_path)
    workers = json.dumps([f"localhost:{port}" for port in free_ports(2)])
    died = ranks.wait(ranks.start(_TASK + _RESTART, WORKERS=workers, DIES_AT="2"))
    assert [ended.code for ended in died] == [1, 1]
    assert "_ckpt_saved_epoch/.ATTRIBUTES/VARIABLE_VALUE" in json.loads(died[0].output)
    workers = json.dumps([f"localhost:{port}" for port in free_ports(2)])
    for output in ranks.run(_TASK + _RESTART, WORKERS=workers, DIES_AT="9"):
        epochs, losses = json.loads(output)
        assert epochs == [2, 3]
        np.testing.assert_allclose(losses, [0.6554178893566132, 0.6237617135047913], rtol=1e-6)
    assert len(list(tmp_path.glob("saved?.h5"))) == 4
    assert not (tmp_path / "backup").exists()


_ESTIMATOR = """
y = x.sum(1, keepdims=True)
losses = []


def rows(input_context=None):
    pairs = tf.data.Dataset.from_tensor_slices((x, y))
    if input_context:
        pairs = pairs.shard(input_context.num_input_pipelines, input_context.input_pipeline_id)
    return pairs.repeat().batch(8)


def model_fn(features, labels, mode):
    hidden = tf.layers.dense(features, 8, tf.nn.relu, kernel_initializer=first)
    guess = tf.layers.dense(hidden, 1, kernel_initializer=second)
    loss = tf.losses.mean_squared_error(labels, guess, reduction=tf.losses.Reduction.SUM) / 16.0
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    train = optimizer.minimize(loss, global_step=tf.train.get_or_create_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train)


class Losses(tf.train.SessionRunHook):
    def before_run(self, context):
        loss = tf.get_collection(tf.GraphKeys.LOSSES)[0]
        return tf.train.SessionRunArgs(loss)

    def after_run(self, context, values):
        losses.append(float(values.results))


config = tf.estimator.RunConfig("model", train_distribute=strategy)
estimator = tf.estimator.Estimator(model_fn, config=config)
tf.estimator.train_and_evaluate(
    estimator, tf.estimator.TrainSpec(rows, max_steps=4, hooks=[Losses()]),
    tf.estimator.EvalSpec(rows, steps=1))
bias = tf.train.load_variable("model", "dense_1/bias") if rank == 0 else None
print(json.dumps([losses, bias if bias is None else bias.tolist()]), flush=True)
os._exit(0)
"""
# What TensorFlow 1.15.5 prints: each worker's sums of squares, and what the chief has saved.
_SQUARES = [
    [72.51656341552734, 49.20296859741211, 24.663455963134766, 3.0487329959869385],
    [85.81478881835938, 55.610992431640625, 16.605884552001953, 5.316170692443848],
]
_BIAS = [1.4611197710037231]


def test_estimators_train_and_evaluate_with_two_workers(tmp_path: Path) -> None:
    workers = json.dumps([f"localhost:{port}" for port in free_ports(2)])
    outputs = Ranks(tmp_path).run(_TASK + _ESTIMATOR, WORKERS=workers)
    (here, bias), (there, _) = (json.loads(output.splitlines()[-1]) for output in outputs)
    # Losses are sums of squares of differences, which become small: a hundred units in the last
    # place of the numbers that are subtracted.
    np.testing.assert_allclose([here, there], _SQUARES, rtol=1e-5)
    np.testing.assert_allclose(bias, _BIAS, rtol=1e-6)


def test_keys_count_up_by_thread_and_group() -> None:
    keys = CollectiveKeys(group_key_start=5, op_instance_key_start=10)
    here, there = "/job:worker/task:{}/device:CPU:0", "/job:worker/task:{}/device:GPU:1"
    assert [keys.get_group_key([here.format(task)]) for task in range(2)] == [5, 5]
    assert keys.get_group_key([there.format(0), here.format(0)]) == 6
    assert keys.get_group_key([here.format(3), there.format(3)]) == 6
    assert [keys.get_op_instance_key() for _ in range(2)] == [10, 11]
    assert [keys.get_variable_instance_key() for _ in range(2)] == [1_000_000, 1_000_001]
