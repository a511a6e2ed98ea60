"""Traced functions: values computed at calls, variables read by value, registered gradients."""

from __future__ import annotations

from tests.golden.registry import Run, eagerly, internal_module, program, raised


def _functions(tf):
    """Return the internal module with the class of traced functions."""
    return internal_module(tf, "functional.registered", "python.eager.function")


@program
def values_that_are_computed_at_calls(tf):
    def compute(tf):
        given, calls = {"x": 1.0}, []

        @tf.function
        def late(x):
            def value():
                calls.append(given["x"])
                return given["x"]

            graph = tf.get_default_graph()
            first = graph.capture_call_time_value(value, tf.TensorSpec(None), key="k")
            again = graph.capture_call_time_value(None, tf.TensorSpec(None), key="k")
            return x + first + again

        @tf.function
        def around(x):
            return late(x) * 2.0

        results = [late(tf.constant(2.0)).numpy()]
        given["x"] = 5.0
        results += [late(tf.constant(2.0)).numpy(), around(tf.constant(2.0)).numpy()]
        given["x"] = 7.0  # the function around was traced for the value of before
        results.append(around(tf.constant(2.0)).numpy())
        watched = given["x"] = tf.constant(3.0)
        with tf.GradientTape() as tape:
            tape.watch(watched)
            y = late(tf.constant(2.0)) * watched
        results.append(tape.gradient(y, watched).numpy())
        given["x"] = tf.constant([1.0])
        results.append(late(tf.constant(2.0)).numpy())
        return {"results": results, "calls": calls[:4]}

    return eagerly(tf, compute)


@program
def values_of_calls_have_the_types_that_were_said(tf):
    def compute(tf):
        given = {"x": tf.constant(1.0)}

        @tf.function
        def late(x):
            graph = tf.get_default_graph()
            return x + graph.capture_call_time_value(lambda: given["x"], tf.TensorSpec(()))

        found = {"fits": late(tf.constant(2.0)).numpy()}
        for name, wrong in (("type", "text"), ("none", None), ("dict", {"a": 1})):
            given["x"] = wrong
            found[name] = raised(late, tf.constant(2.0))
        given["x"] = tf.constant([1.0])
        found["rank"] = raised(late, tf.constant(2.0))["class"]
        return found

    return eagerly(tf, compute)


@program
def composite_values_are_computed_at_calls(tf):
    def compute(tf):
        given = {
            "rows": tf.IndexedSlices(tf.constant([1, 2]), tf.constant([0, 1]), tf.constant([2])),
            "ragged": tf.ragged.constant([[[1, 2], [3]], [[4, 5, 6]]]),
            "sparse": tf.SparseTensor([[0], [8]], [1, 2], [20]),
        }
        inputs = []

        @tf.function
        def late():
            graph = tf.get_default_graph()
            spec = {
                "rows": tf.IndexedSlicesSpec(dtype=tf.int32, dense_shape_dtype=tf.int32,
                                             indices_dtype=tf.int32),
                "ragged": tf.RaggedTensorSpec([2, None, None], tf.int32),
                "sparse": tf.SparseTensorSpec([None], tf.int32),
            }  # fmt: skip
            found = graph.capture_call_time_value(lambda: given, spec)
            inputs[:] = map(sorted, graph.deferred_internal_captures)
            return found["rows"].values, found["ragged"].row_splits, found["sparse"].values

        results = [each.numpy() for each in late()]
        given["sparse"] = tf.SparseTensor([[0], [8], [9]], [1, 2, 3], [20])
        results += [each.numpy() for each in late()]
        given["rows"] = tf.IndexedSlices(tf.constant([1, 2]), tf.constant([0, 1]))
        return {"results": results, "inputs": inputs, "no shape": raised(late)["class"]}

    return eagerly(tf, compute)


@program
def functions_of_the_graph_and_values_at_calls(tf):
    given = {"x": 2.0}

    @tf.function
    def late(x):
        graph = tf.get_default_graph()
        return x * graph.capture_call_time_value(lambda: given["x"], tf.TensorSpec(()))

    first = late(tf.constant(3.0))
    given["x"] = 7.0
    return Run({"first": first, "second": late(tf.constant(3.0))})


@program
def variables_that_are_read_by_value(tf):
    def compute(tf):
        function = _functions(tf)
        v, w = tf.Variable(1.0), tf.Variable(tf.ones([200]))

        def read(x):
            branch = tf.cond(tf.placeholder_with_default(True, ()), v.read_value, v.read_value)
            return v.read_value() * x + branch + w[0]

        by_value = function.Function(read, "read", capture_by_value=True)
        by_name = function.Function(read, "read")
        results = [f(tf.constant(2.0)).numpy() for f in (by_value, by_name)]
        v.assign(10.0)
        w.assign_add(w)
        results += [f(tf.constant(2.0)).numpy() for f in (by_value, by_name)]
        return {"results": results}

    return eagerly(tf, compute)


@program
def functions_that_are_registered_with_their_gradients(tf):
    function = _functions(tf)

    def product(x, y):
        return tf.matmul(x, y)

    product = tf.contrib.eager.defun(product)
    t = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    graph = tf.get_default_graph()
    concrete = function.register(product, t, t)
    counts = [len(graph._functions)]
    made = list(graph._functions.values())
    forward, backward = (each.definition for each in made[1:3])
    facts = {
        "kinds": [name.split("_product")[0].rstrip("_0123456789") for name in graph._functions],
        "each other": [
            forward.attr["backward_function_name"].s.decode() == backward.signature.name,
            backward.attr["forward_function_name"].s.decode() == forward.signature.name,
        ],
        "name": concrete.name.startswith(b"__inference_product"),
        "no function": raised(function.register, len, t)["class"],
        "tf.function": raised(function.register, tf.function(lambda x: x), t)["class"],
    }
    result = product(t, t)
    gradient = tf.gradients(result, t)[0]
    counts.append(len(graph._functions))
    facts["counts"] = counts
    return Run({"result": result, "gradient": gradient}, facts=facts)
