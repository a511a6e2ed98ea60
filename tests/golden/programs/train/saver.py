"""tf.train.Saver: its graph, its files, its errors; MetaGraphs."""

from __future__ import annotations

import os
import shutil
import tempfile
import uuid

import numpy as np
from tests.golden.registry import Run, describe_error, program, raised


class fixed_uuid:
    """Inside it, `uuid.uuid4` gives what a graph can be compared by."""

    def __enter__(self):
        self._old = uuid.uuid4
        uuid.uuid4 = lambda: uuid.UUID(int=0x1234)

    def __exit__(self, *unused):
        uuid.uuid4 = self._old


class directory:
    """A directory that goes when it is left."""

    def __enter__(self):
        self.path = tempfile.mkdtemp()
        return self.path

    def __exit__(self, *unused):
        shutil.rmtree(self.path, ignore_errors=True)


def content(path):
    with open(path, "rb") as file:
        return np.frombuffer(file.read(), np.uint8)


def text(path):
    with open(path) as file:
        return file.read()


def some_variables(tf):
    a = tf.Variable(np.arange(6, dtype=np.float32).reshape(2, 3), name="a")
    with tf.variable_scope("scope"):
        b = tf.get_variable("b", [4], use_resource=True, initializer=tf.ones_initializer())
        p = tf.get_variable(
            "p",
            [10, 3],
            partitioner=tf.fixed_size_partitioner(3),
            initializer=tf.constant_initializer(2.0),
        )
        q = tf.get_variable(
            "q",
            [4, 2],
            use_resource=True,
            partitioner=tf.fixed_size_partitioner(2),
            initializer=tf.constant_initializer(3.0),
        )
    n = tf.Variable(7, name="n", trainable=False, dtype=tf.int64)
    return a, b, p, q, n


def text_of(saver):
    return str(saver.saver_def).splitlines()


@program
def all_kinds_of_variables(tf):
    some_variables(tf)
    saver = tf.train.Saver()
    again = tf.train.Saver(name="again", max_to_keep=None, keep_checkpoint_every_n_hours=2)
    return Run(facts={"def": text_of(saver), "again": text_of(again)})


@program
def names_of_their_own(tf):
    a, b, p, q, n = some_variables(tf)
    savers = [
        tf.train.Saver({"x/a": a, "b": b, "p": list(p), "count": n}),
        tf.train.Saver([a, b] + list(q)),
        tf.train.Saver({"p": p, "tensor": a._ref()}),
        tf.train.Saver((a,), name="of_a", filename="given", reshape=True),
    ]
    return Run(facts={"defs": [text_of(saver) for saver in savers]})


@program
def one_restore_for_each(tf):
    a, b, p, _, n = some_variables(tf)
    builder = tf.train.Saver([a], name="unused")._builder.__class__.__mro__[1]()
    saver = tf.train.Saver([a, b, n] + list(p), builder=builder, restore_sequentially=True)
    return Run(facts={"def": text_of(saver)})


@program
def shapes_not_known(tf):
    a = tf.Variable(tf.placeholder_with_default([1.0], [None]), validate_shape=False, name="a")
    b = tf.Variable([1.0, 2.0], name="b", use_resource=True)
    savers = [tf.train.Saver([a, b]), tf.train.Saver([a, b], reshape=True)]
    return Run(facts={"defs": [text_of(saver) for saver in savers]})


@program
def sharded(tf):
    with tf.device("/job:ps/task:0/cpu:0"):
        a = tf.Variable([1.0], name="a")
    with tf.device("/job:ps/task:1"):
        b = tf.get_variable("b", [2], use_resource=True)
        c = tf.Variable([1.0], name="c")
    d = tf.Variable(2, name="d")
    with fixed_uuid():
        savers = [
            tf.train.Saver(sharded=True),
            tf.train.Saver([a, c, d], sharded=True),
            tf.train.Saver(sharded=True, write_version=tf.train.SaverDef.V1),
        ]
    return Run(facts={"defs": [text_of(saver) for saver in savers], "b": b.name})


@program
def version_1(tf):
    some_variables(tf)
    saver = tf.train.Saver(write_version=tf.train.SaverDef.V1, max_to_keep=0)
    return Run(facts={"def": text_of(saver), "version": saver.saver_def.version})


@program
def deferred_and_empty(tf):
    saver = tf.train.Saver(defer_build=True)
    empty = tf.train.Saver(allow_empty=True)
    before = saver.saver_def is None
    tf.Variable(1.0, name="v")
    saver.build()
    saver.build()
    facts = {
        "before": before,
        "def": text_of(saver),
        "empty": empty.saver_def is None,
        "both": raised(tf.train.Saver, [1], defer_build=True),
        "unbuilt": raised(tf.train.Saver(defer_build=True).save, None, "x"),
    }
    return Run(facts=facts)


@program
def refusals(tf):
    v = tf.Variable(1.0, name="v")
    w = tf.Variable(1.0, name="w")
    with tf.variable_scope("p"):
        part = list(tf.get_variable("x", [4], partitioner=tf.fixed_size_partitioner(2)))
        other = list(tf.get_variable("y", [4], partitioner=tf.fixed_size_partitioner(2)))
    facts = {
        "no_list": raised(tf.train.Saver, v),
        "no_variable": raised(tf.train.Saver, [tf.constant(1.0, name="c")]),
        "no_variable_in_dict": raised(tf.train.Saver, {"c": tf.constant(1.0, name="c")}),
        "twice": raised(tf.train.Saver, [v, v]),
        "two_names": raised(tf.train.Saver, {"a": v, "b": v, "w": w}),
        "no_string": raised(tf.train.Saver, {1: v}),
        "no_parts": raised(tf.train.Saver, {"a": [v, w]}),
        "no_variables": raised(tf.train.Saver, {"a": [1, 2]}),
        "of_two": raised(tf.train.Saver, {"a": [part[0], other[0]]}),
        "no_def": raised(tf.train.Saver, saver_def=tf.train.SaverDef()),
    }
    with tf.Graph().as_default():
        facts["nothing"] = raised(tf.train.Saver)
    return Run(facts=facts)


@program
def as_messages(tf):
    with tf.name_scope("outer"):
        tf.Variable([1.0], name="v")
        saver = tf.train.Saver()
    again = tf.train.Saver(saver_def=saver.as_saver_def())
    inner = tf.train.Saver.from_proto(
        tf.train.SaverDef.FromString(saver.to_proto("outer").SerializeToString()),
        import_scope="elsewhere",
    )
    facts = {
        "all": text_of(saver),
        "inside": str(saver.to_proto("outer")).splitlines(),
        "outside": saver.to_proto("other") is None,
        "again": text_of(again),
        "scoped": text_of(inner),
    }
    return Run(facts=facts)


@program
def files_of_version_2(tf):
    a, b, p, q, n = some_variables(tf)
    saver = tf.train.Saver()

    def call(session):
        with directory() as path:
            prefix = os.path.join(path, "model")
            paths = [
                saver.save(session, prefix, global_step=step, write_meta_graph=False)
                for step in range(7)
            ]
            found = {
                "names": sorted(os.listdir(path)),
                "paths": [os.path.relpath(each, path) for each in paths],
                "state": text(os.path.join(path, "checkpoint")).replace(path, "DIR"),
                "index": content(paths[-1] + ".index"),
                "data": content(paths[-1] + ".data-00000-of-00001"),
                "latest": os.path.basename(tf.train.latest_checkpoint(path)),
                "kept": [os.path.basename(each) for each in saver.last_checkpoints],
            }
            session.run([n.assign(100), a.assign(tf.zeros([2, 3]))])
            saver.restore(session, paths[-1])
            found["restored"] = session.run([a, b, n] + list(p) + list(q))
            found["list"] = [str(item) for item in tf.train.list_variables(path)]
            found["one"] = tf.train.load_variable(path, "scope/p")
            return found

    return Run(setup=[tf.global_variables_initializer()], call=call)


@program
def files_of_version_1(tf):
    a, _, _, _, n = some_variables(tf)
    saver = tf.train.Saver(write_version=tf.train.SaverDef.V1)

    def call(session):
        with directory() as path:
            saved = saver.save(session, os.path.join(path, "model"), 3, write_meta_graph=False)
            session.run([n.assign(100), a.assign(tf.zeros([2, 3]))])
            saver.restore(session, saved)
            return {
                "names": sorted(os.listdir(path)),
                "bytes": content(saved),
                "restored": session.run([a, n]),
            }

    return Run(setup=[tf.global_variables_initializer()], call=call)


@program
def sharded_files(tf):
    some_variables(tf)
    with tf.device("/cpu:0"):
        tf.Variable([5.0], name="elsewhere")
    with fixed_uuid():
        savers = {
            "v2": tf.train.Saver(sharded=True),
            "v1": tf.train.Saver(sharded=True, write_version=tf.train.SaverDef.V1),
        }

    def call(session):
        found = {}
        for key, saver in sorted(savers.items()):
            with directory() as path:
                saved = saver.save(session, os.path.join(path, "m"), write_meta_graph=False)
                found[key] = sorted(os.listdir(path))
                found[key + "_path"] = os.path.basename(saved)
                saver.restore(session, saved)
                found[key + "_bytes"] = [
                    content(os.path.join(path, name)) for name in found[key] if name != "checkpoint"
                ]
        return found

    return Run(setup=[tf.global_variables_initializer()], call=call)


@program
def saving_with_options(tf):
    tf.Variable([1.0], name="v")
    padded = tf.train.Saver(pad_step_number=True, save_relative_paths=True, max_to_keep=2)
    step = tf.train.get_or_create_global_step()

    def call(session):
        with directory() as path:
            prefix = os.path.join(path, "m")
            saved = [
                padded.save(session, prefix, global_step=number, write_meta_graph=False)
                for number in (3, 12, step)
            ]
            state = text(os.path.join(path, "checkpoint"))
            other = padded.save(
                session, prefix, latest_filename="other", write_meta_graph=False, write_state=False
            )
            fresh = tf.train.Saver()
            fresh.recover_last_checkpoints([*saved, os.path.join(path, "missing")])
            proto = tf.train.generate_checkpoint_state_proto("d", "d/x", ["d/w", "d/x"], [1.0, 2.0])
            return {
                "names": sorted(os.listdir(path)),
                "saved": [os.path.basename(each) for each in saved + [other]],
                "state": state.replace(path, "DIR"),
                "proto": str(proto),
                "recovered": [os.path.basename(each) for each in fresh.last_checkpoints],
                "exists": [tf.train.checkpoint_exists(each) for each in (*saved, prefix, "no")],
                "collides": raised(padded.save, session, "checkpoint"),
                "component": raised(padded.save, session, prefix, latest_filename="a/b"),
                "no_session": raised(padded.save, None, prefix),
            }

    return Run(setup=[tf.global_variables_initializer()], call=call)


@program
def failing_restores(tf):
    v = tf.Variable([1.0, 2.0], name="v")
    w = tf.Variable([1.0, 2.0], name="w")
    other_type = tf.Variable([1, 2], name="other_type")
    other_shape = tf.Variable([1.0, 2.0, 3.0], name="other_shape")
    saver = tf.train.Saver([v])
    wrong = {
        "missing": tf.train.Saver({"not_there": w}),
        "type": tf.train.Saver({"v": other_type}),
        "shape": tf.train.Saver({"v": other_shape}),
    }

    def call(session):
        with directory() as path:
            saved = saver.save(session, os.path.join(path, "m"))
            found = {}
            for key, one in sorted(wrong.items()):
                try:
                    one.restore(session, saved)
                except Exception as error:
                    found[key] = describe_error(error)
                    found[key + "_cause"] = error.message.splitlines()[2]
            found["none"] = raised(saver.restore, session, None)
            found["nowhere"] = raised(saver.restore, session, "nowhere/to/be/found")
            found["parent"] = raised(saver.save, session, "no/such/directory/at/all/m")
            return found

    return Run(setup=[tf.global_variables_initializer()], call=call)


@program
def meta_graphs(tf):
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    with tf.name_scope("net"), tf.variable_scope("net"):
        w = tf.get_variable("w", initializer=[[1.0], [2.0]])
        r = tf.get_variable("r", initializer=[0.5], use_resource=True)
        y = tf.cond(tf.reduce_sum(x) > 0, lambda: tf.matmul(x, w) + r, lambda: tf.zeros([1, 1]))
    tf.add_to_collection("outputs", y)
    tf.add_to_collection("numbers", 3)
    tf.add_to_collection("texts", "text")
    tf.add_to_collection("floats", 0.5)
    saver = tf.train.Saver()
    tf.add_to_collection(tf.GraphKeys.SAVERS, saver)
    meta = tf.train.export_meta_graph(saver_def=saver.saver_def)
    stripped = tf.train.export_meta_graph(
        strip_default_attrs=True, clear_devices=True, clear_extraneous_savers=True
    )
    facts = {
        "collections": {
            key: str(value).splitlines()
            for key, value in sorted(meta.collection_def.items())
            if key != "cond_context"  # maps of messages are written in any order
        },
        "ops": [op.name for op in meta.meta_info_def.stripped_op_list.op],
        "saver": str(meta.saver_def).splitlines(),
        "version": meta.meta_info_def.tensorflow_version,
        "attrs": {node.name: sorted(node.attr) for node in stripped.graph_def.node},
        "stripped": stripped.meta_info_def.stripped_default_attrs,
    }
    with tf.Graph().as_default() as graph:
        again = tf.train.import_meta_graph(meta, import_scope="in")
        facts["imported"] = [node.name for node in graph.as_graph_def().node]
        facts["variables"] = [v.name for v in tf.global_variables()]
        facts["imported_saver"] = text_of(again)
        facts["contexts"] = [each.name for each in tf.get_collection("cond_context")]
        facts["imported_outputs"] = [t.name for t in tf.get_collection("outputs")]
        facts["imported_others"] = [tf.get_collection(key) for key in ("numbers", "floats")]
    return Run({"y": y}, {x: [[1.0, 2.0]]}, setup=[tf.global_variables_initializer()], facts=facts)


@program
def meta_graph_of_a_scope(tf):
    x = tf.constant([1.0], name="x")
    with tf.variable_scope("part"):
        v = tf.get_variable("v", initializer=[2.0])
        y = tf.add(v, x, name="y")
    meta = tf.train.export_meta_graph(export_scope="part")
    facts = {
        "nodes": [[node.name, list(node.input)] for node in meta.graph_def.node],
        "unbound": [str(value) for value in meta.collection_def["unbound_inputs"].bytes_list.value],
        "collections": sorted(meta.collection_def),
        "without": raised(tf.train.import_meta_graph, meta, import_scope="copy"),
    }
    saver = tf.train.import_meta_graph(
        meta, import_scope="copy", input_map={"$unbound_inputs_x": x}
    )
    facts["saver"] = text_of(saver)
    facts["variables"] = [each.name for each in tf.global_variables()]
    copied = tf.get_default_graph().get_tensor_by_name("copy/y:0")
    return Run({"y": y, "copied": copied}, setup=[tf.global_variables_initializer()], facts=facts)


@program
def the_ops_themselves(tf):
    raw = tf.raw_ops
    strings = tf.constant(["v", "w"])
    nothing = tf.constant(["", "4 3 0,2:1,2"])
    restored = raw.RestoreV2(
        prefix="p", tensor_names=strings, shape_and_slices=nothing, dtypes=[tf.float32, tf.int32]
    )
    unknown = raw.RestoreV2(
        prefix=tf.placeholder(tf.string),
        dtypes=[tf.half],
        tensor_names=tf.placeholder(tf.string),
        shape_and_slices=tf.placeholder(tf.string),
    )
    piece = raw.RestoreSlice(
        file_pattern="p", tensor_name="v", shape_and_slice="4 3 1,2:-", dt=tf.float32
    )
    whole = raw.Restore(file_pattern="p", tensor_name="v", dt=tf.float32)
    name = raw.ShardedFilename(basename="base", shard=3, num_shards=12)
    spec = raw.ShardedFilespec(basename="base", num_shards=12)
    facts = {
        "shapes": [str(t.shape) for t in [*restored, *unknown, piece, whole, name, spec]],
        "bad": [
            raised(
                raw.SaveV2, prefix=["p"], tensor_names=["v"], shape_and_slices=[""], tensors=[1.0]
            ),
            raised(
                raw.SaveV2,
                prefix="p",
                tensor_names=["v", "w"],
                shape_and_slices=["", ""],
                tensors=[1.0],
            ),
            raised(
                raw.RestoreV2,
                prefix="p",
                tensor_names=["v"],
                shape_and_slices=["", ""],
                dtypes=[tf.half],
            ),
            raised(
                raw.RestoreV2,
                prefix="p",
                tensor_names=["v"],
                shape_and_slices=["2"],
                dtypes=[tf.half],
            ),
            raised(
                raw.RestoreV2,
                prefix="p",
                tensor_names=["v"],
                shape_and_slices=["2 x 0,1:-"],
                dtypes=[tf.half],
            ),
            raised(raw.MergeV2Checkpoints, checkpoint_prefixes="a", destination_prefix="b"),
            raised(raw.ShardedFilename, basename=["a"], shard=0, num_shards=1),
        ],
    }
    return Run({"name": name, "spec": spec}, facts=facts)
