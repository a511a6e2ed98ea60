"""Placement of operations on four CPU devices, and its errors.

Devices are read from the partition graphs of a run, as TensorFlow's placer left them.
"""

from __future__ import annotations

import re
import tempfile

from tests.golden.registry import Run, program

# Lines of source files, and a device for compiled programs that only TensorFlow has, are left out.
LEFT_OUT = r"(?<=\(defined at) [^)]*|(?<=<)[^<>]*(?=>)|(, )?(/job:\S*:)?XLA_CPU(:0| (?=\n))?"
HIDDEN = ("_Send", "_Recv", "_HostSend", "_HostRecv", "_Retval", "_Arg")


def placed(tf, build, **options):
    """Return the devices of the operations of `build` and of their inputs; or the error."""
    with tf.Graph().as_default():
        config = tf.ConfigProto(device_count={"CPU": 4, "GPU": 0}, **options)
        config.graph_options.optimizer_options.opt_level = -1
        config.graph_options.rewrite_options.disable_meta_optimizer = True
        metadata = tf.RunMetadata()
        try:
            setup, ops = build(tf)
            with tf.Session(config=config) as session:
                session.run(setup)
                session.run(
                    ops, options=tf.RunOptions(output_partition_graphs=True), run_metadata=metadata
                )
        except (tf.errors.OpError, ValueError) as error:
            said = re.sub(LEFT_OUT, "", getattr(error, "message", str(error)))
            named = getattr(getattr(error, "op", None), "name", None)
            return f"{type(error).__name__} of {named}: {said}"
    found = {
        node.name: node.device.rpartition(":")[2]
        for graph in metadata.partition_graphs
        for node in graph.node
        if node.op not in HIDDEN and "/_" not in node.name
    }
    return " ".join(f"{name}:{device}" for name, device in sorted(found.items()))


def runs(tf, cases, **options):
    facts = {name: placed(tf, build, **options) for name, build in sorted(cases.items())}
    return Run({}, facts=facts)


def on(tf, device, make, *args, **kwargs):
    """Make something on a device."""
    with tf.device(device):
        return make(*args, **kwargs)


def constant(tf, device, name):
    return on(tf, device, tf.constant, 1.0, name=name)


def explicit_cases():
    """Device strings, in full and in part, nested, and as functions."""

    def two(tf):
        return [], tf.add(constant(tf, "/cpu:2", "a"), constant(tf, "/cpu:1", "b"), name="c").op

    def simple(device):
        return lambda tf: ([], constant(tf, device, "a").op)

    def nested(tf):
        with tf.device("/cpu:1"):
            a = constant(tf, "/job:localhost", "a")
            b = constant(tf, "/cpu:2", "b")
            c = constant(tf, None, "c")
            d = constant(tf, "/task:0", "d")
        return [], [a.op, b.op, c.op, d.op]

    def function(tf):
        with tf.device(lambda op: f"/cpu:{len(op.name) % 4}"):
            return [], [tf.constant(1.0, name="x" * i).op for i in range(1, 7)]

    def function_inside(tf):
        with tf.device("/cpu:3"), tf.device(lambda op: "/cpu:1" if op.type == "Const" else ""):
            return [], tf.square(tf.constant(1.0, name="a"), name="b").op

    def function_outside(tf):
        with tf.device(lambda op: "/cpu:1"), tf.device("/cpu:2"):
            return [], tf.square(tf.constant(1.0, name="a"), name="b").op

    def in_graph_scope(tf):
        with tf.get_default_graph().device("/device:CPU:3"):
            return [], tf.constant(1.0, name="a").op

    def by_spec(tf):
        spec = tf.DeviceSpec(device_type="CPU", device_index=2)
        return [], constant(tf, spec, "a").op

    return {
        "two": two, "nested": nested, "function": function, "function_inside": function_inside,
        "function_outside": function_outside, "in_graph_scope": in_graph_scope, "by_spec": by_spec,
        **{f"device {device}": simple(device) for device in (
            "", "/cpu:3", "/device:CPU:1", "/cpu:*", "/job:localhost", "/replica:0/task:0/cpu:2",
            "/job:localhost/replica:0/task:0/device:CPU:3", "/task:0", "cpu:1",
        )},
    }  # fmt: skip


def missing_cases():
    """Devices that are not there."""

    def simple(device):
        return lambda tf: ([], constant(tf, device, "a").op)

    def variable(tf):
        return [], on(tf, "/gpu:1", tf.Variable, 1.0, name="v").initializer

    def behind(tf):
        return [], tf.square(constant(tf, "/cpu:5", "a"), name="b").op

    def unused(tf):
        constant(tf, "/cpu:6", "a")
        return [], constant(tf, "/cpu:1", "b").op

    return {
        "variable": variable, "behind": behind, "unused": unused,
        **{f"device {device}": simple(device) for device in (
            "/cpu:4", "/gpu:0", "/device:GPU:*", "/job:worker", "/job:worker/task:1/cpu:0",
            "/task:1", "/replica:1", "/job:localhost/cpu:9", "/device:TPU:0",
        )},
    }  # fmt: skip


def variable_cases():
    """Test references and resources, whose consumers are placed on the variable's device."""

    def make(tf, device, resource):
        return on(tf, device, tf.get_variable, "v", initializer=[1.0, 2.0], use_resource=resource)

    def case(resource, use):
        def build(tf):
            v = make(tf, "/cpu:3", resource)
            return v.initializer, use(tf, v)

        return build

    uses = {
        "assigned": lambda tf, v: tf.assign_add(v, [1.0, 1.0], name="add").op,
        "assigned_elsewhere": lambda tf, v: on(
            tf, "/cpu:1", tf.assign_sub, v, [1.0, 1.0], name="sub"
        ).op,
        "read": lambda tf, v: tf.square(v, name="b").op,
        "read_elsewhere": lambda tf, v: on(tf, "/cpu:2", tf.square, v, name="b").op,
        "gathered": lambda tf, v: on(tf, "/cpu:1", tf.gather, v, [0], name="g").op,
        "trained": lambda tf, v: tf.train.GradientDescentOptimizer(0.1).minimize(
            on(tf, "/cpu:1", tf.reduce_sum, v * v, name="loss")
        ),
        "trained_with_slots": lambda tf, v: on(
            tf, "/cpu:2", tf.train.MomentumOptimizer(0.1, 0.5).compute_gradients,
            tf.reduce_sum(v * v, name="loss"),
        )[0][0].op,
        "colocated": lambda tf, v: on(
            tf, "/cpu:1", tf.gradients, tf.reduce_sum(v * v, name="loss"), [v],
            colocate_gradients_with_ops=True,
        )[0].op,
        "scattered": lambda tf, v: on(
            tf, "/cpu:0", tf.scatter_add, v, [0], [1.0], name="s"
        ).op,
    }  # fmt: skip
    return {
        f"{name} {'resource' if resource else 'reference'}": case(resource, use)
        for name, use in uses.items() for resource in (False, True)
    }  # fmt: skip


def group_cases():
    """Colocation, what follows its neighbours, queues."""

    def colocated(tf):
        a = constant(tf, "/cpu:2", "a")
        b = tf.constant(2.0, name="b")
        with tf.colocate_with(a):
            return [], tf.square(b, name="c").op

    def colocated_chain(tf):
        a = constant(tf, "/cpu:2", "a")
        with tf.colocate_with(a):
            b = tf.square(tf.constant(2.0), name="b")
        with tf.colocate_with(b):
            return [], tf.square(b, name="c").op

    def ignoring(tf):
        a = constant(tf, "/cpu:2", "a")
        with tf.colocate_with(a), tf.colocate_with(None, ignore_existing=True):
            return [], tf.square(tf.constant(2.0, name="b"), name="c").op

    def by_attribute(names, device=None):
        def build(tf):
            constant(tf, "/cpu:2", "a")
            b = constant(tf, device, "b")
            groups = tf.AttrValue.ListValue(s=[f"loc:@{name}".encode() for name in names])
            b.op._set_attr("_class", tf.AttrValue(list=groups))
            return [], b.op

        return build

    def by_two_that_disagree(tf):
        constant(tf, "/cpu:0", "a")
        c = tf.identity(constant(tf, "/cpu:1", "b"), name="c")
        groups = tf.AttrValue.ListValue(s=[b"loc:@a", b"loc:@b"])
        c.op._set_attr("_class", tf.AttrValue(list=groups))
        return [], c.op

    def inside_two_that_disagree(tf):
        a, b = constant(tf, "/cpu:0", "a"), constant(tf, "/cpu:1", "b")
        with tf.colocate_with(a), tf.colocate_with(b):
            return [], tf.identity(b, name="c").op

    def by_name_of_a_colocated_one(tf):
        b = tf.square(constant(tf, "/cpu:2", "a"), name="b")
        b.op._set_attr("_class", tf.AttrValue(list=tf.AttrValue.ListValue(s=[b"loc:@a"])))
        c = on(tf, "/cpu:1", tf.square, b, name="c")
        c.op._set_attr("_class", tf.AttrValue(list=tf.AttrValue.ListValue(s=[b"loc:@b"])))
        return [], c.op

    def with_one_that_is_nowhere(tf):
        with tf.colocate_with(constant(tf, "/cpu:9", "a")), tf.device(None):
            b = tf.square(2.0, name="b")
        b.op._set_device("")
        return [], b.op

    def of_jobs(tf):
        constant(tf, "/job:worker", "a")
        b = constant(tf, "/job:ps", "b")
        b.op._set_attr("_class", tf.AttrValue(list=tf.AttrValue.ListValue(s=[b"loc:@a"])))
        return [], b.op

    def resources_apart(handle_of):
        def build(tf):
            v, m = (
                on(tf, device, tf.get_variable, name, initializer=1.0, use_resource=True)
                for name, device in (("v", "/cpu:1"), ("m", "/cpu:2"))
            )
            args = {"lr": 0.1, "grad": 1.0, "momentum": 0.9, "name": "apply"}
            slot = on(tf, "/cpu:3", handle_of, tf, m)
            apply = tf.raw_ops.ResourceApplyMomentum(var=v.handle, accum=slot, **args)
            return [v.initializer, m.initializer], apply

        return build

    def follows(tf):
        return [], on(tf, "/cpu:1", tf.square, tf.constant(1.0, name="a"), name="c").op

    def follows_several(device):
        def build(tf):
            a = tf.constant(1.0, name="a")
            c = on(tf, "/cpu:1", tf.square, a, name="c")
            return [], [c.op, on(tf, device, tf.square, a, name="d").op]

        return build

    def does_not_follow(tf):
        b = tf.square(constant(tf, "/cpu:1", "a"), name="b")
        return [], on(tf, "/cpu:3", tf.square, b, name="c").op

    def random_follows(tf):
        shape = tf.constant([2], name="shape")
        return [], on(
            tf, "/cpu:2", tf.square, tf.random_uniform(shape, seed=1, name="r"), name="c"
        ).op

    def queue(tf):
        q = on(tf, "/cpu:1", tf.FIFOQueue, 3, tf.float32, name="q")
        return [], [q.enqueue(1.0, name="e"), q.size(name="s").op]

    def queue_elsewhere(tf):
        q = on(tf, "/cpu:1", tf.FIFOQueue, 3, tf.float32, name="q")
        return [], on(tf, "/cpu:2", q.enqueue, 1.0, name="e")

    def control_inputs_do_not_matter(tf):
        with tf.control_dependencies([constant(tf, "/cpu:3", "a")]):
            return [], tf.no_op(name="n")

    def placeholder(tf):
        x = on(tf, "/cpu:2", tf.placeholder_with_default, [1.0], [1], name="x")
        return [], tf.square(x, name="y").op

    return {
        "colocated": colocated, "colocated_chain": colocated_chain, "ignoring": ignoring,
        "by_attribute": by_attribute(["a"]), "by_attribute_conflict": by_attribute(["a"], "/cpu:1"),
        "by_attribute_agreeing": by_attribute(["a"], "/cpu:2"),
        "by_attribute_job": by_attribute(["a"], "/job:localhost"),
        "by_attribute_unknown": by_attribute(["nobody"]), "by_two": by_attribute(["a", "nobody"]),
        "by_two_that_disagree": by_two_that_disagree, "of_jobs": of_jobs,
        "inside_two_that_disagree": inside_two_that_disagree,
        "by_name_of_a_colocated_one": by_name_of_a_colocated_one,
        "with_one_that_is_nowhere": with_one_that_is_nowhere,
        "resources_apart": resources_apart(lambda tf, m: m.handle),
        "resources_apart_handed_on": resources_apart(
            lambda tf, m: tf.raw_ops.IdentityN(input=[m.handle], name="n")[0]
        ),
        "follows": follows, "follows_one_device": follows_several("/cpu:1"),
        "follows_none_of_two": follows_several("/cpu:2"), "does_not_follow": does_not_follow,
        "random_follows": random_follows, "queue": queue, "queue_elsewhere": queue_elsewhere,
        "control_inputs_do_not_matter": control_inputs_do_not_matter, "placeholder": placeholder,
    }  # fmt: skip


@program
def explicit_devices(tf):
    return runs(tf, explicit_cases())


@program
def missing_devices(tf):
    return runs(tf, missing_cases())


@program
def missing_devices_softly(tf):
    return runs(tf, missing_cases(), allow_soft_placement=True)


@program
def variables(tf):
    return runs(tf, variable_cases())


@program
def groups(tf):
    return runs(tf, group_cases())


@program
def groups_softly(tf):
    cases = group_cases()
    # Placed, TensorFlow looks for the handed on variable on the other device, and does not find it.
    del cases["resources_apart_handed_on"]
    return runs(tf, cases, allow_soft_placement=True)


def two_references(tf, first="/cpu:1", second="/cpu:2"):
    """Variables on devices of their own."""
    return [
        on(tf, device, tf.get_variable, name, initializer=[1.0, 2.0])
        for name, device in (("a", first), ("b", second))
    ]


def reader_cases():
    """Operations that are given references and declare values read them wherever they are."""

    def case(device, use):
        def build(tf):
            a, b = two_references(tf)
            made = on(tf, device, use, tf.raw_ops, a._ref(), b._ref())
            return [a.initializer, b.initializer], getattr(made, "op", made)

        return build

    uses = {
        "Add": lambda ops, a, b: ops.Add(x=a, y=b, name="r"),
        "AddN": lambda ops, a, b: ops.AddN(inputs=[a, b], name="r"),
        "Pack": lambda ops, a, b: ops.Pack(values=[a, b], name="r"),
        "Identity": lambda ops, a, b: ops.Identity(input=b, name="r"),
        "IdentityN": lambda ops, a, b: ops.IdentityN(input=[a, b], name="r")[0],
        "Switch": lambda ops, a, b: ops.Switch(data=a, pred=True, name="r").output_true,
        "Print": lambda ops, a, b: ops.Print(input=a, data=[b], first_n=0, name="r"),
        "Assert": lambda ops, a, b: ops.Assert(condition=True, data=[a, b], name="r"),
        "StringFormat": lambda ops, a, b: ops.StringFormat(inputs=[a, b], name="r"),
        "Assign": lambda ops, a, b: ops.Assign(ref=a, value=b, name="r"),
        "AssignAdd": lambda ops, a, b: ops.AssignAdd(ref=b, value=a, name="r"),
        "ScatterAdd": lambda ops, a, b: ops.ScatterAdd(ref=b, indices=[0, 1], updates=a, name="r"),
        "ApplyGradientDescent": lambda ops, a, b: ops.ApplyGradientDescent(
            var=a, alpha=1.0, delta=b, name="r"
        ),
        "ApplyMomentum": lambda ops, a, b: ops.ApplyMomentum(
            var=a, accum=b, lr=1.0, grad=b, momentum=0.5, name="r"
        ),
        "RefIdentity": lambda ops, a, b: ops.RefIdentity(input=b, name="r"),
        "RefSelect": lambda ops, a, b: ops.RefSelect(index=0, inputs=[a, b], name="r"),
    }  # fmt: skip
    return {
        f"{name} on {device}": case(device, use)
        for name, use in uses.items() for device in (None, "/cpu:1", "/cpu:3")
    }  # fmt: skip


def saver_cases():
    """Return a Saver made in a device scope, of variables on others."""

    def case(first, second, device):
        def build(tf):
            variables = two_references(tf, first, second)
            on(tf, device, tf.train.Saver, filename=tempfile.mkdtemp() + "/model")
            init = [variable.initializer for variable in variables]
            return init, tf.get_default_graph().get_operation_by_name("save/SaveV2")

        return build

    devices = (None, "/cpu:1", "/cpu:2")
    return {
        f"{first} {second} {device}": case(first, second, device)
        for first in devices for second in devices for device in devices
    }  # fmt: skip


@program
def readers_of_references(tf):
    return runs(tf, reader_cases())


@program
def readers_of_references_softly(tf):
    return runs(tf, reader_cases(), allow_soft_placement=True)


@program
def savers_in_device_scopes(tf):
    return runs(tf, saver_cases(), allow_soft_placement=True)
