"""Names of internal modules that libraries on top of TensorFlow import."""

from __future__ import annotations

import gc
import unittest

import numpy as np
from tests.golden.registry import InternalNames, Run, eagerly, program, raised


@program
def monitored_metrics(tf):
    monitoring = InternalNames(tf, "python.eager.monitoring")
    facts = {}
    counter = monitoring.Counter("golden/counter", "description", "label")
    cell = counter.get_cell("a")
    cell.increase_by(1)
    counter.get_cell(b"a").increase_by(5)
    facts["counter"] = [cell.value(), counter.get_cell("b").value()]
    facts["twice"] = raised(monitoring.Counter, "golden/counter", "description")
    facts["few labels"] = raised(counter.get_cell)
    facts["many labels"] = raised(counter.get_cell, "a", "b")
    del counter, cell
    gc.collect()
    monitoring.Counter("golden/counter", "description")
    for kind, values in (
        ("Int", (3, -4)),
        ("String", ("left", "right")),
        ("Bool", (True, False)),
    ):
        gauge = getattr(monitoring, kind + "Gauge")("golden/" + kind, "description", "a", "b")
        seen = [gauge.get_cell("x", "y").value()]
        for value in values:
            gauge.get_cell("x", "y").set(value)
            seen.append(gauge.get_cell("x", "y").value())
        facts[kind] = [*seen, gauge.get_cell("y", "x").value()]
    facts["no bool"] = raised(gauge.get_cell("x", "y").set, 1)["class"]
    return Run(facts=facts)


@program
def sampled_metrics(tf):
    monitoring = InternalNames(tf, "python.eager.monitoring")
    facts = {}
    for scale, factor, count in ((1.0, 2.0, 3), (1, 10, 1), (0.5, 1.5, 6)):
        buckets = monitoring.ExponentialBuckets(scale, factor, count)
        name = f"golden/sampler/{scale}/{count}"
        sampler = monitoring.Sampler(name, buckets, "description", "label")
        facts[name] = [_histogram(sampler.get_cell("a").value())]
        for value in (0, 0.5, 1, 2, 3, 4, 8.5, 1e9, -5):
            sampler.get_cell("a").add(value)
        facts[name].append(_histogram(sampler.get_cell("a").value()))
        facts[name].append(_histogram(sampler.get_cell("b").value()))
    return Run(facts=facts)


def _histogram(message):
    names = ("min", "max", "num", "sum", "sum_squares", "bucket_limit", "bucket")
    return [np.array(getattr(message, name), np.float64) for name in names]


@program
def tpu_topologies(tf):
    topology = InternalNames(tf, "python.tpu.topology")
    places = np.array([[[0, 0, 0], [0, 1, 0]], [[1, 0, 0], [1, 1, 0]]])
    made = topology.Topology(mesh_shape=[2, 2, 1], device_coordinates=places)
    read = topology.Topology(serialized=made.serialized())
    facts = {"same class": topology.Topology is tf.contrib.tpu.Topology}
    for name, found in (("made", made), ("read", read)):
        facts[name] = [
            found.mesh_shape,
            found.mesh_rank,
            found.num_tasks,
            found.num_tpus_per_task,
            found.device_coordinates,
            np.frombuffer(found.serialized(), np.uint8),
        ]
        facts[name + " names"] = [
            [
                int(found.task_ordinal_at_coordinates(place)),
                int(found.tpu_device_ordinal_at_coordinates(place)),
                found.cpu_device_name_at_coordinates(place),
                found.cpu_device_name_at_coordinates(place, job="worker"),
                found.tpu_device_name_at_coordinates(place),
                found.tpu_device_name_at_coordinates(place, job="worker"),
            ]
            for place in ([0, 1, 0], (1, 1, 0), np.array([1, 0, 0]))
        ]
    for name, shape, coordinates in (
        ("two sizes", [2, 2], places),
        ("zero", [2, 2, 0], places),
        ("nested", [[2, 2, 1]], places),
        ("matrix", [2, 2, 1], places[0]),
        ("two axes", [2, 2, 1], places[..., :2]),
        ("outside", [1, 2, 1], places),
    ):
        facts[name] = raised(topology.Topology, mesh_shape=shape, device_coordinates=coordinates)
    facts["not there"] = raised(made.task_ordinal_at_coordinates, [5, 5, 5])
    return Run(facts=facts)


@program
def damaged_tpu_topologies(tf):
    topology = InternalNames(tf, "python.tpu.topology")
    message = InternalNames(tf, "core.protobuf.tpu.topology_pb2").TopologyProto
    facts = {}
    for name, fields in (
        ("two sizes", {"mesh_shape": [2, 2]}),
        ("negative size", {"mesh_shape": [2, 2, -1]}),
        ("negative tasks", {"num_tasks": -1}),
        ("negative devices", {"num_tasks": 1, "num_tpu_devices_per_task": -1}),
        ("few places", {"num_tasks": 1, "num_tpu_devices_per_task": 1, "device_coordinates": [1]}),
        (
            "negative place",
            {"num_tasks": 1, "num_tpu_devices_per_task": 1, "device_coordinates": [-1, 0, 0]},
        ),
    ):
        serialized = message(**dict({"mesh_shape": [2, 2, 1]}, **fields)).SerializeToString()
        facts[name] = raised(topology.Topology, serialized)
    empty = topology.Topology(message(mesh_shape=[2, 2, 1]).SerializeToString())
    facts["no devices"] = [empty.device_coordinates.shape, empty.num_tasks]
    return Run(facts=facts)


@program
def attributes_that_are_no_parts(tf):
    base = InternalNames(tf, "python.training.tracking.base")
    tracking = InternalNames(tf, "python.training.tracking.tracking")

    class Thing(tracking.AutoTrackable):
        pass

    def parts(thing):
        return [
            [part.name for part in thing._checkpoint_dependencies],
            [part.name for part in thing._unconditional_checkpoint_dependencies],
            sorted(thing._unconditional_dependency_names),
        ]

    thing, facts = Thing(), {}
    thing.v = tf.Variable(1.0)
    with base.no_automatic_dependency_tracking_scope(thing):
        facts["inside"] = thing._setattr_tracking
        thing.w = tf.Variable(2.0)
        thing.list = [tf.Variable(3.0)]
        with base.no_automatic_dependency_tracking_scope(thing):
            thing.x = Thing()
        thing.y = Thing()
    facts["kind of list"] = type(thing.list).__name__
    facts["scope"] = parts(thing)
    thing.z = Thing()
    facts["after"] = [thing._setattr_tracking, parts(thing)]
    added = Thing()
    thing._unconditional_checkpoint_dependencies.append(base.TrackableReference("added", added))
    thing._unconditional_dependency_names["added"] = added
    facts["added"] = [thing._lookup_dependency("added") is added, parts(thing)]
    del thing.z
    facts["deleted"] = parts(thing)
    model = tf.keras.Sequential([tf.keras.layers.Dense(2, input_shape=(3,))])
    with base.no_automatic_dependency_tracking_scope(model):
        model.extra, model.list = tf.keras.layers.Dense(3), [1]
    facts["model"] = [type(model.list).__name__, len(model.layers), len(model.weights)]
    return Run(facts=facts)


def _nested_templates(tf):
    def dummy():
        return tf.get_variable("dummy", shape=[1], initializer=tf.zeros_initializer())

    facts = {}
    for outer_now in (False, True):
        for inner_now in (False, True):

            def outer(inner_now=inner_now):
                one = tf.make_template("inner", dummy, create_scope_now_=inner_now)
                other = tf.make_template("inner", dummy, create_scope_now_=inner_now)
                return one(), other(), one(), one, other

            template = tf.make_template("outer", outer, create_scope_now_=outer_now)
            first, second = template(), template()
            facts[f"{outer_now} {inner_now}"] = [
                [variable.name for variable in first[:3] + second[:3]],
                [a is b for a, b in zip(first[:3], second[:3])],
                [v.name for v in template.variables + first[3].variables + second[4].variables],
            ]
    return facts


@program
def nested_templates_at_once(tf):
    return eagerly(tf, _nested_templates)


@program
def templates_in_scopes_and_stores_at_once(tf):
    def compute(tf):
        def made(trainable=True):
            return tf.get_variable("v", [], initializer=tf.ones_initializer(), trainable=trainable)

        def in_scopes():
            with tf.variable_scope(None, "s"):
                first = made()
            with tf.variable_scope(None, "s"):
                return first, made()

        def three_levels():
            middle = tf.make_template(
                "middle",
                lambda: tf.make_template("deep", made, create_scope_now_=True)(),
                create_scope_now_=True,
            )
            return middle(), middle()

        facts = {}
        for name, function in (("scopes", in_scopes), ("levels", three_levels)):
            for now in (False, True):
                template = tf.make_template(name, function, create_scope_now_=now)
                first, second = template(), template()
                facts[f"{name} {now}"] = [
                    [variable.name for variable in first + second],
                    [a is b for a, b in zip(first, second)],
                    [variable.name for variable in template.variables],
                ]
        outside = tf.make_template("outside", made, create_scope_now_=True)
        around = tf.make_template("around", lambda: (outside(), made()))
        first, second = around(), around()
        facts["outside"] = [
            [variable.name for variable in first],
            [a is b for a, b in zip(first, second)] + [outside() is first[0]],
            [variable.name for variable in around.variables + outside.variables],
        ]
        store = tf.contrib.eager.EagerVariableStore()
        with store.as_default():
            template = tf.make_template("store", made, trainable=False)
            same = template() is template()
            names = [variable.name for variable in store.variables()]
            facts["store"] = [same, names, len(template.trainable_variables)]
        again = tf.make_template("again", lambda: tf.Variable(1.0))
        again()
        facts["no variable of the template"] = len(again.variables)
        return facts

    return eagerly(tf, compute)


@program
def parts_of_metrics(tf):
    metrics = InternalNames(tf, "python.ops.metrics_impl")
    variable = metrics.metric_variable([], tf.float64, name="kept")
    value = metrics._aggregate_variable(variable, ["values"])
    ratios = [
        metrics._safe_scalar_div(tf.constant(1.0), tf.constant(by), "ratio") for by in (0.0, 4.0)
    ]
    labels, best = (tf.placeholder(tf.int64, [None, 2]) for _ in range(2))
    mean, update = metrics._streaming_sparse_average_precision_at_top_k(
        labels, best, weights=tf.constant([1.0, 0.5])
    )
    facts = {
        "collected": [len(tf.get_collection("values"))],
        "matrix": raised(metrics._safe_scalar_div, tf.zeros([1, 2]), tf.constant(0.0), "ratio"),
        "names": [mean.name, update.name, value.name],
    }
    fetches = {
        "value": value,
        "ratios": ratios,
        "relevant": metrics._num_relevant(labels, 1),
        "precision": metrics._sparse_average_precision_at_top_k(labels, best),
        "tiled": metrics._expand_and_tile(labels, 2, dim=1),
        "in range": metrics._clean_out_of_range_indices(labels, tf.constant(3, tf.int64)),
        "mean": mean,
    }
    setup = [tf.local_variables_initializer()]
    feeds = {labels: [[1, 2], [0, 3]], best: [[1, 0], [2, 1]]}
    return Run(fetches, feeds, setup=setup, train=update, steps=2, facts=facts)


@program
def convolutions_of_single_channels(tf):
    backend = InternalNames(tf, "python.keras.backend")
    x = tf.constant(np.arange(64, dtype=np.float32).reshape(2, 4, 4, 2))
    kernel = tf.constant(np.cos(np.arange(24, dtype=np.float32)).reshape(2, 2, 2, 3))
    first = tf.transpose(x, [0, 3, 1, 2])
    facts = {
        "list": raised(backend.depthwise_conv2d, x, kernel, strides=[1, 1]),
        "format": raised(backend.depthwise_conv2d, x, kernel, data_format="x"),
        "padding": raised(backend.depthwise_conv2d, x, kernel, padding="x"),
    }
    fetches = {
        "plain": backend.depthwise_conv2d(x, kernel),
        "same": backend.depthwise_conv2d(x, kernel, padding="same"),
        "strides": backend.depthwise_conv2d(x, kernel, strides=(2, 2)),
        "dilated": backend.depthwise_conv2d(x, kernel, dilation_rate=(2, 2)),
        "first": backend.depthwise_conv2d(first, kernel, data_format="channels_first"),
    }
    return Run(fetches, facts=facts)


@program
def cases_by_another_choice(tf):
    helper = InternalNames(tf, "python.ops.control_flow_ops")._case_helper
    x = tf.placeholder(tf.int32, [])

    def pairs():
        return [(tf.less(x, 3), lambda: [tf.constant(1)]), (tf.less(x, 6), lambda: [x * 2])]

    def default():
        return [tf.constant(-1)]

    facts = {"bool": raised(helper, tf.cond, [(True, default)], None, False, "bool")}
    fetches = {
        "strict": helper(tf.cond, pairs(), default, False, "strict", strict=True),
        "loose": helper(tf.cond, pairs(), default, False, "loose"),
        "last": helper(tf.cond, pairs(), None, False, "last", allow_python_preds=True),
    }
    return Run(fetches, [{x: 1}, {x: 4}], steps=2, facts=facts)


@program
def cases_of_dictionaries_at_once(tf):
    def compute(tf):
        pairs = {tf.constant(True): lambda: tf.constant(1)}
        return {
            "exclusive": tf.case(pairs, default=lambda: tf.constant(2), exclusive=True),
            "ordered": raised(tf.case, pairs, default=lambda: tf.constant(2)),
        }

    return eagerly(tf, compute)


@program
def shapes_broadcast(tf):
    shapes = InternalNames(tf, "python.framework.common_shapes")
    facts = {}
    for x, y in (
        ([2, 1], [1, 3]), ([2, 3], [3]), ([None, 3], [2, 1]), ([2], [3]), ([None], [1]),
        ([None], [None]), ([], [3]), ([0], [1]), ([0], [None]), ([2], [0]), (None, [1]),
    ):  # fmt: skip
        x, y = tf.TensorShape(x), tf.TensorShape(y)
        fits = shapes.is_broadcast_compatible(x, y)
        name = f"{x} {y}"
        if fits or x.ndims is None:
            facts[name] = [fits, str(shapes.broadcast_shape(x, y))]
        else:
            facts[name] = raised(shapes.broadcast_shape, x, y)
    return Run(facts=facts)


@program
def small_functions_of_keras(tf):
    utils = InternalNames(tf, "python.keras.utils.generic_utils")

    def around(first):
        return lambda x, y=3: (first, x, y)

    code, defaults, captured = utils.func_dump(around("a"))
    return Run(
        facts={
            "names": [utils.to_snake_case(x) for x in ("Conv2DTranspose", "_Own", "LSTM", "ab")],
            "batches": utils.make_batches(10, 3),
            "lists": [utils.to_list(3), utils.to_list([3])],
            "none": [utils.is_all_none([None, [None]]), utils.is_all_none([None, [1]])],
            "keys": raised(utils.check_for_unexpected_keys, "name", {"a": 1}, ["b"]),
            "arguments": raised(utils.validate_kwargs, {"a": 1}, ["b"]),
            "dumped": [defaults, captured],
            "loaded": [
                utils.func_load(code, defaults, captured)(1),
                utils.func_load([code, list(defaults), captured])(1, 2),
                utils.func_load(code, defaults, captured).__name__,
            ],
        }
    )


@program
def modes_of_keras_tests(tf):
    modes = InternalNames(tf, "python.keras.keras_parameterized")
    utils = InternalNames(tf, "python.keras.testing_utils")
    seen = []

    def see(test, *more):
        seen.append([
            test.id().rpartition(".")[2], tf.executing_eagerly(), utils.should_run_eagerly(),
            utils.should_run_tf_function(), *more,
        ])  # fmt: skip

    class Methods(modes.TestCase):
        @modes.run_all_keras_modes
        def test_all(self):
            see(self)

        @modes.run_with_all_model_types
        @modes.run_all_keras_modes(always_skip_v1=True)
        def test_models(self):
            see(self, utils.get_model_type())

    @modes.run_all_keras_modes(always_skip_eager=True)
    class Whole(modes.TestCase):
        def test_not_eager(self):
            see(self)

    result = unittest.TestResult()
    for case in (Methods, Whole):
        unittest.defaultTestLoader.loadTestsFromTestCase(case).run(result)
    return Run(
        facts={
            "seen": seen,
            "failed": [str(item[1]) for item in result.errors + result.failures],
            "outside": [
                raised(getattr(utils, name))
                for name in ("should_run_eagerly", "should_run_tf_function", "get_model_type")
            ],
        }
    )


@program
def tests_of_layers(tf):
    # Keras initializes variables in the order of a set: the graph is not the same each time.
    with tf.Graph().as_default():
        return Run(facts=_layers_tested(tf))


def _layers_tested(tf):
    utils = InternalNames(tf, "python.keras.testing_utils")
    layers = tf.keras.layers
    shapes = []
    for kind, kwargs, shape in (
        (layers.Dense, {"units": 3}, (2, 4)),
        (layers.Conv2D, {"filters": 2, "kernel_size": 2}, (2, 4, 4, 1)),
        (layers.LSTM, {"units": 2}, (2, None, 4)),
        (layers.Flatten, {}, (2, 3, 2)),
    ):
        found = utils.layer_test(
            kind, kwargs=kwargs, input_shape=shape, expected_output_dtype="float32"
        )
        shapes.append(found.shape)
    data = np.arange(6, dtype=np.float32).reshape(2, 3)
    utils.layer_test(layers.Activation, {"activation": "linear"}, None, None, data, data)
    dense = {"units": 3}
    return {
        "shapes": shapes,
        "no shape": raised(utils.layer_test, layers.Dense, dense),
        "type": raised(
            utils.layer_test, layers.Dense, dense, (2, 3), expected_output_dtype="float64"
        )["class"],
        "shape": raised(
            utils.layer_test, layers.Dense, dense, (2, 3), expected_output_shape=(None, 4)
        )["class"],
        "values": raised(utils.layer_test, layers.Flatten, {}, None, None, data, data + 1)["class"],
    }


@program
def transformers_of_syntax_trees(tf):
    transformer = InternalNames(tf, "python.autograph.pyct.transformer")
    parser = InternalNames(tf, "python.autograph.pyct.parser")
    inspect_utils = InternalNames(tf, "python.autograph.pyct.inspect_utils")
    seen = []

    class Renamed(transformer.Base):
        """Transformer that prefixes names, records the context of each, and drops assertions."""

        def visit_Name(self, node):
            around = [getattr(entity, "name", "lambda") for entity in self.enclosing_entities]
            seen.append([node.id, around, self.get_local("depth"), self.local_scope_level])
            node.id = "x_" + node.id
            return node

        def visit_Assert(self, node):
            return None

        def visit_If(self, node):
            self.enter_local_scope(inherit=("depth", "missing"))
            self.set_local("depth", (self.get_local("depth") or 0) + 1)
            self.set_local("kept", node.test.id)
            node = self.generic_visit(node)
            left = self.exit_local_scope(keep=("kept", "missing"))
            seen.append([sorted(left.items()), self.get_local("kept"), self.get_local("none", 3)])
            return node

    info = transformer.EntityInfo("code", None, (), {"a": 1})
    context = transformer.Context(info)
    context.current_origin = "before"
    made = Renamed(context)
    text = "def f():\n  class C:\n    g = lambda: r\n  if a:\n    if b:\n      s\n  assert t\n"
    tree = made.visit(parser.parse_str(text))
    facts = {"seen": seen, "info": list(info._fields), "origin": context.current_origin}
    facts["body"] = [type(node).__name__ for node in tree.body]
    facts["outside"] = [list(made.enclosing_entities), made.local_scope_level]
    order = []

    def after(node):
        order.append(type(node).__name__)
        if type(node).__name__ == "If":
            return node, node.body
        return node, None

    text = "a\nif b:\n  c\nassert d\ne\n"
    block = parser.parse_str(text, single_node=False)
    block = made.visit_block(block, lambda: order.append("before"), after)
    facts["order"] = order
    facts["block"] = [type(node).__name__ for node in block]
    facts["moved"] = [type(node).__name__ for node in block[1].body]
    facts["none"] = made.visit_block(None)
    facts["parsed"] = [
        [type(node).__name__ for node in parser.parse_str(text, 2, False)],
        type(parser.parse_str("a\nb", preamble_len=1)).__name__,
        type(parser.parse_expression(" a + b ")).__name__,
        [
            raised(parser.parse_str, text)["class"],
            raised(parser.parse_expression, "a = b")["class"],
        ],
    ]
    facts["futures"] = [inspect_utils.getfutureimports(f) for f in (_layers_tested, 3, len)]
    return Run(facts=facts)
