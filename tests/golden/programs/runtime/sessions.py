"""Session, InteractiveSession, fetch structures, partial runs, callables, errors."""

from __future__ import annotations

import collections

import numpy as np
from tests.golden.registry import Run, internal_module, program, raised

Pair = collections.namedtuple("Pair", ["first", "second"])


@program
def structures_of_fetches(tf):
    a, b = tf.constant(1.0, name="a"), tf.constant([2, 3], name="b")
    v = tf.Variable(5.0, name="v")
    op = tf.no_op(name="nothing")
    slices = tf.IndexedSlices(tf.ones([1, 2]), tf.constant([3]))
    sparse = tf.SparseTensor([[0]], [1.0], [2])

    def use(session):
        session.run(v.initializer)
        ordered = collections.OrderedDict([("z", a), ("y", [b, op])])
        results = {
            "tensor": session.run(a), "name": session.run("a:0"), "variable": session.run(v),
            "op": session.run(op), "op_name": session.run("nothing"), "list": session.run([a, b]),
            "tuple": session.run((a, (b,))), "dict": session.run({"a": a, "n": {"b": b}}),
            "pair": session.run(Pair(a, [b])), "ordered": session.run(ordered),
            "slices": session.run(slices), "sparse": session.run(sparse),
            "empty": session.run([]), "repeated": session.run([a, a, b]),
        }
        types = {k: type(r).__name__ for k, r in sorted(results.items())}
        return {"results": results, "types": types}

    return Run(call=use)


@program
def sessions_and_contexts(tf):
    x = tf.placeholder(tf.float32, [], name="x")
    y = x * 2.0
    op = tf.no_op()
    facts = {"no_session": raised(y.eval, {x: 1.0}), "no_session_op": raised(op.run)}

    def use(session):
        with session.as_default():
            inside = [y.eval({x: 3.0}), tf.get_default_session() is session, op.run()]
            with tf.Session(graph=session.graph) as other:
                inside.append(tf.get_default_session() is other)
        closed = tf.Session(graph=session.graph)
        closed.close()
        return {"inside": inside, "closed": raised(closed.run, y, {x: 1.0}),
                "graph": session.graph is tf.get_default_graph(),
                "kinds": [type(session.run(y, {x: 2.0})).__name__,
                          type(session.run(tf.get_default_graph().get_tensor_by_name("x:0"),
                                           {x: 2.0})).__name__]}

    return Run(call=use, facts=facts)


@program
def interactive_session(tf):
    graph = tf.Graph()
    with graph.as_default():
        session = tf.InteractiveSession()
        try:
            v = tf.Variable([1.0, 2.0], name="v")
            tf.global_variables_initializer().run()
            y = tf.reduce_sum(v * 2.0)
            facts = {"y": y.eval(), "v": v.eval(), "default": tf.get_default_session() is session}
            v.assign([5.0, 5.0]).op.run()
            facts["after"] = y.eval(feed_dict={v: [0.5, 0.5]})
            facts["value"] = y.eval()
        finally:
            session.close()
    return Run(facts=facts)


@program
def partial_runs(tf):
    a, b = tf.placeholder(tf.float32, [], name="a"), tf.placeholder(tf.float32, [], name="b")
    c = a + 1.0
    d = c * b

    def use(session):
        handle = session.partial_run_setup([c, d], [a, b])
        first = session.partial_run(handle, c, feed_dict={a: 2.0})
        second = session.partial_run(handle, d, feed_dict={b: first * 2.0})
        return {"first": first, "second": second,
                "used_up": raised(session.partial_run, handle, d, feed_dict={b: 1.0})}

    return Run(call=use)


@program
def partial_runs_of_state(tf):
    x, y = tf.placeholder(tf.float32, [2], name="x"), tf.placeholder(tf.float32, [2], name="y")
    squares = tf.square(x)
    read = {}
    for use_resource in (False, True):
        name = "resource" if use_resource else "reference"
        v = tf.get_variable(name, [2], use_resource=use_resource)
        first = tf.identity(tf.assign(v, squares))
        with tf.control_dependencies([first]):
            second = tf.assign_add(v, y)
        with tf.control_dependencies([second]):
            read[name] = first, v.read_value(), squares + 0.0
    queue = tf.FIFOQueue(2, tf.float32, [[2]])
    with tf.control_dependencies([queue.enqueue(squares)]):
        size = queue.size()
    with tf.control_dependencies([size, read["resource"][1]]):
        taken = queue.dequeue() * y

    def use(session):
        firsts = [read[name][0] for name in sorted(read)]
        lasts = [list(read[name][1:]) for name in sorted(read)]
        target = read["resource"][1].op
        handle = session.partial_run_setup([firsts, lasts, size, taken, squares, target], [x, y])
        return {
            "squares": session.partial_run(handle, squares, {x: [1.0, 2.0]}),
            "target": raised(session.partial_run, handle, target),
            "firsts": session.partial_run(handle, firsts),
            "size": session.partial_run(handle, size),
            "lasts": session.partial_run(handle, lasts, {y: [5.0, 6.0]}),
            "taken": session.partial_run(handle, taken),
        }

    return Run(call=use, setup=[tf.global_variables_initializer()])


@program
def callables(tf):
    x, y = tf.placeholder(tf.float32, [2], name="x"), tf.placeholder(tf.float32, [], name="y")
    z = tf.multiply(x, y, name="z")
    v = tf.Variable(0.0, name="v")
    step = v.assign_add(1.0)

    def use(session):
        session.run(v.initializer)
        multiply = session.make_callable(z, [x, y])
        several = session.make_callable({"z": z, "sum": [x]}, feed_list=[x, y])
        count = session.make_callable(step)
        nothing = session.make_callable(step.op)
        return {"z": multiply([1.0, 2.0], 3.0), "several": several([1.0, 2.0], 2.0),
                "count": [count(), count()], "op": nothing(), "v": session.run(v)}

    return Run(call=use)


@program
def run_metadata_and_options(tf):
    x = tf.constant([1.0, 2.0])
    y = tf.square(x, name="y")
    config = tf.ConfigProto(allow_soft_placement=True, log_device_placement=False,
                            intra_op_parallelism_threads=1, device_count={"CPU": 2})
    config.gpu_options.allow_growth = True

    def use(session):
        options = tf.RunOptions(timeout_in_ms=10000)
        metadata = tf.RunMetadata()
        value = session.run(y, options=options, run_metadata=metadata)
        with tf.Session(graph=session.graph, config=config) as other:
            names = sorted(d.name for d in other.list_devices() if d.device_type == "CPU")
            return {"value": value, "devices": names, "other": other.run(y)}

    return Run(call=use)


@program
def two_cpu_devices(tf):
    with tf.device("/cpu:0"):
        a = tf.constant([1.0, 2.0], name="a")
    with tf.device("/cpu:1"):
        b = tf.square(a, name="b")
        v = tf.Variable([1.0, 1.0], name="v")
    with tf.device("/gpu:3"):
        c = tf.add(b, v, name="c")

    def use(session):
        config = tf.ConfigProto(device_count={"CPU": 2}, allow_soft_placement=True)
        with tf.Session(graph=session.graph, config=config) as placed:
            placed.run(v.initializer)
            value = placed.run(c)
        failed = raised(session.run, b)
        return {"value": value, "failed": failed["class"]}

    return Run(call=use)


@program
def state_belongs_to_the_session(tf):
    v = tf.Variable(1.0, name="v")
    up = v.assign_add(1.0)
    r = tf.Variable(10.0, name="r", use_resource=True)
    init = tf.global_variables_initializer()

    def use(session):
        session.run(init)
        session.run(up)
        with tf.Session(graph=session.graph) as other:
            other.run(init)
            other.run(up)
            return {"mine": session.run([v, r]), "other": other.run([v, r])}

    return Run(call=use)


@program
def what_comes_out_is_a_copy(tf):
    v = tf.Variable([1.0, 2.0], name="v")
    x = tf.placeholder(tf.float32, [2])
    same = tf.identity(x)
    set_v = v.assign(x)

    def use(session):
        session.run(v.initializer)
        first = session.run(v)
        first[:] = 100.0
        feed = np.array([5.0, 6.0], np.float32)
        fed = session.run(same, {x: feed})
        session.run(set_v.op, {x: feed})
        feed[:] = -1.0
        return {"v_before": first, "fed": fed, "v": session.run(v)}

    return Run(call=use)


@program
def error_classes(tf):
    names = ["CancelledError", "UnknownError", "InvalidArgumentError", "DeadlineExceededError",
             "NotFoundError", "AlreadyExistsError", "PermissionDeniedError", "UnauthenticatedError",
             "ResourceExhaustedError", "FailedPreconditionError", "AbortedError", "OutOfRangeError",
             "UnimplementedError", "InternalError", "UnavailableError", "DataLossError"]
    facts = {}
    for name in names:
        error = getattr(tf.errors, name)(None, None, "message of " + name)
        facts[name] = [error.error_code, error.message, str(isinstance(error, tf.OpError)),
                       str(error.op), str(error.node_def)]
    facts["ok"] = tf.errors.OK
    return Run(facts=facts)


@program
def errors_know_their_op(tf):
    x = tf.placeholder(tf.int32, [], name="x")
    y = tf.floordiv(10, x, name="divide")

    def use(session):
        try:
            session.run(y, {x: 0})
        except tf.errors.InvalidArgumentError as error:
            return {"op": error.op.name, "code": error.error_code, "message": error.message[:24],
                    "node": error.node_def.name}
        return {}

    return Run(call=use)


@program
def dead_tensors_and_unfed_placeholders(tf):
    x = tf.placeholder(tf.float32, [], name="x")
    y = tf.placeholder(tf.float32, name="y")
    flag = tf.placeholder(tf.bool, [])
    no, yes = tf.raw_ops.Switch(data=x, pred=flag)
    inside = []

    def branch():
        inside.append(x * 2.0)
        return inside[0]

    z = tf.cond(flag, branch, lambda: x)
    doubled = yes * 2.0

    def use(session):
        return {"alive": session.run([yes, doubled], {x: 1.0, flag: True}),
                "dead": raised(session.run, no, {x: 1.0, flag: True}),
                "dead_path": raised(session.run, doubled, {x: 1.0, flag: False}),
                "inside": raised(session.run, inside[0], {x: 1.0, flag: False}),
                "unfed": raised(session.run, x), "no_shape": raised(session.run, y),
                "z": session.run(z, {x: 1.0, flag: False})}

    return Run(call=use)


@program
def feeding_of_values(tf):
    floats = tf.placeholder(tf.float32, [None], name="floats")
    ints = tf.placeholder(tf.int32, [], name="ints")
    bools = tf.placeholder(tf.bool, [2], name="bools")
    text = tf.placeholder(tf.string, [], name="text")
    v = tf.Variable([1.0], name="v")
    y = v * 2.0
    sums = tf.reduce_sum(floats)

    def use(session):
        return {
            "list": session.run(sums, {floats: [1, 2, 3]}),
            "double": session.run(sums, {floats: np.arange(3.0)}),
            "range": session.run(sums, {floats: list(range(3))}),
            "int_for_float": session.run(ints + 1, {ints: np.int64(4)}),
            "bools": session.run(tf.get_default_graph().get_tensor_by_name("bools:0"),
                                 {bools: [True, 0]}),
            "text": session.run(text, {text: "abc"}),
            "variable": session.run(y, {v: [7.0]}),
            "float_for_int": session.run(ints, {ints: 1.5}),
            "too_large": raised(session.run, ints, {ints: 2 ** 40})["class"],
            "nested_tuple": session.run([ints, sums], {(ints): 2, floats: (1.0, 2.0)}),
        }

    return Run(call=use)


@program
def values_fed_for_variables(tf):
    x = tf.placeholder(tf.float32, [], name="a")
    variable = tf.get_variable("v", initializer=1.0)
    loss = tf.square(variable - 3.0) + x
    step = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    fed = {variable: 2.0, x: 0.0}
    init = tf.global_variables_initializer()
    return [
        Run({"loss": loss}, fed, setup=[init]),
        Run({"step": step}, fed, fails=True),
        Run({"add": tf.assign_add(variable, 1.0)}, {variable: 2.0}, fails=True),
        Run({"v": variable}),
    ]


def branches(tf):
    """Two branches of which one is computed: the fed condition, the fed data and what they give."""
    condition = tf.placeholder(tf.bool, [], name="condition")
    x = tf.placeholder(tf.int32, [2], name="x")
    no, yes = tf.raw_ops.Switch(data=x, pred=condition)
    return condition, x, [tf.add(yes, 1), tf.multiply(no, 2), tf.as_string(no)]


@program
def keras_functions_of_branches(tf):
    condition, x, outputs = branches(tf)
    either = tf.keras.backend.function([condition, x], outputs)
    also = tf.keras.backend.function([condition, x], outputs[:1], fetches=outputs[1:])

    def call(session):
        tf.keras.backend.set_session(session)
        values = np.array([1, 2], np.int32)
        found = {"yes": either([True, values]), "no": either([False, values])}
        return dict(found, also=also([False, values]))

    return Run(call=call)


@program
def callables_by_options_of_branches(tf):
    condition, x, outputs = branches(tf)

    def call(session):
        options = internal_module(tf, "protos", "core.protobuf.config_pb2").CallableOptions()
        options.feed.extend([condition.name, x.name])
        options.fetch.extend(y.name for y in outputs)
        run = session._make_callable_from_options(options)
        values = np.array([1, 2], np.int32)
        found = {"yes": run(True, values), "no": run(False, values)}
        del options.fetch[1:]
        options.target.append(outputs[1].op.name)
        run = session._make_callable_from_options(options)
        return dict(found, target=run(False, values))

    return Run(call=call)
