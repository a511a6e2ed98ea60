"""Graphs and operands that no program means, and the words in which they are turned down."""

from __future__ import annotations

import numpy as np
from tests.golden.programs.ops.operands_refused import refusals
from tests.golden.registry import Run, program, raised


def function(name, op):
    return f"""function {{ signature {{ name: "{name}" input_arg {{ name: "x" type: DT_FLOAT }}
      output_arg {{ name: "y" type: DT_FLOAT }} }}
      node_def {{ name: "m" op: "{op}" input: "x" attr {{ key: "T" value {{ type: DT_FLOAT }} }} }}
      ret {{ key: "y" value: "m:y:0" }} }}"""


FED = 'node { name: "c" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } } '


def parsed(tf, text):
    from google.protobuf import text_format

    graph_def = tf.GraphDef()
    text_format.Parse(text + " versions { producer: 134 }", graph_def)
    return graph_def


def imports(tf, text):
    """Return the error of importing a graph into a new graph."""
    with tf.Graph().as_default():
        return raised(tf.import_graph_def, parsed(tf, text), name="")


@program
def functions_of_one_name(tf):
    call = FED + 'node { name: "r" op: "f" input: "c" } '
    both = "library {{ {} {} }}".format(function("f", "Neg"), function("f", "Exp"))
    one, other = ("library {{ {} }}".format(function("f", op)) for op in ("Neg", "Exp"))
    tf.import_graph_def(parsed(tf, call + one), name="first")
    tf.import_graph_def(parsed(tf, call + one), name="same")
    facts = {
        "in one library": imports(tf, call + both),
        "beside another": raised(tf.import_graph_def, parsed(tf, call + other), name="other"),
    }
    graph = tf.get_default_graph()
    fetches = {name: graph.get_tensor_by_name(name + "/r:0") for name in ("first", "same")}
    feeds = {graph.get_tensor_by_name(name + "/c:0"): np.float32(2) for name in ("first", "same")}
    return Run(fetches, feeds, facts=facts)


@program
def a_function_named_like_an_op(tf):
    attr = ' attr { key: "T" value { type: DT_FLOAT } } } '
    call = FED + 'node { name: "r" op: "Neg" input: "c"' + attr
    return Run({"one": tf.constant(1)}, facts={
        "called": imports(tf, call + "library {{ {} }}".format(function("Neg", "Exp"))),
    })


@program
def attributes_of_references(tf):
    dtype = 'attr { key: "dtype" value { type: DT_FLOAT_REF } } '
    value = 'attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape { } } } } '
    types = 'attr { key: "T" value { list { type: [DT_INT32, DT_FLOAT_REF] } } } '
    return Run({"one": tf.constant(1)}, facts={
        "Const": imports(tf, f'node {{ name: "c" op: "Const" {dtype} {value} }}'),
        "Placeholder": imports(tf, f'node {{ name: "c" op: "Placeholder" {dtype} }}'),
        "list": imports(tf, FED + f'node {{ name: "a" op: "IdentityN" input: "c" {types} }}'),
    })


@program
def counts_beyond_an_integer(tf):
    count = 'attr { key: "%s" value { i: 2147483648 } } attr { key: "T" value { type: DT_FLOAT } } '
    return Run({"one": tf.constant(1)}, facts={
        "AddN": imports(tf, FED + 'node { name: "a" op: "AddN" input: "c" %s }' % (count % "N")),
        "Unpack": imports(tf, FED + 'node { name: "a" op: "Unpack" input: "c" %s }'
                          % (count % "num")),
    })


@program
def sizes_below_zero(tf):
    given = {"input": np.float32([1]), "shape": np.int32([2])}
    wrong = ({"shape": np.int32([-1])}, {"shape": np.int64([3, -1])}, {"shape": np.int32([-2, 1])})
    return refusals(tf, "BroadcastTo", given, *wrong)


@program
def thresholds(tf):
    given = {
        "a_indices": np.int64([[0]]), "a_values": np.float32([1]), "a_shape": np.int64([2]),
        "b_indices": np.int64([[1]]), "b_values": np.float32([1]), "b_shape": np.int64([2]),
        "thresh": np.float32(0),
    }
    return refusals(tf, "SparseAdd", given, {"thresh": np.float32([0, 1])})


@program
def predicates(tf):
    runs, one, two = [], tf.constant(1.0), tf.constant(2.0)
    for given in ([True], [True, False], [[False]]):
        fed = tf.placeholder(tf.bool)
        runs += [
            Run({"switch": tf.raw_ops.Switch(data=one, pred=fed)[1]}, {fed: given}, fails=True),
            Run({"cond": tf.cond(fed, lambda one=one: one, lambda two=two: two)}, {fed: given},
                fails=True),
        ]
    return runs


@program
def steps_of_zero(tf):
    signal = tf.placeholder(tf.float32, [64])
    frames = [tf.signal.frame(signal, 8, 0), tf.signal.stft(signal, 16, 0)]
    return [Run({"out": out}, {signal: np.zeros(64, np.float32)}, fails=True) for out in frames]


@program
def labels_that_are_blanks(tf):
    """Return the last class ends the labels of a sequence."""
    runs = []
    logits = np.float32([[[0.5, 0.1, 0.4]]] * 5)
    for labels in ([0, 1], [0, 2], [0, 2, 2]):
        loss = tf.nn.ctc_loss(
            tf.SparseTensor([[0, i] for i in range(len(labels))], labels, [1, len(labels)]),
            logits, [5])
        runs.append(Run({"loss": loss}))
    return runs
