"""Datasets as GraphDefs, and the errors where the last prefetching is to have slack."""

from __future__ import annotations

from tests.golden.registry import Run, program, raised


def pipelines(tf):
    dataset = tf.data.Dataset
    three = tf.constant(3, tf.int64)
    experimental = tf.data.experimental
    return {
        "range": dataset.range(10),
        "captured": dataset.range(10).map(lambda x: x * three).filter(lambda x: x > three),
        "flat": dataset.range(3).flat_map(dataset.range).prefetch(2),
        "slices": dataset.from_tensor_slices(([1, 2], ["a", "b"])).batch(2).repeat().shuffle(3, 4),
        "tensors": dataset.from_tensors([[0.5, 1.0]]).take(2).skip(1).cache(),
        "zip": dataset.zip((dataset.range(3), dataset.range(4).concatenate(dataset.range(2)))),
        "interleave": dataset.range(3).interleave(dataset.range, 2, num_parallel_calls=2),
        "windows": dataset.range(3).map(lambda x: x + 1, 2).padded_batch(2, []).window(2),
        "files": tf.data.TFRecordDataset(["a", "b"]),
        "groups": dataset.range(3).apply(
            experimental.group_by_window(lambda x: x % 2, lambda _, d: d.batch(2), 2)
        ),
        "options": dataset.range(3)._apply_options(),
        "random": dataset.range(3).map(lambda _: tf.random_uniform([])),
    }


def described(tf, serialized):
    graph = tf.GraphDef.FromString(serialized)
    nodes = [[node.name, node.op, list(node.input), sorted(node.attr)] for node in graph.node]
    types = [str(node.attr[key].list) for node in graph.node for key in sorted(node.attr)
             if key.endswith("output_types")]  # fmt: skip
    arguments = [len(function.signature.input_arg) for function in graph.library.function]
    values = [
        node.attr["value"].tensor.SerializeToString() for node in graph.node if node.op == "Const"
    ]
    versions = [graph.versions.producer, graph.versions.min_consumer]
    return {
        "nodes": nodes, "types": types, "functions": sorted(arguments), "values": values,
        "versions": versions,
    }  # fmt: skip


@program
def graphs(tf):
    graphs = {name: made._as_serialized_graph() for name, made in pipelines(tf).items()}

    def call(session):
        return {
            name: raised(session.run, graph)
            if name == "random"
            else described(tf, session.run(graph))
            for name, graph in graphs.items()
        }

    return Run(call=call)


@program
def slack(tf):
    dataset = tf.data.Dataset
    options = tf.data.Options()
    options.experimental_slack = True
    ahead = dataset.range(5).prefetch(1)
    made = {
        "prefetch": ahead,
        "map": ahead.map(lambda x: x + 1).repeat(2).take(3).cache().shard(2, 0),
        "none": dataset.range(5),
        "flat_map": ahead.flat_map(dataset.from_tensors),
        "batch": ahead.batch(2),
        "zip": dataset.zip((ahead, dataset.range(5))),
        "generator": dataset.from_generator(lambda: iter([1, 2]), tf.int32),
        "unlimited": dataset.range(5),
    }
    threads = tf.data.Options()
    threads.experimental_threading.max_intra_op_parallelism = 0
    iterators = {
        name: tf.data.make_initializable_iterator(
            one.with_options(threads if name == "unlimited" else options)
        )
        for name, one in made.items()
    }
    elements = {name: iterator.get_next() for name, iterator in iterators.items()}

    def begin(session, name):
        session.run(iterators[name].initializer)
        return session.run(elements[name])

    def call(session):
        refused = ("none", "flat_map", "batch", "zip", "generator")
        return {
            name: raised(begin, session, name) if name in refused else begin(session, name)
            for name in made
        }

    facts = {
        "optimizations": options._static_optimizations(),
        "configurations": options._static_optimization_configs(),
    }
    return Run(call=call, facts=facts)
