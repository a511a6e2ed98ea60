"""Names, scopes, devices, colocation, control dependencies, collections, seeds, graphs."""

from __future__ import annotations

from tests.golden.registry import Run, program, raised


@program
def unique_names(tf):
    ops = [tf.constant(i) for i in range(3)]
    ops += [tf.constant(1, name="c"), tf.constant(2, name="c"), tf.constant(3, name="c_1")]
    ops += [tf.constant(4, name="C"), tf.add(ops[0], ops[1]), ops[0] + ops[1]]
    return Run(facts={"names": [op.name for op in ops]})


@program
def name_scopes(tf):
    names = []
    with tf.name_scope("outer") as outer:
        names.append(outer)
        a = tf.constant(1.0, name="a")
        with tf.name_scope("inner"):
            b = tf.constant(2.0, name="b")
        with tf.name_scope("inner") as again:
            names.append(again)
            c = tf.add(a, b, name="sum")
        with tf.name_scope(None):
            tf.constant(0, name="top")
        with tf.name_scope("outer/inner/"):
            tf.constant(5, name="back")
    with tf.name_scope("outer"):
        tf.constant(1, name="a")
    with tf.name_scope(outer):
        tf.constant(9, name="a")
    with tf.name_scope(None, "default_name", [c]) as scope:
        names.append(scope)
        d = tf.identity(c)
    with tf.name_scope("given", "default_name", [c, d]):
        tf.identity(d, name="named")
    return Run({"d": d}, facts={"names": names, "after": tf.get_default_graph().unique_name("a")})


@program
def unique_name_of_the_graph(tf):
    graph = tf.get_default_graph()
    names = [graph.unique_name("foo"), graph.unique_name("foo"),
             graph.unique_name("foo", mark_as_used=False), graph.unique_name("foo")]
    with graph.name_scope("bar"):
        names.append(graph.unique_name("foo"))
    names.append(graph.unique_name("Foo"))
    return Run(facts={"names": names})


@program
def op_scope_and_values(tf):
    x = tf.constant([1.0, 2.0])
    with tf.op_scope([x], "my_op", "default"):
        y = tf.square(x)
    with tf.op_scope([x], None, "default"):
        z = tf.square(y)
    return Run({"z": z})


@program
def bad_names(tf):
    return Run(facts={
        "space": raised(tf.constant, 1, name="a b"),
        "underscore": raised(tf.constant, 1, name="_a"),
        "scope": raised(tf.name_scope("x:y").__enter__),
        "dash": raised(tf.constant, 1, name="-a"),
        "op_missing": raised(tf.get_default_graph().get_operation_by_name, "nope"),
        "tensor_missing": raised(tf.get_default_graph().get_tensor_by_name, "nope:0"),
        "tensor_no_colon": raised(tf.get_default_graph().get_tensor_by_name, "nope"),
    })


@program
def get_elements_by_name(tf):
    graph = tf.get_default_graph()
    with tf.name_scope("net"):
        x = tf.placeholder(tf.float32, [2], name="x")
        tf.split(x, 2, name="parts")
    op = graph.get_operation_by_name("net/parts")
    second = graph.get_tensor_by_name("net/parts:1")
    facts = {
        "op": [op.name, op.type, len(op.inputs), len(op.outputs)],
        "inputs": [t.name for t in op.inputs],
        "outputs": [t.name for t in op.outputs],
        "consumers": [c.name for c in x.consumers()],
        "attr": [op.get_attr("num_split"), op.get_attr("T").name],
        "element": [graph.as_graph_element("net/x").name, graph.as_graph_element("net/x:0").name],
        "index": [second.value_index, second.op is op, second.graph is graph],
        "bad_output": raised(graph.get_tensor_by_name, "net/parts:2"),
        "bad_attr": raised(op.get_attr, "nope"),
        "repr": [repr(x), str(x), repr(op)],
        "bad_type": raised(graph.as_graph_element, 3),
    }
    return Run({"second": second}, {x: [3.0, 4.0]}, facts=facts)


@program
def devices(tf):
    with tf.device("/cpu:0"):
        a = tf.constant([1.0], name="a")
        with tf.device("/device:CPU:0"):
            b = tf.constant([2.0], name="b")
        with tf.device(None):
            c = tf.add(a, b, name="c")
        with tf.device("/job:localhost"):
            d = tf.identity(c, name="d")
    with tf.device("/job:localhost/task:0"):
        with tf.device("/cpu:0"):
            e = tf.negative(d, name="e")
    f = tf.identity(e, name="f")
    return Run({"f": f}, facts={"devices": [t.device for t in (a, b, c, d, e, f)]})


@program
def device_functions(tf):
    def by_type(op):
        return "/cpu:0" if op.type == "Const" else "/job:localhost"

    with tf.device(by_type):
        x = tf.constant(1.0)
        y = tf.square(x)
        with tf.device("/task:0"):
            z = tf.square(y)
    with tf.Graph().as_default():
        with tf.device(lambda op: "/device:GPU:1"):
            other = tf.no_op(name="other").device
    return Run({"z": z}, facts={"devices": [x.device, y.device, z.device, other]})


@program
def device_specs(tf):
    spec = tf.DeviceSpec(job="ps", task=3, device_type="GPU", device_index=1)
    parsed = tf.DeviceSpec.from_string("/job:worker/replica:0/task:2/device:CPU:*")
    facts = {
        "string": [spec.to_string(), parsed.to_string()],
        "parts": [parsed.job, parsed.replica, parsed.task, parsed.device_type],
        "legacy": tf.DeviceSpec.from_string("/cpu:1").to_string(),
        "bad": raised(tf.DeviceSpec.from_string, "/nonsense:1"),
    }
    with tf.device(tf.DeviceSpec(device_type="CPU", device_index=0)):
        x = tf.constant(1)
    return Run({"x": x}, facts=facts)


@program
def replica_device_setter(tf):
    with tf.device(tf.train.replica_device_setter(ps_tasks=2)):
        variables = [tf.Variable(float(i)) for i in range(3)]
        total = tf.add_n(variables)
    return Run(facts={"devices": [v.device for v in variables] + [total.device]})


def _device_setter(tf):
    if tf.__name__ == "stillflow":
        from stillflow.train import device_setter as module

        return module.DeviceChooser, module.RoundRobin
    from tensorflow.python.training import device_setter as module

    return module._ReplicaDeviceChooser, module._RoundRobinStrategy


@program
def devices_of_replicas_chosen(tf):
    chooser, round_robin = _device_setter(tf)
    in_turn = round_robin(num_tasks=3)
    devices = {"turns": [in_turn(None) for _ in range(4)]}
    for merge in (True, False):
        for tasks, servers in ((2, "/job:ps"), (0, "/job:ps"), (2, "/cpu:0"), (2, "")):
            choose = chooser(
                tasks, servers, "/job:worker/gpu:1", merge, ["VariableV2"], round_robin(2)
            )
            found = devices[f"{merge} {tasks} {servers}"] = []
            with tf.device(choose.device_function):
                for inside in (None, "/job:ps/task:5", "/job:x", "/gpu:2"):
                    with tf.device(inside):
                        found += [tf.Variable(1.0).device, tf.constant(1.0).device]
            found.append(choose.device_function(tf.NodeDef(name="x", op="VariableV2")))
    return Run(facts=devices)


@program
def colocation(tf):
    with tf.device("/cpu:0"):
        v = tf.Variable([1.0], name="v")
    with tf.colocate_with(v):
        a = tf.constant(1.0, name="a")
        with tf.colocate_with(a.op):
            b = tf.constant(2.0, name="b")
        with tf.colocate_with(None, ignore_existing=True):
            c = tf.constant(3.0, name="c")
    with tf.get_default_graph().colocate_with(b.op, ignore_existing=True):
        d = tf.identity(c, name="d")
    groups = [[g.decode() for g in t.op.colocation_groups()] for t in (a, b, c, d)]
    return Run({"d": d}, facts={"groups": groups, "device": a.device})


@program
def control_dependencies(tf):
    v = tf.Variable(1.0, name="v")
    first = tf.assign_add(v, 2.0, name="first")
    with tf.control_dependencies([first]):
        read = tf.identity(v, name="read")
        with tf.control_dependencies([read.op, tf.no_op(name="nothing")]):
            inner = tf.constant(5.0, name="inner")
            uses_first = tf.negative(first, name="uses_first")
        with tf.control_dependencies(None):
            free = tf.constant(6.0, name="free")
        dependent = tf.add(free, inner, name="dependent")
    inputs = {t.op.name: [c.name for c in t.op.control_inputs]
              for t in (read, inner, uses_first, free, dependent)}
    return Run({"read": read, "dependent": dependent}, setup=[v.initializer], steps=2,
               facts=inputs)


@program
def group_tuple_and_no_op(tf):
    with tf.device("/cpu:0"):
        v = tf.Variable(0.0, name="v")
        w = tf.Variable([1.0, 2.0], name="w")
    both = tf.group(v.assign_add(1.0), w.assign(w * 2.0), name="both")
    with tf.control_dependencies([both]):
        total = tf.reduce_sum(w.read_value())
    a, b = tf.tuple([v.read_value(), total], control_inputs=[both])
    empty = tf.group(name="empty")
    nested = tf.group([both, [empty]], name="nested")
    return Run({"a": a, "b": b, "nested": nested}, setup=[tf.global_variables_initializer()],
               steps=2)


@program
def identity_family(tf):
    v = tf.Variable([1.0, -2.0], name="v")
    x = tf.identity(v, name="x")
    many = tf.identity_n([x, tf.constant(3)], name="many")
    stopped = tf.stop_gradient(x * 2.0)
    guarded = tf.guarantee_const(tf.constant([1.0]))
    prevented = tf.check_numerics(x, "x is bad")
    fetches = {"many": many, "stopped": stopped, "guarded": guarded, "checked": prevented}
    return Run(fetches, setup=[v.initializer])


@program
def collections(tf):
    a, b = tf.constant(1.0, name="a"), tf.constant(2.0, name="b")
    tf.add_to_collection("mine", a)
    tf.add_to_collection("mine", b)
    tf.add_to_collections(["mine", tf.GraphKeys.LOSSES], a)
    with tf.name_scope("scope"):
        tf.add_to_collection("mine", tf.constant(3.0, name="c"))
    tf.get_collection_ref("other").append(a)
    copied = tf.get_collection("mine")
    copied.append("not stored")
    graph = tf.get_default_graph()
    facts = {
        "mine": [t.name for t in tf.get_collection("mine")],
        "scoped": [t.name for t in tf.get_collection("mine", scope="scope")],
        "regex": [t.name for t in tf.get_collection("mine", scope="(a|b)")],
        "none": len(tf.get_collection("nothing")),
        "keys": sorted(k for k in graph.get_all_collection_keys()),
    }
    graph.clear_collection("other")
    facts["cleared"] = len(tf.get_collection("other"))
    return Run(facts=facts)


@program
def graph_keys(tf):
    names = [n for n in dir(tf.GraphKeys) if n.isupper()]
    return Run(facts={name: str(getattr(tf.GraphKeys, name)) for name in names})


@program
def seeds(tf):
    before = tf.get_seed(None) if hasattr(tf, "get_seed") else (None, None)
    with_op = tf.get_seed(7)
    tf.set_random_seed(42)
    graph = tf.get_default_graph()
    tf.constant(0)
    facts = {"none": str(before), "op": str(with_op), "graph": str(graph.seed),
             "derived": str(tf.get_seed(None)), "both": str(tf.get_seed(3))}
    tf.set_random_seed(0)
    facts["zero"] = str(tf.get_seed(0))
    return Run(facts=facts)


@program
def finalized_graph(tf):
    graph = tf.Graph()
    with graph.as_default():
        tf.constant(1, name="c")
        facts = {"before": graph.finalized, "version": graph.version}
        graph.finalize()
        facts["after"] = graph.finalized
        facts["add"] = raised(tf.constant, 2)
        facts["collection"] = raised(tf.add_to_collection, "c", 1)
    return Run(facts=facts)


@program
def several_graphs(tf):
    mine = tf.get_default_graph()
    a = tf.constant(1.0, name="a")
    other = tf.Graph()
    with other.as_default():
        b = tf.constant(2.0, name="a")
        facts = {"default": tf.get_default_graph() is other, "same_name": a.name == b.name}
        facts["mixed"] = raised(tf.add, a, b)
    facts["restored"] = tf.get_default_graph() is mine
    facts["ops"] = [op.name for op in other.get_operations()]
    facts["building"] = other.building_function
    facts["feedable"] = [mine.is_feedable(a), mine.is_fetchable(a)]
    mine.prevent_feeding(a)
    mine.prevent_fetching(a.op)
    facts["prevented"] = [mine.is_feedable(a), mine.is_fetchable(a)]
    return Run(facts=facts)


@program
def containers(tf):
    with tf.container("experiment"):
        a = tf.Variable(1.0, name="a")
        with tf.container("inner"):
            b = tf.Variable(2.0, name="b", use_resource=True)
    c = tf.Variable(3.0, name="c")
    return Run({"sum": a + b + c}, setup=[tf.global_variables_initializer()])


@program
def create_op_directly(tf):
    graph = tf.get_default_graph()
    x = tf.constant([1.0, 4.0], name="x")
    op = graph.create_op("Sqrt", [x], [tf.float32], name="root")
    facts = {"name": op.name, "type": op.type, "repr": repr(op.outputs[0])}
    facts["unknown"] = raised(graph.create_op, "NoSuchOp", [], [tf.float32])
    op._set_attr("_note", tf.AttrValue(s=b"kept"))
    return Run({"root": op.outputs[0]}, facts=facts)


@program
def init_scope_and_graph_functions(tf):
    with tf.control_dependencies([tf.no_op(name="wait")]):
        with tf.init_scope():
            outside = tf.constant(1.0, name="outside")
        inside = tf.constant(2.0, name="inside")
    with tf.control_dependencies([inside]), tf.name_scope("scope"), tf.init_scope():
        scoped = tf.constant(3.0, name="scoped")
    facts = {t.name: [c.name for c in t.op.control_inputs] for t in (outside, inside, scoped)}
    return Run({"sum": outside + inside + scoped}, facts=facts)


@program
def attr_scope_and_gradient_map(tf):
    graph = tf.get_default_graph()
    with graph.gradient_override_map({"Square": "Identity"}):
        x = tf.constant(3.0, name="x")
        y = tf.square(x, name="y")
    z = tf.square(y, name="z")
    return Run({"grad": tf.gradients(z, x)}, facts={"mapped": y.op.get_attr("_gradient_op_type")})
