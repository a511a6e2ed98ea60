"""Operations that only graphs hold: those of the debugger, trees, constants in files, MapDefun."""

from __future__ import annotations

import os
import tempfile

import numpy as np
from tests.golden.registry import Run, internal_module, program, raised

MIXED = np.float32([[1, -2, np.nan], [np.inf, 0, -np.inf]])


def _attribute(tf, value):
    """Return the attribute that holds a value."""
    made = tf.AttrValue()
    if isinstance(value, (list, tuple)):
        made.list.s.extend(text.encode() for text in value)
    elif isinstance(value, bool):
        made.b = value
    elif isinstance(value, float):
        made.f = value
    elif isinstance(value, int):
        made.i = value
    elif isinstance(value, str):
        made.s = value.encode()
    elif isinstance(value, tf.DType):
        made.type = value.as_datatype_enum
    else:
        made.tensor.CopyFrom(value)
    return made


def _node(tf, kind, *inputs, **attrs):
    """Return the operation of an imported node."""
    graph = tf.GraphDef()
    node = graph.node.add(name="node", op=kind)
    given = {}
    for number, tensor in enumerate(inputs):
        given[f"input_{number}"] = tensor
        node.input.append(f"input_{number}")
    for name, value in attrs.items():
        node.attr[name].CopyFrom(_attribute(tf, value))
    return tf.import_graph_def(graph, given, ["node"], name=kind)[0]


def _seen(tf, kind, value, **attrs):
    tensor = tf.convert_to_tensor(value)
    return _node(tf, kind, tensor, T=tensor.dtype, **attrs).outputs[0]


def _each(tensors):
    """Return a run of tensors one by one, by name: their values or errors."""

    def call(session):
        found = {}
        for name, tensor in tensors.items():
            try:
                found[name] = session.run(tensor)
            except Exception:
                found[name] = raised(session.run, tensor)
        return found

    return Run(call=call)


@program
def copies(tf):
    spec = "DebugIdentity;file:///nowhere;0"
    return [
        _each({
            "numbers": _seen(tf, "Copy", MIXED, tensor_name="a:0", debug_ops_spec=[spec]),
            "strings": _seen(tf, "CopyHost", ["a", "b"]),
            "refused": _seen(tf, "Copy", MIXED, debug_ops_spec=["DebugIdentity;file:///nowhere"]),
        })
    ]  # fmt: skip


@program
def what_debuggers_see(tf):
    named = {"tensor_name": "scope/a:1", "device_name": "/job:localhost/device:CPU:0"}
    numbers = np.float32([1, 5, 9])
    return _each({
        "identity": _seen(tf, "DebugIdentity", MIXED, **named),
        "strings": _seen(tf, "DebugIdentity", ["a"], tensor_name="a"),
        "nans": _seen(tf, "DebugNanCount", MIXED, **named),
        "nans of integers": _seen(tf, "DebugNanCount", np.int32([1, 2]), **named),
        "nans of halves": _seen(tf, "DebugNanCount", np.float16([1, np.nan]), **named),
        "mixed": _seen(tf, "DebugNumericSummary", MIXED, **named),
        "bounded": _seen(
            tf, "DebugNumericSummary", numbers, lower_bound=2.0, upper_bound=8.0, **named
        ),
        "scalar": _seen(tf, "DebugNumericSummary", np.int64(-7), **named),
        "truth": _seen(tf, "DebugNumericSummary", np.array([True, False]), **named),
        "nothing": _seen(tf, "DebugNumericSummary", np.zeros([0, 3], np.float32), **named),
        "no name": _seen(tf, "DebugIdentity", MIXED),
        "many names": _seen(tf, "DebugNanCount", MIXED, tensor_name="a:b:c"),
        "no slot": _seen(tf, "DebugNumericSummary", MIXED, tensor_name="a:b"),
    })  # fmt: skip


@program
def dumps(tf):
    folder = tf.placeholder(tf.string)  # no graph holds the path
    place = tempfile.mkdtemp()

    def call(session):
        session.run(folder, {folder: place})
        device = "/job:localhost/replica:0/task:0/device:CPU:0"
        with tf.Graph().as_default(), tf.Session() as inner:
            options = {"device_name": device, "debug_urls": ["file://" + place]}
            inner.run([
                _seen(tf, "DebugIdentity", MIXED, tensor_name="scope/a:1", **options),
                _seen(tf, "DebugNumericSummary", 2.5, tensor_name="b", **options),
                _seen(
                    tf, "DebugNumericSummary", 2.5, tensor_name="quiet", mute_if_healthy=True,
                    **options,
                ),
            ])  # fmt: skip
        found = {}
        for base, _, names in os.walk(place):
            for name in names:
                event = tf.Event()
                with open(os.path.join(base, name), "rb") as file:
                    event.ParseFromString(file.read())
                (value,) = event.summary.value
                place_there = os.path.relpath(base, place)
                found[os.path.join(place_there, name.rpartition("_")[0])] = [
                    value.tag, value.node_name, value.metadata.plugin_data.content.decode(),
                    tf.make_ndarray(value.tensor),
                ]  # fmt: skip
        return {"found": found}

    return Run(call=call)


@program
def constants_elsewhere(tf):
    path = "tests/golden/files/two.txt"
    raw = tf.raw_ops.ImmutableConst
    numbers = tf.make_tensor_proto(np.int32([1, 2]))
    return _each({
        "host": _node(tf, "HostConst", value=numbers, dtype=tf.int32).outputs[0],
        "another type": _node(tf, "HostConst", value=numbers, dtype=tf.float32).outputs[0],
        "bytes": raw(dtype=tf.uint8, shape=[2, 2], memory_region_name=path),
        "shorts": raw(dtype=tf.int16, shape=[2], memory_region_name=path),
        "nothing": raw(dtype=tf.float32, shape=[0], memory_region_name=path),
        "too short": raw(dtype=tf.float64, shape=[99], memory_region_name=path),
        "missing": raw(dtype=tf.float32, shape=[1], memory_region_name="no/file"),
        "no shape": raw(dtype=tf.float32, shape=[None], memory_region_name=path),
    })  # fmt: skip


# ---- trees


def _tree(tf):
    messages = internal_module(tf, "ops.boosted_trees.ensemble",
                               "core.kernels.boosted_trees.boosted_trees_pb2")  # fmt: skip
    made = getattr(messages, "MESSAGES", None) or {"Tree": messages.Tree}
    tree = made["Tree"]()
    for feature, threshold, left, right, values in (
        (1, 0.5, 1, 2, None), (0, 0, 0, 0, [1, 2]), (0, -1, 3, 4, None), (0, 0, 0, 0, [3, 4]),
        (0, 0, 0, 0, [5, 6]),
    ):  # fmt: skip
        node = tree.nodes.add()
        if values is not None:
            node.leaf.vector.value.extend(values)
            continue
        split = node.dense_split
        split.feature_id, split.threshold = feature, threshold
        split.left_id, split.right_id = left, right
    return tree.SerializeToString()


@program
def trees_that_predict(tf):
    handle = _node(tf, "TensorForestTreeResourceHandleOp", shared_name="tree").outputs[0]

    def of_tree(kind, *inputs, **attrs):
        operation = _node(tf, "TensorForestTree" + kind, handle, *inputs, **attrs)
        return operation.outputs[0] if operation.outputs else operation

    def create(config):
        return _node(tf, "TensorForestCreateTreeVariable", handle, tf.constant(config))

    examples = tf.constant(np.float32([[0, 0.5], [0, 0.6], [-1, 9], [np.nan, 9], [-2, np.nan]]))
    serialized, broken = tf.constant(_tree(tf)), tf.constant(b"\xff\xff")
    steps = [
        of_tree("IsInitializedOp"), of_tree("Size"), create(b"\xff\xff"), create(b""),
        of_tree("IsInitializedOp"), of_tree("Size"),
        of_tree("Predict", examples, logits_dimension=2), of_tree("Serialize"), create(_tree(tf)),
        of_tree("Size"), of_tree("Deserialize", serialized), of_tree("Size"),
        of_tree("Predict", examples, logits_dimension=2),
        of_tree("Predict", examples, logits_dimension=1),
        tf.equal(of_tree("Serialize"), serialized), of_tree("Deserialize", broken),
        of_tree("Size"),
    ]  # fmt: skip
    facts = {"rank": raised(of_tree, "Predict", tf.constant([1.0]), logits_dimension=1)}
    return [Run(facts=facts), _each(dict(enumerate(steps)))]


# ---- functions of rows


def _map_defun(tf):
    return internal_module(tf, "data.map_defun", "python.data.experimental.ops.map_defun").map_defun


def _defined(tf, function, *specs):
    make = internal_module(tf, "functional.polymorphic", "python.eager.function").defun
    return make(function, input_signature=specs)


@program
def functions_of_rows(tf):
    mapped, some = _map_defun(tf), tf.TensorSpec(None, tf.int32)
    ten, rows = tf.constant(10), tf.constant([[1, 2], [3, 4], [5, 6]])
    text = tf.TensorSpec([], tf.string)
    given = tf.placeholder_with_default([1, 2], None)
    made = {
        "doubled": mapped(_defined(tf, lambda x: x * 2, some), [rows], [tf.int32], [[2]]),
        "sums": mapped(
            _defined(tf, lambda x, y: (tf.reduce_sum(x) + ten, y), some, some),
            [rows, tf.constant([7, 8, 9])], [tf.int32, tf.int32], [[], []],
        ),
        "strings": mapped(
            _defined(tf, lambda x: x + "!", text), [tf.constant(["a", "b"])], [tf.string], [[]]
        ),
        "no rows": mapped(
            _defined(tf, lambda x: x * 2, some), [tf.zeros([0, 2], tf.int32)], [tf.int32], [[2]]
        ),
        "rows as they come": mapped(
            _defined(tf, lambda x: tf.fill([3], x), some), [given], [tf.int32], [[None]]
        ),
    }  # fmt: skip
    shapes = {
        name: [tensor.shape.as_list() for tensor in tensors] for name, tensors in made.items()
    }
    return Run(made, facts=shapes)


@program
def rows_refused(tf):
    mapped, some = _map_defun(tf), tf.TensorSpec(None, tf.int32)
    doubled = _defined(tf, lambda x: x * 2, some)
    added = _defined(tf, lambda x, y: x + y, some, some)
    picked = _defined(tf, lambda x: tf.gather([1, 2], x), some)
    two, unknown = tf.constant([1, 2]), tf.placeholder_with_default([1, 2, 3], None)
    scalar = tf.placeholder_with_default(1, None)
    facts = {
        "scalar": raised(mapped, doubled, [tf.constant(1)], [tf.int32], [[]]),
        "lengths": raised(mapped, added, [two, tf.constant([1, 2, 3])], [tf.int32], [[]]),
        "shapes": raised(mapped, doubled, [two], [tf.int32], [[], []]),
        "no list": raised(mapped, doubled, two, [tf.int32], [[]]),
        "no types": raised(mapped, doubled, [two], tf.int32, [[]]),
        "no shapes": raised(mapped, doubled, [two], [tf.int32], ()),
    }
    return [
        Run(facts=facts),
        _each({
            "a scalar": mapped(doubled, [scalar], [tf.int32], [[]])[0],
            "other lengths": mapped(added, [two, unknown], [tf.int32], [[]])[0],
            "an index": mapped(picked, [two], [tf.int32], [[]])[0],
        }),
    ]  # fmt: skip


@program
def constants_that_contradict_themselves(tf):
    graph = tf.GraphDef()
    node = graph.node.add(name="broken", op="Const")
    node.attr["dtype"].CopyFrom(_attribute(tf, tf.int32))
    node.attr["value"].CopyFrom(_attribute(tf, tf.make_tensor_proto([1.0])))
    (broken,) = tf.import_graph_def(graph, return_elements=["broken:0"])
    return _each({"broken": broken, "sum": broken + 1})
