"""Names of new nodes after an import: imported nodes use up names, but not scopes.

Every way in is followed by every way of making new names; what is compared are the
names, types and inputs of all nodes.
"""

from __future__ import annotations

import tempfile

from tests.golden.registry import Run, program


def exported(tf):
    """Return a graph with scopes, numbered names, capitals, and the nodes of a Saver."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 3], name="x")
        tf.placeholder(tf.float32, [], name="x_1")
        tf.identity(x, name="Shout")
        y = tf.layers.dense(x, 2)
        with tf.name_scope("scope"):
            with tf.name_scope("inner"):
                z = tf.square(y, name="z")
            loss = tf.reduce_sum(z, name="loss")
        tf.train.GradientDescentOptimizer(0.1).minimize(loss)
        with tf.variable_scope("net"):
            tf.get_variable("w", [2])
        saver = tf.train.Saver()
        tf.add_to_collection("losses", loss)
        return tf.train.export_meta_graph(saver_def=saver.as_saver_def(), graph=graph)


def by_graph_def(name):
    return lambda tf, meta: tf.import_graph_def(meta.graph_def, name=name)


def in_scope(name):
    def enter(tf, meta):
        with tf.name_scope("outer"):
            tf.import_graph_def(meta.graph_def, name=name)

    return enter


def twice(tf, meta):
    for _ in range(2):
        tf.import_graph_def(meta.graph_def, name="")


def mapped(tf, meta):
    given = tf.placeholder(tf.float32, [None, 3], name="given")
    tf.import_graph_def(meta.graph_def, {"x:0": given}, name="")


def into_a_scope_that_is_there(tf, meta):
    with tf.name_scope("there"):
        tf.constant(1.0, name="Shout")
    tf.import_graph_def(meta.graph_def, name="there/")


def over_scopes_that_are_open(tf, meta):
    """Use names of scopes in which nothing was made: used for Python, and free for nodes."""
    with tf.name_scope("x"), tf.name_scope("scope"):
        pass
    tf.constant(1.0, name="scope/inner")
    tf.constant(1.0, name="shout")
    tf.import_graph_def(meta.graph_def, name="")


def by_meta_graph(**options):
    return lambda tf, meta: tf.train.import_meta_graph(meta, **options)


def by_meta_graph_in_scope(tf, meta):
    with tf.name_scope("outer"):
        tf.train.import_meta_graph(meta)


def by_saved_model(**options):
    def enter(tf, meta):
        folder = tempfile.mkdtemp() + "/model"
        with tf.Graph().as_default():
            saver = tf.train.import_meta_graph(meta)
            with tf.Session() as session:
                session.run(tf.global_variables_initializer())
                builder = tf.saved_model.builder.SavedModelBuilder(folder)
                builder.add_meta_graph_and_variables(session, ["serve"], saver=saver)
                builder.save()
        with tf.Session() as session:
            tf.saved_model.loader.load(session, ["serve"], folder, **options)

    return enter


def of_a_part(tf, meta):
    part = tf.graph_util.extract_sub_graph(meta.graph_def, ["scope/loss"])
    tf.import_graph_def(part, name="")


WAYS_IN = {
    "graph_def": by_graph_def(None), "graph_def_as_it_is": by_graph_def(""),
    "graph_def_as_x": by_graph_def("x"), "graph_def_in_scope": in_scope(None),
    "graph_def_in_scope_as_scope": in_scope("scope"), "graph_def_outside_scope": in_scope(""),
    "graph_def_into_fixed_scope": by_graph_def("fixed/"),
    "graph_def_into_a_scope_that_is_there": into_a_scope_that_is_there,
    "graph_def_over_open_scopes": over_scopes_that_are_open, "graph_def_twice": twice,
    "graph_def_mapped": mapped, "part": of_a_part, "meta_graph": by_meta_graph(),
    "meta_graph_as_scope": by_meta_graph(import_scope="scope"),
    "meta_graph_in_scope": by_meta_graph_in_scope, "saved_model": by_saved_model(),
    "saved_model_as_scope": by_saved_model(import_scope="scope"),
}  # fmt: skip


def operations(tf):
    for name in ("x", "X", "x_1", "scope", "Scope", "scope/inner", "net", "shout", "dense/kernel"):
        tf.constant(1.0, name=name)


def scopes(tf):
    for name in ("scope", "scope/inner", "x", "Shout", "save", "net", "import", "outer"):
        with tf.name_scope(name):
            tf.constant(1.0, name="z")
            tf.constant(1.0, name="loss")
            with tf.name_scope("inner"):
                tf.constant(1.0, name="z")
    with tf.name_scope("scope/"):
        tf.constant(1.0, name="loss")


def variables(tf):
    for scope in ("net", "dense", "scope"):
        with tf.variable_scope(scope):
            tf.get_variable("v", [2])
            tf.constant(1.0, name="c")
    with tf.variable_scope(None, "net"):
        tf.get_variable("w", [2])
    tf.Variable([1.0], name="w")
    tf.Variable([1.0], name="beta1_power")


def savers(tf):
    variable = tf.Variable([1.0], name="saved")
    tf.train.Saver([variable])
    tf.train.Saver([variable], name="save")
    tf.train.Saver([variable], sharded=True)


def layers(tf):
    x = tf.zeros([1, 3])
    tf.layers.dense(x, 2, name="fresh")
    tf.layers.dense(x, 2, name="fresh_too")
    tf.keras.layers.Dense(2)(x)
    tf.nn.dropout(x, rate=0.5)
    tf.contrib.layers.fully_connected(x, 2)


def training(tf):
    w = tf.Variable([1.0], name="trained")
    loss = tf.reduce_sum(tf.square(w))
    tf.train.AdamOptimizer().minimize(loss, var_list=[w])
    tf.train.GradientDescentOptimizer(0.1).minimize(loss, var_list=[w])
    tf.gradients(loss, w, name="gradients")
    tf.global_variables_initializer()


def control_flow(tf):
    for _ in range(2):
        tf.cond(tf.constant(True), lambda: tf.constant(1.0), lambda: tf.constant(2.0))
        tf.while_loop(lambda i: i < 2, lambda i: i + 1, [0], name="scope")
    tf.map_fn(lambda x: x * 2, tf.zeros([2]), name="net")


def names_alone(tf):
    graph = tf.get_default_graph()
    for name in ("x", "X", "scope", "scope/inner", "save", "save/filename", "dense", "net/w"):
        tf.constant(graph.unique_name(name, mark_as_used=False), name="told")
        tf.constant(graph.unique_name(name), name="told")


def imports(tf):
    with tf.Graph().as_default() as other:
        for name in ("x", "scope/inner", "scope/inner/z/part", "dense/kernel", "dense/kernel_1"):
            tf.constant(1.0, name=name)
    tf.import_graph_def(other.as_graph_def(), name="")
    tf.import_graph_def(other.as_graph_def(), name="scope")
    tf.import_graph_def(other.as_graph_def())


WAYS_OUT = (operations, scopes, variables, savers, layers, training, control_flow, names_alone,
            imports)  # fmt: skip


def named(tf, enter, meta, makers):
    """Return the nodes of a graph, with their inputs, in the order in which they were made."""
    with tf.Graph().as_default() as graph:
        tf.set_random_seed(1)
        enter(tf, meta)
        for make in makers:
            make(tf)
        return "\n".join(
            " ".join([op.name, op.type, *(tensor.name for tensor in op.inputs)])
            for op in graph.get_operations()
        )


def combined(name, enter):
    def build(tf):
        meta = exported(tf)
        chosen = {make.__name__: [make] for make in WAYS_OUT}
        facts = {out: named(tf, enter, meta, makers) for out, makers in chosen.items()}
        return Run({}, facts={**facts, "all": named(tf, enter, meta, WAYS_OUT)})

    build.__name__ = name
    return build


for _name, _enter in WAYS_IN.items():
    program(combined(_name, _enter))
