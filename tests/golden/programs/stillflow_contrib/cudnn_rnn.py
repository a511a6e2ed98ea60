"""Whole recurrent networks on GPUs: their graphs, which CPUs build and cannot run."""

from __future__ import annotations

from tests.golden.registry import Run, program, raised


def network(name, make):
    def build(tf):
        tf.set_random_seed(3)
        x = tf.placeholder(tf.float32, [None, 2, 4], name="x")
        layer = make(tf)
        outputs, states = layer(x)
        gradients = tf.gradients([outputs, states[0]], [x] + layer.trainable_variables)
        saver = tf.train.Saver()
        facts = {"saved": sorted(spec.name for spec in layer.saveable.specs),
                 "weights": [str(shape) for shape in layer.canonical_weight_shapes],
                 "biases": [str(shape) for shape in layer.canonical_bias_shapes],
                 "variables": [v.name for v in layer.variables],
                 "states": str(layer.state_shape(7)), "size": layer.input_size,
                 "gradients": [str(g.shape) for g in gradients],
                 "saver": saver.as_saver_def().save_tensor_name}
        return Run({}, facts=facts)

    build.__name__, build.__module__ = name, __name__
    return program(build)


for _name, _make in {
    "lstm": lambda tf: tf.contrib.cudnn_rnn.CudnnLSTM(2, 3),
    "lstm_both_ways": lambda tf: tf.contrib.cudnn_rnn.CudnnLSTM(
        2, 3, direction="bidirectional", dropout=0.3, seed=5, name="deep"),
    "gru": lambda tf: tf.contrib.cudnn_rnn.CudnnGRU(
        1, 3, kernel_initializer=tf.ones_initializer(), bias_initializer=tf.zeros_initializer()),
    "gru_both_ways": lambda tf: tf.contrib.cudnn_rnn.CudnnGRU(1, 3, direction="bidirectional"),
    "tanh": lambda tf: tf.contrib.cudnn_rnn.CudnnRNNTanh(2, 3),
    "relu": lambda tf: tf.contrib.cudnn_rnn.CudnnRNNRelu(1, 3, dropout=0.5),
}.items():
    network(_name, _make)


@program
def variable_lengths(tf):
    x = tf.placeholder(tf.float32, [5, 2, 4])
    layer = tf.contrib.cudnn_rnn.CudnnLSTM(1, 3)
    states = (tf.zeros([1, 2, 3]), tf.ones([1, 2, 3]))
    outputs, last = layer(x, initial_state=states, sequence_lengths=[5, 2], training=False)
    again, _ = layer(x, time_major=False)
    facts = {"outputs": str(outputs.shape), "last": str(last), "again": str(again.shape),
             "untrained": raised(tf.gradients, outputs, x),
             "rank": raised(tf.contrib.cudnn_rnn.CudnnGRU(1, 2), tf.zeros([2, 2])),
             "unknown": raised(tf.contrib.cudnn_rnn.CudnnGRU(1, 2),
                               tf.placeholder(tf.float32, [2, 2, None])),
             "direction": raised(tf.contrib.cudnn_rnn.CudnnLSTM, 1, 2, direction="up"),
             "mode": raised(tf.contrib.cudnn_rnn.CudnnLSTM, 1, 2, input_mode="up"),
             "dtype": raised(tf.contrib.cudnn_rnn.CudnnLSTM, 1, 2, dtype=tf.int32)}
    return Run({}, facts=facts)
