"""Loops and branches whose operations are in several tasks, for TensorFlow 1.15.5 and Stillflow.

    python control_flow_programs.py JOB INDEX CLUSTER [NAME ...]

is a task of a cluster with a ps and a worker; CLUSTER is JSON. The worker prints the results of all
programs, or some, as JSON. JOB "both" starts both tasks; what it prints under TensorFlow is
recorded in recorded/control_flow.json.
"""

import json
import sys

import numpy as np

if __name__ == "__main__":
    import tensorflow as tf
else:
    import stillflow as tf

PS, WORKER = "/job:ps/task:0", "/job:worker/task:0"
PROGRAMS = {}


def program(build):
    PROGRAMS[build.__name__] = build
    return build


def variable(name, value, use_resource):
    with tf.device(PS):
        return tf.get_variable(name, initializer=tf.constant(value), use_resource=use_resource)


def loop(cond, body, start):
    """Build a loop of the worker, one iteration at a time."""
    with tf.device(WORKER):
        return tf.while_loop(cond, body, start, parallel_iterations=1, back_prop=True)


def changing(use_resource):
    v = variable("v", [1.0, 2.0], use_resource)

    def body(i, total):
        with tf.device(PS):
            with tf.control_dependencies([v.assign_add([1.0, 0.5])]):
                value = v.read_value() * 1.0
        return i + 1, total + value * tf.cast(i, tf.float32)

    return [loop(lambda i, total: i < 5, body, [0, tf.zeros([2])]), v]


@program
def a_reference_is_changed():
    return changing(False)


@program
def a_resource_is_changed():
    return changing(True)


@program
def a_loop_without_iterations():
    v = variable("v", 3.0, True)

    def body(i):
        with tf.control_dependencies([v.assign_add(1.0)]):
            return tf.identity(i + 1)

    return [loop(lambda i: i < 0, body, [0]), v]


@program
def a_queue_is_read():
    with tf.device(PS):
        queue = tf.FIFOQueue(10, [tf.float32], shapes=[[]], shared_name="of_a_loop")
        filled = queue.enqueue_many([[1.0, 2.0, 4.0, 8.0]])

    def body(i, total):
        with tf.device(PS):
            taken = queue.dequeue()
        return i + 1, total * 3.0 + taken

    with tf.control_dependencies([filled]):
        start = tf.constant(1.0)
    return [loop(lambda i, total: i < 4, body, [0, start])]


@program
def the_condition_is_elsewhere():
    v = variable("v", 1.0, True)

    def cond(i, x):
        with tf.device(PS):
            return tf.less(v.read_value(), 20.0)

    def body(i, x):
        with tf.device(PS), tf.control_dependencies([v.assign(v.read_value() * 2.0)]):
            i = tf.identity(i + 1)
        return i, x + tf.cast(i, tf.float32)

    return [loop(cond, body, [0, 0.5]), v]


@program
def gradients_go_back():
    v = variable("v", [[0.5, -0.25], [0.125, 1.0]], True)
    count = variable("count", 0, True)
    x = tf.constant([[1.0, -2.0]])

    def body(i, state):
        with tf.device(PS), tf.control_dependencies([count.assign_add(1)]):
            product = tf.matmul(state, v)
        return i + 1, tf.tanh(product) + x

    _, result = loop(lambda i, state: i < 4, body, [0, x])
    return [result, tf.gradients(result, [x, v]), count]


@program
def loops_are_nested():
    inner_count = variable("inner", 0, False)
    outer_count = variable("outer", 0.0, True)

    def inner_body(j, total):
        with tf.device(PS), tf.control_dependencies([inner_count.assign_add(1)]):
            j = tf.identity(j + 1)
        return j, total * 2.0 + tf.cast(j, tf.float32)

    def outer_body(i, total):
        _, total = tf.while_loop(lambda j, total: j < i, inner_body, [0, total])
        with tf.device(PS), tf.control_dependencies([outer_count.assign_add(total)]):
            return tf.identity(i) + 1, total

    x = tf.constant(1.5)
    results = loop(lambda i, total: i < 4, outer_body, [0, x])
    return [results, tf.gradients(results[1], x), inner_count, outer_count]


@program
def arrays_are_written_and_read():
    v = variable("v", 0.5, True)
    with tf.device(PS):
        there = tf.TensorArray(tf.float32, 5, element_shape=[2], clear_after_read=False)
        there = there.unstack(tf.reshape(tf.range(10.0), [5, 2]))
    with tf.device(WORKER):
        here = tf.TensorArray(tf.float32, 5, element_shape=[2])
        x = tf.constant([1.0, 3.0])

    def body(i, state, written):
        with tf.device(PS), tf.control_dependencies([v.assign_add(0.25)]):
            row = there.read(i) * 2.0
        state = state * row + x
        return i + 1, state, written.write(i, state)

    _, last, written = loop(lambda i, *_: i < 5, body, [0, x, here])
    rows = written.stack()
    return [rows, tf.gradients([tf.reduce_sum(rows), last], x), v]


@program
def a_branch_changes_it():
    v = variable("v", 0.0, False)

    def body(i, total):
        def change():
            with tf.device(PS):
                return v.assign_add(10.0) * 1.0  # a value of its own, not the memory of v

        found = tf.cond(tf.equal(i % 2, 0), change, lambda: total * 1.0)
        return i + 1, total + found

    return [loop(lambda i, total: i < 5, body, [0, 1.0]), v]


@program
def a_table_is_looked_up():
    with tf.device(PS):
        table = tf.contrib.lookup.MutableHashTable(tf.int64, tf.float32, -1.0, "of_a_loop")

    def body(i, total):
        key = tf.cast(i, tf.int64)
        with tf.device(PS), tf.control_dependencies([table.insert(key * 2, total)]):
            return i + 1, total + table.lookup(key)

    return [loop(lambda i, total: i < 6, body, [0, 2.0])]


@program
def two_loops_follow_each_other():
    v = variable("v", 1.0, True)

    def body(i):
        with tf.device(PS), tf.control_dependencies([v.assign(v.read_value() * 2.0)]):
            return tf.identity(i + 1)

    first = loop(lambda i: i < 3, body, [0])
    second = loop(lambda i: i < 7, body, [first])
    with tf.control_dependencies([second]), tf.device(WORKER):
        return [first, second, v.read_value() + 0.5]


@program
def strings_are_joined():
    with tf.device(PS):
        queue = tf.FIFOQueue(10, [tf.string], shapes=[[]], shared_name="of_strings")
        filled = queue.enqueue_many([["a", "b\0", ""]])

    def body(i, text):
        with tf.device(PS):
            taken = queue.dequeue()
        return i + 1, tf.strings.join([text, taken, "+"])

    with tf.control_dependencies([filled]):
        start = tf.constant("")
    return [loop(lambda i, text: i < 3, body, [0, start])]


@program
def branches_have_effects_elsewhere():
    v = variable("v", 0.0, True)
    w = variable("w", 1.0, False)
    with tf.device(WORKER):
        number = tf.get_variable("number", initializer=0)
        even = tf.equal(number % 2, 0)

        def yes():
            with tf.device(PS), tf.control_dependencies([v.assign_add(10.0)]):
                changed = w.assign(w * 3.0)
            with tf.control_dependencies([changed.op]):
                return tf.constant(1.5)

        def no():
            with tf.device(PS):
                return v.read_value() * 2.0

        found = tf.cond(even, yes, no)
        with tf.control_dependencies([found]):
            return [found + 1.0, number.assign_add(1).op, v, w]


@program
def branches_are_nested_and_have_gradients():
    v = variable("v", [2.0, -1.0], True)
    with tf.device(WORKER):
        x = tf.constant([3.0, 5.0])
        number = tf.get_variable("number", initializer=0)

        def inner():
            with tf.device(PS):
                return v * v

        def outer():
            return tf.cond(tf.equal(number, 1), inner, lambda: x * x) * v

        found = tf.cond(number < 2, outer, lambda: x + v)
        slopes = tf.gradients(found, [x, v])
        with tf.control_dependencies([found, *slopes]):
            after = number.assign_add(1).op
    return [found, *slopes, after]


@program
def the_predicate_is_elsewhere():
    v = variable("v", 1.0, True)
    with tf.device(PS):
        large = v.read_value() > 2.0
    with tf.device(WORKER):
        found = tf.cond(large, lambda: tf.constant(-1.0), lambda: tf.constant(7.0))
    with tf.device(PS):
        return [found * 2.0, v.assign_add(tf.identity(found)).op, v]


@program
def a_whole_branch_is_a_function():
    v = variable("v", [1.0, 2.0], True)
    tf.compat.v1.enable_control_flow_v2()
    try:
        with tf.device(WORKER):
            number = tf.get_variable("number", initializer=0, use_resource=True)
            even = tf.equal(number.read_value() % 2, 0)
        with tf.device(PS):
            found = tf.cond(even, lambda: v + 1.0, lambda: v.read_value() * 5.0)
        with tf.device(WORKER):
            result = tf.reduce_sum(found)
            slopes = tf.gradients(result, v, colocate_gradients_with_ops=True)
        with tf.control_dependencies([result, *slopes]):
            return [result, *slopes, number.assign_add(1).op]
    finally:
        tf.compat.v1.disable_control_flow_v2()


def results(name, target):
    tf.Session.reset(target)
    found = []
    with tf.Graph().as_default(), tf.Session(target) as session:
        fetched = PROGRAMS[name]()
        session.run(tf.global_variables_initializer())
        variables = [each for each in fetched if isinstance(each, tf.Variable)]
        values = [each for each in fetched if not isinstance(each, (tf.Variable, tf.Operation))]
        targets = [each for each in fetched if isinstance(each, tf.Operation)]
        for _ in range(3):
            found.append(session.run([values, targets])[0])
            found.append(session.run(variables))
    return as_json(found)


def as_json(value):
    if isinstance(value, (list, tuple)):
        return [as_json(each) for each in value]
    return value.decode("latin-1") if isinstance(value, bytes) else np.asarray(value).tolist()


def main(job, index="0", cluster="", *names):
    if job == "both":
        target = tf.test.create_local_cluster(1, 1)[0][0].target
    else:
        spec = tf.train.ClusterSpec(json.loads(cluster))
        server = tf.train.Server(spec, job_name=job, task_index=int(index))
        target = server.target
        if job == "ps":
            server.join()
    print(json.dumps({name: results(name, target) for name in names or PROGRAMS}))
    sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
