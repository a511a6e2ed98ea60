"""Printing of tensors, sparse tensors, variables and tensor arrays in tf.contrib.framework."""

from __future__ import annotations

from tests.golden.programs.contrib.layers.aggregated_embeddings import _ids
from tests.golden.registry import Run, internal_module, program, raised


@program
def printed(tf):
    print_op = internal_module(
        tf, "contrib.framework.printing", "contrib.framework.python.ops.prettyprint_ops"
    ).print_op
    x = tf.placeholder(tf.float32, [None, 2], "x")
    ids, _ = _ids(tf)
    v = tf.get_variable("v", initializer=[1.0, 2.0])
    array = tf.TensorArray(tf.float32, 2, clear_after_read=False).unstack(tf.constant([1.0, 2.0]))
    passed = print_op(array, message="array")
    return Run(
        {
            "tensor": print_op(x, [ids, v], "seen", first_n=2, name="p"),
            "sparse": print_op(ids, print_shape=False).values,
            "booleans": print_op(tf.constant([False, True])),
            "quiet": print_op(x, None, None, -1, 3, False, False, False, False),
            "variable": print_op(v, [array]),
            "array": passed.stack(),
        },
        {x: [[1, 2]]},
        setup=[tf.global_variables_initializer()],
        facts={
            "nothing": raised(print_op, None),
            "list": raised(print_op, [1.0]),
            "data": raised(print_op, x, ["text"]),
        },
    )
