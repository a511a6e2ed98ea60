"""Random programs: a graph with variables, branches and loops, its gradients, and training."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from . import outcomes
from .graph_operations import GROUPS, first_values
from .graph_structures import GROUPS as STRUCTURES

STEPS = 4
LARGEST_RANK = 5
NOISE = 1e-5  # what may be left of numbers around 1 that cancel out

OPTIMIZERS = {
    "Adadelta": lambda train: train.AdadeltaOptimizer(1.0),
    "Adagrad": lambda train: train.AdagradOptimizer(0.1),
    "Adam": lambda train: train.AdamOptimizer(0.05),
    "Ftrl": lambda train: train.FtrlOptimizer(0.1),
    "GradientDescent": lambda train: train.GradientDescentOptimizer(0.1),
    "Momentum": lambda train: train.MomentumOptimizer(0.1, 0.9),
    "Nesterov": lambda train: train.MomentumOptimizer(0.1, 0.9, use_nesterov=True),
    "RMSProp": lambda train: train.RMSPropOptimizer(0.05),
}


def cases(seed: int, names: Sequence[str] = ()) -> Iterator[dict[str, Any]]:
    """Yield cases without end; a case is the seed of one program.

    Args:
      seed: of the first program; other seeds share no program with it for 100,000 cases.
      names: programs have none; there to be called as the other kinds are.
    """
    return ({"name": "program", "seed": number} for number in itertools.count(seed * 100_000))


class Program:
    """A program that grows. Its tensors are all float32, its choices depend on the seed alone."""

    def __init__(self, tf: Any, seed: int) -> None:
        self.tf = tf
        self.random = random.Random(seed)
        self.numbers = np.random.RandomState(seed)
        self.batch = self.choose([1, 2, 3, 4])
        self.unknown_batch = self.maybe(0.5)
        self.tensors: list[Any] = []
        self.feeds: dict[Any, list[int]] = {}
        self.refused: list[Any] = []  # what could not be added, and why

    def choose(self, items: Sequence[Any]) -> Any:
        """One of the items."""
        return items[self.random.randrange(len(items))]

    def maybe(self, chance: float) -> bool:
        """Return True with the probability `chance`."""
        return self.random.random() < chance

    def shuffled(self, items: Iterable[Any]) -> list[Any]:
        """Return the items in some order."""
        mixed = list(items)
        self.random.shuffle(mixed)
        return mixed

    def pick(self, wanted: Callable[[Any], Any] = lambda tensor: True) -> Any:
        """One of the program's tensors, or None if there is no such one."""
        fitting = [tensor for tensor in self.tensors if wanted(tensor)]
        return self.choose(fitting) if fitting else None

    def axis(self, tensor: Any) -> int:
        """One of its axes."""
        return self.random.randrange(tensor.shape.ndims)

    def rows(self, tensor: Any) -> list[int]:
        """Three positions along its first axis."""
        return [self.random.randrange(tensor.shape.as_list()[0]) for _ in range(3)]

    def per_row(self, tensor: Any, items: list[Any]) -> list[Any]:
        """Return an item for every position of its first axis."""
        return [self.choose(items) for _ in range(tensor.shape.as_list()[0])]

    def values(self, shape: list[int]) -> np.ndarray:
        """Numbers between -2 and 2."""
        return first_values(shape, self.numbers)

    def constant(self, shape: list[int]) -> Any:
        """Return a constant of such numbers."""
        return self.tf.constant(self.values(shape))

    def variable(self, values: np.ndarray, name: str) -> Any:
        """Return a variable, of either sort."""
        return self.tf.Variable(values, name=name, use_resource=self.maybe(0.3))

    def add(self, found: Any) -> None:
        """Keep what a piece gave, where it can be used further."""
        for tensor in found if isinstance(found, (list, tuple)) else [found]:
            rank = tensor.shape.ndims
            if tensor.dtype.base_dtype == self.tf.float32 and (rank or 0) <= LARGEST_RANK:
                self.tensors.append(tensor)

    def attempt(self, what: str, build: Callable[[], Any]) -> Any:
        """Return `build()`, or None if it raises an error, which is compared as well."""
        try:
            return build()
        except Exception as error:
            refusal = outcomes.failed(what, error)
            self.refused.append((what, *refusal["error"]))
            return None


def _start(p: Program) -> None:
    """Placeholders, variables and constants."""
    tf = p.tf
    for _ in range(p.choose([1, 2, 2])):
        inner = [p.choose([1, 2, 3, 4]) for _ in range(p.choose([0, 1, 1, 2, 2, 3]))]
        shape = [None if p.unknown_batch else p.batch, *inner]
        fed = tf.placeholder(
            tf.float32, None if p.maybe(0.1) else shape, name=p.choose([None, "x", "inp"])
        )
        p.feeds[fed] = inner
        p.add(fed)
    for number in range(p.choose([1, 2, 3])):
        values = p.values([p.choose([1, 2, 3, 4]) for _ in range(p.choose([0, 1, 1, 2, 2]))])
        if p.maybe(0.3):
            variable = tf.get_variable(f"v{number}", initializer=values, use_resource=p.maybe(0.5))
        else:
            variable = p.variable(values, p.choose(["w", "v", "b"]))
        p.add(tf.identity(variable) if p.maybe(0.3) else variable + 0.0)
    for _ in range(p.choose([0, 1, 2])):
        p.add(p.constant([p.choose([1, 2, 3]) for _ in range(p.choose([0, 1, 2]))]))


def _grow(p: Program) -> None:
    """Add pieces from all groups, each applied to a tensor that it takes."""
    groups = [group for group in GROUPS + STRUCTURES for _ in range(group[0])]
    for _ in range(p.choose([5, 10, 20])):
        _, wanted, pieces = p.choose(groups)
        tensor = p.pick(wanted)
        if tensor is None:
            continue
        name = p.choose(sorted(pieces))
        found = p.attempt(name, lambda: pieces[name](p, tensor))  # noqa: B023
        if found is None:
            continue
        if p.maybe(0.1):
            with p.tf.name_scope("scope"):
                p.add(p.tf.identity(found[0] if isinstance(found, list) else found))
        p.add(found)


def _finish(p: Program) -> tuple[list[Any], Any]:
    """Return a loss with its gradients, and the operation that trains, if there is one."""
    tf = p.tf
    outputs = [p.tensors[-1], p.pick(), p.pick()]
    loss = tf.add_n([tf.reduce_mean(tf.tanh(tensor)) for tensor in outputs])
    fetches = [loss, *outputs]
    if p.maybe(0.2):
        return fetches, None
    variables = tf.trainable_variables()
    sources = variables + list(p.feeds)
    # Not attempted: after a failed gradient, TensorFlow's graph is left inside of a loop.
    gradients = _gradients(tf, loss, sources)
    if gradients and p.maybe(0.3):
        squares = tf.add_n([tf.reduce_sum(tf.square(grad)) for grad in gradients])
        gradients += _gradients(tf, squares, variables)
    return fetches + gradients, p.attempt("optimizer", lambda: _training(p, loss))


def _gradients(tf: Any, target: Any, sources: list[Any]) -> list[Any]:
    found = tf.gradients(target, sources)
    dense = [grad.values if isinstance(grad, tf.IndexedSlices) else grad for grad in found]
    return [grad for grad in dense if grad is not None]


def _training(p: Program, loss: Any) -> Any:
    tf = p.tf
    optimizer = OPTIMIZERS[p.choose(sorted(OPTIMIZERS))](tf.train)
    if p.maybe(0.4):
        pairs = [pair for pair in optimizer.compute_gradients(loss) if pair[0] is not None]
        clipped, _ = tf.clip_by_global_norm([grad for grad, _ in pairs], 1.0)
        train = optimizer.apply_gradients(zip(clipped, [variable for _, variable in pairs]))
    else:
        train = optimizer.minimize(loss)
    if p.maybe(0.3):
        average = tf.train.ExponentialMovingAverage(0.9)
        with tf.control_dependencies([train]):
            train = average.apply(tf.trainable_variables())
    return train


def run(tf: Any, case: dict[str, Any]) -> dict[str, Any]:
    """Build a program, train it for some steps and give all that it fetched."""
    graph = tf.Graph()
    with graph.as_default():
        tf.set_random_seed(case["seed"])
        program = Program(tf, case["seed"])
        try:
            _start(program)
            _grow(program)
            fetches, train = _finish(program)
        except Exception as error:
            return outcomes.failed("build", error, refused=program.refused)
        found = {
            "refused": program.refused,
            "nodes": outcomes.nodes_of(graph),
            "shapes": outcomes.shapes_of(fetches),
            "noise": NOISE,
        }
        try:
            return outcomes.done(values=_steps(tf, program, fetches, train), **found)
        except Exception as error:
            return outcomes.failed("run", error, **found)


def _steps(tf: Any, program: Program, fetches: list[Any], train: Any) -> list[Any]:
    """Values of every step, and at last of all variables."""
    found = []
    with tf.Session(config=outcomes.one_thread(tf)) as session:
        session.run(tf.global_variables_initializer())
        for step in range(STEPS):
            changed = program.unknown_batch and step >= STEPS // 2
            batch = program.choose([1, 2, 3, 4]) if changed else program.batch
            feeds = {fed: program.values([batch, *inner]) for fed, inner in program.feeds.items()}
            found += session.run(fetches, feeds)
            if train is not None:
                session.run(train, feeds)
        found += session.run(tf.global_variables())
    return [outcomes.pack(value) for value in found]
