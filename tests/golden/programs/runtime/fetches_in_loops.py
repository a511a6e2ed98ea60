"""Fetches of what is inside a loop, from graphs that came in as GraphDefs.

The loop, and not the graph, says whether they can be fetched: what exists in one iteration alone
has a value, in none it has no value, in several the run fails.
"""

from __future__ import annotations

from tests.golden.registry import Run, program


def imported(tf, build):
    with tf.Graph().as_default() as graph:
        build(tf)
    tf.import_graph_def(graph.as_graph_def(), name="")


def plain(tf):
    n = tf.placeholder(tf.int32, [], name="n")
    tf.while_loop(
        lambda i, x: i < n, lambda i, x: (i + 1, tf.add(x, tf.constant(4.0, name="c"), name="s")),
        [0, 1.0], name="w",
    )  # fmt: skip


def nested(tf):
    n = tf.placeholder(tf.int32, [], name="n")

    def inner(j, y):
        return j + 1, y + tf.constant(2.0, name="c")

    def body(i, x):
        _, y = tf.while_loop(lambda j, y: j < i, inner, [0, x], name="inner")
        more = tf.cond(
            i > 0, lambda: tf.constant(5.0, name="t"), lambda: tf.constant(6.0, name="e")
        )
        return i + 1, y + more

    tf.while_loop(lambda i, x: i < n, body, [0, 1.0], name="v")


def recurrent(tf):
    tf.set_random_seed(1)
    n = tf.placeholder(tf.int32, [], name="n")
    x = tf.ones([2, 3, 4])[:, :n]
    cells = [tf.nn.rnn_cell.LSTMCell(2, initializer=tf.ones_initializer()) for _ in range(2)]
    tf.nn.bidirectional_dynamic_rnn(*cells, x, sequence_length=[n, n], dtype=tf.float32)
    tf.global_variables_initializer()


def outcome(tf, session, fetched, feeds):
    try:
        values = session.run(fetched, feeds)
    except tf.errors.OpError as error:
        return f"{type(error).__name__}: {error.message}".split("\n")[0]
    return "; ".join(map(described, values))


def described(value):
    return str(value.shape) + "".join(f" {each:.4g}" for each in value.flat)


def outcomes(tf, optimized):
    config = tf.ConfigProto()
    if not optimized:
        config.graph_options.rewrite_options.disable_meta_optimizer = True
    graph = tf.get_default_graph()
    inside = [
        tensor
        for op in graph.get_operations() if op.name.startswith(("w/", "v/", "bidirectional"))
        for tensor in op.outputs
        if not tensor.dtype._is_ref_dtype and tensor.dtype not in (tf.resource, tf.string)
    ]  # fmt: skip
    facts = {}
    with tf.Session(config=config) as session:
        for op in graph.get_operations():
            if op.name == "init":
                session.run(op)
        for turns in (0, 1, 2):
            for tensor in inside:
                found = outcome(tf, session, [tensor], {"n:0": turns})
                facts[f"{turns} {tensor.name}"] = found
    return facts


@program
def constants_and_sums(tf):
    imported(tf, plain)
    return Run({}, facts=outcomes(tf, optimized=True))


@program
def loops_and_branches_in_loops(tf):
    imported(tf, nested)
    return Run({}, facts=outcomes(tf, optimized=False))


@program
def recurrent_networks(tf):
    imported(tf, recurrent)
    return Run({}, facts=outcomes(tf, optimized=True))


@program
def several_at_once(tf):
    imported(tf, nested)
    fetched = ["v/Enter:0", "v/Switch_1:0", "v/Exit_1:0", "v/add_1:0"]
    with tf.Session() as session:
        facts = {
            f"{turns} {count}": outcome(tf, session, fetched[:count], {"n:0": turns})
            for turns in (0, 1, 2) for count in (2, 3, 4)
        }  # fmt: skip
    return Run({}, facts=facts)
