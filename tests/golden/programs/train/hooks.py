"""MonitoredSession and its hooks: what they build, call, write and raise."""

from __future__ import annotations

import os
import shutil
import tempfile

import numpy as np
from tests.golden.registry import Run, program, raised


class directory:
    """A directory that goes when it is left."""

    def __enter__(self):
        self.path = tempfile.mkdtemp()
        return self.path

    def __exit__(self, *unused):
        shutil.rmtree(self.path, ignore_errors=True)


def nodes(graph):
    return [f"{op.name} {op.type} {[t.name for t in op.inputs]}"
            for op in graph.get_operations()]


def training(tf):
    """Return a step that counts; in a graph of its own."""
    step = tf.train.get_or_create_global_step()
    weight = tf.get_variable("weight", initializer=1.0)
    local = tf.Variable(2.0, collections=[tf.GraphKeys.LOCAL_VARIABLES], name="local")
    tf.summary.scalar("weight", weight)
    grow = tf.assign_add(weight, local)
    with tf.control_dependencies([grow]):
        return tf.assign_add(step, 1), weight


def done(tf, facts):
    return [Run({"nothing": tf.constant(0)}, facts=facts)]


@program
def scaffold(tf):
    with tf.Graph().as_default() as graph:
        training(tf)
        made = tf.train.Scaffold().finalize()
        keys = ["init_op", "ready_op", "ready_for_local_init_op", "local_init_op", "summary_op"]
        names = {key: getattr(made, key).name for key in keys}
        facts = {"finalized": graph.finalized, "names": names, "collections": sorted(
            key for key in graph.get_all_collection_keys() if isinstance(key, str))}
        facts["nodes"] = [text for text in nodes(graph) if not text.startswith("save")]
    return done(tf, facts)


class Recorder:
    """Creator of a hook that records calls."""

    def __new__(cls, tf, events):
        class Hook(tf.train.SessionRunHook):
            def begin(self):
                events.append("begin")

            def after_create_session(self, session, coord):
                events.append("created")

            def before_run(self, run_context):
                fetches = run_context.original_args.fetches
                events.append("before {}".format(getattr(fetches, "name", fetches)))
                return tf.train.SessionRunArgs({"step": tf.train.get_global_step()})

            def after_run(self, run_context, run_values):
                events.append(f"after {sorted(run_values.results)}")

            def end(self, session):
                events.append(f"end {session.run(tf.train.get_global_step())}")

        return Hook()


@program
def calls_of_hooks(tf):
    events = []
    with tf.Graph().as_default():
        step, weight = training(tf)
        hooks = [Recorder(tf, events), tf.train.StopAtStepHook(last_step=3)]
        with tf.train.MonitoredSession(hooks=hooks) as sess:
            while not sess.should_stop():
                events.append(int(sess.run(step)))
            events.append(raised(sess.run, weight))
        events.append(raised(sess.close))
    return done(tf, {"events": events})


@program
def recovers(tf):
    """Lose a machine: the session is recreated, from the last checkpoint."""
    events = []
    with directory() as path, tf.Graph().as_default():
        step, _ = training(tf)

        class Fail(tf.train.SessionRunHook):
            left = [1]

            def after_create_session(self, session, coord):
                events.append(f"created at {session.run(tf.train.get_global_step())}")

            def after_run(self, run_context, run_values):
                if self.left and len(events) == 4:
                    self.left.pop()
                    raise tf.errors.AbortedError(None, None, "lost")

        saver = tf.train.CheckpointSaverHook(path, save_steps=2)
        creator = tf.train.ChiefSessionCreator(checkpoint_dir=path)
        with tf.train.MonitoredSession(creator, [saver, Fail()]) as sess:
            for _ in range(6):
                events.append(int(sess.run(step)))
    return done(tf, {"events": events})


@program
def end_of_input(tf):
    events = []
    with tf.Graph().as_default():
        queue = tf.train.range_input_producer(3, num_epochs=2, shuffle=False)
        number = queue.dequeue()
        with tf.train.MonitoredSession() as sess:
            while not sess.should_stop():
                events.append(int(sess.run(number)))
    return done(tf, {"events": events})


@program
def files_of_training(tf):
    with directory() as path, tf.Graph().as_default():
        step, _weight = training(tf)
        with tf.train.MonitoredTrainingSession(
            checkpoint_dir=path, save_summaries_steps=2, save_checkpoint_steps=4,
            log_step_count_steps=3,
        ) as sess:
            for _ in range(5):
                sess.run(step)
        names = sorted(os.listdir(path))
        found = []
        for name in names:
            if name.startswith("events"):
                for event in tf.train.summary_iterator(os.path.join(path, name)):
                    kind = event.WhichOneof("what")
                    tags = [value.tag for value in event.summary.value]
                    found.append(f"{kind} {event.step} {tags}")
        value = tf.train.load_variable(path, "weight")
        names = [name for name in names if not name.startswith("events")]
    return done(tf, {"names": names, "events": found, "weight": np.float32(value)})


@program
def refused(tf):
    with tf.Graph().as_default():
        value = tf.constant([1.0, np.nan][1])
        first, _ = tf.split(tf.zeros([2]), 2)
        facts = {
            "stop": raised(tf.train.StopAtStepHook),
            "stop twice": raised(tf.train.StopAtStepHook, 1, 2),
            "timer": raised(tf.train.SecondOrStepTimer),
            "timer twice": raised(tf.train.SecondOrStepTimer, 1, 2),
            "log": raised(tf.train.LoggingTensorHook, ["a"]),
            "log never": raised(tf.train.LoggingTensorHook, ["a"], every_n_iter=0),
            "two savers": raised(tf.train.CheckpointSaverHook, "a", 1, saver=1, scaffold=1),
            "no summary": raised(tf.train.SummarySaverHook, save_steps=1),
            "ambiguous": raised(tf.train.LoggingTensorHook(["split"], every_n_iter=1).begin),
            "step function": None,
        }
        del first
        hooks = [tf.train.NanTensorHook(value)]
        facts["no step"] = raised(tf.train.StopAtStepHook(last_step=1).begin)
        with tf.train.MonitoredSession() as sess:
            facts["step function"] = raised(sess.run_step_fn, lambda a: a)
            facts["stopped"] = sess.run_step_fn(lambda step_context: 7)
        with tf.train.MonitoredSession(hooks=hooks) as sess:
            facts["nan"] = raised(sess.run, value)
    return done(tf, facts)
