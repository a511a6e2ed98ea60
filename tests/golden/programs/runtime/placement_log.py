"""Sessions' log of placements on stdout, and its order."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import tempfile

from tests.golden.registry import Run, program

LOCAL = "/job:localhost/replica:0/task:0/device:"


@contextlib.contextmanager
def stdout_to(file):
    """Redirect stdout of Python and C to a file."""
    before = os.dup(1)
    try:
        os.dup2(file.fileno(), 1)
        with open(1, "w", closefd=False) as stream, contextlib.redirect_stdout(stream):
            yield
            ctypes.CDLL(None).fflush(None)
    finally:
        os.dup2(before, 1)
        os.close(before)


def said(work):
    """Return the lines that `work` writes, with short names of devices, and without their list.

    The list has a device for compiled programs that only TensorFlow has.
    """
    with tempfile.TemporaryFile() as file:
        with stdout_to(file):
            work()
        file.seek(0)
        lines = file.read().decode().splitlines()
    ops = [line for line in lines if "Device mapping:" not in line and " -> " not in line]
    return "\n".join(["a list of devices"] * (ops != lines) + ops).replace(LOCAL, "")


def said_at(tf, steps, session_type=None, **graph_options):
    """Return the output at a session's creation, and at each of the `steps`.

    Args:
      steps: functions that add to the graph and give what is to be run: fetches and feeds.
      session_type: `tf.Session` unless it is given.
      graph_options: of the `ConfigProto`.
    """
    config = tf.ConfigProto(
        log_device_placement=True,
        device_count={"CPU": 2, "GPU": 0},
        graph_options=tf.GraphOptions(**graph_options),
    )
    facts, sessions = {}, []
    with tf.Graph().as_default():
        facts["0 made"] = said(lambda: sessions.append((session_type or tf.Session)(config=config)))
        for number, step in enumerate(steps, 1):
            fetches, feeds = step()
            work = functools.partial(sessions[0].run, fetches, feeds)
            facts[f"{number} {step.__name__}"] = said(work)
        sessions[0].close()
    return Run({}, facts=facts)


def training(tf):
    """Return steps: set variables, train twice, add a node, and run all once more."""
    made = {}

    def initialized():
        x = made["x"] = tf.placeholder(tf.float32, [None, 3], name="x")
        with tf.device("/cpu:1"):
            w = tf.get_variable("w", initializer=tf.ones([3, 2]), use_resource=False)
        v = tf.get_variable("v", [2], initializer=tf.zeros_initializer(), use_resource=True)
        y = tf.matmul(x, w) + v
        made["loss"] = tf.cond(
            tf.reduce_sum(y) > 0.0, lambda: tf.reduce_mean(y), lambda: tf.reduce_sum(y * 2.0)
        )
        made["train"] = tf.train.MomentumOptimizer(0.1, 0.9).minimize(made["loss"])
        return tf.global_variables_initializer(), {}

    def trained():
        return made["train"], {made["x"]: [[1.0, 2.0, 3.0]]}

    def trained_with_more_rows():
        return made["train"], {made["x"]: [[1.0, 2.0, 3.0]] * 2}

    def grown():
        made["more"] = tf.add(made["loss"], 1.0, name="more")
        return [made["more"], made["loss"]], {made["x"]: [[1.0, 2.0, 3.0]]}

    return [initialized, trained, trained_with_more_rows, grown, trained]


@program
def training_session(tf):
    return said_at(tf, training(tf))


@program
def training_interactively(tf):
    return said_at(tf, training(tf), tf.InteractiveSession)


@program
def training_what_is_placed_alone(tf):
    return said_at(tf, training(tf), place_pruned_graph=True)


@program
def fed_interactively(tf):
    """Feed several tensors: only the needed ones are logged."""
    made = {}

    def waiting():
        x = made["x"] = tf.placeholder(tf.float32, [], name="x")
        with tf.control_dependencies([x]):
            return tf.identity(tf.constant(1.0, name="a"), name="y"), {x: 1.0}

    def one_of_two():
        first, second = tf.split(tf.constant([1.0, 2.0]), 2, name="split")
        return tf.add(first, second, name="sum"), {first: [5.0]}

    def not_needed():
        z = made["z"] = tf.square(made["x"], name="z")
        return z * 2.0, {z: 3.0, made["x"]: 4.0}

    def fetched():
        return made["z"], {made["z"]: 3.0}

    return said_at(tf, [waiting, one_of_two, not_needed, fetched], tf.InteractiveSession)


@program
def a_loop(tf):
    def run():
        array = tf.TensorArray(tf.float32, 2, name="array").write(0, 1.0).write(1, 2.0)
        i = tf.while_loop(lambda i: i < 5, lambda i: i + 1, [tf.constant(0)], name="loop")
        return [i, array.stack()], {}

    return said_at(tf, [run, run])


@program
def rewired(tf):
    """Operations that wait for younger ones come after them."""

    def run():
        a = tf.random_uniform([2], seed=1, name="a")
        b, c = tf.square(a, name="b"), tf.square(a, name="c")
        d = tf.add(b, c, name="d")
        b.op._add_control_input(c.op)
        return d, {}

    return said_at(tf, [run])
