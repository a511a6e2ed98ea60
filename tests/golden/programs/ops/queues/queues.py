"""Queues: what they give, in which order, and what they say when they are closed or misused."""

from __future__ import annotations

import numpy as np
from tests.golden.registry import Run, program, raised


@program
def fifo_queue(tf):
    queue = tf.FIFOQueue(10, [tf.int32, tf.string], shapes=[[], [2]], shared_name="shared")
    put = queue.enqueue_many([[1, 2, 3], [["a", "b"], ["c", "d"], ["e", "f"]]])
    one = queue.enqueue([7, ["g", "h"]])
    return [
        Run({"size": queue.size()}, setup=[put, one]),
        Run({"first": queue.dequeue()}),
        Run({"two": queue.dequeue_many(2)}),
        Run({"left": queue.size(), "closed": queue.is_closed()}),
    ]


@program
def closed_queue(tf):
    queue = tf.FIFOQueue(10, tf.float32, shapes=[[]], shared_name="q")
    put = queue.enqueue_many([[1.0, 2.0, 3.0]])
    close = queue.close()
    return [
        Run({"closed": queue.is_closed()}, setup=[put]),
        Run({"closed": queue.is_closed()}, setup=[close]),
        Run({"left": queue.dequeue_up_to(2)}),
        Run({"many": queue.dequeue_many(2)}, fails=True),
        Run({"rest": queue.dequeue_up_to(2)}),
        Run({"none": queue.dequeue()}, fails=True),
        Run({"none": queue.dequeue_up_to(2)}, fails=True),
        Run({"put": queue.enqueue(4.0)}, fails=True),
        Run({"again": queue.close()}, fails=True),
    ]


@program
def names_of_components(tf):
    queue = tf.FIFOQueue(10, [tf.int32, tf.float32], names=["i", "f"], name="named")
    put = queue.enqueue({"f": 1.5, "i": 3})
    facts = {
        "list": raised(queue.enqueue, [1, 1.0]),
        "names": raised(queue.enqueue, {"i": 1, "g": 1.0}),
        "no names": raised(tf.FIFOQueue(1, tf.int32).enqueue, {"i": 1}),
    }
    return [Run({"got": queue.dequeue()}, setup=[put], facts=facts)]


@program
def padding_queue(tf):
    queue = tf.PaddingFIFOQueue(10, [tf.int32, tf.string], [[None], [None, 2]], shared_name="p")
    rows = [([1, 2, 3], [["a", "b"]]), ([], [["c", "d"], ["e", "f"]]), ([4], [["g", "h"]])]
    puts = [
        queue.enqueue([tf.constant(numbers, tf.int32), tf.constant(texts)])
        for numbers, texts in rows
    ]
    return [
        Run({"size": queue.size()}, setup=puts),
        Run({"batch": queue.dequeue_many(2)}),
        Run({"one": queue.dequeue()}),
    ]


@program
def closed_padding_queue(tf):
    queue = tf.PaddingFIFOQueue(10, tf.int32, [[None]], shared_name="p")
    return [
        Run({"put": queue.enqueue([[1, 2]])}, setup=[queue.close()], fails=True),
        Run({"none": queue.dequeue()}, fails=True),
        Run({"none": queue.dequeue_many(2)}, fails=True),
    ]


@program
def shuffled_order(tf):
    tf.set_random_seed(11)
    seeded = tf.RandomShuffleQueue(100, 2, tf.int32, shapes=[[]], seed=5)
    graph_seed = tf.RandomShuffleQueue(100, 0, tf.int32, shapes=[[]])
    shared = tf.RandomShuffleQueue(100, 0, tf.int32, shapes=[[]], shared_name="shared")
    queues = {"seeded": seeded, "graph seed": graph_seed, "shared": shared}
    puts = [queue.enqueue_many([list(range(20))]) for queue in queues.values()]
    more = [queue.enqueue_many([list(range(20, 25))]) for queue in queues.values()]
    taken = {name: queue.dequeue_many(10) for name, queue in queues.items()}
    ones = {name: queue.dequeue() for name, queue in queues.items()}
    return [Run(taken, setup=puts), Run(ones), Run(ones, setup=more), Run(taken)]


@program
def priorities(tf):
    queue = tf.PriorityQueue(10, [tf.string], shapes=[[]], shared_name="by priority")
    put = queue.enqueue_many([[5, -1, 3], ["c", "a", "b"]])
    return [
        Run({"size": queue.size()}, setup=[put]),
        Run({"first": queue.dequeue()}),
        Run({"rest": queue.dequeue_many(2)}),
    ]


@program
def refused_while_building(tf):
    facts = {
        "shapes": raised(tf.FIFOQueue, 10, [tf.int32, tf.int32], shapes=[[]]),
        "partial": raised(tf.FIFOQueue, 10, tf.int32, shapes=[[None]]),
        "no shapes": raised(tf.PaddingFIFOQueue, 10, tf.int32, None),
        "counts": raised(tf.PaddingFIFOQueue, 10, [tf.int32], [[None], [None]]),
        "names": raised(tf.FIFOQueue, 10, [tf.int32], names=["a", "b"]),
        "element": raised(tf.FIFOQueue(10, tf.int32, shapes=[[2]]).enqueue, [[1, 2, 3]]),
        "type": raised(tf.FIFOQueue(10, tf.int32).enqueue, "text"),
        "no list": raised(tf.QueueBase.from_list, 0, 3),
        "negative": raised(tf.FIFOQueue(10, tf.int32, shapes=[[]]).dequeue_many, -1),
    }
    return [Run({"nothing": tf.constant(0)}, facts=facts)]


@program
def refused_while_running(tf):
    value = tf.placeholder(tf.float32)
    queue = tf.FIFOQueue(10, tf.float32, shapes=[[2]], shared_name="q")
    pair = tf.FIFOQueue(10, [tf.float32, tf.float32], shared_name="pair")
    other = tf.placeholder(tf.float32)
    count = tf.placeholder(tf.int32, [])
    three = np.zeros([3], np.float32)
    return [
        Run({"put": queue.enqueue(value)}, {value: three}, fails=True),
        Run({"many": queue.enqueue_many(value)}, {value: np.zeros([2, 3])}, fails=True),
        Run(
            {"lengths": pair.enqueue_many([value, other])}, {value: three, other: [1.0]}, fails=True
        ),
        Run({"no shapes": pair.dequeue_many(2)}, fails=True),
        Run({"negative": queue.dequeue_many(count)}, {count: -1}, fails=True),
        Run({"none": queue.dequeue_many(count)}, {count: 0}),
    ]


@program
def shared_queues_must_be_alike(tf):
    first = tf.FIFOQueue(10, tf.float32, shapes=[[]], shared_name="q")
    others = {
        "capacity": tf.FIFOQueue(11, tf.float32, shapes=[[]], shared_name="q"),
        "type": tf.FIFOQueue(10, tf.int32, shapes=[[]], shared_name="q"),
        "shape": tf.FIFOQueue(10, tf.float32, shapes=[[2]], shared_name="q"),
        "no shape": tf.FIFOQueue(10, tf.float32, shared_name="q"),
    }
    runs = [Run({"size": first.size()})]
    return runs + [Run({name: queue.size()}, fails=True) for name, queue in others.items()]
