"""Datasets that TensorFlow 1.15 has no public function for: their graphs, elements and errors."""

from __future__ import annotations

import os
import tempfile

import numpy as np
from tests.golden.programs.data.pipelines import _count, _runs
from tests.golden.registry import Run, internal_module, program, raised

_OURS = {"sleep": "sleeping"}
_FOLDER = "tests/golden/files"


def _ops(tf, name):
    return internal_module(tf, f"data.{_OURS.get(name, name)}",
                           f"python.data.experimental.ops.{name}")  # fmt: skip


def _types(*shape):
    return {"output_types": [np.int64], "output_shapes": [list(shape)]}


def _dataset(tf, variant, spec=None):
    module = internal_module(tf, "data.specs", "python.data.ops.dataset_ops")
    return module._VariantDataset(variant, spec or tf.TensorSpec([], tf.int64))


def _to_the_end(tf, dataset):
    """Return a run that gives all elements, and the error that ends them."""
    iterator = tf.data.make_initializable_iterator(dataset)
    element = iterator.get_next()

    def call(session):
        found = []
        try:
            session.run(iterator.initializer)
            while len(found) < 40:
                found.append(session.run(element))
        except tf.errors.OpError as error:
            return {"elements": found, "end": type(error).__name__,
                    "message": error.message.splitlines()[0]}  # fmt: skip
        return {"elements": found}

    return Run(call=call)


@program
def slept(tf):
    sleep = _ops(tf, "sleep").sleep
    return _runs(tf, _count(tf, 3).apply(sleep(100)).repeat(2), 4)


@program
def sleeping_refused(tf):
    sleep = _ops(tf, "sleep").sleep
    again = tf.raw_ops.ExperimentalSleepDataset
    facts = {"vector": raised(lambda: _count(tf, 3).apply(sleep([3])))}
    older = again(input_dataset=_count(tf, 2)._variant_tensor, sleep_microseconds=-1, **_types())
    return [
        Run(facts=facts),
        _to_the_end(tf, _count(tf, 3).apply(sleep(-1))),
        _to_the_end(tf, _dataset(tf, older)),
    ]


@program
def sampled(tf):
    runs = []
    for rate, seed, seed2 in ((0.3, 7, 11), (0.5, 0, 1), (0.0, 1, 2), (1.0, 1, 2), (0.9, -3, 4)):
        made = tf.raw_ops.SamplingDataset(
            input_dataset=_count(tf, 30)._variant_tensor, rate=rate, seed=seed, seed2=seed2,
            **_types(),
        )  # fmt: skip
        runs.append(_to_the_end(tf, _dataset(tf, made)))
    return runs


@program
def files_matched(tf):
    make = _ops(tf, "matching_files").MatchingFilesDataset
    patterns = [
        [f"{_FOLDER}/*.csv"], f"{_FOLDER}/w*", [f"{_FOLDER}/words.txt", f"{_FOLDER}/t*.csv"],
        [f"{_FOLDER}/*.none"], ["tests/golden/no_folder/*"], ["tests/*/files/[tw]*.{csv}"],
        ["tests/go*/f?les/[tw]*.csv", f"{_FOLDER}/words.txt"],
        ["tests/golden/no_folder/*", f"{_FOLDER}/words.txt"],
    ]  # fmt: skip
    facts = {"matrix": raised(make, [["a"], ["b"]])}
    return [Run(facts=facts), *(_to_the_end(tf, make(given)) for given in patterns)]


@program
def fastest_of_datasets(tf):
    fastest = _ops(tf, "optimization")._ChooseFastestDataset
    dataset = _count(tf, 5).map(lambda x: x * 2)
    return [
        _to_the_end(tf, fastest([dataset, dataset], num_experiments=2)),
        _to_the_end(tf, fastest([_count(tf, 25)] * 3)),
    ]


@program
def datasets_that_differ(tf):
    optimization = _ops(tf, "optimization")
    batches = _count(tf, 6).batch
    pairs = {
        "sizes": [_count(tf, 3), _count(tf, 4)],
        "types": [_count(tf, 3), tf.data.Dataset.from_tensor_slices(np.float32([1, 2, 3]))],
        "parts": [_count(tf, 3), tf.data.Dataset.from_tensor_slices(([1, 2, 3], ["a"] * 3))],
        "shapes": [batches(2, True), batches(3, True)],
        "sizes of some": [_count(tf, 3).filter(lambda x: x < 2), _count(tf, 2), _count(tf, 1)],
    }
    alone = raised(optimization._ChooseFastestDataset, [_count(tf, 2)])
    runs = [_to_the_end(tf, optimization._ChooseFastestDataset(given)) for given in pairs.values()]
    return [Run(facts={"alone": alone}), *runs]


@program
def fastest_of_functions(tf):
    fastest = _ops(tf, "optimization")._ChooseFastestBranchDataset
    three = tf.constant(3, tf.int64)

    def first(dataset):
        return dataset.map(lambda x: x * three).batch(2)

    def second(dataset):
        return dataset.batch(2).map(lambda x: x * three)

    return [
        _to_the_end(tf, fastest(_count(tf, 40), [first, second], 2, num_elements_per_branch=3)),
        _to_the_end(tf, fastest(_count(tf, 5), [first, second], 2)),
        _to_the_end(tf, fastest(_count(tf, 9), [lambda d: d.repeat(2)], num_elements_per_branch=2)),
    ]


@program
def functions_refused(tf):
    fastest = _ops(tf, "optimization")._ChooseFastestBranchDataset
    same = [lambda dataset: dataset.map(lambda x: x + 1)]
    facts = {
        "ratio": raised(fastest, _count(tf, 3), same, 0),
        "no dataset": raised(fastest, _count(tf, 3), [lambda dataset: tf.constant(1)])["class"],
    }
    uneven = fastest(_count(tf, 3), same, 1, 2, num_elements_per_branch=3)
    return [Run(facts=facts), _to_the_end(tf, uneven)]


@program
def next_datasets(tf):
    check = _ops(tf, "optimization").assert_next
    options = tf.data.Options()
    options.experimental_optimization.apply_default_optimizations = False
    options.experimental_optimization.autotune = False
    dataset = _count(tf, 4).map(lambda x: x + 1)
    return [
        _to_the_end(tf, made.with_options(options))
        for made in (
            dataset.apply(check(["Batch", "FiniteTake"])).batch(2).take(1),
            dataset.apply(check(["BatchV2", "FiniteTake"])).batch(2).take(1),
            dataset.apply(check(["BatchV2", "FiniteTake"])).batch(2),
            dataset.apply(check([])),
        )
    ]


@program
def orders_that_are_kept(tf):
    raw = tf.raw_ops
    generator = raw.AnonymousRandomSeedGenerator(seed=5, seed2=6)
    made = raw.ShuffleDatasetV2(
        input_dataset=_count(tf, 6)._variant_tensor, buffer_size=4,
        seed_generator=generator.handle, **_types(),
    )  # fmt: skip
    steps, last = [], generator.deleter.op
    for _ in range(3):  # three iterators of one dataset, one after the other
        with tf.control_dependencies([last]):
            iterator = raw.AnonymousIterator(**_types())
            start = raw.MakeIterator(dataset=made, iterator=iterator)
        last = start
        elements = []
        for _ in range(6):
            with tf.control_dependencies([last]):
                elements += raw.IteratorGetNext(iterator=iterator, **_types())
            last = elements[-1].op
        steps.append(elements)
    with tf.control_dependencies([last]):
        gone = raw.DeleteRandomSeedGenerator(handle=generator.handle, deleter=generator.deleter)
    return Run({"orders": steps, "gone": gone})


@program
def elements_that_are_kept(tf):
    raw = tf.raw_ops
    drawn = _count(tf, 3).map(lambda x: tf.random_uniform([], maxval=99, dtype=tf.int64, seed=1))
    cache = raw.AnonymousMemoryCache()
    made = raw.CacheDatasetV2(
        input_dataset=drawn._variant_tensor, filename="", cache=cache.handle, **_types()
    )
    last, epochs = cache.deleter.op, []
    for _ in range(2):
        with tf.control_dependencies([last]):
            iterator = raw.AnonymousIterator(**_types())
            last = raw.MakeIterator(dataset=made, iterator=iterator)
        elements = []
        for _ in range(3):
            with tf.control_dependencies([last]):
                elements += raw.IteratorGetNext(iterator=iterator, **_types())
            last = elements[-1].op
        with tf.control_dependencies([last]):  # the end, which completes the cache
            end = raw.IteratorGetNextAsOptional(iterator=iterator, **_types())
        last = end.op
        epochs.append(elements)
    with tf.control_dependencies([last]):
        gone = raw.DeleteMemoryCache(handle=cache.handle, deleter=cache.deleter)
    return Run({"same": tf.equal(epochs[0], epochs[1]), "gone": gone})


@program
def anonymous_for_several_devices(tf):
    raw = tf.raw_ops
    made = raw.AnonymousMultiDeviceIterator(devices=["/cpu:0", "/cpu:0"], **_types())
    walk = raw.MultiDeviceIteratorInit(
        dataset=_count(tf, 4)._variant_tensor, multi_device_iterator=made.handle, max_buffer_size=2
    )
    elements, last = [], walk.op
    for number in range(4):
        with tf.control_dependencies([last]):
            elements += raw.MultiDeviceIteratorGetNextFromShard(
                multi_device_iterator=made.handle, shard_num=number % 2, incarnation_id=walk,
                **_types(),
            )  # fmt: skip
        last = elements[-1].op
    with tf.control_dependencies([last]):
        gone = raw.DeleteMultiDeviceIterator(
            multi_device_iterator=made.handle, iterators=[], deleter=made.deleter
        )
    return Run({"elements": elements, "walk": walk, "gone": gone})


@program
def datasets_of_graphs(tf):
    def pipeline():
        ten = tf.constant(10, tf.int64)
        doubled = _count(tf, 3).map(lambda x: x * 2 + ten).filter(lambda x: x > 10)
        return doubled.shuffle(3, seed=4).repeat(2)

    serialized = tf.placeholder(tf.string)
    made = _dataset(tf, tf.raw_ops.DatasetFromGraph(graph_def=serialized))
    iterator = tf.data.make_initializable_iterator(made)
    element, written = iterator.get_next(), pipeline()._as_serialized_graph()

    def call(session):
        graph = tf.GraphDef.FromString(session.run(written))
        session.run(iterator.initializer, {serialized: graph.SerializeToString()})
        found = {"elements": [session.run(element) for _ in range(4)]}
        del graph.node[-1]
        for name, content in (("no end", graph.SerializeToString()), ("no graph", b"\xff")):
            found[name] = raised(session.run, iterator.initializer, {serialized: content})
        return found

    return Run(call=call)


@program
def places_restored(tf):
    part = tf.raw_ops.SamplingDataset(
        input_dataset=_count(tf, 40)._variant_tensor, rate=0.5, seed=3, seed2=4, **_types()
    )
    names = _ops(tf, "matching_files").MatchingFilesDataset([f"{_FOLDER}/*", f"{_FOLDER}/t*.*"])
    options = tf.data.Options()
    options.experimental_optimization.apply_default_optimizations = False
    runs = []
    for dataset in (_dataset(tf, part), names):
        iterator = tf.data.make_initializable_iterator(dataset.with_options(options))
        element, resource = iterator.get_next(), iterator._iterator_resource
        saved = tf.io.serialize_tensor(tf.raw_ops.SerializeIterator(resource_handle=resource))
        given = tf.placeholder(tf.string, [])
        restored = tf.raw_ops.DeserializeIterator(
            resource_handle=resource, serialized=tf.io.parse_tensor(given, tf.variant)
        )

        def call(session, parts=(iterator, element, saved, given, restored)):
            iterator, element, saved, given, restored = parts
            session.run(iterator.initializer)
            found = [session.run(element) for _ in range(3)]
            session.run(restored, {given: session.run(saved)})
            return {"elements": found + [session.run(element) for _ in range(4)]}

        runs.append(Run(call=call))
    return runs


# ---- snapshots


def _snapshots(tf, pipelines, **options):
    """Return the content of each pipeline's folder, and its elements, twice."""
    folder, runs = tempfile.mkdtemp(), []
    snapshot = _ops(tf, "snapshot").snapshot
    for number, dataset in enumerate(pipelines):
        path, place = os.path.join(folder, str(number)), tf.placeholder(tf.string, [])
        iterator = tf.data.make_initializable_iterator(dataset.apply(snapshot(place, **options)))
        element = iterator.get_next()

        def call(session, iterator=iterator, element=element, path=path, place=place):
            found = {"elements": [], "folders": []}
            for _ in range(2):
                session.run(iterator.initializer, {place: path})
                while True:
                    try:
                        found["elements"].append(session.run(element))
                    except tf.errors.OutOfRangeError:
                        break
                found["folders"].append([
                    [hashed, [len(os.listdir(os.path.join(path, hashed, run)))
                              for run in sorted(os.listdir(os.path.join(path, hashed)))
                              if run != "snapshot.metadata"]]
                    for hashed in sorted(os.listdir(path))
                ])  # fmt: skip
            return found

        runs.append(Run(call=call))
    return runs


@program
def snapshots(tf):
    three, slices = tf.constant(3, tf.int64), tf.data.Dataset.from_tensor_slices
    experimental = tf.data.experimental
    return _snapshots(tf, [
        _count(tf, 5),
        slices(([1, 2], ["a", "bb"])).batch(2).repeat(3),
        _count(tf, 4).shuffle(3, seed=4),
        slices(np.arange(2000, dtype=np.float32).reshape(-1, 100)).batch(5),
        tf.data.Dataset.zip((_count(tf, 3), _count(tf, 4).concatenate(_count(tf, 2)))),
        _count(tf, 5).map(lambda x: x * three).filter(lambda x: x > three),
        _count(tf, 5).map(lambda x: x + 1).map(lambda y: y * 2 + 1),
        _count(tf, 3).flat_map(tf.data.Dataset.range).prefetch(2),
        _count(tf, 5).map(lambda x: {"a": x, "b": [x, x]}),
        _count(tf, 9).apply(
            experimental.group_by_window(lambda x: x % 2, lambda _, d: d.batch(2), 2)
        ),
        _count(tf, 5).apply(experimental.scan(tf.constant(0, tf.int64), lambda s, x: (s + x, s))),
        tf.data.TFRecordDataset([f"{_FOLDER}/numbers.tfrecord"]),
    ])  # fmt: skip


@program
def snapshots_packed(tf):
    dataset = tf.data.Dataset.from_tensor_slices(([1.5, 2.5], ["a", "bb"]))
    return _snapshots(tf, [dataset, _count(tf, 6)], compression="GZIP", shard_size_bytes=1 << 20)


@program
def snapshots_refused(tf):
    snapshot = _ops(tf, "snapshot").snapshot
    given = (
        {"compression": "ZLIB"}, {"shard_size_bytes": 1000}, {"pending_snapshot_expiry_seconds": 0}
    )  # fmt: skip
    facts = {"matrix": raised(lambda: _count(tf, 3).apply(snapshot(["a", "b"])))}
    return [
        Run(facts=facts),
        *(_to_the_end(tf, _count(tf, 3).apply(snapshot("out", **options))) for options in given),
    ]


def _lines(tf, seed=None):
    """Return a dataset of the names of files with lines."""
    names = [f"{_FOLDER}/*.csv", f"{_FOLDER}/*.txt"]
    return tf.data.Dataset.list_files(names, shuffle=seed is not None, seed=seed)


def _share(tf, dataset, workers, index):
    module = internal_module(tf, "data.sharing", "python.data.experimental.ops.distribute")
    name = "AutoShardDataset" if hasattr(module, "AutoShardDataset") else "_AutoShardDataset"
    return getattr(module, name)(dataset, workers, index)


@program
def shares_of_workers(tf):
    read = tf.data.TextLineDataset
    files, mixed = _lines(tf), _lines(tf, 3)
    pipelines = (
        files.flat_map(read),
        files.interleave(read, cycle_length=2).batch(2),
        mixed.flat_map(read),
        mixed.shuffle(4, seed=5).map(lambda name: name).interleave(read, 3).shuffle(2, seed=1),
        tf.data.Dataset.zip((files.flat_map(read), files.flat_map(read).skip(1))),
        files.flat_map(read).concatenate(files.flat_map(lambda name: read(name).take(1))),
        files.flat_map(read).apply(tf.data.experimental.unique()),
        _count(tf, 7),
    )
    return [
        *(_to_the_end(tf, _share(tf, each, 2, 1)) for each in pipelines),
        *(_to_the_end(tf, _share(tf, _count(tf, 2), *pair)) for pair in ((1, 0), (5, 0), (5, 4))),
    ]


@program
def shares_refused(tf):
    pairs = ((0, 0), (2, 2), (2, -1))
    return [_to_the_end(tf, _share(tf, _count(tf, 2), *pair)) for pair in pairs]
