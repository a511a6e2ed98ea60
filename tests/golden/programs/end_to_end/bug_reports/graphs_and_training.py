"""Bug reports of people who use TensorFlow 1.x, about graphs and training, in programs of ours."""

import tempfile

from tests.golden.registry import Run, program, raised


@program
def a_variable_made_twice_is_not_in_the_checkpoint(tf):
    first = tf.Variable([1, 2, 3], name="v1")
    prefix = tempfile.mkdtemp() + "/m"
    with tf.Session() as session:
        session.run(first.initializer)
        tf.train.Saver().save(session, prefix)
    tf.Variable([0, 0, 0], name="v1")
    saver = tf.train.Saver()
    return Run(call=lambda session: raised(saver.restore, session, prefix))


@program
def an_update_outside_of_cond_runs_for_either_branch(tf):
    count = tf.Variable(0)
    updated = count.assign_add(1)
    chosen = tf.cond(tf.constant(False), lambda: tf.identity(updated), lambda: tf.constant(10))
    return [Run({"chosen": chosen}, setup=[count.initializer]), Run({"count": count})]


@program(fails=True)
def a_loop_whose_variable_grows_wants_a_shape_invariant(tf):
    def grow(i, x):
        return i + 1, tf.concat([x, x], 0)

    tf.while_loop(lambda i, x: i < 3, grow, [0, tf.ones([1])])


@program
def the_gradient_of_a_norm_at_zero_is_not_a_number(tf):
    x = tf.zeros([2])
    return Run({"gradient": tf.gradients(tf.norm(x), x)})


@program
def where_does_not_hide_a_gradient_that_is_not_a_number(tf):
    x = tf.constant([0.0, 1.0])
    return Run({"gradient": tf.gradients(tf.where(x > 0, tf.log(x), x), x)})


@program
def moving_averages_stay_without_their_updates(tf):
    tf.set_random_seed(1)
    y = tf.layers.batch_normalization(tf.constant([[1.0], [3.0]]), training=True)
    mean = tf.global_variables("batch_normalization/moving_mean")[0]
    updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
    return [
        Run({"y": y}, setup=[tf.global_variables_initializer()]),
        Run({"mean": mean}),
        Run({"mean": mean}, setup=updates),
    ]


@program(fails=True)
def a_variable_exists_already(tf):
    tf.get_variable("q", [1])
    tf.get_variable("q", [1])


@program
def a_feed_of_another_rank(tf):
    x = tf.placeholder(tf.float32, [None, 3])
    return Run({"x": x}, {x: [1.0, 2.0, 3.0]}, fails=True)


@program
def a_finalized_graph_takes_no_operation(tf):
    graph = tf.Graph()
    with graph.as_default():
        graph.finalize()
        return Run(facts=raised(tf.constant, 1))


@program
def a_label_beyond_the_classes(tf):
    loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[5], logits=[[1.0, 2.0]])
    return Run({"loss": loss}, fails=True)


@program(fails=True)
def a_loss_without_a_gradient(tf):
    v = tf.Variable(1.0)
    tf.train.AdamOptimizer().minimize(tf.cast(tf.argmax([v, 2.0]), tf.float32))


@program
def none_is_no_fetch(tf):
    return Run({"pair": [tf.constant(1), None]}, fails=True)
