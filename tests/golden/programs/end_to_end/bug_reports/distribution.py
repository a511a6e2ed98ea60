"""Bug reports of people who use TensorFlow 1.x, about distribution, in programs of ours."""

import re
import tempfile

import numpy as np
from tests.golden.registry import Run, describe_error, program


def trained(tf, strategy, optimizer=None, saver=False, averages=False):
    """Return the variables that three steps of an estimator leave, first element of each."""

    def model_fn(features, labels, mode):
        y = tf.layers.dense(features, 1, kernel_initializer=tf.zeros_initializer())
        loss = tf.reduce_mean(tf.square(y - labels))
        train = (optimizer or tf.train.GradientDescentOptimizer)(0.1).minimize(
            loss, tf.train.get_global_step()
        )
        if averages:
            average = tf.train.ExponentialMovingAverage(0.9)
            with tf.control_dependencies([train]):
                train = average.apply(tf.trainable_variables())
        scaffold = tf.train.Scaffold(saver=tf.train.Saver()) if saver else None
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train, scaffold=scaffold)

    config = tf.estimator.RunConfig(train_distribute=strategy, tf_random_seed=1)
    estimator = tf.estimator.Estimator(model_fn, tempfile.mkdtemp(), config)
    estimator.train(lambda: tf.data.Dataset.from_tensors(([[1.0]], [[2.0]])).repeat(20), steps=3)
    values = {name: estimator.get_variable_value(name) for name in estimator.get_variable_names()}
    return Run(facts={name: np.ravel(value)[:1] for name, value in values.items()})


def mirrored(tf):
    return tf.distribute.MirroredStrategy(["/cpu:0"])


@program
def a_mirrored_estimator(tf):
    return trained(tf, mirrored(tf))


@program
def a_mirrored_estimator_with_a_saver_of_its_own(tf):
    return trained(tf, mirrored(tf), saver=True)


@program
def a_mirrored_adagrad(tf):
    return trained(tf, mirrored(tf), tf.train.AdagradOptimizer)


@program
def mirrored_moving_averages(tf):
    return trained(tf, mirrored(tf), averages=True)


@program
def an_estimator_on_one_device(tf):
    return trained(tf, tf.distribute.OneDeviceStrategy("/cpu:0"), tf.train.AdamOptimizer)


@program
def a_mirrored_estimator_without_gpus(tf):
    return trained(tf, tf.contrib.distribute.MirroredStrategy(num_gpus=0))


@program
def a_mirrored_variable_of_one_replica(tf):
    strategy = mirrored(tf)
    with strategy.scope():
        v = tf.Variable(1.0)
        context = tf.distribute.get_replica_context()
        double = strategy.experimental_run_v2(lambda: v * 2)
    facts = {
        "class": type(v).__name__,
        "replicas": strategy.num_replicas_in_sync,
        "context": str(context),
    }
    return Run({"double": double}, setup=[v.initializer], facts=facts)


@program
def variables_go_round_the_parameter_servers(tf):
    with tf.device(tf.train.replica_device_setter(ps_tasks=2)):
        variables = [tf.Variable(float(i), name="v%d" % i) for i in range(3)]
        constant = tf.constant(1.0)
    return Run(facts={"devices": [v.device for v in variables], "constant": constant.device})


@program
def two_sessions_of_a_server_share_variables(tf):
    v = tf.Variable(3.0)
    update = v.assign_add(1.0)

    def share(_):
        target = tf.train.Server.create_local_server().target
        first, second = tf.Session(target), tf.Session(target)
        first.run(v.initializer)
        first.run(update)
        return {"v": second.run(v)}

    return Run(call=share)


@program
def a_monitored_session_without_a_folder(tf):
    with tf.Graph().as_default():
        v = tf.Variable(1.0, name="vv")
        with tf.train.MonitoredTrainingSession(checkpoint_dir=None) as session:
            return Run(facts={"v": session.run(v), "stops": session.should_stop()})


@program
def a_device_that_is_missing_without_soft_placement(tf):
    with tf.device("/gpu:7"):
        three = tf.constant(1) + 2

    def run(session):
        try:
            session.run(three)
        except tf.errors.InvalidArgumentError as error:
            found = describe_error(error)
            # TensorFlow names a line of its own there, Stillflow the program's. The rest is the
            # machine's.
            own = r"(?<=\(defined at) [^)]*|(?<=devices are \[)[^]]*| The requested device.*"
            text = re.sub(own, "", found["message"])
            return dict(found, message=text)

    return Run(call=run)
