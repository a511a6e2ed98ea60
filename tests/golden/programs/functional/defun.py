"""Functions of the graph's library: Defun, imported definitions, If, While, PartitionedCall."""

from __future__ import annotations

import numpy as np
from tests.golden.registry import Run, eagerly, internal_module, program, raised


def _function(tf):
    """Return the internal module that has Defun."""
    return internal_module(tf, "functional.defun", "python.framework.function")


def _functional_ops(tf):
    return internal_module(tf, "functional.functional_ops", "python.ops.functional_ops")


@program
def defun_calls(tf):
    function = _function(tf)

    @function.Defun(tf.float32, tf.float32)
    def Foo(x, y):
        """Adds, and doubles."""
        return x + y, x * 2.0

    @function.Defun(tf.float32, func_name="Named", out_names=["twice"])
    def named(x):
        return Foo(x, x)[0]

    a = tf.placeholder(tf.float32, [2], name="a")
    both = Foo(a, 2.0)
    fetches = {"sum": both[0], "twice": both[1], "named": named(a, name="call")}
    fetches["gradient"] = tf.gradients([both[0] * both[1]], a)
    facts = {
        "name": Foo.name,
        "stateful": Foo.stateful_ops,
        "arguments": raised(Foo, a),
        "types": raised(Foo, a, tf.constant(1)),
    }
    return Run(fetches, {a: [1.0, 3.0]}, facts=facts)


@program
def defun_captures(tf):
    function = _function(tf)
    v = tf.Variable([1.0, 2.0], name="v")
    w = tf.get_variable("w", [2], initializer=tf.ones_initializer(), use_resource=True)
    c = tf.constant(5.0, name="c")

    @function.Defun(tf.float32)
    def Captures(x):
        return x * v + c * w

    @function.Defun(tf.float32)
    def Creates(x):
        u = tf.get_variable("u", [2], initializer=tf.constant_initializer(4.0))
        return x * u

    @function.Defun(tf.float32)
    def Branches(x):
        return tf.cond(tf.reduce_sum(x) > 0, lambda: x * v, lambda: c * w)

    x = tf.placeholder(tf.float32, [2], name="x")
    y = Captures(x)
    z = Creates(x)
    grads = tf.gradients([y], [x, v, w])
    return Run(
        {"y": y, "z": z, "grads": grads, "branch": Branches(x)},
        [{x: [1.0, 2.0]}, {x: [-1.0, -2.0]}],
        setup=[tf.global_variables_initializer()],
        steps=2,
    )


@program
def defun_gradients(tf):
    function = _function(tf)

    @function.Defun(tf.float32, tf.float32)
    def CubeGrad(x, dy):
        return dy * 3.0 * x * x + 100.0

    @function.Defun(tf.float32, grad_func=CubeGrad)
    def Cube(x):
        return x * x * x

    def python_grad(op, dy):
        return dy * op.inputs[0] - 7.0

    @function.Defun(tf.float32, python_grad_func=python_grad)
    def Square(x):
        return x * x

    x = tf.placeholder(tf.float32, [], name="x")
    y, z = Cube(x), Square(x)
    return Run({"y": y, "z": z, "dy": tf.gradients(y, x), "dz": tf.gradients(z, x)}, {x: 2.0})


@program
def defun_of_any_types(tf):
    function = _function(tf)

    @function.Defun(func_name="Same")
    def same(x, y):
        return y, x

    a = same(tf.constant(1), tf.constant("b"))
    b = same(tf.constant(1.5), tf.constant(True))
    return Run({"a": a, "b": b})


@program
def defun_with_state(tf):
    function = _function(tf)
    v = tf.Variable(1.0, name="v", use_resource=True)

    @function.Defun(tf.resource)
    def Step(handle):
        add = tf.raw_ops.AssignAddVariableOp(resource=handle, value=tf.constant(2.0))
        with tf.control_dependencies([add]):
            return tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float32)

    first = Step(v.handle)
    with tf.control_dependencies([first]):
        second = Step(v.handle)
    return Run({"first": first, "second": second}, setup=[v.initializer], steps=2)


@program
def defun_in_a_loop(tf):
    function = _function(tf)

    @function.Defun(tf.float32, tf.int32)
    def Body(x, i):
        return tf.cond(tf.equal(i % 2, 0), lambda: x * 2.0, lambda: x + 1.0)

    @function.Defun(tf.float32)
    def Loop(x):
        return tf.while_loop(lambda i, a: i < 4, lambda i, a: (i + 1, Body(a, i)), [0, x])[1]

    x = tf.placeholder(tf.float32, [], name="x")
    return Run({"y": Loop(x), "z": Loop(x + 1.0)}, [{x: 1.0}, {x: 3.0}], steps=2)


@program
def functional_branches(tf):
    functional_ops = _functional_ops(tf)
    function = _function(tf)

    @function.Defun(tf.float32)
    def Double(x):
        return x * 2.0

    @function.Defun(tf.float32)
    def Negate(x):
        return -x

    x = tf.placeholder(tf.float32, [2], name="x")
    by_bool = functional_ops.If(tf.reduce_sum(x) > 0, [x], Double, Negate)
    by_number = functional_ops.If(tf.cast(x[0], tf.int32), [x], Double, Negate)
    by_text = functional_ops.If(tf.constant(""), [x], Double, Negate)
    return Run(
        {"bool": by_bool, "number": by_number, "text": by_text},
        [{x: [1.0, 2.0]}, {x: [0.0, -2.0]}],
        steps=2,
    )


@program
def functional_loops(tf):
    functional_ops = _functional_ops(tf)
    function = _function(tf)

    @function.Defun(*[tf.float32] * 2)
    def Test(n, x):
        return n > 0.0

    @function.Defun(*[tf.float32] * 2)
    def Body(n, x):
        return n - 1, x + n

    @function.Defun(tf.int32, tf.float32)
    def Add(i, a):
        return a + tf.cast(i, tf.float32)

    n = tf.placeholder(tf.float32, [], name="n")
    a = functional_ops.While([n, 0.0], Test, Body)
    b = functional_ops.For(0, 10, 2, [1.0], Add, rewrite_with_while=False)
    c = functional_ops.For(5, 0, -1, [1.0], Add, rewrite_with_while=False)
    return Run({"while": a, "for": b, "down": c}, [{n: 4.0}, {n: 0.0}], steps=2)


@program
def symbolic_gradient(tf):
    functional_ops = _functional_ops(tf)
    function = _function(tf)

    @function.Defun(tf.float32, tf.float32)
    def Foo(x, y):
        return tf.tanh(x) * y, tf.reduce_sum(x)

    x = tf.placeholder(tf.float32, [2], name="x")
    made = functional_ops.symbolic_gradient([x, x + 1.0, tf.ones([2]), 2.0], [tf.float32] * 2, Foo)
    return Run({"dx": made[0], "dy": made[1]}, {x: [0.5, -1.0]})


@program
def imported_library(tf):
    function = _function(tf)
    with tf.Graph().as_default() as source:

        @function.Defun(tf.float32, tf.float32)
        def Foo(x, y):
            return x * y

        a = tf.placeholder(tf.float32, name="a")
        b = Foo(a, 3.0, name="b")
        tf.gradients(b, a, name="g")
    gradient = next(op for op in source.get_operations() if op.type == "SymbolicGradient")
    x = tf.placeholder(tf.float32, [2], name="x")
    y, g = tf.import_graph_def(
        source.as_graph_def(), {"a": x}, ["b:0", gradient.name + ":0"], name="in"
    )
    return Run({"y": y, "g": g}, {x: np.array([1.0, 2.0], np.float32)})


@program
def shapes_that_are_relaxed(tf):
    seen = []

    def double(x, y=None, k=1):
        seen.append([str(x.shape), None if y is None else str(y.shape), k])
        return x * 2 if y is None else x * tf.reduce_sum(y)

    def called(function):
        del seen[:]
        results = [function(tf.ones([n])) for n in (1, 2, 3, 4, 1, 2)]
        results += [function(tf.ones([n, 2])) for n in (1, 2, 3)]
        results += [function(tf.ones([2]), y=tf.ones([n, 2])) for n in (1, 2, 3)]
        results += [function(tf.ones([n, n]), tf.ones([n, 2]), k=7) for n in (1, 2)]
        results.append(function(tf.ones([2], tf.float64)))
        return {"seen": list(seen), "results": [each.numpy() for each in results]}

    def compute(tf):
        return {
            "relaxed": called(tf.function(double, experimental_relax_shapes=True)),
            "defun": called(tf.contrib.eager.defun(double, experimental_relax_shapes=True)),
            "plain": called(tf.function(double)),
        }

    return eagerly(tf, compute)


@program
def pruned_functions(tf):
    def compute(tf):
        v = tf.contrib.eager.Variable(3.0)

        def build(x, y):
            total = tf.identity(x * v, name="product") + y
            with tf.control_dependencies([v.assign_add(y)]):
                tf.no_op(name="count")
            return total

        spec = tf.TensorSpec([], tf.float32)
        wrapped = tf.compat.v1.wrap_function(build, [spec, tf.TensorSpec([], tf.float32, "y")])
        product = wrapped.prune(wrapped.inputs[0], "product:0")
        add = wrapped.prune(wrapped.inputs[1], "count")
        told = tf.MetaGraphDef.FromString(b"")
        told.signature_def["s"].outputs["o"].name = "product:0"
        by_info = wrapped.prune(wrapped.inputs[0], told.signature_def["s"].outputs["o"], "mine")
        return {
            "whole": wrapped(tf.constant(2.0), 1.0).numpy(),
            "product": product(tf.constant(2.0)).numpy(),
            "before": v.numpy(), "add": add(tf.constant(5.0)), "after": v.numpy(),
            "operations": sorted(op.type for op in product.graph.get_operations()),
            "counts": [len(each.inputs) for each in (wrapped, product, add)],
            "by info": by_info(tf.constant(4.0)).numpy(),
            "no tensor": raised(wrapped.prune, ["count"], []),
            "elsewhere": raised(wrapped.prune, [], product.outputs[0])["class"],
            "not fed": raised(wrapped.prune, wrapped.inputs[1], "product:0")["class"],
        }  # fmt: skip

    return eagerly(tf, compute)


def _shapes(tensors):
    return [str(tensor.shape) for tensor in tensors]


@program
def shapes_of_calls(tf):
    """Infer a call's shapes from its arguments, also if the body was built for any."""

    @tf.function(input_signature=[tf.TensorSpec(None), tf.TensorSpec([None])])
    def of_any(x, y):
        product = tf.matmul(tf.reshape(x, [-1, 2]), tf.reshape(x, [2, -1]))
        return (
            x + 1.0,
            tf.concat([y, y], 0),
            tf.shape(x),
            tf.zeros(tf.shape(y)),
            product,
            tf.reshape(y, tf.stack([tf.shape(y)[0], 1])),
        )

    @tf.function(input_signature=[tf.TensorSpec(None), tf.TensorSpec([None])])
    def nested(x, y):
        return of_any(x, y)

    @tf.function(input_signature=[tf.TensorSpec([None, None])])
    def demanding(x):
        return tf.matmul(x, tf.ones([2, 3]))

    w = tf.get_variable("w", initializer=tf.ones([4, 3]), use_resource=True)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.int32)])
    def rows(indices):
        return tf.gather(w, indices), w * 2.0

    x, y = tf.reshape(tf.range(6.0), [3, 2]), tf.ones([4])
    known, within, looked_up = of_any(x, y), nested(x, y), rows([1, 2, 3])
    unknown = of_any(tf.placeholder_with_default(x, [None, 2]), y)
    product = demanding(x)
    facts = {
        "known": _shapes(known),
        "nested": _shapes(within),
        "rows": _shapes(looked_up),
        "unknown": _shapes(unknown),
        "product": str(product.shape),
        "refused": raised(demanding, tf.ones([3, 4])),
        "gradient": str(tf.gradients(product, x)[0].shape),
    }
    definition = tf.get_default_graph().as_graph_def()
    with tf.Graph().as_default() as copy:
        tf.import_graph_def(definition, name="")
        facts["imported"] = [
            _shapes(op.outputs) for op in copy.get_operations() if op.type == "PartitionedCall"
        ]
    return Run(
        {"known": known, "nested": within, "rows": looked_up, "product": product},
        setup=[tf.global_variables_initializer()],
        facts=facts,
    )


@program
def calls_wait_for_operations_outside(tf):
    v = tf.Variable(3.0, name="v", use_resource=True)

    @tf.function
    def initialize():
        tf.variables_initializer([v])
        return tf.constant(0.0)

    @tf.function
    def read(x):
        with tf.control_dependencies([v.initializer]):
            return x + 2.0

    return Run({"initialized": initialize(), "read": read(tf.constant(1.0))}, steps=2)


@program
def functions_of_templates_traced_twice(tf):
    def scale(x):
        return x * tf.get_variable("w", [3], initializer=tf.ones_initializer())

    facts, fetches = {}, {}
    for name, now in (("now", True), ("later", False)):
        template = tf.make_template(name, scale, create_scope_now_=now)
        function = tf.contrib.eager.defun(template)
        fetches[name] = [function(tf.ones([rows, 1])) for rows in (2, 4)]
        facts[name] = [variable.name for variable in template.variables]
    return Run(fetches, setup=[tf.global_variables_initializer()], facts=facts)


@program
def names_of_wrapped_functions(tf):
    spec, x = [tf.TensorSpec([], tf.float32)], tf.constant(1.5)
    wrap = tf.compat.v1.wrap_function
    return Run({"plain": wrap(tf.square, spec)(x),
                "named": wrap(lambda a: a * 2.0, spec, name="given")(x)})
