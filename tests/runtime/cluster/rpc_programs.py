"""Programs on a server, for TensorFlow 1.15.5 and Stillflow as their client.

    python -m tests.runtime.cluster.rpc_programs PROGRAM TARGET FOLDER

prints results as JSON: the same for all servers.
"""

import json
import os
import subprocess
import sys

import numpy as np


def all(tf, target, folder):
    """Return the results of the programs below."""
    found = {}
    for program in (losses, failures, partial, monitored, timeouts, callables):
        tf.reset_default_graph()
        found[program.__name__] = program(tf, target, folder)
    return found


def losses(tf, target, folder):
    generator = np.random.RandomState(0)
    x = tf.placeholder(tf.float32, [None, 4])
    y = tf.placeholder(tf.float32, [None, 1])
    w1 = tf.get_variable("w1", initializer=tf.constant(generator.randn(4, 8).astype("float32")))
    b1 = tf.get_variable("b1", initializer=tf.zeros([8]), use_resource=True)
    w2 = tf.get_variable("w2", initializer=tf.constant(generator.randn(8, 1).astype("float32")))
    loss = tf.reduce_mean(tf.square(tf.matmul(tf.nn.relu(tf.matmul(x, w1) + b1), w2) - y))
    train = tf.train.AdamOptimizer(0.1).minimize(loss)
    saver = tf.train.Saver()
    with tf.Session(target) as session:
        session.run(tf.global_variables_initializer())
        batches = [{x: generator.randn(5, 4), y: generator.randn(5, 1)} for _ in range(8)]
        found = [session.run([loss, train], batch)[0] for batch in batches[:4]]
        path = saver.save(session, os.path.join(folder, "model"))
        session.run(tf.global_variables_initializer())
        saver.restore(session, path)
        found += [session.run([loss, train], batch)[0] for batch in batches[4:]]
    return [float(each) for each in found]


def failures(tf, target, folder):
    x = tf.placeholder(tf.float32, [2], name="x")
    bad = tf.check_numerics(x / 0.0, "not finite", name="check")
    queue = tf.FIFOQueue(3, [tf.float32], shapes=[[]])
    ended = queue.dequeue(name="take")
    found = []
    with tf.Session(target) as session:
        session.run(queue.close())
        for fetch, feeds in ((bad, {x: [1, 2]}), (ended, None), (x + 1.0, None)):
            try:
                session.run(fetch, feeds)
            except tf.errors.OpError as error:
                found.append((type(error).__name__, error.op.name))
        found.append([d.device_type for d in session.list_devices() if d.device_type == "CPU"])
    return found


def partial(tf, target, folder):
    a = tf.placeholder(tf.float32, [])
    b = tf.placeholder(tf.float32, [])
    doubled = a * 2.0
    total = doubled + b
    with tf.Session(target) as session:
        handle = session.partial_run_setup([doubled, total], [a, b])
        first = session.partial_run(handle, doubled, {a: 3.0})
        return [float(first), float(session.partial_run(handle, total, {b: 4.0}))]


def monitored(tf, target, folder):
    w = tf.get_variable("w", initializer=1.0)
    step = tf.train.get_or_create_global_step()
    train = tf.group(w.assign_add(2.0), step.assign_add(1))
    kept = os.path.join(folder, "monitored" + target.rpartition(":")[2])
    found = []
    for last in (3, 5):
        with tf.train.MonitoredTrainingSession(
            master=target, checkpoint_dir=kept, hooks=[tf.train.StopAtStepHook(last_step=last)]
        ) as session:
            found.append(float(session.run(w)))
            while not session.should_stop():
                session.run(train)
    return found + [os.path.basename(tf.train.latest_checkpoint(kept))]


def timeouts(tf, target, folder):
    taken = tf.FIFOQueue(3, [tf.float32]).dequeue()
    config = tf.ConfigProto(operation_timeout_in_ms=400)
    with tf.Session(target, config=config) as session:
        try:
            session.run(taken)
        except tf.errors.DeadlineExceededError as error:
            return type(error).__name__


def callables(tf, target, folder):
    x = tf.placeholder(tf.float32, [None])
    words = tf.placeholder(tf.string, [2])
    w = tf.get_variable("w", initializer=2.0)
    largest, both = tf.reduce_max(x * w), tf.strings.join([words[0], words[1]])
    with tf.Session(target) as session:
        session.run(w.initializer)
        change = session.make_callable(w.assign_add(1.0).op)
        find = session.make_callable([largest, both], [x, words])
        found = []
        for size in (3, 1 << 20):  # a message of some bytes, and one of megabytes
            change()
            value, text = find(np.arange(size, dtype="float32"), ["a\0", b"\xff"])
            found.append([float(value), text.decode("latin-1")])
        return found


def ask_tensorflow(program, target, folder):
    """Return the results of a program under TensorFlow 1.15.5; skips where there is none."""
    python = tensorflow_python()
    command = [python, "-m", "tests.runtime.cluster.rpc_programs", program, target, str(folder)]
    settings = dict(os.environ, CUDA_VISIBLE_DEVICES="", TF_CPP_MIN_LOG_LEVEL="3")
    settings.pop("PYTHONPATH", None)
    root = os.path.abspath(os.path.join(os.path.dirname(__file__), *[os.pardir] * 3))
    run = subprocess.run(command, cwd=root, env=settings, capture_output=True, check=False)
    assert run.returncode == 0, run.stderr.decode()[-4000:]
    return json.loads(run.stdout.splitlines()[-1])


def tensorflow_python():
    """Return the path of TensorFlow's Python; skips where there is none."""
    import pytest

    there = os.environ.get("STILLFLOW_ENVS", os.path.expanduser("~/.cache/stillflow-envs"))
    python = os.path.join(there, "tf115", "bin", "python")
    if not os.path.exists(python):
        pytest.skip(f"no TensorFlow 1.15.5 at {python}")
    return python


if __name__ == "__main__":
    import tensorflow

    print(json.dumps(globals()[sys.argv[1]](tensorflow, *sys.argv[2:])))
