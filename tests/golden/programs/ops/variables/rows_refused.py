"""Content of variables after an index error: most operations have changed the rows before."""

from __future__ import annotations

import numpy as np
from tests.golden.registry import Run, describe_error, program

START = np.ones([4, 2], np.float32)
ROWS = np.arange(1, 9, dtype=np.float32).reshape(4, 2)
INDICES = ([0, 1, 7, 2], [2, 0, 2, -1])


def after(tf, make):
    """One run: the error for each of `INDICES`, and the values of the variables after it."""
    runs = []
    for is_resource in (False, True):
        for indices in INDICES:
            given = tf.placeholder(tf.int32, [4])
            variables, operation = make(given, is_resource)
            runs.append((f"{is_resource} {indices}", {given: indices}, variables, operation))

    def call(session):
        session.run(tf.global_variables_initializer())
        found = {}
        for name, feeds, variables, operation in runs:
            try:
                session.run(operation, feeds)
            except tf.errors.InvalidArgumentError as error:
                found[name] = {"error": describe_error(error), "left": session.run(variables)}
        return found

    return Run(call=call)


def _variable(tf, is_resource):
    variable = tf.Variable(START, use_resource=is_resource)
    return variable, variable.handle if is_resource else variable._ref()


def _rows(tf, operation, updates):
    def make(indices, is_resource):
        variable, ref = _variable(tf, is_resource)
        if is_resource:
            function = getattr(tf.raw_ops, "Resource" + operation)
            given = {"resource": ref}
        else:
            function, given = getattr(tf.raw_ops, operation), {"ref": ref}
        return [variable], function(indices=indices, updates=updates, **given)

    return after(tf, make)


def _tuples(tf, operation, whole):
    def make(indices, is_resource):
        variable, ref = _variable(tf, is_resource)
        function = getattr(tf.raw_ops, ("Resource" if is_resource else "") + operation)
        tuples = indices[:, None] if whole else tf.stack([indices, tf.zeros_like(indices)], 1)
        updates = ROWS if whole else ROWS[:, 0]
        return [variable], function(ref=ref, indices=tuples, updates=updates)

    return after(tf, make)


@program
def scattered_rows(tf):
    names = ("Update", "Add", "Sub", "Mul", "Div", "Max")
    runs = [_rows(tf, f"Scatter{name}", ROWS) for name in names]
    return runs + [_rows(tf, f"Scatter{name}", 5.0) for name in names]


@program
def scattered_tuples(tf):
    names = ("ScatterNdUpdate", "ScatterNdAdd", "ScatterNdSub")
    return [_tuples(tf, name, whole) for name in names for whole in (True, False)]


RULES = {
    "Adadelta": ("accum accum_update", "lr rho epsilon"),
    "Adagrad": ("accum", "lr"),
    "AdagradV2": ("accum", "lr epsilon"),
    "AdagradDA": ("gradient_accumulator gradient_squared_accumulator", "lr l1 l2"),
    "CenteredRMSProp": ("mg ms mom", "lr rho momentum epsilon"),
    "RMSProp": ("ms mom", "lr rho momentum epsilon"),
    "Ftrl": ("accum linear", "lr l1 l2 lr_power"),
    "FtrlV2": ("accum linear", "lr l1 l2 l2_shrinkage lr_power"),
    "Momentum": ("accum", "lr momentum"),
    "ProximalAdagrad": ("accum", "lr l1 l2"),
    "ProximalGradientDescent": ("", "alpha l1 l2"),
}


def _rule(tf, name):
    slots, scalars = (text.split() for text in RULES[name])

    def make(indices, is_resource):
        made = [_variable(tf, is_resource) for _ in range(1 + len(slots))]
        given = {key: ref for key, (_, ref) in zip(["var", *slots], made)}
        given.update({key: -0.5 if key == "lr_power" else 0.25 for key in scalars})
        if name == "AdagradDA":
            given["global_step"] = np.int64(3)
        prefix = "ResourceSparseApply" if is_resource else "SparseApply"
        function = getattr(tf.raw_ops, prefix + name)
        operation = function(grad=ROWS, indices=indices, **given)
        return [variable for variable, _ in made], operation

    return after(tf, make)


@program
def optimizers(tf):
    return [_rule(tf, name) for name in RULES]
