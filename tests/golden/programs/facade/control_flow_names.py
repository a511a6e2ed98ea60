"""Functions of TensorFlow's internal modules about conditions, loops and nodes of eager code."""

from __future__ import annotations

from tests.golden.registry import InternalNames, Run, internal_module, program, raised

_CHECKS = ("IsSwitch", "IsMerge", "IsLoopEnter", "IsLoopExit", "IsCondSwitch", "IsCondMerge",
           "IsLoopSwitch", "IsLoopMerge", "IsLoopConstantEnter", "IsInWhileLoop", "IsInCond")


@program
def kinds_of_nodes(tf):
    util = internal_module(tf, "facade.control_flow_util", "python.ops.control_flow_util")
    flag, limit = tf.placeholder(tf.bool, []), tf.constant(3.0)
    tf.cond(flag, lambda: limit + 1, lambda: limit - 1)
    tf.while_loop(lambda x: x < limit,
                  lambda x: tf.cond(flag, lambda: x + limit, lambda: x * 2.0), [limit])
    operations = tf.get_default_graph().get_operations()
    found = {}
    for op in operations:
        said = [name for name in _CHECKS if getattr(util, name)(op)]
        context = op._get_control_flow_context()
        loop, branch = (find(context) for find in (
            util.GetContainingWhileContext, util.GetContainingCondContext))
        found[op.name] = [said, loop and loop.name, branch and branch.name,
                          util.GetContainingXLAContext(context) is None]
    return Run(facts={"operations": found, "compiled": util.InXlaContext(tf.get_default_graph()),
                      "calls_functions": util.ENABLE_CONTROL_FLOW_V2})


@program
def the_loop_that_comes_first(tf):
    util = internal_module(tf, "facade.control_flow_util", "python.ops.control_flow_util")
    made = []

    def body(i):
        made.append(i.op)
        return tf.while_loop(lambda j: j < i, lambda j: made.append(j.op) or j + 1, [0]) + 1

    tf.while_loop(lambda i: i < 3, body, [0])
    outer, inner = (op._get_control_flow_context() for op in made[:2])
    find = util.GetContainingWhileContext
    return Run(facts={
        "names": [outer.name, inner.name, find(outer).name, find(inner, outer).name],
        "stopped": find(outer.outer_context, outer) is None,
        "inside": [util.IsContainingContext(inner, outer), util.IsContainingContext(outer, inner),
                   util.TensorInContext(made[1].outputs[0], outer)],
        "valid": util.CheckInputFromValidContext(made[1], made[0]),
    })


@program
def an_input_from_a_loop_it_is_not_in(tf):
    util = internal_module(tf, "facade.control_flow_util", "python.ops.control_flow_util")
    inside = []
    tf.while_loop(lambda i: i < 3, lambda i: inside.append(i + 1) or inside[0], [0])
    return Run(facts={"refused": raised(tf.identity, inside[0], name="outside"),
                      "valid": util.CheckInputFromValidContext(inside[0].op, inside[0].op)})


@program
def nodes_of_the_graph(tf):
    module = InternalNames(tf, "python.eager.graph_only_ops")
    x = module.graph_placeholder(tf.float32, [2, None], name="given")
    return Run({"zeros": module.graph_zeros_like(x)}, {x: [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]})


@program
def kinds_of_attributes(tf):
    backprop = internal_module(tf, "eager.attributes", "python.eager.backprop")
    kind = backprop.op_attr_type
    one, several, shape = kind("Add", "T"), kind("MaxPool", "ksize"), kind("Placeholder", "shape")
    types = kind("IdentityN", "T")
    return Run(facts={
        "kinds": [one, several, shape, types, kind("Conv2D", "padding"), kind("Elu", "T")],
        "type": str(backprop.make_attr(one, 1)), "types": str(backprop.make_attr(types, [1, 3])),
        "shape": str(backprop.make_attr(shape, [2, None])), "plain": backprop.make_attr(several, 5),
    })


@program
def the_tf_of_autographs_tests(tf):
    fake = InternalNames(tf, "python.autograph.utils").fake_tf()
    return Run({"sum": fake.add(fake.convert_to_tensor(2.0), tf.constant(4.0))})


@program
def functions_registered(tf):
    function = InternalNames(tf, "python.eager.function")
    double = function.defun(lambda x: 2.0 * x)
    x = tf.constant([1.0, 3.0])
    made = function.register(double, tf.TensorSpec([2], tf.float32))
    return Run({"called": double(x)}, facts={
        "name": "__inference" in str(made.name), "library":
            len(tf.get_default_graph().as_graph_def().library.function),
        "refused": raised(function.register, len)})


@program
def origins_of_nodes(tf):
    interpolation = InternalNames(tf, "python.framework.error_interpolation")

    def made_here():
        return tf.constant(1.0, name="here")

    op = made_here().op
    message = interpolation.create_graph_debug_info_def([("", op), ("f", op)])
    first, second = (message.traces[key] for key in sorted(message.traces))
    ours = [(f.func, f.code, message.files[f.file_index].endswith("control_flow_names.py"))
            for f in first.file_line_cols
            if "control_flow_names" in message.files[f.file_index]]
    return Run(facts={"keys": sorted(message.traces), "frames": ours, "same": first == second})


@program
def operations_of_the_c_api(tf):
    ops = InternalNames(tf, "python.framework.ops")
    graph = tf.get_default_graph()
    x, y = tf.constant([[1, 2, 3]]), tf.constant(1)
    made = ops._create_c_op(graph, ops._NodeDef("Identity", "own"), [x], [y.op])
    op = graph._create_op_from_tf_operation(made)
    facts = {"name": op.name, "shape": op.outputs[0].shape.as_list()}
    facts["next name"] = tf.identity(x, name="own").op.name

    def body(i):
        attrs = {"N": tf.AttrValue(i=2)}
        node, inner = ops._NodeDef("ConcatV2", "loop/joined", attrs=attrs), tf.constant(3)
        ops._create_c_op(graph, node, [[x, x], tf.constant(0)], [])
        with tf.control_dependencies([y, inner]):
            facts["new"] = [op.name for op in graph._add_new_tf_operations()]
        return i + 1

    last = tf.while_loop(lambda i: i < 3, body, [0], name="loop")
    facts["left"] = len(graph._add_new_tf_operations())
    return Run({"own": op.outputs[0], "last": last}, facts=facts)
