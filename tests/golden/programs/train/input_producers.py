"""Input producers and batching: their graphs and their errors."""

from __future__ import annotations

from tests.golden.registry import Run, program, raised


def collected(tf):
    """Return queue runners in their form in a MetaGraph."""
    runners = tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS)
    return [str(runner.to_proto()) for runner in runners]


@program
def string_producer(tf):
    queue = tf.train.string_input_producer(["a", "b", "c"], num_epochs=2, seed=3, name="files")
    return [Run({"size": queue.size()}, facts={"runners": collected(tf), "name": queue.name})]


@program
def names_matched_once(tf):
    names = tf.train.match_filenames_once("tests/golden/files/w*.txt")
    queue = tf.train.string_input_producer(names, num_epochs=1)
    (put,) = tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS)[0].enqueue_ops
    init = tf.local_variables_initializer()
    return [Run({"first": queue.dequeue()}, setup=[init, put])]


@program
def range_producer(tf):
    queue = tf.train.range_input_producer(5, shuffle=False, capacity=7)
    return [Run({"size": queue.size()}, facts={"runners": collected(tf)})]


@program
def slices(tf):
    numbers = tf.constant([[1, 2], [3, 4], [5, 6]])
    one, two = tf.train.slice_input_producer([numbers, ["a", "b", "c"]], seed=4, num_epochs=1)
    shapes = [str(one.shape), str(two.shape)]
    size = tf.train.limit_epochs(tf.constant(1.0), None)
    return [Run({"one": size}, facts={"runners": collected(tf), "shapes": shapes})]


@program
def limited_epochs(tf):
    limited = tf.train.limit_epochs(tf.constant([1, 2]), 2)
    init = tf.local_variables_initializer()
    return [
        Run({"first": limited}, setup=[init]),
        Run({"second": limited}),
        Run({"third": limited}, fails=True),
    ]


def element(tf):
    return [tf.constant([1.0, 2.0]), tf.constant("text")]


@program
def batches(tf):
    many = tf.train.batch(element(tf), 4, num_threads=2, capacity=20)
    fewer = tf.train.batch(
        {"x": tf.zeros([3]), "y": tf.ones([])}, 4, allow_smaller_final_batch=True, name="named"
    )
    rows = tf.train.batch([tf.zeros([5, 2])], 3, enqueue_many=True)
    padded = tf.train.batch([tf.placeholder(tf.float32, [None, 2])], 3, dynamic_pad=True)
    shapes = [str(t.shape) for t in (many[0], many[1], fewer["x"], fewer["y"], rows, padded)]
    return [Run({"one": tf.constant(1)}, facts={"runners": collected(tf), "shapes": shapes})]


@program
def joined_batches(tf):
    joined = tf.train.batch_join([element(tf), element(tf)], 4)
    mixed = tf.train.shuffle_batch_join([element(tf)] * 2, 4, 30, 10, seed=1)
    shapes = [str(t.shape) for t in (*joined, *mixed)]
    return [Run({"one": tf.constant(1)}, facts={"runners": collected(tf), "shapes": shapes})]


@program
def shuffled_batches(tf):
    tf.set_random_seed(8)
    mixed = tf.train.shuffle_batch(element(tf), 4, capacity=30, min_after_dequeue=10)
    rows = tf.train.shuffle_batch(
        [tf.zeros([5, 2])], 3, 40, 20, enqueue_many=True, seed=2, allow_smaller_final_batch=True
    )
    shapes = [str(t.shape) for t in (*mixed, rows)]
    return [Run({"one": tf.constant(1)}, facts={"runners": collected(tf), "shapes": shapes})]


@program
def conditional_batches(tf):
    keep = tf.placeholder(tf.bool, [])
    some = tf.train.maybe_batch(element(tf), keep, 4)
    each = tf.train.maybe_shuffle_batch(
        [tf.zeros([3, 2])], 4, 30, 10, [True, False, True], enqueue_many=True
    )
    either = tf.train.maybe_batch_join([element(tf)], keep, 4)
    shapes = [str(t.shape) for t in (*some, each, *either)]
    return [Run({"one": tf.constant(1)}, facts={"runners": collected(tf), "shapes": shapes})]


@program
def sparse_batches(tf):
    sparse = tf.SparseTensor([[0], [2]], [1.0, 2.0], [4])
    batch = tf.train.batch([sparse, tf.constant(3)], 2)
    rows = tf.SparseTensor([[0, 1], [1, 2]], [1, 2], [2, 4])
    many = tf.train.batch([rows], 2, enqueue_many=True)
    shapes = [str(batch[0].get_shape()), str(batch[1].shape), str(many.get_shape())]
    return [Run({"one": tf.constant(1)}, facts={"runners": collected(tf), "shapes": shapes})]


@program
def refused(tf):
    unknown = tf.placeholder(tf.float32)
    facts = {
        "no strings": raised(tf.train.string_input_producer, []),
        "no shape": raised(tf.train.input_producer, unknown),
        "epochs": raised(tf.train.limit_epochs, tf.constant(1), 0),
        "no rank": raised(tf.train.batch, [unknown], 2),
        "nothing": raised(tf.train.batch, [], 2),
        "capacity": raised(tf.train.shuffle_batch, [tf.zeros([2])], 2, 5, 5),
        "types": raised(tf.train.batch_join, [[tf.constant(1)], [tf.constant(1.0)]], 2),
        "keep": raised(tf.train.maybe_batch, [tf.zeros([2])], [True, False], 2),
        "no slices": raised(tf.train.slice_input_producer, []),
        "no ops": raised(tf.train.QueueRunner, None, []),
    }
    return [Run({"one": tf.constant(1)}, facts=facts)]
