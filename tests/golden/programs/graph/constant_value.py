"""Values known to Python code that builds a graph: constants, but nothing computed of them."""

from __future__ import annotations

from tests.golden.registry import Run, program, raised


def _computed(tf, value):
    return tf.constant(value) * 1


def _feedable(tensor):
    return tensor.graph.is_feedable(tensor)


@program
def dropout_by_rates(tf):
    tf.set_random_seed(3)
    x = tf.ones([4, 4])
    given, rate = tf.constant(0.25), tf.constant(0.0)
    return Run(
        {
            "keep all, given": tf.nn.dropout(x, keep_prob=1.0),
            "keep all, constant": tf.nn.dropout(x, keep_prob=tf.constant(1.0)),
            "keep all, computed": tf.nn.dropout(x, _computed(tf, 1.0)),
            "rate of zero": tf.nn.dropout(x, rate=rate),
            "rate": tf.nn.dropout(x, rate=given),
        },
        facts={"feedable": [_feedable(given), _feedable(rate)]},
    )


@program
def ranks_computed(tf):
    x = tf.placeholder(tf.float32, [2, 3], "x")
    known = tf.constant(2)
    checks = [
        tf.assert_rank(x, _computed(tf, 2)),
        tf.assert_rank_at_least(x, _computed(tf, 1)),
        tf.assert_rank_in(x, [_computed(tf, 1), _computed(tf, 2)]),
        tf.assert_rank(x, known),
    ]
    with tf.control_dependencies(checks):
        y = tf.identity(x)
    return Run({"y": y}, {x: [[1, 2, 3], [4, 5, 6]]}, facts={"feedable": _feedable(known)})


@program
def wrong_rank_computed(tf):
    x = tf.placeholder(tf.float32, [2, 3], "x")
    with tf.control_dependencies([tf.assert_rank(x, _computed(tf, 3))]):
        y = tf.identity(x)
    return Run({"y": y}, {x: [[1, 2, 3], [4, 5, 6]]}, fails=True)


@program
def gradient_of_rows_joined_along_a_computed_axis(tf):
    x = tf.placeholder(tf.float32, [4, 3], "x")
    rows = tf.gather(tf.concat([x, x], _computed(tf, 0)), [0, 1])
    along = tf.gather(tf.concat([x, x], tf.constant(0)), [0, 5])
    return Run(
        {"along a constant": tf.gradients(along, x)[0]}, {x: [[1.0, 2, 3]] * 4},
        facts={"refused": raised(tf.gradients, rows, x)},
    )  # fmt: skip


@program
def softmax_along_axes(tf):
    x = tf.constant([[1.0, 2, 3], [3, 1, 2]])
    axis = tf.constant(0)
    return Run(
        {
            "constant": tf.nn.softmax(x, axis=axis),
            "computed": tf.nn.softmax(x, axis=_computed(tf, 0)),
        },
        facts={"feedable": _feedable(axis)},
    )


@program
def dilations(tf):
    x = tf.reshape(tf.range(64.0), [1, 8, 8, 1])
    window = tf.ones([3, 3, 1, 1])

    def convolve(rate, padding):
        def plain(image, count, padding):
            return tf.nn.conv2d(image, window, [1, 1, 1, 1], padding)

        return tf.nn.with_space_to_batch(x, rate, padding, plain, filter_shape=[3, 3])

    return Run(
        {
            "one": convolve(tf.constant([1, 1]), "SAME"),
            "one, computed": convolve(_computed(tf, [1, 1]), "SAME"),
            "two": convolve(tf.constant([2, 2]), "SAME"),
            "two, computed": convolve(_computed(tf, [2, 2]), "SAME"),
            "valid, computed": convolve(_computed(tf, [2, 1]), "VALID"),
        }
    )


@program
def gradient_of_cross_entropy_by_known_zeros(tf):
    logits = tf.placeholder(tf.float32, [2, 3], "logits")
    loss = tf.nn.softmax_cross_entropy_with_logits_v2(labels=tf.eye(2, 3), logits=logits)
    (first,) = tf.gradients(loss, logits, grad_ys=tf.constant([1.0, 2.0]))
    return Run(
        {
            "of the gradient": tf.gradients(first, logits, tf.ones([2, 3]))[0],
            "by zeros": tf.gradients(first, logits, tf.zeros([2, 3]))[0],
            "by computed zeros": tf.gradients(first, logits, tf.ones([2, 3]) * 0.0)[0],
        },
        {logits: [[1, 2, 3], [3, 1, 2]]},
    )


@program
def normalization_in_a_phase_named_by_strings(tf):
    x = tf.constant([[1.0, 2.0], [3.0, 5.0]])
    training = tf.equal(tf.constant("train"), tf.constant("train"))
    testing = tf.equal(tf.constant("test"), tf.constant("train"))
    return Run(
        {
            "training": tf.layers.batch_normalization(x, training=training),
            "testing": tf.layers.batch_normalization(x, training=testing),
            "contrib": tf.contrib.layers.batch_norm(x, is_training=training),
        },
        setup=[tf.global_variables_initializer()],
    )
