"""tf.contrib.learn: graphs trained and evaluated without estimators, exports, shared files."""

from __future__ import annotations

import glob
import os
import shutil
import tempfile

import numpy as np
from tests.golden.registry import Run, program, raised


def _folder(build):
    """Return `build(folder)` of a folder that is removed afterwards."""
    folder = tempfile.mkdtemp()
    try:
        return build(folder)
    finally:
        shutil.rmtree(folder)


def _line(tf):
    """Return a graph that fits a line: the graph, and its tensors by name."""
    graph = tf.Graph()
    with graph.as_default():
        step = tf.train.get_or_create_global_step()
        x = tf.placeholder(tf.float32, [None], "x")
        w = tf.get_variable("w", initializer=0.5)
        loss = tf.reduce_mean(tf.square(w * x - 2 * x), name="loss")
        tf.summary.scalar("loss_seen", loss)
        train = tf.train.GradientDescentOptimizer(0.1).minimize(loss, step)
    return graph, {"x": x, "w": w, "loss": loss, "train": train, "step": step}


def _batches(line, count):
    numbers = iter(range(count))
    return lambda: {line["x"]: np.arange(3.0) + next(numbers) % 2}


class _Told:
    """A monitor that notes what it is told, and may end the training."""

    run_on_all_workers = True

    def __init__(self, last=None):
        self.told, self._last = [], last

    def begin(self, max_steps=None):
        self.told.append(["begin", None if max_steps is None else int(max_steps)])

    def step_begin(self, step):
        self.told.append(["step", int(step)])
        return ["w:0"]

    def step_end(self, step, outputs):
        self.told.append(["seen", int(step), float(outputs["w:0"])])
        return step == self._last

    def end(self):
        self.told.append(["end"])


def _saved(tf, folder):
    """Return the last checkpoint; another thread saves more of them while training goes on."""
    return os.path.basename(tf.train.latest_checkpoint(folder))


@program
def trained_and_evaluated(tf):
    learn = tf.contrib.learn

    def build(folder):
        facts = {}
        graph, line = _line(tf)
        told = _Told()
        loss = learn.train(
            graph,
            folder,
            line["train"],
            line["loss"],
            log_every_steps=2,
            feed_fn=_batches(line, 100),
            steps=3,
            monitors=[told],
        )
        facts["first"] = [float(loss), told.told, _saved(tf, folder)]
        graph, line = _line(tf)
        told = _Told(last=5)
        loss = learn.train(
            graph,
            folder,
            line["train"],
            line["loss"],
            feed_fn=_batches(line, 100),
            steps=9,
            monitors=[told],
        )
        facts["stopped"] = [float(loss), told.told, _saved(tf, folder)]
        graph, line = _line(tf)
        told = _Told()
        loss = learn.train(
            graph, folder, line["train"], line["loss"], feed_fn=_batches(line, 2), monitors=[told]
        )
        facts["input ends"] = [float(loss), told.told]
        graph, line = _line(tf)
        loss = learn.train(
            graph,
            folder,
            line["train"],
            line["loss"],
            max_steps=8,
            feed_fn=_batches(line, 9),
            supervisor_save_summaries_steps=1,
        )
        facts["by default"] = [float(loss), _saved(tf, folder)]

        graph, line = _line(tf)
        with graph.as_default():
            total, update = tf.metrics.mean(line["loss"])
        results, step = learn.evaluate(
            graph,
            os.path.join(folder, "eval"),
            folder,
            {"mean": total, "w": line["w"]},
            update_op=update,
            feed_fn=_batches(line, 4),
            max_steps=3,
            log_every_steps=2,
        )
        facts["evaluated"] = [sorted((k, float(v)) for k, v in results.items()), int(step)]
        graph, line = _line(tf)
        results, step = learn.evaluate(
            graph,
            os.path.join(folder, "eval"),
            None,
            {"loss": line["loss"], "w": line["w"]},
            feed_fn=_batches(line, 4),
        )
        facts["not trained"] = [sorted((k, float(v)) for k, v in results.items()), int(step)]
        events = glob.glob(os.path.join(folder, "eval", "*"))
        facts["summaries"] = [
            [event.step, value.tag, value.simple_value]
            for name in sorted(events)
            for event in tf.train.summary_iterator(name)
            for value in event.summary.value
        ]

        graph, line = _line(tf)
        path = tf.train.latest_checkpoint(folder)
        facts["inferred"] = float(learn.infer(path, {"y": line["w"] * 1}, {line["x"]: [1.0]})["y"])
        graph, line = _line(tf)
        facts["initial"] = float(
            learn.infer(None, {"loss": line["loss"]}, {line["x"]: [1.0]})["loss"]
        )
        return facts

    return Run({"nothing": tf.zeros([])}, facts=_folder(build))


def _diverging(tf):
    graph = tf.Graph()
    with graph.as_default():
        count = tf.assign_add(tf.train.get_or_create_global_step(), 1)
        return graph, count, tf.identity(np.float32("nan"), name="loss")


@program
def refused(tf):
    learn = tf.contrib.learn

    def build(folder):
        graph, line = _line(tf)
        train, loss = line["train"], line["loss"]
        bare = tf.Graph()
        nan, count, not_finite = _diverging(tf)
        facts = {
            "both": raised(learn.train, graph, folder, train, loss, steps=1, max_steps=1),
            "folder": raised(learn.train, graph, "", train, loss),
            "no op": raised(learn.train, graph, folder, None, loss),
            "no loss": raised(learn.train, graph, folder, train, None),
            "no step": raised(learn.train, bare, folder, train, loss),
            "nan": raised(
                learn.train,
                nan,
                os.path.join(folder, "nan"),
                count,
                not_finite,
                steps=2,
                monitors=[_Quiet()],
            ),
            "evaluate": raised(learn.evaluate, graph, "", None, {}),
            "infer": raised(learn.infer, None, {}),
        }
        nan, count, not_finite = _diverging(tf)
        loss = learn.train(
            nan,
            os.path.join(folder, "nan"),
            count,
            not_finite,
            steps=2,
            fail_on_nan_loss=False,
            monitors=[_Quiet()],
        )
        facts["nan is fine"] = str(loss)
        return facts

    return Run({"nothing": tf.zeros([])}, facts=_folder(build))


class _Quiet(_Told):
    """A monitor that asks for nothing."""

    def __init__(self):
        self.told = []

    def begin(self, max_steps=None):
        pass

    def step_begin(self, step):
        return []

    def step_end(self, step, outputs):
        return False

    def end(self):
        pass


@program
def exported(tf):
    learn = tf.contrib.learn

    def build(folder):
        x = tf.feature_column.numeric_column("x")
        core = tf.estimator.LinearRegressor([x], os.path.join(folder, "core"))
        old = learn.LinearRegressor(
            [tf.contrib.layers.real_valued_column("x")], os.path.join(folder, "old")
        )

        def inputs():
            return {"x": tf.constant([[1.0], [2.0]])}, tf.constant([[2.0], [4.0]])

        core.train(inputs, steps=1)
        old.fit(input_fn=inputs, steps=1)
        serving = tf.estimator.export.build_raw_serving_input_receiver_fn(
            {"x": tf.placeholder(tf.float32, [None, 1])}
        )
        spec = {"x": tf.FixedLenFeature([1], tf.float32)}
        old_serving = learn.utils.build_parsing_serving_input_fn(spec)
        strategy = learn.make_export_strategy(serving, exports_to_keep=1)
        facts = {"strategy": [type(strategy).__name__, strategy.name, strategy.strip_default_attrs]}
        base = os.path.join(folder, "exports")
        for name in ("0000000001", "1234567890", "other"):
            os.makedirs(os.path.join(base, name))
        path = strategy.export(core, base)
        facts["kept"] = [
            sorted(os.listdir(base)) == sorted(["other", os.path.basename(path.decode())]),
            sorted(os.listdir(path.decode())),
        ]
        refusing = learn.make_export_strategy(serving, default_output_alternative_key="head")
        facts["head"] = raised(refusing.export, core, base)
        text = learn.make_export_strategy(old_serving, as_text=True, strip_default_attrs=True)
        path = text.export(old, os.path.join(folder, "texts"))
        facts["text"] = [text.strip_default_attrs, sorted(os.listdir(path.decode()))]
        return facts

    return Run({"nothing": tf.zeros([])}, facts=_folder(build))


def _shared(tf, folder):
    learn = tf.contrib.learn
    for number in range(2):
        path = os.path.join(folder, "part" + str(number))
        with tf.python_io.TFRecordWriter(path) as writer:
            for i in range(3):
                feature = tf.train.Feature(int64_list=tf.train.Int64List(value=[10 * number + i]))
                writer.write(
                    tf.train.Example(
                        features=tf.train.Features(feature={"n": feature})
                    ).SerializeToString()
                )
    return learn, os.path.join(folder, "part*")


@program
def shared_files(tf):
    def build(folder):
        learn, pattern = _shared(tf, folder)
        _, records = learn.read_keyed_batch_examples_shared_queue(
            pattern,
            3,
            tf.TFRecordReader,
            randomize_input=False,
            num_epochs=1,
            queue_capacity=20,
            parse_fn=lambda x: tf.parse_single_example(x, {"n": tf.FixedLenFeature([], tf.int64)}),
            name="records",
        )
        with tf.variable_scope("second"):
            _, parsed = learn.read_keyed_batch_features_shared_queue(
                pattern,
                2,
                {"n": tf.FixedLenFeature([], tf.int64)},
                tf.TFRecordReader,
                randomize_input=False,
                num_epochs=1,
                queue_capacity=20,
                num_queue_runners=1,
            )
        found = []
        with tf.Session() as session:
            session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
            coordinator = tf.train.Coordinator()
            threads = tf.train.start_queue_runners(session, coordinator)
            for each in (records["n"], parsed["n"]):
                found.append([session.run(each).tolist() for _ in range(2)])
            coordinator.request_stop()
            coordinator.join(threads, stop_grace_period_secs=10, ignore_live_threads=True)
        return {
            "read": found,
            "ops": sorted({op.type for op in tf.get_default_graph().get_operations()}),
        }

    with tf.Graph().as_default():  # not the one that is compared: files have other names each time
        facts = _folder(build)
    return Run({"nothing": tf.zeros([])}, facts=facts)
