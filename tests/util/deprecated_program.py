"""A program that uses much of what TensorFlow 1.15 deprecates, and the notices that it logs.

With TensorFlow 1.15, `python -W ignore deprecated_program.py > deprecated_program.txt`, in this
folder, records them. Calls that TensorFlow makes itself are left out: docs/differences.md.
"""

import logging
import os

HERE = os.path.basename(__file__)


def program(tf):
    """Call deprecated functions, members, arguments and values of arguments; some of them twice."""
    x = tf.compat.v1.placeholder(tf.float32, [2, 3])
    for _ in range(2):
        tf.to_float(tf.to_int32(x))
    for cast in (tf.to_double, tf.to_int64, tf.to_bfloat16, tf.to_complex64, tf.to_complex128):
        cast(x)
    tf.multinomial([[1.0, 2.0]], 3)
    tf.where(x > 0, x, -x)
    with tf.colocate_with(x):
        tf.div(x, 2.0)
    tf.Print(x, [x])
    tf.py_func(abs, [x], tf.float32)
    tf.setdiff1d([1, 2], [2])
    tf.substr(["abc"], 0, 1)
    tf.sparse_to_dense([1], [3], 1)
    tf.all_variables()
    tf.layers.dense(x, 2)
    tf.layers.flatten(x)
    tf.layers.batch_normalization(x)
    tf.layers.conv1d(x[None], 2, 1)
    tf.argmax(x, dimension=0)
    tf.argmin(x, axis=0)
    tf.reduce_sum(x, keep_dims=True)
    tf.reduce_max(x, keepdims=True)
    tf.cond(tf.constant(True), fn1=lambda: 1, fn2=lambda: 2)
    tf.count_nonzero(x, keep_dims=True)
    tf.nn.softmax(x, dim=1)
    tf.nn.l2_normalize(x, dim=1)
    tf.nn.dropout(x, keep_prob=0.5)
    tf.nn.softmax_cross_entropy_with_logits(labels=x, logits=x)
    tf.string_split(["a b"], delimiter=" ")
    tf.zeros_initializer(dtype=tf.float32)
    tf.random_uniform_initializer(0.0, 1.0, None, tf.float32)
    variable = tf.compat.v1.get_variable("v", [])
    variable.initialized_value()
    cell = tf.nn.rnn_cell.MultiRNNCell([tf.nn.rnn_cell.GRUCell(3)])
    tf.nn.dynamic_rnn(cell, x[None], dtype=tf.float32)
    tf.nn.static_rnn(tf.nn.rnn_cell.BasicRNNCell(3), [x], dtype=tf.float32)
    data = tf.compat.v1.data.Dataset.range(3)
    data.batch(2).apply(tf.data.experimental.unbatch())
    data.make_initializable_iterator()
    iterator = data.make_one_shot_iterator()
    assert len([iterator.output_types, data.output_shapes]) == 2
    tf.train.batch([x[0]], 2)
    tf.train.string_input_producer(["a"])
    tf.WholeFileReader()
    tf.distributions.Normal(0.0, 1.0)
    tf.contrib.losses.absolute_difference(x, x)
    tf.contrib.framework.get_or_create_global_step()
    tf.contrib.metrics.streaming_mean(x)
    tf.contrib.lookup.string_to_index_table_from_tensor(["a"])


class Notices(logging.Handler):
    """Collects the notices that name this file."""

    def __init__(self):
        super().__init__()
        self.found = []

    def emit(self, record):
        text = record.getMessage()
        place, _, rest = text.partition(": ")
        if HERE in place and "The name" not in text:
            self.found.append(place.rpartition(":")[2] + ": " + rest)


def main():
    """Print the notices of TensorFlow."""
    import tensorflow as tf

    notices = Notices()
    logging.getLogger("tensorflow").addHandler(notices)
    program(tf)
    print("\n".join(notices.found))


if __name__ == "__main__":
    main()
