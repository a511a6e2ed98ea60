"""dynamic_rnn, static_rnn, raw_rnn and their bidirectional forms, with gradients."""

from __future__ import annotations

from tests.golden.programs.ops.nn.convolution import wave
from tests.golden.registry import Run, program, raised


def trained(tf, fetches, feeds, wrt=(), **options):
    """Return outputs, and the gradients of their squares with respect to all variables."""
    flat = [t for t in tf.contrib.framework.nest.flatten(fetches) if t.dtype.is_floating]
    loss = tf.add_n([tf.reduce_sum(t * t) for t in flat])
    gradients = tf.gradients(loss, list(wrt) + tf.trainable_variables())
    variables = [f"{v.name} {v.shape}" for v in tf.global_variables()]
    return Run({"outputs": fetches, "gradients": gradients}, feeds,
               setup=[tf.global_variables_initializer()], facts={"variables": variables},
               **options)


@program
def dynamic_full(tf):
    tf.set_random_seed(1)
    x = tf.placeholder(tf.float32, [None, None, 3])
    y, s = tf.nn.dynamic_rnn(tf.nn.rnn_cell.BasicRNNCell(4), x, dtype=tf.float32)
    return trained(tf, {"y": y, "s": s}, [{x: wave(2, 3, 3)}, {x: wave(1, 5, 3)}], [x], steps=2)


@program
def dynamic_lengths(tf):
    tf.set_random_seed(2)
    x = tf.placeholder(tf.float32, [2, None, 3])
    n = tf.placeholder(tf.int64, [None])
    y, s = tf.nn.dynamic_rnn(tf.nn.rnn_cell.BasicLSTMCell(4), x, sequence_length=n,
                             dtype=tf.float32)
    feeds = [{x: wave(2, 4, 3), n: [2, 4]}, {x: wave(2, 3, 3), n: [0, 1]}]
    return trained(tf, {"y": y, "c": s.c, "h": s.h}, feeds, [x], steps=2)


@program
def dynamic_time_major(tf):
    tf.set_random_seed(3)
    x = tf.placeholder(tf.float32, [4, 2, 3])
    first = tf.placeholder(tf.float32, [2, 4])
    y, s = tf.nn.dynamic_rnn(
        tf.nn.rnn_cell.GRUCell(4), x, sequence_length=[3, 4], initial_state=first,
        time_major=True, parallel_iterations=1, swap_memory=True, scope="encoder")
    return trained(tf, {"y": y, "s": s}, {x: wave(4, 2, 3), first: wave(2, 4)}, [x, first])


@program
def dynamic_layers(tf):
    tf.set_random_seed(4)
    x = tf.placeholder(tf.float32, [2, 4, 3])

    def cell(units):
        return tf.nn.rnn_cell.DropoutWrapper(
            tf.nn.rnn_cell.LSTMCell(units, use_peepholes=True, num_proj=3), output_keep_prob=0.8,
            seed=3)

    cells = tf.nn.rnn_cell.MultiRNNCell([tf.nn.rnn_cell.ResidualWrapper(cell(4)), cell(5)])
    y, s = tf.nn.dynamic_rnn(cells, x, sequence_length=[4, 2], dtype=tf.float32)
    return trained(tf, {"y": y, "s": tf.contrib.framework.nest.flatten(s)}, {x: wave(2, 4, 3)})


@program
def dynamic_training(tf):
    tf.set_random_seed(5)
    x = tf.placeholder(tf.float32, [None, None, 3])
    _, s = tf.nn.dynamic_rnn(tf.nn.rnn_cell.BasicLSTMCell(4), x, dtype=tf.float32)
    logits = tf.layers.dense(s.h, 2)
    loss = tf.losses.sparse_softmax_cross_entropy([0, 1], logits)
    train = tf.train.AdamOptimizer(0.1).minimize(loss)
    return Run({"loss": loss}, {x: wave(2, 5, 3)}, setup=[tf.global_variables_initializer()],
               train=[train], steps=4)


@program
def dynamic_shared(tf):
    tf.set_random_seed(6)
    x = tf.placeholder(tf.float32, [2, 3, 3])
    cell = tf.nn.rnn_cell.GRUCell(3)
    with tf.variable_scope("net") as scope:
        y, _ = tf.nn.dynamic_rnn(cell, x, dtype=tf.float32)
        scope.reuse_variables()
        z, _ = tf.nn.dynamic_rnn(tf.nn.rnn_cell.GRUCell(3), x, dtype=tf.float32)
    return trained(tf, {"y": y, "z": z}, {x: wave(2, 3, 3)})


@program
def dynamic_nested_inputs(tf):
    tf.set_random_seed(7)
    a = tf.placeholder(tf.float32, [2, 3, 2])
    b = tf.placeholder(tf.float32, [2, 3, 4])

    class Join(tf.nn.rnn_cell.RNNCell):
        state_size, output_size = (3, 2), (3, 2)

        def call(self, inputs, state):
            x, y = inputs
            u = tf.tanh(tf.layers.dense(tf.concat([x, state[0]], 1), 3, name="u"))
            v = tf.sigmoid(tf.layers.dense(tf.concat([y, state[1]], 1), 2, name="v"))
            return (u, v), (u * 0.5, v)

    y, s = tf.nn.dynamic_rnn(Join(), (a, b), sequence_length=[2, 3], dtype=tf.float32)
    return trained(tf, {"y": list(y), "s": list(s)}, {a: wave(2, 3, 2), b: wave(2, 3, 4)}, [a, b])


@program
def dynamic_bidirectional(tf):
    tf.set_random_seed(8)
    x = tf.placeholder(tf.float32, [None, 4, 3])
    n = tf.placeholder(tf.int32, [None])
    cell = tf.nn.rnn_cell.GRUCell
    (fw, bw), states = tf.nn.bidirectional_dynamic_rnn(
        cell(2), cell(3), x, sequence_length=n, dtype=tf.float32)
    (gw, cw), _ = tf.nn.bidirectional_dynamic_rnn(
        cell(2), cell(3), x, dtype=tf.float32, time_major=True, scope="full")
    return trained(tf, {"all": [fw, bw, gw, cw] + list(states)}, {x: wave(2, 4, 3), n: [4, 2]})


@program
def dynamic_of_static_shapes(tf):
    x = tf.placeholder(tf.float32, [None, None, 3])
    cell = tf.nn.rnn_cell.GRUCell(3)
    rnn = tf.nn.dynamic_rnn
    y, _ = rnn(cell, x, dtype=tf.float32)
    z, _ = rnn(cell, tf.zeros([2, 5, 3]), dtype=tf.float32)
    return Run(facts={
        "shapes": [str(y.shape), str(z.shape)],
        "no_dtype": raised(rnn, cell, x),
        "no_cell": raised(rnn, tf.layers.Dense, x, dtype=tf.float32)["class"],
        "depth": raised(rnn, cell, tf.placeholder(tf.float32, [2, 3, None]), dtype=tf.float32),
        "lengths": raised(rnn, cell, x, sequence_length=[[1]], dtype=tf.float32),
    })


@program
def lengths_of_another_batch(tf):
    x = tf.placeholder(tf.float32, [None, 2, 1])
    n = tf.placeholder(tf.int32, [None])
    y, _ = tf.nn.dynamic_rnn(tf.nn.rnn_cell.BasicRNNCell(1), x, sequence_length=n,
                             dtype=tf.float32)
    return Run({"y": y}, {x: wave(2, 2, 1), n: [1, 2, 1]},
               setup=[tf.global_variables_initializer()], fails=True)


@program
def static_full(tf):
    tf.set_random_seed(9)
    x = tf.placeholder(tf.float32, [2, 3, 3])
    y, s = tf.nn.static_rnn(tf.nn.rnn_cell.GRUCell(4), tf.unstack(x, axis=1), dtype=tf.float32)
    return trained(tf, {"y": y, "s": s}, {x: wave(2, 3, 3)}, [x])


@program
def static_lengths(tf):
    tf.set_random_seed(10)
    x = tf.placeholder(tf.float32, [None, 3, 3])
    n = tf.placeholder(tf.int32, [None])
    y, s = tf.nn.static_rnn(
        tf.nn.rnn_cell.BasicLSTMCell(2), tf.unstack(x, axis=1), sequence_length=n,
        dtype=tf.float32)
    feeds = [{x: wave(2, 3, 3), n: [3, 1]}, {x: wave(2, 3, 3), n: [1, 1]}]
    return trained(tf, {"y": y, "s": list(s)}, feeds, [x], steps=2)


@program
def static_bidirectional(tf):
    tf.set_random_seed(11)
    x = tf.placeholder(tf.float32, [2, 3, 3])
    cell = tf.nn.rnn_cell.BasicRNNCell
    y, fw, bw = tf.nn.static_bidirectional_rnn(
        cell(2), cell(3), tf.unstack(x, axis=1), sequence_length=[3, 2], dtype=tf.float32)
    z, _, _ = tf.nn.static_bidirectional_rnn(
        cell(2), cell(3), tf.unstack(x, axis=1), dtype=tf.float32, scope="full")
    return trained(tf, {"y": y, "z": z, "fw": fw, "bw": bw}, {x: wave(2, 3, 3)}, [x])


@program
def static_state_saving(tf):
    tf.set_random_seed(12)
    x = tf.placeholder(tf.float32, [2, 3, 3])
    kept = tf.get_variable("kept", [2, 4], initializer=tf.zeros_initializer(), trainable=False)

    class Saver:
        def state(self, name):
            return tf.identity(kept, name=name)

        def save_state(self, name, value):
            return tf.assign(kept, value, name=name + "_saved")

    y, s = tf.nn.static_state_saving_rnn(
        tf.nn.rnn_cell.GRUCell(4), tf.unstack(x, axis=1), Saver(), "memory")
    return Run({"y": y, "s": s}, {x: wave(2, 3, 3)}, setup=[tf.global_variables_initializer()],
               steps=2)


@program
def raw_with_feedback(tf):
    tf.set_random_seed(13)
    x = tf.placeholder(tf.float32, [2, 4, 3])
    n = tf.placeholder(tf.int32, [2])
    cell = tf.nn.rnn_cell.BasicLSTMCell(3)
    inputs = tf.TensorArray(tf.float32, 4).unstack(tf.transpose(x, [1, 0, 2]))

    def loop(time, output, state, count):
        if output is None:
            return time >= n, inputs.read(0), cell.zero_state(2, tf.float32), None, tf.constant(0)
        finished = time >= n
        following = tf.cond(tf.reduce_all(finished), lambda: tf.zeros([2, 3]),
                            lambda: inputs.read(time))
        return finished, following + 0.1 * output, state, output, count + 1

    emitted, state, count = tf.nn.raw_rnn(cell, loop)
    return trained(tf, {"y": emitted.stack(), "s": list(state), "count": count},
                   {x: wave(2, 4, 3), n: [4, 2]}, [x])


@program
def raw_emitting(tf):
    tf.set_random_seed(14)
    cell = tf.nn.rnn_cell.GRUCell(2)

    def loop(time, output, state, loop_state):
        if output is None:
            empty = (tf.zeros([], tf.int32), tf.zeros([2]))
            zeros = cell.zero_state(3, tf.float32)
            return tf.constant([False] * 3), tf.ones([3, 1]), zeros, empty, None
        emit = (tf.argmax(output, 1, output_type=tf.int32), output)
        return time >= [1, 2, 3], output[:, :1], state, emit, None

    (ids, values), state, _ = tf.nn.raw_rnn(cell, loop)
    return trained(tf, {"ids": ids.stack(), "values": values.stack(), "s": state}, None)


@program
def stacked_bidirectional(tf):
    tf.set_random_seed(15)
    x = tf.placeholder(tf.float32, [2, 3, 3])
    cell = tf.nn.rnn_cell.GRUCell
    y, fw, bw = tf.contrib.rnn.stack_bidirectional_dynamic_rnn(
        [cell(2), cell(3)], [cell(2), cell(3)], x, sequence_length=[3, 1], dtype=tf.float32)
    z, _, _ = tf.contrib.rnn.stack_bidirectional_rnn(
        [cell(2)], [cell(2)], tf.unstack(x, axis=1), dtype=tf.float32, scope="static")
    return trained(tf, {"y": y, "z": z, "states": list(fw + bw)}, {x: wave(2, 3, 3)})


@program
def fused_cells(tf):
    tf.set_random_seed(16)
    x = tf.placeholder(tf.float32, [4, 2, 3])
    fused = tf.contrib.rnn.LSTMBlockFusedCell(3, use_peephole=True, cell_clip=0.4)
    y, s = fused(x, dtype=tf.float32, sequence_length=tf.constant([4, 2]))
    back = tf.contrib.rnn.TimeReversedFusedRNN(tf.contrib.rnn.LSTMBlockFusedCell(2, name="back"))
    z, t = back(x, dtype=tf.float32)
    adapted = tf.contrib.rnn.FusedRNNCellAdaptor(tf.nn.rnn_cell.GRUCell(2), use_dynamic_rnn=True)
    u, v = adapted(x, dtype=tf.float32)
    return trained(tf, {"y": y, "s": list(s), "z": z, "t": list(t), "u": u, "v": v},
                   {x: wave(4, 2, 3)}, [x])


@program
def convolutional_lstm(tf):
    tf.set_random_seed(17)
    x = tf.placeholder(tf.float32, [1, 3, 4, 4, 1])
    cell = tf.contrib.rnn.Conv2DLSTMCell(
        input_shape=[4, 4, 1], output_channels=2, kernel_shape=[3, 3])
    y, s = tf.nn.dynamic_rnn(cell, x, dtype=tf.float32)
    return trained(tf, {"y": y, "s": list(s)}, {x: wave(1, 3, 4, 4, 1)}, [x])
