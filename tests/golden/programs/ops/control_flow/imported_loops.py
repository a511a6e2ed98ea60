"""Graphs from files with loops and branches: run, differentiated, wired by hand."""

from __future__ import annotations

from tests.golden.programs.ops.nn.convolution import wave
from tests.golden.registry import Run, program


def definition(tf, build):
    """Return a graph built by `build`, as a GraphDef."""
    with tf.Graph().as_default() as graph:
        build()
        return graph.as_graph_def()


@program
def a_detector(tf):
    def build():
        """Boxes of several images, one after the other, as detection models are frozen."""
        boxes = tf.placeholder(tf.float32, [None, 4, 4], name="boxes")
        scores = tf.placeholder(tf.float32, [None, 4], name="scores")

        def of_one_image(given):
            box, score = given
            kept = tf.image.non_max_suppression(box, score, 2, iou_threshold=0.5)
            count = tf.size(kept)
            pad = [[0, 2 - count]]
            best = tf.pad(tf.gather(score, kept), pad)
            scaled = tf.cond(tf.greater(best[0], 0.5), lambda: best * 2.0, lambda: best)
            return tf.pad(tf.gather(box, kept), [pad[0], [0, 0]]), scaled, tf.to_float(count)

        found = tf.map_fn(of_one_image, (boxes, scores), dtype=(tf.float32,) * 3)
        for tensor, name in zip(found, ("found_boxes", "found_scores", "count")):
            tf.identity(tensor, name=name)

    names = ["found_boxes:0", "found_scores:0", "count:0"]
    fetched = tf.import_graph_def(definition(tf, build), name="model", return_elements=names)
    boxes = [[[0, 0, 1, 1], [0, 0, 1, 0.9], [2, 2, 3, 3], [5, 5, 6, 6]]] * 2
    scores = [[0.9, 0.8, 0.7, 0.1], [0.1, 0.2, 0.3, 0.4]]
    return Run(dict(zip(("boxes", "scores", "count"), fetched)),
               {"model/boxes:0": boxes, "model/scores:0": scores})


@program
def a_loop_of_a_meta_graph(tf):
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [2], name="x")
        w = tf.Variable([1.5, -2.0], name="w")

        def body(i, y):
            inner = tf.while_loop(lambda j, z: j < i, lambda j, z: (j + 1, z * w), [0, y])[1]
            return i + 1, tf.cond(i > 1, lambda: inner + y, lambda: inner * x)

        y = tf.while_loop(lambda i, y: i < 4, body, [0, x])[1]
        tf.add_to_collection("y", tf.identity(y, name="y"))
        meta = tf.train.export_meta_graph()
    tf.train.import_meta_graph(meta)
    graph = tf.get_default_graph()
    x, w = graph.get_tensor_by_name("x:0"), tf.trainable_variables()[0]
    y = tf.get_collection("y")[0]
    facts = {"contexts": [context.name for context in tf.get_collection("while_context")]}
    return Run({"y": y, "gradients": tf.gradients(y, [x, w])}, {x: [1.0, 2.0]},
               setup=[w.initializer], facts=facts)


@program
def switches_by_hand(tf):
    """Branches that no cond made: nested switches, values that never come, merges of three."""
    def switch(data, pred):
        return tf.raw_ops.Switch(data=data, pred=pred)

    def merge(values):
        return tf.raw_ops.Merge(inputs=values)

    x = tf.placeholder(tf.float32, [], name="x")
    p, q = tf.placeholder(tf.bool, [], name="p"), tf.placeholder(tf.bool, [], name="q")
    off, on = switch(x, p)
    both_off, both_on = switch(on * 10.0, q)
    result, index = merge([off - 1.0, both_off + 1.0, both_on + 2.0])
    dead = tf.add(off, both_on, name="dead")
    rescued, _ = merge([dead, x])
    with tf.control_dependencies([tf.identity(on)]):
        behind = tf.constant(5.0)
    taken, _ = merge([behind, off * 0.0])
    fetches = {"result": result, "index": index, "rescued": rescued, "taken": taken}
    feeds = [{x: 3.0, p: a, q: b} for a in (False, True) for b in (False, True)]
    return [Run(fetches, feeds, steps=4), Run({"dead": dead}, feeds[1], fails=True)]


@program
def frames_by_hand(tf):
    """Return a loop of bare operations, as in a file: no contexts, an entering constant."""
    ops = tf.raw_ops
    limit = tf.placeholder(tf.int32, [], name="limit")

    def enter(value, constant=False):
        return ops.Enter(data=value, frame_name="f", is_constant=constant)

    bound, step = enter(limit, True), enter(tf.constant([1.0, 2.0]), True)
    starts = [enter(tf.constant(0)), enter(tf.constant([1.0, 1.0]))]
    (i, _), (y, _) = [ops.Merge(inputs=[start, start]) for start in starts]
    going = ops.LoopCond(input=tf.less(i, bound))
    (end, stay), (last, again) = [ops.Switch(data=v, pred=going) for v in (i, y)]
    with tf.control_dependencies([stay]):
        one, more = tf.constant(1), tf.constant(wave(2))
    i.op._update_input(1, ops.NextIteration(data=stay + one))
    y.op._update_input(1, ops.NextIteration(data=again * step + more))
    return Run({"i": ops.Exit(data=end), "y": ops.Exit(data=last)}, [{limit: 3}, {limit: 0}],
               steps=2)


@program
def branches_of_an_older_producer(tf):
    """Switches and merges of graphs from before conds had contexts, types or output shapes."""
    def build():
        x = tf.placeholder(tf.float32, [2], name="x")
        tf.identity(tf.cond(tf.reduce_sum(x) > 0, lambda: x + 1.0, lambda: -x), name="y")

    graph_def = definition(tf, build)
    graph_def.versions.producer, graph_def.versions.min_consumer = 8, 0
    for node in graph_def.node:
        for key in [key for key in node.attr if key.startswith("_")]:
            del node.attr[key]
        if node.op == "AddV2":
            node.op = "Add"
    y, x = tf.import_graph_def(graph_def, name="old", return_elements=["y:0", "x:0"])
    return Run({"y": y}, [{x: [1.0, 2.0]}, {x: [-1.0, -2.0]}], steps=2)


@program
def what_enters_a_loop_that_it_has_left(tf):
    """Add a loop's doubled result inside of the same loop, as some gradients do."""
    raw = tf.raw_ops

    def turning(start, until, step):
        entered = raw.Enter(data=start, frame_name="turns")
        merged = raw.Merge(inputs=[entered, entered])[0]
        cond = raw.LoopCond(input=raw.Less(x=merged, y=until)) if until is not None else conds[0]
        conds.append(cond)
        left, inside = raw.Switch(data=merged, pred=cond)
        following = raw.NextIteration(data=raw.Add(x=inside, y=step))
        merged.op._update_input(1, following)
        return raw.Exit(data=left)

    def constant(value):
        return raw.Enter(data=value, frame_name="turns", is_constant=True)

    conds = []
    turns = turning(tf.constant(0), constant(4), constant(1))
    total = turning(tf.constant(0), None, constant(turns * 2))
    return [Run({"turns": turns, "total": total}), Run({"turns": turns})]
