"""Graphs that add up tensors of several devices."""

from __future__ import annotations

import numpy as np
from tests.golden.registry import Run, internal_module, program, raised


def module(tf):
    return internal_module(tf, "stillflow_contrib.all_reduce", "python.distribute.all_reduce")


def tensors(tf, count, shape, tasks=1):
    """One tensor of each of some CPU devices, of one or several tasks."""
    made = []
    for index in range(count):
        task, number = divmod(index, count // tasks)
        with tf.device(f"/job:localhost/replica:0/task:{task}/device:CPU:{number}"):
            size = int(np.prod(shape))
            made.append(tf.constant(np.arange(size).reshape(shape) + 10.0 * index, tf.float32))
    return made


def computed(tf, count, **outputs):
    with tf.Session(config=tf.ConfigProto(device_count={"CPU": count})) as session:
        return Run(facts={name: session.run(value) for name, value in sorted(outputs.items())})


def halved(tf):
    return lambda x: x / 2.0


@program
def rings(tf):
    ring = module(tf).build_ring_all_reduce
    return computed(
        tf, 4,
        even=ring(tensors(tf, 2, [8]), 1, 1, [0, 1], tf.add),
        odd=ring(tensors(tf, 3, [7]), 1, 1, [0, 2, 1], tf.add, halved(tf)),
        two=ring(tensors(tf, 4, [3, 5]), 1, 2, [0, 1, 2, 3], tf.maximum),
        short=ring(tensors(tf, 4, [3]), 2, 1, [0, 1], tf.add),
        padded=ring(tensors(tf, 4, [9]), 2, 2, [1, 0], tf.add),
    )


@program
def halves(tf):
    build = module(tf).build_recursive_hd_all_reduce
    return computed(
        tf, 4, two=build(tensors(tf, 2, [4]), tf.add),
        four=build(tensors(tf, 4, [2, 4]), tf.add, halved(tf)),
    )


@program
def shuffles(tf):
    build = module(tf).build_shuffle_all_reduce
    return computed(
        tf, 4, one=build(tensors(tf, 2, [3]), ["/cpu:0"], tf.add_n),
        three=build(tensors(tf, 4, [2, 5]), ["/cpu:0", "/cpu:1", "/cpu:2"], tf.add_n, halved(tf)),
    )


@program
def within_tasks_and_between_them(tf):
    functions = module(tf)
    gather = ["/job:localhost/task:0/cpu:0", "/job:localhost/task:1/cpu:0"]
    four = tensors(tf, 4, [2, 3], tasks=2)
    made = [
        functions.build_shuffle_then_ring(four, gather, 1, tf.add_n, tf.add, halved(tf)),
        functions.build_shuffle_then_shuffle(four, gather, [gather[0]], tf.add_n),
    ]
    names = [[tensor.name for tensor in outputs] for outputs in made]
    with tf.Graph().as_default():
        alone = functions.build_shuffle_then_shuffle(
            tensors(tf, 2, [4]), gather[:1], gather[:1], tf.add_n, halved(tf))
        run = computed(tf, 2, alone=alone)
    return Run(facts=dict(run.facts, names=names))


@program
def nccl_and_others(tf):
    functions = module(tf)
    made = []
    for build in (
        lambda four: functions.build_nccl_all_reduce(four[:2], tf.add, halved(tf)),
        lambda four: functions.build_nccl_then_recursive_hd(four, tf.add),
        lambda four: functions.build_nccl_then_shuffle(four, ["/cpu:0"], tf.add, tf.add_n),
        lambda four: functions.build_nccl_then_ring(four, 1, tf.add),
    ):
        with tf.Graph().as_default() as graph:
            build(tensors(tf, 4, [2, 4], tasks=2))
        made.append([f"{op.name} {op.type} {op.device} {[x.name for x in op.inputs]}"
                     for op in graph.get_operations()])
    return Run(facts={"made": made})


@program
def what_is_refused(tf):
    functions = module(tf)
    three = tensors(tf, 3, [4])
    return Run(facts={
        "one": raised(functions.build_ring_all_reduce, three[:1], 1, 1, [0], tf.add),
        "rings": raised(functions.build_ring_all_reduce, three, 1, 4, [0, 1, 2], tf.add),
        "power": raised(functions.build_recursive_hd_all_reduce, three, tf.add),
        "none": raised(functions.build_shuffle_all_reduce, [], ["/cpu:0"], tf.add_n),
        "unknown": raised(functions.build_shuffle_all_reduce,
                          [tf.placeholder(tf.float32)], ["/cpu:0"], tf.add_n),
        "devices": raised(functions.build_shuffle_then_shuffle, three, [], [], tf.add_n),
        "nccl": raised(functions.build_nccl_all_reduce, three, tf.maximum)["class"],
    })
