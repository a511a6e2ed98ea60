"""`tf.contrib.constrained_optimization`: both players' steps, and choices between candidates."""

from __future__ import annotations

import numpy as np
from tests.golden.registry import Run, internal_module, program, raised

POINTS = [[0.5, -1.0], [1.5, 0.25], [-0.75, 2.0], [1.0, 1.0], [-2.0, -0.5]]
LABELS = [1.0, 1.0, -1.0, -1.0, 1.0]
REASON = "TensorFlow solves linear programs by a method that ends close to the best"


def problem(tf, objective, constraints, proxies=None, before=None):
    """Return a problem of the given tensors."""

    class Problem(tf.contrib.constrained_optimization.ConstrainedMinimizationProblem):
        @property
        def objective(self):
            return objective

        @property
        def constraints(self):
            return constraints

        @property
        def proxy_constraints(self):
            return proxies

        @property
        def pre_train_ops(self):
            return before

    return Problem()


def of_classes(tf, dtype="float32", resource=False, smooth=False, before=False):
    """Return a linear model, half of whose answers at least and two thirds at most are positive."""
    weights = tf.get_variable("weights", [2], dtype, tf.ones_initializer(), use_resource=resource)
    bias = tf.get_variable("bias", [], dtype, tf.zeros_initializer(), use_resource=resource)
    scores = tf.tensordot(tf.constant(POINTS, dtype), weights, 1) + bias
    objective = tf.reduce_mean(tf.nn.relu(1.0 - tf.constant(LABELS, dtype) * scores))

    def constraints(share):
        return tf.stack([0.5 - share, share - 0.67])

    proxies = constraints(tf.reduce_mean(tf.sigmoid(scores)))
    count = tf.get_variable("count", [], tf.int32, tf.zeros_initializer(), use_resource=resource)
    ops = [tf.assign_add(count, 1).op] if before else None
    if not smooth:
        return problem(tf, objective, proxies, before=ops)
    counted = tf.reduce_mean(tf.cast(scores > 0, dtype))
    return problem(tf, objective, constraints(counted), proxies, ops)


def run(tf, train, steps=4, trained=True):
    """Run steps, or none.

    Where one optimizer does all, TensorFlow may read the weights of constraints before or after it
    updates them.
    """
    facts = {
        "step": train.name,
        "trainable": [variable.op.name for variable in tf.trainable_variables()],
    }
    fetches = {variable.op.name: variable for variable in tf.global_variables()}
    setup = [tf.global_variables_initializer()]
    if not trained:
        return Run(fetches, setup=setup, facts=facts)
    return Run(fetches, setup=setup, train={"step": train}, steps=steps, facts=facts)


def descent(tf, rate=0.5):
    return tf.train.GradientDescentOptimizer(rate)


def package(tf):
    return tf.contrib.constrained_optimization


# ---- Lagrange multipliers


@program
def multipliers(tf):
    optimizer = package(tf).AdditiveExternalRegretOptimizer(descent(tf))
    return run(tf, optimizer.minimize(of_classes(tf)), trained=False)


@program
def bounded_multipliers(tf):
    constraints = tf.constant([[0.6, -0.1], [0.4, 0.5]])
    variable = tf.Variable(0.0, name="variable")
    optimizer = package(tf).AdditiveExternalRegretOptimizer(
        descent(tf, 1.0), maximum_multiplier_radius=1.0
    )
    step = optimizer.minimize_constrained(problem(tf, variable, constraints), name="descend")
    return run(tf, step, steps=7)


@program
def multipliers_of_their_own_optimizer(tf):
    optimizer = package(tf).AdditiveExternalRegretOptimizer(
        tf.train.AdamOptimizer(0.1), tf.train.AdagradOptimizer(1.0), 2.0
    )
    step = tf.train.get_or_create_global_step()
    train = optimizer.minimize(
        of_classes(tf, resource=True, smooth=True), global_step=step, name="both"
    )
    return run(tf, train)


@program
def multipliers_of_doubles(tf):
    optimizer = package(tf).AdditiveExternalRegretOptimizer(descent(tf))
    train = optimizer.minimize_constrained(
        of_classes(tf, "float64", smooth=True, before=True),
        var_list=[tf.get_collection("trainable_variables")[0]],
        gate_gradients=tf.train.Optimizer.GATE_GRAPH,
        colocate_gradients_with_ops=True,
        grad_loss=tf.constant(0.5, tf.float64),
    )
    return run(tf, train, trained=False)


@program
def multipliers_after_unconstrained_steps(tf):
    step = tf.train.get_or_create_global_step()
    optimizer = package(tf).AdditiveExternalRegretOptimizer(descent(tf), descent(tf, 0.2))
    train = optimizer.minimize(of_classes(tf, resource=True), 2, step)
    return run(tf, train, steps=5)


@program
def unconstrained(tf):
    step = tf.train.get_or_create_global_step()
    optimizer = package(tf).AdditiveExternalRegretOptimizer(descent(tf))
    train = optimizer.minimize_unconstrained(of_classes(tf, before=True), step, name="alone")
    return run(tf, train)


# ---- matrices of weights


@program
def added_weights(tf):
    optimizer = package(tf).AdditiveSwapRegretOptimizer(descent(tf))
    return run(tf, optimizer.minimize(of_classes(tf, smooth=True)), trained=False)


@program
def added_weights_of_their_own_optimizer(tf):
    step = tf.train.get_or_create_global_step()
    optimizer = package(tf).AdditiveSwapRegretOptimizer(
        tf.train.AdamOptimizer(0.1), tf.train.MomentumOptimizer(0.5, 0.9)
    )
    train = optimizer.minimize_constrained(
        of_classes(tf, "float64", smooth=True, before=True), step
    )
    return run(tf, train)


@program
def added_weights_of_constants(tf):
    constraints = tf.constant([0.6, -0.1, 0.4])
    variable = tf.Variable(0.0, name="variable")
    optimizer = package(tf).AdditiveSwapRegretOptimizer(descent(tf, 1.0))
    return run(tf, optimizer.minimize_constrained(problem(tf, variable, constraints), name="go"))


@program
def multiplied_weights(tf):
    optimizer = package(tf).MultiplicativeSwapRegretOptimizer(descent(tf))
    return run(tf, optimizer.minimize(of_classes(tf, smooth=True, resource=True)), trained=False)


@program
def multiplied_weights_in_bounds(tf):
    step = tf.train.get_or_create_global_step()
    optimizer = package(tf).MultiplicativeSwapRegretOptimizer(
        descent(tf), descent(tf, 3.0), minimum_multiplier_radius=0.2, initial_multiplier_radius=0.8
    )
    return run(tf, optimizer.minimize(of_classes(tf, smooth=True), global_step=step, name="go"))


@program
def multiplied_weights_after_unconstrained_steps(tf):
    step = tf.train.get_or_create_global_step()
    optimizer = package(tf).MultiplicativeSwapRegretOptimizer(descent(tf), descent(tf, 2.0))
    train = optimizer.minimize(of_classes(tf, resource=True, before=True), 1, step)
    return run(tf, train, steps=3)


# ---- projections

# Where TensorFlow has each, and under which name.
THEIRS = {
    "project_multipliers": ("external", "_project_multipliers_wrt_euclidean_norm"),
    "project_stochastic_matrix": ("swap", "_project_stochastic_matrix_wrt_euclidean_norm"),
    "project_log_stochastic_matrix": ("swap", "_project_log_stochastic_matrix_wrt_kl_divergence"),
    "maximal_eigenvector": ("swap", "_maximal_eigenvector_power_method"),
}


def projection(tf, name):
    """Return a function that TensorFlow keeps to itself."""
    player, theirs = THEIRS[name]
    module = internal_module(
        tf,
        "stillflow_contrib.constrained_optimization.projections",
        f"contrib.constrained_optimization.python.{player}_regret_optimizer",
    )
    return getattr(module, name, None) or getattr(module, theirs)


@program
def projected(tf):
    state = np.random.RandomState(3)
    vector = tf.placeholder(tf.float32, [6], name="vector")
    matrix = tf.placeholder(tf.float32, [4, 4], name="matrix")
    project = projection(tf, "project_stochastic_matrix")
    outputs = {
        "multipliers": projection(tf, "project_multipliers")(vector, 1.5),
        "matrix": project(matrix),
        "logarithms": projection(tf, "project_log_stochastic_matrix")(matrix),
        "eigenvector": projection(tf, "maximal_eigenvector")(tf.exp(matrix)),
        "few steps": projection(tf, "maximal_eigenvector")(project(matrix), 1e-2, 3),
    }
    feeds = [{vector: state.normal(size=6), matrix: state.normal(size=(4, 4))} for _ in range(5)]
    return Run(outputs, feeds, steps=5)


@program
def refused_by_projections(tf):
    multipliers = projection(tf, "project_multipliers")
    matrix = projection(tf, "project_stochastic_matrix")
    eigenvector = projection(tf, "maximal_eigenvector")
    square = tf.ones([2, 2])
    return Run(
        facts={
            "multipliers": [
                raised(multipliers, tensor, 1.0)
                for tensor in (
                    tf.zeros([2], tf.int32),
                    tf.placeholder(tf.float32),
                    square,
                    tf.placeholder(tf.float32, [None]),
                )
            ],
            "matrix": [
                raised(matrix, tensor)
                for tensor in (
                    tf.zeros([2, 2], tf.int32),
                    tf.placeholder(tf.float32),
                    tf.zeros([2]),
                    tf.zeros([2, 3]),
                    tf.placeholder(tf.float32, [None, None]),
                )
            ],
            "eigenvector": [
                raised(eigenvector, tf.zeros([2, 2], tf.int32)),
                raised(eigenvector, square, epsilon=0.0),
                raised(eigenvector, square, maximum_iterations=0),
            ],
        }
    )


# ---- errors


@program
def refused(tf):
    multipliers = package(tf).AdditiveExternalRegretOptimizer
    multiplied = package(tf).MultiplicativeSwapRegretOptimizer
    adds = multipliers(descent(tf))
    scalar, vector = tf.Variable(0.0), tf.zeros([2])
    unknown, partly = tf.placeholder(tf.float32), tf.placeholder(tf.float32, [None])

    def step(*parts):
        return raised(adds.minimize, problem(tf, scalar, *parts))

    return Run(
        facts={
            "radius": raised(multipliers, descent(tf), maximum_multiplier_radius=-1.0),
            "least": raised(multiplied, descent(tf), minimum_multiplier_radius=0.0),
            "most": raised(multiplied, descent(tf), minimum_multiplier_radius=1.0),
            "first": raised(multiplied, descent(tf), None, 0.2, 0.1),
            "type": step(tf.zeros([2], tf.float64)),
            "type of proxies": step(vector, tf.zeros([2], tf.float64)),
            "unknown": step(unknown),
            "partly known": step(partly),
            "unknown proxies": step(vector, partly),
            "shapes": step(vector, tf.zeros([2, 1])),
            "no step": raised(adds.minimize, problem(tf, scalar, vector), 5),
            "abstract": raised(package(tf).ConstrainedMinimizationProblem)["class"],
            "abstract optimizer": raised(package(tf).ConstrainedOptimizer, descent(tf))["class"],
            "counts": [
                problem(tf, scalar, tf.zeros(shape)).num_constraints
                for shape in ([], [0], [3], [2, 4])
            ],
            "optimizers": [adds.constraint_optimizer is None, type(adds.optimizer).__name__],
        }
    )


# ---- candidates


def candidates(count, number, shift):
    state = np.random.RandomState(number)
    return state.uniform(-1, 1, count), state.uniform(-1, 1, (number, count)) + shift


@program(atol=1e-6, rtol=1e-5, reason=REASON)
def best_distributions(tf):
    best = package(tf).find_best_candidate_distribution
    return Run(
        facts={
            "met": best(*candidates(6, 3, 0.0)),
            "one": best(*candidates(1, 2, 0.0)),
            "violated": best(*candidates(5, 2, 1.1), epsilon=1e-7),
            "epsilon": raised(best, *candidates(5, 2, 0.0), epsilon=-1.0),
            "shapes": raised(best, np.zeros(3), np.zeros((2, 4))),
        }
    )


@program
def best_indices(tf):
    best = package(tf).find_best_candidate_index
    facts = {"shapes": raised(best, np.zeros(3), np.zeros((2, 4)))}
    for number in (1, 2, 3, 4):
        given = candidates(9, number, 0.3)
        facts[f"of {number}"] = [best(*given), best(*given, rank_objectives=True)]
    facts["ties"] = best(np.array([2.0, 1.0, 1.0, 3.0]), -np.ones((2, 4)))
    facts["none"] = best(np.zeros(0), np.zeros((2, 0)))
    return Run(facts=facts)
