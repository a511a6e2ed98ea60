"""Collective operations of two CPU devices in one session."""

from __future__ import annotations

from tests.golden.registry import Run, program, raised


def functions(tf):
    """Return the module, which programs import from inside of TensorFlow."""
    if tf.__name__ == "stillflow":
        from stillflow.ops import collective as module
    else:
        from tensorflow.python.ops import collective_ops as module
    return module


def computed(tf, fetches):
    options = tf.RunOptions()
    options.experimental.collective_graph_key = 1
    with tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as session:
        return session.run(fetches, options=options)


def on_both(tf, build):
    made = []
    for index in range(2):
        with tf.device(f"/cpu:{index}"):
            made.append(build(index))
    return made


@program
def sums_and_products(tf):
    ops = functions(tf)
    made, key = [], 0
    for merge in ("Add", "Mul"):
        for final in ("Id", "Div"):
            for numbers in ([1.0, 4.0], [3, 5]):
                key += 1

                def build(index, numbers=numbers, merge=merge, final=final, key=key):
                    x = tf.constant(numbers) * (index + 1)
                    return ops.all_reduce(x, 2, 1, key, merge, final)

                made.append(on_both(tf, build))
    later = [tf.add(left, right) for left, right in made]
    return Run(facts={"values": computed(tf, made), "later": computed(tf, [made, later])})


@program
def one_gives_to_the_other(tf):
    ops = functions(tf)

    def build(index, sender, key):
        if index == sender:
            return ops.broadcast_send(tf.constant([2.0, 3.0]) * 2.0, (2,), tf.float32, 2, 1, key)
        return ops.broadcast_recv((2,), tf.float32, 2, 1, key)

    made = [on_both(tf, lambda index, s=sender: build(index, s, s + 1)) for sender in (0, 1)]
    return Run(facts={"values": computed(tf, made)})


@program
def what_is_refused(tf):
    ops = functions(tf)
    nowhere = raised(ops.all_reduce, tf.constant(1.0), 2, 1, 1, "Add", "Id")
    with tf.device("/cpu:0"):
        t = tf.ones([2])
        least = ops.all_reduce(t, 2, 1, 9, "Min", "Id")
        facts = {
            "alone": raised(ops.all_reduce, t, 1, 1, 1, "Add", "Id"),
            "merge": raised(ops.all_reduce, t, 2, 1, 1, "Sub", "Id"),
            "shape": raised(ops.broadcast_send, t, (3,), tf.float32, 2, 1, 1),
            "dtype": raised(ops.broadcast_send, t, (2,), tf.int32, 2, 1, 1),
            "sender": raised(ops.broadcast_send, t, (2,), tf.float32, 1, 1, 1),
            "receiver": raised(ops.broadcast_recv, (2,), tf.float32, 1, 1, 1),
            "gradient": raised(tf.gradients, ops.all_reduce(t, 2, 1, 1, "Add", "Id"), t),
            "least": raised(computed, tf, least),
        }
    return Run(facts=dict(facts, nowhere=nowhere))


@program
def rows_of_all(tf):
    ops = functions(tf)
    made = []
    for key, rows in enumerate([
        [[1, 2], [3, 4]], [[[1.0, 2.0]], [[3.0, 4.0]]], [[[[0], [1]]], [[[2], [3]]]],
    ], 1):  # fmt: skip
        made.append(on_both(tf, lambda index, rows=rows, key=key: ops.all_gather(
            tf.constant(rows[index]) + 1, 2, 1, key
        )))  # fmt: skip
    shapes = [[tensor.shape.as_list() for tensor in pair] for pair in made]
    return Run(facts={"values": computed(tf, made), "shapes": shapes})


@program
def rows_refused(tf):
    ops = functions(tf)
    rows = tf.placeholder(tf.float32, [None, 3])
    with tf.device("/cpu:0"):
        found = ops.all_gather(tf.identity(rows), 2, 1, 1)
        facts = {
            "shape": found.shape.as_list(),
            "scalar": raised(ops.all_gather, tf.constant(1), 2, 1, 1),
            "alone": raised(ops.all_gather, tf.constant([1]), 1, 1, 1),
            "gradient": raised(tf.gradients, found, rows),
        }
    return Run(facts=dict(facts, nowhere=raised(ops.all_gather, rows, 2, 1, 1)))
