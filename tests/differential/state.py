"""Random state: updates of variables by single operations, and stores used by several steps."""

from __future__ import annotations

import importlib
import itertools
import random
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from . import operations, outcomes
from .state_stores import STORES, Store

RUNS = 2  # of an update
WAIT = 300  # milliseconds for a step that may wait for others


def cases(seed: int, names: Sequence[str] = ()) -> Iterator[dict[str, Any]]:
    """Yield cases without end: updates and store in turn, in random order.

    Args:
      seed: what the choice depends on; other seeds share no store with it for 100,000 cases.
      names: operations and stores to keep to; all of them, if there are none.
    """
    making = importlib.import_module(__package__ + ".state_cases")
    kinds = [making.updates(seed, names), stores(seed, names)]
    for found in itertools.zip_longest(*kinds):
        yield from (case for case in found if case is not None)


def stores(seed: int, names: Sequence[str] = ()) -> Iterator[dict[str, Any]]:
    """Yield cases of stores: what is done to one, in order."""
    chosen = sorted(name for name in STORES if not names or name in names)
    for number in itertools.count(seed * 100_000) if chosen else ():
        rng = random.Random(number)
        name = rng.choice(chosen)
        actions = sorted(STORES[name][1])
        steps = [rng.choice(actions) for _ in range(rng.choice([4, 8, 12]))]
        yield {"name": name, "seed": number, "steps": steps, "changes": 0}


def run(tf: Any, case: dict[str, Any]) -> dict[str, Any]:
    """Apply an update, or uses a store, in a graph of its own."""
    with tf.Graph().as_default():
        tf.set_random_seed(5)
        return (_use if "steps" in case else _update)(tf, case)


def _use(tf: Any, case: dict[str, Any]) -> dict[str, Any]:
    """Make a store and act on it repeatedly; errors are compared as well."""
    store = Store(tf, case["seed"])
    make, actions = STORES[case["name"]]
    try:
        store.made = make(store)
    except Exception as error:
        return outcomes.failed("build", error)
    told: list[Any] = []
    values: list[Any] = []
    options = tf.RunOptions(timeout_in_ms=WAIT)
    with tf.Session(config=outcomes.one_thread(tf)) as session:
        for prepared in (tf.global_variables_initializer(), tf.tables_initializer()):
            session.run(prepared)
        for step in case["steps"]:
            stage = "build"
            try:
                fetches = store.fetched(actions[step](store))
                told.append([step, _static(tf, fetches)])
                stage = "run"
                found = session.run(fetches, options=options)
            except Exception as error:
                told.append([step, stage, *outcomes.failed(stage, error)["error"]])
                if type(error).__name__ == "DeadlineExceededError":
                    break  # TensorFlow loses what a step had when it was given up
            else:
                values += [outcomes.pack(value) for value in found if value is not None]
    nodes = outcomes.nodes_of(tf.get_default_graph())
    return outcomes.done(result=told, values=values, nodes=nodes)


def _static(tf: Any, fetches: list[Any]) -> list[Any]:
    """Names, types and static shapes."""
    return [
        fetch.name if isinstance(fetch, tf.Operation)
        else [fetch.name, fetch.dtype.name, str(fetch.shape)]
        for fetch in fetches
    ]  # fmt: skip


def _update(tf: Any, case: dict[str, Any]) -> dict[str, Any]:
    """Run an operation on variables twice, and read them."""
    graph, feeds = tf.get_default_graph(), {}
    made = [_variable(tf, name, kind, packed) for name, kind, packed in case["variables"]]
    variables = {name: taken for name, taken, _, _ in made}
    found: dict[str, Any] = {}
    try:
        arguments = operations.arguments(tf, case, feeds)
        outputs = operations.tensors(
            tf, operations.apply(tf, case["name"], {**variables, **arguments})
        )
        found["shapes"] = outcomes.shapes_of(outputs)
    except Exception as error:
        return outcomes.failed("build", error)
    found["types"] = [tensor.dtype.name for tensor in outputs]
    fetches = [tensor for tensor in outputs if tensor.dtype.base_dtype != tf.resource]
    target = fetches or list(graph.get_operations()[-1:])
    values: list[Any] = []
    error = None
    with tf.Session(config=outcomes.one_thread(tf)) as session:
        try:
            session.run([first for _, _, first, _ in made])
            for _ in range(RUNS):
                taken = session.run(target, feeds)
                values += [outcomes.pack(value) for value in taken if value is not None]
        except Exception as raised:
            error = raised
        if error is None or values:
            values += [outcomes.pack(session.run(read)) for _, _, _, read in made]
    if error:
        return outcomes.failed("run", error, values=values, **found)
    return outcomes.done(values=values, **found)


def _variable(tf: Any, name: str, kind: str, packed: Any) -> tuple[str, Any, Any, Any]:
    """Return the name of an input, its argument, its initializer, and its reader."""
    value = outcomes.unpack(packed)
    dtype = tf.string if value.dtype == object else tf.as_dtype(value.dtype)
    raw = tf.raw_ops
    if kind == "resource":
        handle = raw.VarHandleOp(dtype=dtype, shape=value.shape, shared_name=name)
        first = raw.AssignVariableOp(resource=handle, value=tf.constant(value, dtype))
        return name, handle, first, raw.ReadVariableOp(resource=handle, dtype=dtype)
    held = raw.VariableV2(shape=value.shape, dtype=dtype, shared_name=name)
    first = raw.Assign(ref=held, value=tf.constant(value, dtype)).op
    return name, held, first, tf.identity(held)


def values_of(numbers: np.random.RandomState, shape: Sequence[int]) -> np.ndarray:
    """Numbers between 0 and 1 with two places."""
    return np.round(numbers.uniform(0.05, 0.95, shape), 2)
