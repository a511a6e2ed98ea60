"""Graph transforms of MetaGraphDefs."""

from __future__ import annotations

import os
import tempfile

from tests.golden.registry import Run, internal_module, program, raised


def _base(tf):
    """Return the MetaGraphDef of a small model with a table, and the path of a checkpoint of it."""
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 2], name="x")
        w = tf.Variable([[1.0], [2.0]], name="w")
        unused = tf.Variable(3.0, name="unused", collections=[tf.GraphKeys.LOCAL_VARIABLES])
        y = tf.identity(tf.matmul(x, w), name="y")
        table = tf.contrib.lookup.HashTable(tf.contrib.lookup.KeyValueTensorInitializer(
            tf.constant(["a", "b"]), tf.constant([1, 2], tf.int64)), -1)
        word = tf.placeholder(tf.string, [], name="word")
        found = tf.identity(table.lookup(word), name="found")
        tf.identity(tf.square(y) * unused, name="aside")
        tf.summary.scalar("loss", tf.reduce_sum(y))
        init = tf.group(tf.tables_initializer(), name="main")
        for key, values in (("saved_model_main_op", [init]), ("nodes", [y.op, tf.square(y).op]),
                            ("numbers", [3, 4])):
            for value in values:
                tf.add_to_collection(key, value)
        saver = tf.train.Saver()
        session.run(tf.global_variables_initializer())
        path = saver.save(session, os.path.join(tempfile.mkdtemp(), "model"),
                          write_meta_graph=False)
        base = tf.train.export_meta_graph(saver_def=saver.as_saver_def())
        signature = tf.saved_model.signature_def_utils.predict_signature_def
        base.signature_def["all"].CopyFrom(signature({"x": x}, {"y": y}))
        base.signature_def["table"].CopyFrom(signature({"word": word}, {"found": found}))
        base.signature_def["aside"].CopyFrom(
            signature({"x": x}, {"aside": tf.get_default_graph().get_tensor_by_name("aside:0")}))
        return base, path


def _transformed(tf, base, outputs, transforms, **settings):
    module = internal_module(
        tf, "contrib.meta_graph_transform.meta_graph_transform",
        "contrib.meta_graph_transform.meta_graph_transform")
    return module.meta_graph_transform(
        base, ["x", "word"], outputs, transforms, ["serve", "small"], **settings)


def _facts(found):
    return {
        "nodes": [f"{node.name} {node.op} {list(node.input)}" for node in found.graph_def.node],
        "tags": list(found.meta_info_def.tags),
        "collections": {
            key: [str(kind), list(getattr(value, kind).value)] if kind != "bytes_list" else
            [kind, len(value.bytes_list.value)]
            for key, value in sorted(found.collection_def.items())
            for kind in [value.WhichOneof("kind")]},
        "signatures": sorted(found.signature_def),
        "saver": [found.saver_def.save_tensor_name, found.saver_def.restore_op_name],
    }


@program
def stripped(tf):
    base, _ = _base(tf)
    return Run(facts={
        "one": _facts(_transformed(tf, base, ["y"], ["strip_unused_nodes"])),
        "both": _facts(_transformed(tf, base, ["y:0", "found:0"], [
            "strip_unused_nodes", "sort_by_execution_order"])),
        "as_it_is": _facts(_transformed(tf, base, ["y"], [])),
    })


@program
def frozen(tf):
    base, path = _base(tf)
    found = _transformed(tf, base, ["y", "found"], [
        "freeze_graph", "strip_unused_nodes", "fold_constants(ignore_errors=true)"],
        checkpoint_path=path)
    graph = tf.Graph()
    with graph.as_default():
        tf.import_graph_def(found.graph_def, name="")

    def call(_):
        with tf.Session(graph=graph) as session:
            session.run("main")
            return {"y": session.run("y:0", {"x:0": [[3, 4]]}),
                    "found": session.run("found:0", {"word:0": "b"})}

    return Run(call=call, facts=_facts(found))


@program
def refused(tf):
    base, _ = _base(tf)
    two = type(base)()
    two.CopyFrom(base)
    two.collection_def["saved_model_main_op"].node_list.value.append("init")
    other = type(base)()
    other.CopyFrom(base)
    other.collection_def["table_initializer"].bytes_list.value.append(b"x")
    return Run(facts={
        "two": raised(_transformed, tf, two, ["y"], []),
        "other": raised(_transformed, tf, other, ["y"], []),
        "transform": raised(_transformed, tf, base, ["y"], ["no_such_transform"]),
    })


@program
def exported(tf):
    learn = tf.contrib.learn
    module = internal_module(tf, "stillflow_contrib.learn.saved_model_export",
                             "contrib.learn.python.learn.estimators.estimator")

    def model(features, labels, mode):
        x = features["x"]
        w = tf.get_variable("w", [2, 1], initializer=tf.constant_initializer(0.5))
        y = tf.squeeze(tf.matmul(x, w), 1, name="y")
        tf.square(y, name="aside")
        loss = None if labels is None else tf.losses.mean_squared_error(labels, y)
        step = tf.train.get_global_step()
        train = None if loss is None else tf.train.GradientDescentOptimizer(0.1).minimize(
            loss, global_step=step)
        return learn.ModelFnOps(mode, {"y": y}, loss, train)

    def serving():
        x = tf.placeholder(tf.float32, [None, 2], name="x")
        return tf.contrib.learn.InputFnOps({"x": x}, None, {"x": x})

    folder = tempfile.mkdtemp()
    estimator = learn.Estimator(model, os.path.join(folder, "model"))
    estimator.fit(input_fn=lambda: ({"x": tf.constant([[1.0, 2.0]])}, tf.constant([3.0])), steps=1)
    spec = module.GraphRewriteSpec
    path = estimator.export_savedmodel(
        os.path.join(folder, "export"), serving,
        graph_rewrite_specs=[spec(["all"], []), spec(["small", "serve"], ["strip_unused_nodes"])])
    messages = internal_module(tf, "protos", "core.protobuf.saved_model_pb2")
    with open(os.path.join(path, b"saved_model.pb"), "rb") as file:
        graphs = messages.SavedModel.FromString(file.read()).meta_graphs
    found = {"_".join(graph.meta_info_def.tags): graph for graph in graphs}
    return Run(facts={
        tag: {"nodes": [node.name for node in graph.graph_def.node],
              "signatures": sorted(graph.signature_def),
              "collections": sorted(graph.collection_def)}
        for tag, graph in found.items()
    })
