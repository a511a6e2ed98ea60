"""Errors of optimizers' operations at run time for invalid numbers."""

from __future__ import annotations

from tests.golden.registry import Run, program

REFUSED = [
    {"lr_power": 0.5}, {"lr": 0.0}, {"lr": -0.1}, {"l1": -1.0}, {"l2": -1.0},
    {"lr": float("nan")}, {"lr": 0.0, "l1": -1.0, "lr_power": 1.0},
]  # fmt: skip
GIVEN = {"lr": 0.1, "l1": 0.0, "l2": 0.0, "lr_power": -0.5, "l2_shrinkage": 0.0}


def states(tf, use_resource):
    def state(name, value):
        variable = tf.get_variable(name, initializer=tf.constant([value, 2.0, 3.0]),
                                   use_resource=use_resource)
        return variable.handle if use_resource else variable._ref()

    return {"var": state("var", 1.0), "accum": state("accum", 1.0), "linear": state("linear", 0.5)}


def refusals(tf, name, use_resource, numbers, more=()):
    """Run once for each set of numbers that `name` rejects."""
    kept = states(tf, use_resource)
    if "Proximal" in name:
        del kept["linear"]
    others = {"grad": tf.constant([1.0, 1.0, 1.0])}
    if "Sparse" in name:
        others = {"grad": tf.constant([1.0, 1.0]), "indices": tf.constant([0, 2])}
    start = tf.global_variables_initializer()
    runs = []
    for changed in [*REFUSED, *more]:
        if set(changed) - set(numbers):
            continue
        scalars = {key: tf.constant({**GIVEN, **changed}[key]) for key in numbers}
        made = getattr(tf.raw_ops, name)(**kept, **others, **scalars)
        runs.append(Run({"out": made}, setup=[start], fails=True))
    return runs


FTRL = ("lr", "l1", "l2", "lr_power")
FTRL_V2 = ("lr", "l1", "l2", "l2_shrinkage", "lr_power")
PROXIMAL = ("lr", "l1", "l2")
SHRINKAGES = ({"l2_shrinkage": -1.0}, {"l2_shrinkage": -1.0, "lr_power": 0.5})


@program
def ftrl(tf):
    return refusals(tf, "ApplyFtrl", False, FTRL)


@program
def ftrl_of_resources(tf):
    return refusals(tf, "ResourceApplyFtrl", True, FTRL)


@program
def sparse_ftrl(tf):
    return refusals(tf, "SparseApplyFtrl", False, FTRL)


@program
def sparse_ftrl_of_resources(tf):
    return refusals(tf, "ResourceSparseApplyFtrl", True, FTRL)


@program
def ftrl_with_shrinkage(tf):
    return refusals(tf, "ResourceApplyFtrlV2", True, FTRL_V2, SHRINKAGES)


@program
def sparse_ftrl_with_shrinkage(tf):
    return refusals(tf, "ResourceSparseApplyFtrlV2", True, FTRL_V2, SHRINKAGES)


@program
def proximal_adagrad(tf):
    return refusals(tf, "ApplyProximalAdagrad", False, PROXIMAL)


@program
def sparse_proximal_adagrad(tf):
    return refusals(tf, "ResourceSparseApplyProximalAdagrad", True, PROXIMAL)
