"""as_graph_def, import_graph_def, constants of variables, MetaGraphs within a process."""

from __future__ import annotations

from tests.golden.registry import Run, program, raised


def small_graph(tf):
    """Return a GraphDef with a placeholder, a constant and two ops."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 2], name="x")
        w = tf.constant([[1.0], [2.0]], name="w")
        with tf.name_scope("net"):
            y = tf.matmul(x, w, name="y")
            tf.nn.relu(y, name="relu")
    return graph.as_graph_def()


@program
def round_trip(tf):
    definition = small_graph(tf)
    tf.import_graph_def(definition)
    y, = tf.import_graph_def(definition, return_elements=["net/relu:0"], name="again")
    op, = tf.import_graph_def(definition, return_elements=["net/y"], name="again")
    graph = tf.get_default_graph()
    x = graph.get_tensor_by_name("again/x:0")
    facts = {"names": [n.name for n in graph.get_operations()], "op": [op.name, op.type],
             "shape": str(y.shape)}
    return Run({"y": y}, {x: [[1.0, 1.0], [-3.0, 0.0]]}, facts=facts)


@program
def without_a_prefix(tf):
    tf.import_graph_def(small_graph(tf), name="")
    graph = tf.get_default_graph()
    again, = tf.import_graph_def(small_graph(tf), name="", return_elements=["net/y"])
    facts = {"again": again.name}
    relu = graph.get_tensor_by_name("net/relu:0")
    return Run({"relu": relu, "by_name": "net/relu:0"}, {"x:0": [[1.0, 1.0]]}, facts=facts)


@program
def input_map(tf):
    image = tf.constant([[3.0, 4.0]], name="image")
    twice = tf.Variable([[10.0], [20.0]], name="v")
    y, x = tf.import_graph_def(
        small_graph(tf), input_map={"x:0": image, "w": tf.identity(twice)},
        return_elements=["net/relu:0", "x:0"], name="mapped")
    with tf.control_dependencies([twice.assign_add([[1.0], [1.0]])]):
        z, = tf.import_graph_def(small_graph(tf), {"x": image}, ["net/y:0"], name="after")
    gradient = tf.gradients(y, image)
    return [Run({"y": y, "gradient": gradient}, setup=[twice.initializer], facts={"x": x.name}),
            Run({"z": z})]


@program
def imports_that_are_refused(tf):
    definition = small_graph(tf)
    unknown = small_graph(tf)
    unknown.node[0].op = "NoSuchOp"
    missing = small_graph(tf)
    missing.node[2].input[0] = "nowhere"
    attr = small_graph(tf)
    attr.node[2].attr["T"].type = tf.int32.as_datatype_enum
    twice = small_graph(tf)
    twice.node[1].name = "x"
    facts = {
        "unused_map": raised(tf.import_graph_def, definition, {"nope:0": tf.constant(1.0)}),
        "element": raised(tf.import_graph_def, definition, return_elements=["nope:0"]),
        "unknown_op": raised(tf.import_graph_def, unknown),
        "missing_input": raised(tf.import_graph_def, missing),
        "type": raised(tf.import_graph_def, attr),
        "twice": raised(tf.import_graph_def, twice),
        "not_a_graph": raised(tf.import_graph_def, "text"),
        "map_type": raised(tf.import_graph_def, definition, {"x:0": "a"}),
    }
    return Run(facts=facts)


@program
def defaults_are_filled_in(tf):
    definition = tf.GraphDef()
    node = definition.node.add(name="x", op="Placeholder")
    node.attr["dtype"].type = tf.float32.as_datatype_enum
    conv = definition.node.add(name="pool", op="MaxPool", input=["x"])
    conv.attr["ksize"].list.i.extend([1, 2, 2, 1])
    conv.attr["strides"].list.i.extend([1, 2, 2, 1])
    conv.attr["padding"].s = b"SAME"
    definition.versions.producer = 27
    y, = tf.import_graph_def(definition, return_elements=["pool:0"], name="")
    facts = {"format": y.op.get_attr("data_format").decode(), "type": y.dtype.name}
    return Run({"y": y}, {"x:0": [[[[1.0], [2.0]], [[3.0], [4.0]]]]}, facts=facts)


@program
def control_inputs_and_devices_survive(tf):
    with tf.Graph().as_default() as graph:
        with tf.device("/cpu:0"):
            a = tf.constant(1.0, name="a")
        with tf.control_dependencies([a]), tf.colocate_with(a):
            tf.constant(2.0, name="b")
    with tf.device("/job:localhost"):
        b, = tf.import_graph_def(graph.as_graph_def(), return_elements=["b"], name="copy")
    facts = {"controls": [c.name for c in b.control_inputs], "device": b.device,
             "groups": [g.decode() for g in b.colocation_groups()]}
    return Run({"b": b.outputs[0]}, facts=facts)


@program
def graph_def_of_parts(tf):
    definition = small_graph(tf)
    part = tf.graph_util.extract_sub_graph(definition, ["net/y"])
    stripped = tf.graph_util.remove_training_nodes(definition)
    facts = {"part": [n.name for n in part.node], "stripped": [n.name for n in stripped.node],
             "missing": raised(tf.graph_util.extract_sub_graph, definition, ["nope"])}
    y, = tf.import_graph_def(part, return_elements=["net/y:0"], name="part")
    return Run({"y": y}, {"part/x:0": [[1.0, 2.0]]}, facts=facts)


@program
def frozen_variables(tf):
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    w = tf.get_variable("w", initializer=tf.constant([[1.0], [2.0]]))
    tf.add(tf.matmul(x, w), 0.5, name="y")

    def use(session):
        session.run(w.initializer)
        definition = session.graph.as_graph_def()
        frozen = tf.graph_util.convert_variables_to_constants(session, definition, ["y"])
        with tf.Graph().as_default(), tf.Session() as other:
            y, = tf.import_graph_def(frozen, return_elements=["y:0"], name="")
            value = other.run(y, {"x:0": [[1.0, 1.0]]})
        return {"nodes": [f"{n.name} {n.op}" for n in frozen.node], "y": value}

    return Run(call=use)


@program
def graph_defs_since_a_version(tf):
    graph = tf.get_default_graph()
    tf.constant(1.0, name="a")
    version = graph.version
    tf.constant(2.0, name="b")
    later = graph.as_graph_def(from_version=version)
    shaped = graph.as_graph_def(add_shapes=True)
    facts = {"later": [n.name for n in later.node], "version": version,
             "shapes": sorted(shaped.node[0].attr)}
    return Run(facts=facts)


CONST = """node { name: "a" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } }
  attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape {} float_val: 2 } } } }"""
FLOAT = 'attr { key: "T" value { type: DT_FLOAT } }'
MALFORMED = {
    "allowed_type": 'name: "b" op: "Neg" input: "a" attr { key: "T" value { type: DT_STRING } }',
    "allowed_text": """name: "b" op: "AvgPool" input: "a" attr { key: "padding" value { s: "FOO" } }
        attr { key: "ksize" value { list { i: [1, 1, 1, 1] } } }
        attr { key: "strides" value { list { i: [1, 1, 1, 1] } } } """ + FLOAT,
    "no_name": 'op: "NoOp"',
    "bad_name": 'name: "b c" op: "NoOp"',
    "private_name": 'name: "_b" op: "NoOp"',
    "no_op": 'name: "b"',
    "control_first": 'name: "b" op: "Neg" input: "^a" input: "a" ' + FLOAT,
    "negative_output": 'name: "b" op: "Neg" input: "a:-1" ' + FLOAT,
    "too_many": 'name: "b" op: "Neg" input: "a" input: "a" ' + FLOAT,
    "too_few": 'name: "b" op: "Neg" ' + FLOAT,
    "too_few_of_a_list":
        'name: "b" op: "Pack" input: "a" attr { key: "N" value { i: 3 } } ' + FLOAT,
    "not_a_variable": 'name: "b" op: "Assign" input: "a" input: "a" ' + FLOAT,
    "unknown_attr": 'name: "b" op: "Neg" input: "a" attr { key: "extra" value { i: 1 } } ' + FLOAT,
    "unknown_attr_of_many": """name: "b" op: "AddN" input: "a"
        attr { key: "N" value { i: 1 } } attr { key: "extra" value { i: 1 } } """ + FLOAT,
    "unknown_attr_of_state": """name: "b" op: "VariableV2"
        attr { key: "extra" value { i: 1 } }""",
    "unknown_attr_of_shape": """name: "b" op: "Placeholder"
        attr { key: "extra" value { i: 1 } }""",
    "missing_attrs": 'name: "b" op: "VariableV2"',
    "self_loop": 'name: "b" op: "Neg" input: "b" ' + FLOAT,
}


@program
def malformed_nodes(tf):
    from google.protobuf import text_format

    found = {}
    for name, node in sorted(MALFORMED.items()):
        graph_def = tf.GraphDef()
        text_format.Parse(CONST + "node { " + node + " }", graph_def)
        graph_def.versions.producer = 134
        found[name] = raised(tf.import_graph_def, graph_def)
    with tf.Graph().as_default():
        elsewhere = tf.constant(1.0)
    graph_def = text_format.Parse(CONST, tf.GraphDef())
    found["foreign"] = raised(tf.import_graph_def, graph_def, input_map={"a:0": elsewhere})
    return Run(facts=found)


STATED_SHAPES = {
    "right": "shape { dim { size: 2 } }",
    "open": "shape { dim { size: -1 } }",
    "unknown": "shape { unknown_rank: true }",
    "more": "shape { dim { size: 2 } } shape { dim { size: 7 } }",
    "none": "",
    "rank": "shape { }",
    "size": "shape { dim { size: 43 } }",
}


@program
def stated_shapes(tf):
    """Shapes that a GraphDef states must not contradict those that operations have."""
    from google.protobuf import text_format

    x = tf.constant([1.0, 2.0], name="a").op.node_def
    found = {}
    for name, shapes in sorted(STATED_SHAPES.items()):
        node = """name: "b" op: "Neg" input: "a" attr { key: "T" value { type: DT_FLOAT } }
            attr { key: "_output_shapes" value { list { %s } } }""" % shapes
        graph_def = text_format.Parse("node { " + node + " }", tf.GraphDef(node=[x]))
        graph_def.versions.producer = 134

        def shape(graph_def=graph_def):
            return str(tf.import_graph_def(graph_def, return_elements=["b:0"])[0].shape)

        wrong = name in ("none", "rank", "size")
        found[name] = raised(shape) if wrong else shape()
    return Run(facts=found)
