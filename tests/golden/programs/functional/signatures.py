"""Signatures of functions: names of arguments and variables; wrapped graphs."""

from __future__ import annotations

import re

from tests.golden.registry import Run, describe_error, eagerly, internal_module, program

_NAMES = r"__inference_\S*_\d+"


def _told(function, *args, **kwargs):
    """Return the result of a call, or its error."""
    try:
        value = function(*args, **kwargs)
        return value.numpy() if hasattr(value, "numpy") else str(value)
    except Exception as error:
        found = describe_error(error)
        message = re.sub(_NAMES, "NAME", found["message"])
        return {"class": found["class"], "message": re.sub(r"id=\d+", "id=N", message)}


@program
def arguments_by_signature(tf):
    def compute(tf):
        spec = tf.TensorSpec
        signed = tf.function(lambda a, training=True: tf.cond(training, lambda: a, lambda: -a),
                             input_signature=[spec([]), spec([], tf.bool)])
        partly = tf.function(lambda x, y=3.0: x + y, input_signature=[spec([])])
        open_ones = tf.function(lambda x, y=2: x)
        return {
            "signed": [_told(signed, 1.0), _told(signed, 1.0, training=False),
                       _told(signed, training=False, a=2.0), _told(signed, 1.0, False, 3.0),
                       _told(signed, 1.0, other=3), _told(signed, "a"), _told(signed, None)],
            "partly": [_told(partly, 1.0), _told(partly, 1.0, y=3.0), _told(partly, tf.ones([2]))],
            "open": [_told(open_ones), _told(open_ones, 1.0, 5), _told(open_ones, {1, 2}),
                     _told(open_ones, y=3)],
            "made": [_told(tf.function, abs, input_signature=[3]),
                     _told(partly.get_concrete_function, spec([], tf.int32)),
                     _told(signed.get_concrete_function, spec([]))],
        }  # fmt: skip

    return eagerly(tf, compute)


@program
def names_of_arguments(tf):
    def compute(tf):
        spec = tf.TensorSpec
        traces = []

        @tf.function
        def taking(x, y=2, *args, **kwargs):
            traces.append(sorted(kwargs))
            return tf.nest.flatten(x)[0] * 2.0

        def about(*args, **kwargs):
            found = taking.get_concrete_function(*args, **kwargs)
            return [[tensor.op.name, tensor.op.get_attr("_user_specified_name")]
                    for tensor in found.inputs], str(found.structured_input_signature)

        three = (spec(None), spec(None), spec(None))
        found = taking.get_concrete_function(three, d=spec([2]))
        single = taking.get_concrete_function(spec([]))
        calls = [_told(found, tf.ones([]), tf.ones([]), tf.ones([]), tf.ones([2])),
                 _told(found, x=tf.ones([]), x_1=tf.ones([]), x_2=tf.ones([]), d=tf.ones([2])),
                 _told(single, tf.ones([]), x=tf.ones([])), _told(single),
                 _told(single, tf.ones([]), tf.ones([]))]
        return {
            "named": about(spec(None, name="q")), "unnamed": about(spec(None)),
            "nested": about(three, d=spec([2])),
            "some": _told(about, [three[0], spec(None, name="z")]),
            "by place": about(tf.ones([]), tf.ones([3]), tf.ones([1]), k=tf.ones([4])),
            "calls": calls, "traces": len(traces),
        }  # fmt: skip

    return eagerly(tf, compute)


@program
def variables_as_arguments(tf):
    def compute(tf):
        traces = []

        @tf.function
        def scaled(v, x=1.0):
            traces.append(1)
            return v * x

        v, w = tf.Variable(2.0), tf.Variable(3.0)
        calls = [scaled(each).numpy() for each in (v, w, v)]
        with tf.GradientTape() as tape:
            result = scaled(w, 5.0)
        gradient = tape.gradient(result, w)
        concrete = scaled.get_concrete_function(v)
        return {
            "calls": calls, "traces": len(traces), "gradient": gradient.numpy(),
            "inputs": [[t.op.name, t.dtype.name] for t in concrete.inputs],
            "captured": len(concrete.captured_inputs),
            "variables": len(list(concrete.graph.variables)),
            "given": [_told(concrete, w), _told(concrete, v=w), _told(concrete, tf.ones([]))],
        }  # fmt: skip

    return eagerly(tf, compute)


@program
def variables_made_in_graphs(tf):
    made = []

    @tf.function
    def scaled(x):
        if not made:
            four = tf.constant(2.0) * 2.0
            made.append(tf.Variable(tf.sqrt(four) + four, name="computed"))
            made.append(tf.Variable(3.0, name="plain"))
        return made[0] * made[1] * x

    lifting = internal_module(tf, "functional.lifting", "python.eager.lift_to_graph")
    refused = []

    @tf.function
    def dependent(x):
        if not refused:
            refused.append(tf.Variable(2.0 * x))
        return refused[0]

    results = [scaled(3.0), scaled(tf.constant([1.0, 2.0]))]
    facts = {"refused": _told(dependent, 3.0), "class": lifting.UnliftableError.__name__,
             "names": [variable.name for variable in tf.global_variables()],
             "initial": [variable.initial_value.name for variable in made]}
    return Run({"results": results, "made": made}, facts=facts,
               setup=[made[0].initializer, made[1].initializer])


@program
def functions_that_share_a_graph(tf):
    def compute(tf):
        names = "functional.wrapped_graphs", "python.eager.wrap_function"
        wrapping = internal_module(tf, *names)
        spec = [tf.TensorSpec([], tf.int32)]

        def of(name, start, combine):
            def build(x):
                return combine(tf.Variable(start, name=name), x)
            return build

        shared = wrapping.WrappedGraph()
        add = shared.wrap_function(of("v", 3, lambda v, x: v + x), spec, name="add")
        less = shared.wrap_function(of("v", 4, lambda v, x: v - x), spec, name="less")
        other = shared.wrap_function(of("w", 5, lambda v, x: v * x), spec, name="other")
        grow = shared.wrap_function(of("v", 6, lambda v, x: v.assign_add(x)), spec, name="grow")
        seven = tf.constant(7)
        results = [each(seven).numpy() for each in (add, other, less, grow, add, less)]

        @tf.function
        def plus_one(x):
            return x + 1.0

        body = plus_one.get_concrete_function(tf.TensorSpec([None, 2])).graph
        revived = wrapping.function_from_graph_def(
            body.as_graph_def(), body.inputs[0].name, {"y": body.outputs[0].name})
        return {
            "results": results, "variables": sorted(shared.variables),
            "functions": sorted(shared.functions), "revived": revived(tf.ones([1, 2]))["y"].numpy(),
        }  # fmt: skip

    return eagerly(tf, compute)
