"""tf.train.basic_train_loop: training under a Supervisor."""

from __future__ import annotations

import shutil
import tempfile

from tests.golden.registry import Run, program


@program
def until_a_step_asks_to_stop(tf):
    folder = tempfile.mkdtemp()
    seen = []
    with tf.Graph().as_default():
        step = tf.train.get_or_create_global_step()
        add = tf.assign_add(step, 1)
        supervisor = tf.train.Supervisor(logdir=folder, save_model_secs=0, summary_op=None)

        def train(session, limit, by=None):
            seen.append([int(session.run(add)), limit, by])
            if len(seen) == 2:
                raise tf.errors.AbortedError(None, None, "a worker stopped")
            if len(seen) == limit:
                supervisor.request_stop()

        tf.train.basic_train_loop(supervisor, train, args=(4,), kwargs={"by": "name"})
    shutil.rmtree(folder)
    return Run(facts={"seen": seen})
