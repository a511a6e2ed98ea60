"""`horovod.tensorflow` in graphs: what ranks compute together."""

from __future__ import annotations

import json

import numpy as np
import pytest
from tests.ranks import Ranks

_BEGIN = """
import json
import numpy as np
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
rank = hvd.rank()
"""


def test_reductions_gathers_and_broadcasts_with_their_gradients(ranks: Ranks) -> None:
    program = """
x = tf.constant([1.0, 2.0]) * (rank + 1)
rows = tf.constant(np.full([rank + 1, 2], rank + 1.0, np.float32))
results = {
    "average": hvd.allreduce(x), "sum": hvd.allreduce(x, op=hvd.Sum),
    "half": hvd.allreduce(x, op=hvd.Sum, compression=hvd.Compression.fp16),
    "scaled": hvd.allreduce(x, op=hvd.Sum, prescale_factor=2.0, postscale_factor=0.5),
    "gathered": hvd.allgather(rows), "broadcast": hvd.broadcast(x, 1),
    "exchanged": hvd.alltoall(tf.range(3) + 10 * rank, splits=[[1, 2], [2, 1]][rank]),
}
grouped = hvd.grouped_allreduce([x, 2 * x], op=hvd.Sum)
results["grouped"] = tf.stack(grouped)
slices = hvd.allreduce(tf.IndexedSlices(x, tf.constant([rank, 5]), [6]), op=hvd.Sum)
results["values"], results["indices"] = slices.values, slices.indices
weights = tf.range(1.0, 4.0)[:, None] * (rank + 1)
losses = {
    "average": results["average"] * (rank + 1), "gathered": results["gathered"] * weights,
    "broadcast": results["broadcast"] * (rank + 1),
}
for name, loss in losses.items():
    results[name + "_grad"], = tf.gradients(loss, rows if name == "gathered" else x)
results["ranks"] = tf.stack([hvd.rank_op(), hvd.size_op(), hvd.local_rank_op()])
with tf.Session() as session:
    found = session.run(results)
print(json.dumps({name: value.tolist() for name, value in found.items()}))
print(results["average"].op.type, results["gathered"].shape, hvd.broadcast(x, 0).name)
"""
    outputs = ranks.run(_BEGIN + program)
    for rank, output in enumerate(outputs):
        values, line = output.splitlines()
        assert line == "HorovodAllreduce (?, 2) HorovodBroadcast_mul_0_1:0"
        assert json.loads(values) == {
            "average": [1.5, 3.0], "sum": [3.0, 6.0], "half": [3.0, 6.0], "scaled": [3.0, 6.0],
            "gathered": [[1.0, 1.0], [2.0, 2.0], [2.0, 2.0]], "broadcast": [2.0, 4.0],
            "exchanged": [[0, 10, 11], [1, 2, 12]][rank],
            "grouped": [[3.0, 6.0], [6.0, 12.0]],
            "values": [1.0, 2.0, 2.0, 4.0], "indices": [0, 5, 1, 5],
            "average_grad": [1.5, 1.5],
            "gathered_grad": [[[3.0, 3.0]], [[6.0, 6.0], [9.0, 9.0]]][rank],
            "broadcast_grad": [[0.0, 0.0], [3.0, 3.0]][rank],
            "ranks": [rank, 2, rank],
        }  # fmt: skip


_TRAINING = """
tf.set_random_seed(1)
numbers = np.random.RandomState(0)
xs = numbers.randn(8, 6).astype(np.float32)
ys = numbers.randn(8, 2).astype(np.float32)
words = numbers.randint(0, 10, [8, 3])
share = slice(rank * 8 // hvd.size(), (rank + 1) * 8 // hvd.size())

x, y = tf.placeholder(tf.float32, [None, 6]), tf.placeholder(tf.float32, [None, 2])
word = tf.placeholder(tf.int32, [None, 3])
table = tf.get_variable("table", [10, 4])
hidden = tf.layers.dense(x, 5, tf.nn.tanh) + tf.layers.dense(
    tf.reduce_mean(tf.nn.embedding_lookup(table, word), 1), 5
)
loss = tf.reduce_mean(tf.square(tf.layers.dense(hidden, 2) - y))
optimizer = hvd.DistributedOptimizer(tf.train.MomentumOptimizer(0.1, 0.9)OPTIONS)
train = optimizer.minimize(loss)
mean = hvd.allreduce(loss, name="mean_loss")
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    session.run(hvd.broadcast_global_variables(0))
    feeds = {x: xs[share], y: ys[share], word: words[share]}
    print(json.dumps([float(session.run([mean, train], feeds)[0]) for _ in range(10)]))
"""


@pytest.mark.parametrize("options", ["", ", sparse_as_dense=True", ", groups=2"])
def test_two_ranks_have_the_losses_of_one_on_the_joint_batch(ranks: Ranks, options: str) -> None:
    program = _BEGIN + _TRAINING.replace("OPTIONS", options)
    (alone,) = ranks.run(program, size=1)
    first, second = ranks.run(program, size=2)
    assert first == second
    # Sums of eight numbers in another order: a few units in the last place, of condition 1.
    np.testing.assert_allclose(json.loads(first), json.loads(alone), rtol=1e-6)


def test_gradients_of_several_passes_are_reduced_once(ranks: Ranks) -> None:
    program = """
v = tf.Variable([1.0, 2.0])
optimizer = hvd.DistributedOptimizer(
    tf.train.GradientDescentOptimizer(0.1), backward_passes_per_step=2,
    average_aggregated_gradients=True,
)
train = optimizer.minimize(tf.reduce_sum(v * (rank + 1.0)))
with tf.Session() as session:
    session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
    values = []
    for _ in range(4):
        session.run(train)
        values.append(session.run(v).tolist())
print(json.dumps(values))
"""
    first, second = (json.loads(output) for output in ranks.run(_BEGIN + program))
    assert first == second
    np.testing.assert_allclose(first, [[1, 2], [0.85, 1.85], [0.85, 1.85], [0.7, 1.7]], rtol=1e-6)


def test_adasum_combines_the_changes_of_ranks(ranks: Ranks) -> None:
    program = """
v = tf.Variable([1.0, 2.0])
optimizer = hvd.DistributedOptimizer(tf.train.GradientDescentOptimizer(1.0), op=hvd.Adasum)
train = optimizer.minimize(v[rank] * 0.5)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    session.run(train)
    print(session.run(v).tolist())
"""
    # The changes are orthogonal, so both count in full.
    assert ranks.run(_BEGIN + program) == ["[0.5, 1.5]\n"] * 2


def test_monitored_sessions_begin_with_rank_0s_values_and_objects_travel(ranks: Ranks) -> None:
    program = """
tf.get_variable("v", initializer=float(rank + 5))
hooks = [hvd.BroadcastGlobalVariablesHook(0)]
with tf.train.MonitoredTrainingSession(hooks=hooks) as session:
    print(session.run("v:0"))
with tf.Session() as session:
    print(hvd.broadcast_object({"rank": rank}, root_rank=1, session=session))
    print(hvd.allgather_object("x" * (rank + 1), session=session))
    send = hvd.broadcast_object_fn(session=session)
    print(send(rank + 7), send([rank]))
"""
    expected = "5.0\n{'rank': 1}\n['x', 'xx']\n7 [0]\n"
    assert ranks.run(_BEGIN + program) == [expected] * 2


def test_ranks_that_disagree_both_get_an_error_that_names_both(ranks: Ranks) -> None:
    program = """
with tf.Session() as session:
    try:
        session.run(hvd.allreduce(tf.zeros([2 + rank]), name="grads"))
    except tf.errors.FailedPreconditionError as error:
        print(error.message.splitlines()[0])
    print(session.run(hvd.allreduce(1.0)))
"""
    expected = (
        "Mismatched allreduce tensor shapes: rank 0 sent a tensor of shape [2], but rank 1 sent a "
        "tensor of shape [3] (grads)\n1.0\n"
    )
    assert ranks.run(_BEGIN + program) == [expected] * 2


def test_a_time_limit_ends_the_wait_for_other_ranks(ranks: Ranks) -> None:
    program = """
first = hvd.allreduce(tf.ones([2]), name="first")
with tf.Session() as session:
    session.run(first)
    if rank == 0:
        limit = tf.RunOptions(timeout_in_ms=300)
        try:
            session.run(hvd.allreduce(tf.ones([2]), name="second"), options=limit)
        except tf.errors.DeadlineExceededError:
            print("timed out")
    session.run(hvd.allreduce(tf.ones([2]), name="third"))
"""
    assert ranks.run(_BEGIN + program) == ["timed out\n", ""]


@pytest.mark.parametrize("marks", [[], ["CYCLE_START"]])
def test_the_timeline_has_a_row_for_each_tensor(ranks: Ranks, tmp_path, marks: list[str]) -> None:
    program = """
with tf.Session() as session:
    session.run(hvd.allreduce(tf.ones([2]), name="grads"))
hvd.shutdown()
print(hvd.is_initialized())
"""
    path = tmp_path / "timeline.json"
    settings = {"HOROVOD_TIMELINE": path, "HOROVOD_TIMELINE_MARK_CYCLES": str(len(marks))}
    assert ranks.run(_BEGIN + program, **settings) == ["False\n"] * 2
    events = [each for each in json.loads(path.read_text()) if each]
    assert events[0]["args"] == {"name": "grads"}
    assert [each.get("name") for each in events[1:]] == [
        "NEGOTIATE_ALLREDUCE", None, *marks, "ALLREDUCE", None,
    ]  # fmt: skip
