"""Runs that dequeue batches: the rest runs by a plan for the shapes of these."""

from __future__ import annotations

import numpy as np
import pytest

import stillflow as tf
from stillflow.runtime.plan import plan


@pytest.fixture
def made(monkeypatch):
    """Return the facts about fed tensors, one entry for each plan of the test's graph."""
    plans = []
    old = plan.make_plan

    def make_plan(resources, request):
        graph = tf.get_default_graph()  # tests before leave threads behind, and what they drop
        if any(each.graph is graph for each in (*request.tensors, *request.targets)):
            plans.append({tensor.op.type: dims for tensor, dims in request.feeds.items()})
        return old(resources, request)

    monkeypatch.setattr(plan, "make_plan", make_plan)
    return plans


def batches(sizes, columns=3):
    """Rows of these numbers, in batches of two where no sizes differ."""
    rows = [np.full([size, columns], number, np.float32) for number, size in enumerate(sizes)]
    dataset = tf.data.Dataset.from_generator(lambda: iter(rows), tf.float32, [None, columns])
    return dataset.make_one_shot_iterator().get_next()


def test_the_rest_relies_on_the_shapes_of_a_batch(made, cpu):
    with tf.Graph().as_default(), tf.Session() as session:
        rows = batches([2, 2, 2, 1, 1])
        total = tf.reduce_sum(rows * 2.0, 0)
        found = [session.run(total)[0] for _ in range(5)]
    assert found == [0.0, 4.0, 8.0, 6.0, 8.0]
    assert [dims for dims in made if "IteratorGetNext" in dims] == [
        {"IteratorGetNext": (2, 3)},
        {"IteratorGetNext": (None, 3)},
    ]


def test_what_is_taken_can_be_fetched_beside_the_rest(made, cpu):
    with tf.Graph().as_default(), tf.Session() as session:
        rows = batches([2, 1])
        fetches = [rows, tf.shape(rows), rows, tf.reduce_sum(rows)]
        first, shape, again, total = session.run(fetches)
        assert first.tolist() == again.tolist() == [[0.0] * 3] * 2
        assert (shape.tolist(), total) == ([2, 3], 0.0)
        assert session.run(fetches)[0].tolist() == [[1.0] * 3]
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(fetches)
    assert any("IteratorGetNext" in dims for dims in made)


def test_what_is_fetched_does_not_change_afterwards():
    with tf.Graph().as_default(), tf.Session() as session:
        dataset = tf.data.Dataset.from_tensors(np.zeros([2, 2], np.float32)).repeat()
        rows = dataset.batch(2).make_one_shot_iterator().get_next()
        fetched, _ = session.run([rows, rows + 1.0])
        fetched += 5.0
        assert session.run([rows, rows + 1.0])[0].max() == 0.0


def test_scalars_and_texts_are_passed_on(made, cpu):
    with tf.Graph().as_default(), tf.Session() as session:
        queue = tf.FIFOQueue(4, [tf.int64, tf.string])
        session.run([queue.enqueue([7, "a"]), queue.enqueue([8, "b"])])
        number, text = queue.dequeue()
        joined = tf.string_join([text, tf.as_string(number)])
        assert session.run([number, text, joined]) == [7, b"a", b"a7"]
        assert type(session.run([number, joined])[0]) is np.int64
    assert any("QueueDequeueV2" in dims for dims in made)


def test_a_target_that_takes_runs_once():
    with tf.Graph().as_default(), tf.Session() as session:
        queue = tf.FIFOQueue(9, tf.float32)
        session.run(queue.enqueue_many([np.arange(6, dtype=np.float32)]))
        value = queue.dequeue()
        with tf.control_dependencies([value]):
            after = tf.constant(1.0) + 1.0
        session.run([value.op, after, value * 2.0])
        assert session.run([value, value * 1.0]) == [1.0, 1.0]


@pytest.mark.parametrize("kind", ["behind", "size", "puts", "known", "alone", "fed"])
def test_other_runs_keep_to_one_plan(made, kind):
    with tf.Graph().as_default(), tf.Session() as session:
        queue = tf.FIFOQueue(9, tf.float32, shapes=[[1]] if kind == "known" else None)
        session.run(queue.enqueue([[5.0]]))
        counter = tf.get_variable("counter", [], initializer=tf.zeros_initializer())
        session.run(counter.initializer)
        made.clear()
        with tf.control_dependencies([counter.assign_add(1.0)] if kind == "behind" else []):
            value = queue.dequeue()
        fetches = {
            "size": [value + 1.0, queue.size()],
            "puts": [value + 1.0, queue.enqueue([[6.0]])],
            "alone": [value],
        }
        feeds = {value: [5.0]} if kind == "fed" else {}
        assert session.run(fetches.get(kind, [value + counter + 1.0]), feeds)[0][0] >= 5.0
    assert len(made) == 1


def test_errors_name_what_is_taken_from():
    with tf.Graph().as_default(), tf.Session() as session:
        dataset = tf.data.Dataset.range(3).batch(2)
        rows = dataset.make_initializable_iterator().get_next() + 1
        with pytest.raises(tf.errors.FailedPreconditionError, match="IteratorGetNext"):
            session.run(rows)
