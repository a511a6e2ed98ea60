"""tf.Variable, reference and resource: initial values, assignment, scatter, helpers."""

from __future__ import annotations

import numpy as np
from tests.golden.registry import Run, program, raised

BOTH_KINDS = [("ref", False), ("resource", True)]


@program
def variables_of_both_kinds(tf):
    variables = {}
    for kind, use_resource in BOTH_KINDS:
        with tf.name_scope(kind):
            v = tf.Variable([1.0, 2.0], name="v", use_resource=use_resource)
            w = tf.Variable(lambda: tf.ones([2, 2]), dtype=tf.float32, use_resource=use_resource)
            n = tf.Variable(7, trainable=False, name="n", use_resource=use_resource)
        variables[kind] = [v, w, n, v * 2.0, v.read_value(), v.value(), v.initial_value]
    facts = {k: [x.name for x in tf.get_collection(k)] for k in ("variables",
                                                                 "trainable_variables")}
    facts["dtypes"] = [str(variables[k][0].dtype) for k, _ in BOTH_KINDS]
    facts["shapes"] = [str(variables[k][1].shape) for k, _ in BOTH_KINDS]
    facts["op_types"] = [variables[k][0].op.type for k, _ in BOTH_KINDS]
    facts["repr"] = [repr(variables[k][0]) for k, _ in BOTH_KINDS]
    return Run(variables, setup=[tf.global_variables_initializer()], facts=facts)


@program
def variable_arguments(tf):
    a = tf.Variable(np.zeros([2, 3]), dtype=tf.float32, name="a")
    b = tf.Variable(tf.random_normal([2], seed=3), collections=["mine", "variables"], name="b")
    c = tf.Variable(1.0, validate_shape=False, name="c")
    d = tf.Variable([1], expected_shape=[1], name="d")
    e = tf.Variable(2.0, caching_device="/cpu:0", name="e")
    f = tf.Variable(2.0, constraint=lambda x: tf.clip_by_value(x, 0.0, 1.0), name="f")
    g = tf.Variable(True, name="g")
    h = tf.Variable("text", name="h")
    facts = {"mine": [v.name for v in tf.get_collection("mine")], "shape": str(c.shape),
             "constraint": f.constraint is not None, "trainable": [v.trainable for v in (a, f)],
             "op": a.op.name, "device": e.device, "graph": a.graph is tf.get_default_graph()}
    return Run({"all": [a, b, c, d, e + 1.0, f, g, h]},
               setup=[tf.initialize_all_variables()], facts=facts)


@program
def assignments(tf):
    for kind, use_resource in BOTH_KINDS:
        v = tf.Variable([1.0, 2.0], name=kind, use_resource=use_resource)
        w = tf.Variable([[0.0]], name=kind + "_any", validate_shape=False,
                        use_resource=use_resource)
    graph_variables = tf.global_variables()
    ref, resource = graph_variables[0], graph_variables[2]
    steps = []
    for v in (ref, resource):
        steps += [v.assign([5.0, 6.0]), v.assign_add([1.0, 1.0]), v.assign_sub([0.5, 0.25])]
    steps += [tf.assign(ref, [3.0, 3.0]), tf.assign_add(ref, [1.0, 2.0], use_locking=True),
              tf.assign_sub(ref, [1.0, 0.0]), tf.assign(resource, ref * 2.0),
              tf.assign(graph_variables[1], tf.ones([3, 2]), validate_shape=False)]

    initialize = tf.global_variables_initializer()

    def use(session):
        session.run(initialize)
        return {"results": [session.run(step) for step in steps],
                "after": session.run([ref, resource, graph_variables[1]])}

    facts = {"shape": raised(ref.assign, [1.0, 2.0, 3.0]), "dtype": raised(ref.assign, ["a", "b"]),
             "resource_shape": raised(resource.assign, [1.0, 2.0, 3.0])}
    return Run(call=use, facts=facts)


@program
def order_of_reads_and_writes(tf):
    v = tf.Variable(1.0, name="v")
    before = v + 100.0
    with tf.control_dependencies([before]):
        double = v.assign(v * 2.0)
    with tf.control_dependencies([double]):
        after = v.read_value()
        plus = v + 10.0
    r = tf.Variable(1.0, name="r", use_resource=True)
    with tf.control_dependencies([r.assign_add(4.0)]):
        r_after = r.read_value()
    return Run({"before": before, "after": after, "r_after": r_after},
               setup=[tf.global_variables_initializer()], steps=3)


@program
def counting(tf):
    v = tf.Variable(0, name="counter", dtype=tf.int32)
    up = v.count_up_to(3)
    w = tf.Variable(0, name="other")
    function = tf.count_up_to(w, 2)
    return [
        Run({"up": up, "function": function}, setup=[tf.global_variables_initializer()], steps=2),
        Run({"up": up}, steps=2, fails=True),
    ]


@program
def uninitialized_variables(tf):
    v = tf.Variable([1.0], name="v")
    r = tf.Variable([1.0], name="r", use_resource=True)
    w = tf.Variable([2.0], name="w")
    fetches = {
        "names": tf.report_uninitialized_variables(),
        "v": tf.is_variable_initialized(v),
        "w": tf.is_variable_initialized(w),
        "r": r.is_initialized(),
    }
    assertion = tf.assert_variables_initialized([v])
    reads = [v.read_value(), r.read_value(), v + 1.0, assertion, w.assign_add([1.0])]

    def use(session):
        return {"errors": [raised(session.run, read) for read in reads]}

    return [Run(call=use), Run(fetches), Run(fetches, setup=[w.initializer, r.initializer])]


@program
def changes_of_uninitialized_resource_variables(tf):
    w = tf.Variable([1.0, 2.0], name="w", use_resource=True)
    n = tf.Variable(1, name="n", use_resource=True)
    changes = [
        w.assign_add([1.0, 1.0]), w.assign_sub([1.0, 1.0], read_value=False), n.count_up_to(3),
        w[:1].assign([2.0]), tf.gather(w, [1]), tf.gather_nd(w, [[1]]),
        tf.scatter_update(w, [1], [2.0]), tf.scatter_nd_add(w, [[1]], [2.0]),
        tf.raw_ops.VariableShape(input=w.handle), tf.raw_ops.DestroyResourceOp(
            resource=w.handle, ignore_lookup_error=False),
    ]  # fmt: skip
    optimizers = [
        tf.train.GradientDescentOptimizer(0.1), tf.train.MomentumOptimizer(0.1, 0.9),
        tf.train.AdagradOptimizer(0.1), tf.train.AdadeltaOptimizer(0.1),
        tf.train.RMSPropOptimizer(0.1),
    ]  # fmt: skip
    rows = tf.IndexedSlices(tf.ones([1]), tf.constant([1]), tf.constant([2]))
    for optimizer in optimizers:
        changes += [optimizer.apply_gradients([(grad, w)]) for grad in (tf.ones([2]), rows)]

    def use(session):
        return {"errors": [raised(session.run, change) for change in changes]}

    def without_slots(session):
        return {"errors": [raised(session.run, change) for change in changes[12:]]}

    return [Run(call=use), Run(call=without_slots, setup=[w.initializer])]


@program
def changes_of_another_shape(tf):
    given = tf.placeholder(tf.float32)
    changes = []
    for kind, use_resource in BOTH_KINDS:
        v = tf.Variable([[1.0, 2.0]], name=kind, use_resource=use_resource)
        changes += [v.assign_add(given), v.assign_sub(given)]
    initialize = tf.global_variables_initializer()
    values = ([1.0], 1.0, [[1.0, 2.0], [3.0, 4.0]])

    def use(session):
        session.run(initialize)
        refused = [raised(session.run, c, {given: x}) for c in changes for x in values]
        return {"errors": refused, "fits": [session.run(c, {given: [[1, 1]]}) for c in changes]}

    return Run(call=use)


@program
def initialized_value_and_dependent_initializers(tf):
    tf.set_random_seed(5)
    a = tf.Variable(tf.random_normal([2]), name="a")
    b = tf.Variable(a.initialized_value() * 2.0, name="b")
    c = tf.Variable(lambda: b.initialized_value() + 1.0, name="c")
    return Run({"a": a, "b": b, "c": c}, setup=[tf.global_variables_initializer()])


@program
def scatter_updates_of_reference_variables(tf):
    v = tf.Variable(np.arange(6, dtype=np.float32).reshape(3, 2), name="v")
    ids = tf.constant([2, 0])
    updates = tf.constant([[10.0, 20.0], [30.0, 40.0]])
    names = ["scatter_update", "scatter_add", "scatter_sub", "scatter_mul", "scatter_div",
             "scatter_min", "scatter_max"]
    steps = [getattr(tf, n)(v, ids, updates) for n in names]
    steps.append(tf.scatter_add(v, [1, 1], [[1.0, 1.0], [2.0, 2.0]]))
    steps.append(tf.scatter_nd_update(v, [[0, 1], [2, 0]], [-1.0, -2.0]))
    steps.append(tf.scatter_nd_add(v, [[0], [1]], [[1.0, 1.0], [2.0, 2.0]]))
    steps.append(tf.scatter_nd_sub(v, [[0, 0]], [5.0]))
    steps.append(tf.scatter_update(v, 0, [0.0, 0.0]))
    steps.append(tf.scatter_mul(v, [0, 1], 2.0))
    steps.append(v.scatter_add(tf.IndexedSlices(tf.ones([1, 2]), [1])))
    bad = tf.scatter_update(v, [5], [[0.0, 0.0]])

    def use(session):
        return {"steps": [session.run(step) for step in steps], "bad": raised(session.run, bad)}

    return [Run({"v": v}, setup=[v.initializer]), Run(call=use)]


@program
def scatter_updates_of_resource_variables(tf):
    v = tf.Variable(np.arange(6, dtype=np.float32).reshape(3, 2), name="v", use_resource=True)
    slices = tf.IndexedSlices(tf.constant([[10.0, 20.0], [30.0, 40.0]]), tf.constant([2, 0]))
    names = ["scatter_update", "scatter_add", "scatter_sub", "scatter_mul", "scatter_div",
             "scatter_min", "scatter_max"]
    steps = [getattr(v, n)(slices) for n in names]
    steps.append(tf.scatter_add(v, [1, 1], [[1.0, 1.0], [2.0, 2.0]]))
    steps.append(v.scatter_nd_add([[0, 1], [2, 0]], [1.0, 2.0]))
    steps.append(v.sparse_read([2, 2]))
    steps.append(v.batch_scatter_update(tf.IndexedSlices(tf.zeros([3, 1]), [[0], [1], [0]])))
    gather = tf.gather(v, [0, 2])

    def use(session):
        return {"steps": [session.run(step) for step in steps], "gather": session.run(gather)}

    return [Run({"v": v}, setup=[v.initializer]), Run(call=use)]


@program
def moving_averages(tf):
    w = tf.Variable([1.0, 2.0], name="w")
    b = tf.Variable(3.0, name="b", use_resource=True)
    step = tf.train.get_or_create_global_step()
    update = w.assign_add([1.0, 1.0])
    plain = tf.train.ExponentialMovingAverage(0.9)
    with tf.control_dependencies([update, b.assign_add(2.0)]):
        maintain = plain.apply([w, b])
    counted = tf.train.ExponentialMovingAverage(0.99, num_updates=step, name="counted")
    of_tensor = tf.train.ExponentialMovingAverage(0.5, zero_debias=True, name="debiased")
    x = tf.placeholder(tf.float32, [])
    doubled = x * 2.0
    ops = [maintain, counted.apply([w]), of_tensor.apply([doubled])]
    facts = {
        "names": [plain.average_name(w), counted.average_name(w), plain.average(w).name],
        "restore": sorted((k, v.name) for k, v in plain.variables_to_restore().items()),
        "collection": [v.name for v in tf.moving_average_variables()],
        "none": plain.average(step) is None,
    }
    fetches = {"plain": [plain.average(w), plain.average(b)], "counted": counted.average(w),
               "debiased": of_tensor.average(doubled)}
    return Run(fetches, {x: 3.0}, setup=[tf.global_variables_initializer()],
               train=[maintain, ops[2]], steps=3, facts=facts)


@program
def global_step(tf):
    none = tf.train.get_global_step() is None
    step = tf.train.create_global_step()
    again = tf.train.get_or_create_global_step()
    increment = tf.assign_add(step, 5)

    def use(session):
        return {"value": tf.train.global_step(session, step)}

    facts = {"none": none, "same": again is step, "name": step.name, "dtype": str(step.dtype),
             "twice": raised(tf.train.create_global_step),
             "collection": [v.name for v in tf.get_collection(tf.GraphKeys.GLOBAL_STEP)]}
    return [Run({"step": step}, setup=[step.initializer], train=[increment], steps=2, facts=facts),
            Run(call=use)]


@program
def lists_of_variables(tf):
    a = tf.Variable(1.0, name="a")
    b = tf.get_variable("b", [2], collections=[tf.GraphKeys.LOCAL_VARIABLES])
    c = tf.Variable(2.0, trainable=False, name="scope/c")
    tf.add_to_collection(tf.GraphKeys.MODEL_VARIABLES, a)
    lists = ["global_variables", "all_variables", "local_variables", "trainable_variables",
             "model_variables", "moving_average_variables"]
    facts = {n: [v.name for v in getattr(tf, n)()] for n in lists}
    facts["scoped"] = [v.name for v in tf.global_variables("scope")]
    ops = [tf.global_variables_initializer(), tf.local_variables_initializer(),
           tf.variables_initializer([a], name="just_a"), tf.variables_initializer([]),
           tf.initialize_variables([c]), tf.initialize_local_variables(), tf.tables_initializer()]
    facts["ops"] = [op.name for op in ops]
    return Run({"a": a, "c": c}, setup=ops, facts=facts)


@program
def arithmetic_on_variables(tf):
    v = tf.Variable([1.0, 2.0], name="v")
    r = tf.Variable([3.0, 4.0], name="r", use_resource=True)
    fetches = {
        "operators": v + r * 2.0 - v / r,
        "left": 1.0 - v,
        "negative": -r,
        "compare": v < r,
        "index": [v[0], r[1:], v[tf.newaxis]],
        "matmul": tf.matmul(v[tf.newaxis], r[:, tf.newaxis]),
        "functions": [tf.reduce_sum(v), tf.shape(r), tf.stack([v, r]), tf.concat([v, r], 0)],
        "cast": tf.cast(v, tf.int32),
        "power": v ** 2,
        "abs": abs(-v),
    }
    facts = {"iterate": raised(list, v)}
    return Run(fetches, setup=[tf.global_variables_initializer()], facts=facts)


@program
def load_and_eval(tf):
    v = tf.Variable([1.0, 2.0], name="v")
    y = tf.reduce_sum(v)

    def use(session):
        with session.as_default():
            v.initializer.run()
            first = [v.eval(), y.eval()]
            v.load([5.0, 6.0], session)
            return {"first": first, "loaded": [v.eval(session), session.run(y)],
                    "fed": y.eval({v: [0.0, 1.0]}, session=session)}

    return Run(call=use)


@program
def variable_creators(tf):
    def doubled(next_creator, **kwargs):
        kwargs["initial_value"] = kwargs["initial_value"] * 2.0
        kwargs["name"] = "made_" + kwargs["name"]
        return next_creator(**kwargs)

    with tf.variable_creator_scope(doubled):
        v = tf.Variable(3.0, name="v")
    w = tf.Variable(3.0, name="w")
    return Run({"v": v, "w": w}, setup=[tf.global_variables_initializer()],
               facts={"names": [v.name, w.name]})


@program
def variables_that_are_refused(tf):
    return Run(facts={
        "none": raised(tf.Variable, None),
        "shape": raised(tf.Variable, tf.placeholder(tf.float32)),
        "no_dtype": raised(tf.Variable, lambda: None),
        "int_trainable": tf.Variable(1, name="ok").trainable,
        "collections": raised(tf.Variable, 1.0, collections="not a list"),
    })


@program
def variables_of_new_shapes(tf):
    """Assign values of other shapes than the variables' declared ones."""
    ref = tf.Variable([0.0, 1.0, 2.0], name="ref")
    resource = tf.Variable([0.0, 1.0, 2.0], name="resource", use_resource=True)
    known = tf.assign(ref, [[1.0, 2.0], [3.0, 4.0]], validate_shape=False)
    given = tf.placeholder(tf.float32, name="given")
    any_ref = tf.assign(ref, given, validate_shape=False)
    any_resource = tf.assign(resource, given, validate_shape=False)
    with tf.control_dependencies([any_resource]):
        same_run = resource.read_value() * 2.0
    reads = [[v, v + 1.0, tf.reduce_sum(v), tf.reduce_mean(v * v), tf.shape(v), tf.size(v)]
             for v in (ref, resource)]
    rows = tf.gather(resource, [0])

    def use(session):
        session.run(tf.global_variables_initializer())
        seen = {"declared": session.run(reads), "known": session.run(known),
                "after": session.run(reads)}
        for label, value in (("wide", [[1.0, 2.0, 3.0, 4.0]]), ("longer", [1.0, 2.0, 3.0, 4.0])):
            feeds = {given: value}
            seen[label + "/results"] = [session.run(each, feeds) for each in
                                        (any_ref, any_resource, same_run)]
            seen[label + "/after"] = session.run(reads + [rows])
        return seen

    return Run(call=use, facts={
        "declared": str(any_resource.shape), "ref": str(any_ref.shape),
        "refused": raised(tf.assign, resource, [[1.0]], validate_shape=False)})


@program
def functions_read_variables_of_new_shapes(tf):
    variable = tf.get_variable("v", initializer=[1.0, 2.0, 3.0], use_resource=True)
    given = tf.placeholder(tf.float32)
    assign = tf.assign(variable, given, validate_shape=False).op

    def total(step):
        return tf.reduce_sum(variable) + tf.cast(step, tf.float32)

    once = tf.data.Dataset.range(9).map(total).make_initializable_iterator()
    loop = tf.while_loop(lambda i, _: i < 1, lambda i, _: (i + 1, total(i)), [0, 0.0],
                         shape_invariants=[tf.TensorShape([]), tf.TensorShape(None)])
    fetches = {"data": once.get_next(), "loop": loop[1], "called": tf.contrib.eager.defun(total)(1),
               "branch": tf.cond(tf.size(given) > 0, lambda: total(2), lambda: 0.0)}

    def use(session):
        session.run([variable.initializer])
        session.run(once.initializer)
        seen = {"declared": session.run(fetches, {given: [1.0]})}
        for name, value in (("wide", [[1.0, 2.0], [3.0, 4.0]]), ("longer", [1.0, 2.0, 3.0, 4.0])):
            session.run(assign, {given: value})
            seen[name] = session.run(fetches, {given: value})
        return seen

    return Run(call=use)


@program
def reads_in_part(tf):
    ref = tf.Variable([1.0, 2.0, 3.0], name="ref")
    resource = tf.Variable([1.0, 2.0, 3.0], name="resource", use_resource=True)
    facts = {"rows": raised(ref.sparse_read, [0]), "elements": raised(ref.gather_nd, [[0]]),
             "unique": resource._unique_id}
    return Run({"rows": resource.sparse_read([2, 0]), "elements": resource.gather_nd([[1]]),
                "gathered": [tf.gather(v, [1]) for v in (ref, resource)],
                "picked": [tf.gather_nd(v, [[1]]) for v in (ref, resource)]},
               setup=[tf.global_variables_initializer()], facts=facts)
