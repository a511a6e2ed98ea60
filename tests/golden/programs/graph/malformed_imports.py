"""Imported constants whose message and shape disagree, and names that are none."""

from tests.golden.registry import Run, describe_error, program


def graph_def(tf, dtype, shape, **values):
    graph = tf.GraphDef()
    graph.versions.producer = 134
    node = graph.node.add(name="c", op="Const")
    node.attr["dtype"].type = dtype.as_datatype_enum
    tensor = node.attr["value"].tensor
    tensor.dtype = dtype.as_datatype_enum
    if shape is None:
        tensor.tensor_shape.unknown_rank = True
    for size in shape or []:
        tensor.tensor_shape.dim.add(size=size)
    for field, value in values.items():
        if isinstance(value, list):
            getattr(tensor, field).extend(value)
        else:
            setattr(tensor, field, value)
    return graph


def malformed(tf):
    numbers = tf.float32
    cases = {
        "more": graph_def(tf, numbers, [2], float_val=[1, 2, 3]),
        "fewer": graph_def(tf, numbers, [3], float_val=[1, 2]),
        "none": graph_def(tf, numbers, [2]),
        "two in a scalar": graph_def(tf, numbers, [], float_val=[1, 2]),
        "one in nothing": graph_def(tf, numbers, [0], float_val=[1]),
        "short content": graph_def(tf, numbers, [2], tensor_content=b"1234"),
        "long content": graph_def(tf, numbers, [2], tensor_content=b"1" * 12),
        "odd content": graph_def(tf, numbers, [2], tensor_content=b"1" * 7),
        "content and values": graph_def(
            tf, numbers, [2], tensor_content=b"12345678", float_val=[1, 2]
        ),
        "another field": graph_def(tf, numbers, [2], int_val=[1, 2]),
        "negative size": graph_def(tf, numbers, [-1], float_val=[1]),
        "unknown rank": graph_def(tf, numbers, None, float_val=[1]),
        "huge": graph_def(tf, numbers, [2**40], float_val=[1]),
        "uncountable": graph_def(tf, numbers, [2**40, 2**40], float_val=[1]),
        "content of strings": graph_def(tf, tf.string, [1], tensor_content=b"1234"),
        "more strings": graph_def(tf, tf.string, [1], string_val=[b"a", b"b"]),
        "more bools": graph_def(tf, tf.bool, [1], bool_val=[True, False]),
        "more halves": graph_def(tf, tf.float16, [1], half_val=[1, 2]),
        "more complex": graph_def(tf, tf.complex64, [1], scomplex_val=[1, 2, 3, 4]),
        "half of complex": graph_def(tf, tf.complex64, [1], scomplex_val=[1]),
        "beyond int8": graph_def(tf, tf.int8, [1], int_val=[300]),
    }
    for name, number in (("another type", 3), ("unknown type", 77)):
        cases[name] = graph_def(tf, numbers, [1], float_val=[1])
        attrs = cases[name].node[0].attr
        if number == 3:
            attrs["dtype"].type = number
        else:
            attrs["value"].tensor.dtype = number
    return cases


def outcome(function, *arguments):
    try:
        return function(*arguments)
    except Exception as error:
        return describe_error(error)


@program
def constants_that_disagree(tf):
    def imported(graph):
        with tf.Graph().as_default():
            return str(tf.import_graph_def(graph, return_elements=["c:0"])[0].shape)

    def value(graph):
        with tf.Graph().as_default(), tf.Session() as session:
            return session.run(tf.import_graph_def(graph, return_elements=["c:0"])[0]).tolist()

    def another(graph):
        with tf.Graph().as_default(), tf.Session() as session:
            tf.import_graph_def(graph)
            return int(session.run(tf.constant(5)))

    def kept(graph):
        with tf.Graph().as_default() as imported:
            tf.import_graph_def(graph, name="")
            return imported.as_graph_def().node[0] == graph.node[0]

    def call(session):
        return {
            name: [outcome(function, graph) for function in (imported, value, another, kept)]
            for name, graph in malformed(tf).items()
        }

    return Run(call=call)


def small_graph(tf):
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [2], name="x")
        with tf.control_dependencies([tf.no_op("n")]):
            tf.identity(x * 2, name="y")
    return graph.as_graph_def()


@program
def names_in_input_maps(tf):
    graph = small_graph(tf)
    inputs = {
        "operation": lambda v, n: {"x:0": v.op},
        "operation without output": lambda v, n: {"x": n},
        "control input by operation": lambda v, n: {"^n": n},
        "control input by tensor": lambda v, n: {"^n": v},
    }
    for key in (
        "x:0",
        "x",
        "x:",
        "x:00",
        "x: 0",
        "x:+0",
        "x:0x0",
        "x:0:0",
        "zz:0",
        "^zz",
        "n",
        b"x",
    ):
        inputs[str(key)] = lambda v, n, key=key: {key: v}

    def imported(mapping):
        with tf.Graph().as_default() as into:
            v, n = tf.constant([3.0, 4.0], name="v"), tf.no_op("mine")
            (y,) = tf.import_graph_def(graph, input_map=mapping(v, n), return_elements=["y:0"])
            return [
                [x.name for x in y.op.inputs[0].op.inputs],
                [op.name for op in y.op.control_inputs],
                [op.name for op in into.get_operations()],
            ]

    return Run(facts={name: outcome(imported, mapping) for name, mapping in inputs.items()})


@program
def names_of_returned_elements(tf):
    graph = small_graph(tf)

    def returned(name):
        with tf.Graph().as_default():
            return [found.name for found in tf.import_graph_def(graph, return_elements=[name])]

    names = ["y", "y:0", "y:", "y:00", "y: 0", "y:1", "y:x", ":", ":0", "^y", "^n", "n:0", "zz"]
    return Run(facts={name: outcome(returned, name) for name in names})


@program
def names_of_inputs(tf):
    graph = small_graph(tf)

    def imported(*names):
        copy = tf.GraphDef.FromString(graph.SerializeToString())
        node = next(node for node in copy.node if node.name == "y")
        del node.input[:]
        node.input.extend(names)
        with tf.Graph().as_default() as into:
            tf.import_graph_def(copy, name="")
            y = into.get_operation_by_name("y")
            return [[x.name for x in y.inputs], [op.name for op in y.control_inputs]]

    inputs = [
        ["x"], ["x:"], ["x:0"], ["x:00"], ["x:1"], ["x:-1"], ["x:a"], ["x:0:0"], [":0"], [""],
        ["x "], [" x"], ["x", "^n"], ["^n", "x"], ["x", "x"], ["x", "^"], ["x:+0"], ["zz"],
    ]  # fmt: skip
    return Run(facts={" ".join(names): outcome(imported, *names) for names in inputs})
