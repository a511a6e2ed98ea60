"""tf.contrib.slim: decoders of examples, readers and queues, training operations, summaries."""

from __future__ import annotations

import os
import tempfile
import warnings

import numpy as np
from tests.golden.programs.train.saver import fixed_uuid
from tests.golden.registry import Run, program, raised

RECORDS = "tests/golden/files/numbers.tfrecord"  # five examples: number, text


def _example(tf, **features):
    def feature(values):
        if isinstance(values[0], bytes):
            return tf.train.Feature(bytes_list=tf.train.BytesList(value=values))
        if isinstance(values[0], float):
            return tf.train.Feature(float_list=tf.train.FloatList(value=values))
        return tf.train.Feature(int64_list=tf.train.Int64List(value=values))

    named = {name.replace("__", "/"): feature(values) for name, values in features.items()}
    return tf.train.Example(features=tf.train.Features(feature=named)).SerializeToString()


@program
def a_decoder_of_ones_own(tf):
    base = tf.contrib.slim.data_decoder.DataDecoder

    class Decoder(base):
        def decode(self, data, items):
            return super().decode(data, items) or [data + item for item in items]

        def list_items(self):
            return super().list_items() or ["a", "b"]

    decoder = Decoder()
    return Run(facts={"items": decoder.list_items(), "decoded": decoder.decode("x", ["a"]),
                      "abstract": raised(base)["class"]})


@program
def decoded_tensors(tf):
    decoder = tf.contrib.slim.tfexample_decoder
    serialized = tf.placeholder(tf.string, [])
    features = {
        "fixed": tf.FixedLenFeature([2, 2], tf.float32),
        "var": tf.VarLenFeature(tf.int64),
        "size": tf.VarLenFeature(tf.int64),
        "rows": tf.FixedLenFeature([], tf.int64),
        "words": tf.VarLenFeature(tf.string),
        "ymin": tf.VarLenFeature(tf.float32),
        "xmin": tf.VarLenFeature(tf.float32),
        "ymax": tf.VarLenFeature(tf.float32),
        "xmax": tf.VarLenFeature(tf.float32),
    }
    words = tf.contrib.lookup.KeyValueTensorInitializer(["a", "b"], [0, 1], value_dtype=tf.int64)
    table = tf.contrib.lookup.HashTable(words, 9, shared_name="words")
    handlers = {
        "fixed": decoder.Tensor("fixed"),
        "fixed_as": decoder.Tensor("fixed", shape=[4]),
        "var": decoder.Tensor("var", default_value=-1),
        "shaped": decoder.Tensor("var", shape_keys="size"),
        "rows": decoder.Tensor("fixed", shape_keys=["rows", "rows"]),
        "looked_up": decoder.LookupTensor("words", table),
        "boxes": decoder.BoundingBox(),
        "sparse": decoder.SparseTensor("size", "var"),
        "dense": decoder.SparseTensor("size", "var", shape=[8], densify=True),
        "called": decoder.ItemHandlerCallback(
            ["fixed", "rows"], lambda tensors: tf.reduce_sum(tensors["fixed"])
        ),
        "backup": decoder.BackupHandler(decoder.Tensor("missing"), decoder.Tensor("var")),
    }
    features["missing"] = tf.VarLenFeature(tf.int64)
    maker = decoder.TFExampleDecoder(features, handlers)
    names = sorted(handlers)
    items = maker.decode(serialized, names)
    example = _example(
        tf,
        fixed=[1.0, 2.0, 3.0, 4.0],
        var=[5, 6],
        size=[1, 2],
        rows=[2],
        words=[b"b", b"c"],
        ymin=[0.1, 0.2],
        xmin=[0.3, 0.4],
        ymax=[0.5, 0.6],
        xmax=[0.7, 0.8],
    )
    facts = {
        "items": sorted(maker.list_items()),
        "both": raised(decoder.Tensor, "a", "b", [1]),
        "boxes": raised(decoder.BoundingBox, ["a"]),
        "primary": raised(decoder.BackupHandler, 1, handlers["var"])["class"],
    }
    fetches = dict(zip(names, items))
    return Run(fetches, {serialized: example}, setup=[tf.tables_initializer()], facts=facts)


@program
def decoded_images(tf):
    decoder = tf.contrib.slim.tfexample_decoder
    features = {
        "image/encoded": tf.FixedLenFeature((), tf.string),
        "image/format": tf.FixedLenFeature((), tf.string, default_value="jpeg"),
    }
    serialized = tf.placeholder(tf.string, [])
    handlers = {
        "plain": decoder.Image(),
        "gray": decoder.Image(channels=1, dtype=tf.float32, dct_method="INTEGER_ACCURATE"),
        "shaped": decoder.Image(shape=[4, 5, 3]),
    }
    items = decoder.TFExampleDecoder(features, handlers).decode(serialized, sorted(handlers))
    picture = (np.arange(60) * 4).astype(np.uint8).reshape(4, 5, 3)
    with tf.Session() as session:
        png = session.run(tf.image.encode_png(picture))
        jpeg = session.run(tf.image.encode_jpeg(picture, quality=100))
    feeds = [
        {serialized: _example(tf, image__encoded=[png], image__format=[b"png"])},
        {serialized: _example(tf, image__encoded=[jpeg])},
    ]
    fetches = dict(zip(sorted(handlers), items))
    repeated = decoder.Image("images", "format", channels=3, repeated=True)
    several = repeated.tensors_to_item(
        {"images": tf.constant([png, png]), "format": tf.constant("png")}
    )
    return [Run(fetches, feeds, steps=2), Run({"several": several})]


@program
def examples_in_order(tf):
    slim = tf.contrib.slim
    decoder = slim.tfexample_decoder
    features = {"number": tf.FixedLenFeature([], tf.int64), "text": tf.VarLenFeature(tf.string)}
    handlers = {
        "number": decoder.Tensor("number"),
        "text": decoder.Tensor("text", default_value=""),
    }
    data = slim.dataset.Dataset(
        RECORDS,
        tf.TFRecordReader,
        decoder.TFExampleDecoder(features, handlers),
        5,
        {"number": "a number"},
        extra="more",
    )
    provider = slim.dataset_data_provider.DatasetDataProvider(data, shuffle=False, num_epochs=1)
    wanted = provider.get(["number", "text"])

    def call(session):
        session.run(tf.local_variables_initializer())
        values = {}
        with slim.queues.QueueRunners(session):
            values["nested"] = str(raised(slim.queues.QueueRunners(session).__enter__))
            try:
                for step in range(6):
                    number, text = session.run(wanted)
                    values[str(step)] = [number, text.tolist()]
            except tf.errors.OutOfRangeError:
                values["ended"] = True
        return values

    facts = {
        "items": sorted(provider.list_items()),
        "samples": provider.num_samples(),
        "extra": data.extra,
        "descriptions": sorted(data.items_to_descriptions),
        "no_list": raised(provider.get, "number"),
        "none": raised(provider.get, ["absent"])["class"],
    }
    taken = raised(slim.dataset_data_provider.DatasetDataProvider, data, record_key="text")
    facts["taken"] = taken["class"]
    return Run(call=call, facts=facts)


@program
def parallel_readers(tf):
    slim = tf.contrib.slim
    reader = slim.parallel_reader
    sources = ["first", ["second", "third"]]
    key, value = reader.parallel_read(
        sources,
        tf.TextLineReader,
        num_epochs=2,
        num_readers=2,
        seed=3,
        capacity=20,
        reader_kwargs={"skip_header_lines": 1},
        min_after_dequeue=10,
        scope="mine",
    )
    reader.parallel_read(["one"], tf.WholeFileReader, shuffle=False)
    reader.single_pass_read(["one"], tf.TextLineReader)
    queue = tf.FIFOQueue(10, [tf.string, tf.string], name="common")
    parallel = reader.ParallelReader(tf.TextLineReader, queue, num_readers=3)
    files = tf.FIFOQueue(10, [tf.string], name="files")
    parallel.read_up_to(files, 4, name="some")
    parallel.num_records_produced(name="records")
    parallel.num_work_units_completed()
    return Run(
        facts={
            "files": reader.get_data_files(sources),
            "readers": parallel.num_readers,
            "shapes": [str(key.shape), str(value.shape)],
            "no_files": raised(reader.get_data_files, "./tests/no*"),
            "one_type": raised(
                reader.ParallelReader, tf.TextLineReader, tf.FIFOQueue(1, [tf.string])
            ),
            "numbers": raised(
                reader.ParallelReader, tf.TextLineReader, tf.FIFOQueue(1, [tf.int32, tf.string])
            ),
        }
    )


@program
def prefetched(tf):
    prefetch = tf.contrib.slim.prefetch_queue.prefetch_queue
    number, text = tf.constant([1.0, 2.0]), tf.constant("x")
    queue = prefetch([number, text], capacity=3, num_threads=2)
    named = prefetch({"b": number, "a": text}, dynamic_pad=True, shared_name="s", name="named")

    def call(session):
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coord)
        values = {"plain": session.run(queue.dequeue()), "named": session.run(named.dequeue())}
        coord.request_stop()
        coord.join(threads)
        return values

    return Run(call=call)


@program
def train_operation(tf):
    tf.set_random_seed(2)
    learning = tf.contrib.slim.learning
    x = tf.constant(np.arange(6.0, dtype=np.float32).reshape(3, 2))
    w = tf.get_variable("w", initializer=[[0.5], [-0.5]])
    b = tf.get_variable("b", initializer=0.25)
    loss = tf.reduce_mean(tf.square(tf.matmul(x, w) + b - 1.0))
    train = learning.create_train_op(
        loss,
        tf.train.GradientDescentOptimizer(0.01),
        clip_gradient_norm=0.3,
        gradient_multipliers={"w": 2.0, b: 0.5},
        summarize_gradients=True,
    )
    learning.add_gradients_summaries([(x, w), (None, b)])
    facts = {
        "no_op": raised(learning.train, None, "dir"),
        "summaries": raised(learning.train, train, None, summary_op=train),
        "saver": raised(learning.train, train, None, summary_op=0, saver=tf.train.Saver()),
        "trace": raised(learning.train, train, None, trace_every_n_steps=1),
        "steps": raised(learning.train, train, None, number_of_steps=0),
    }
    setup = [tf.global_variables_initializer()]
    return Run({"w": w, "b": b}, train=train, setup=setup, steps=3, facts=facts)


@program
def trained_by_a_supervisor(tf):
    w = tf.get_variable("w", initializer=[2.0, -3.0])
    tf.summary.scalar("loss", tf.reduce_sum(tf.square(w)))
    loss = tf.reduce_sum(tf.square(w))
    train = tf.contrib.slim.learning.create_train_op(loss, tf.train.GradientDescentOptimizer(0.1))
    folder = tempfile.mkdtemp()
    with fixed_uuid(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # TensorFlow closes a writer that a thread still uses
        last = tf.contrib.slim.learning.train(
            train,
            folder,
            number_of_steps=7,
            log_every_n_steps=3,
            trace_every_n_steps=4,
            save_summaries_secs=1,
        )
    found = tf.train.latest_checkpoint(folder)
    values = tf.train.load_checkpoint(found)
    return Run(
        facts={
            "last_is_positive": bool(last > 0),
            "checkpoint": os.path.basename(found),
            "w": values.get_tensor("w"),
            "traces": sorted(name for name in os.listdir(folder) if "trace" in name),
        }
    )


@program
def evaluated(tf):
    folder = tempfile.mkdtemp()
    with tf.Graph().as_default(), tf.Session() as session:
        tf.get_variable("w", initializer=5.0)
        tf.train.get_or_create_global_step()
        session.run(tf.global_variables_initializer())
        path = tf.train.Saver().save(session, os.path.join(folder, "model"), global_step=1)
    w = tf.get_variable("w", initializer=1.0)
    step = tf.train.get_or_create_global_step()
    total = tf.get_variable("total", initializer=0.0, collections=[tf.GraphKeys.LOCAL_VARIABLES])
    update = tf.assign_add(total, w)
    evaluation = tf.contrib.slim.evaluation
    log = os.path.join(folder, "log")
    with fixed_uuid():
        once = evaluation.evaluate_once(
            "",
            path,
            log,
            num_evals=4,
            eval_op=update,
            summary_op=None,
            final_op={"total": total, "step": step},
        )
        repeated = evaluation.evaluation_loop(
            "",
            folder,
            log,
            num_evals=2,
            eval_op=[update],
            final_op=total,
            max_number_of_evaluations=1,
            eval_interval_secs=0,
        )
    return Run(facts={"total": once["total"], "step": once["step"], "repeated": repeated})


@program
def summaries_and_sizes(tf):
    slim = tf.contrib.slim
    x = tf.constant([[0.0, 2.0], [0.0, 1.0]], name="x")
    images = tf.zeros([1, 2, 2, 3], name="images")
    one = tf.constant(1.0, name="one")
    slim.summaries.add_histogram_summary(x)
    slim.summaries.add_image_summary(images, prefix="p")
    slim.summaries.add_scalar_summary(one, "named", print_summary=True)
    slim.summaries.add_zero_fraction_summary(x)
    slim.summaries.add_histogram_summaries([x, one], prefix="all")
    slim.summaries.add_scalar_summaries([one], prefix="all")
    slim.summaries.add_image_summaries([images], prefix="all")
    slim.summaries.add_zero_fraction_summaries([x], prefix="all")
    v = tf.get_variable("v", [3, 4])
    return Run(
        facts={
            "ops": slim.model_analyzer.analyze_ops(tf.get_default_graph()) > 0,
            "vars": list(slim.model_analyzer.analyze_vars([v])),
            "text": slim.model_analyzer.tensor_description(v),
        }
    )
