"""Random pipelines of tf.data: a source, one to five transformations, an iterator."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence
from typing import Any

from . import outcomes
from .pipeline_steps import SOURCES, STEPS

ELEMENTS = 60  # taken in one pass; some pipelines never end


def cases(seed: int, names: Sequence[str] = ()) -> Iterator[dict[str, Any]]:
    """Yield cases without end; a case is the seed of one pipeline and what it is made of.

    Args:
      seed: of the first pipeline; other seeds share none with it for 100,000 cases.
      names: transformations to keep to; all of them, if there are none.
    """
    for number in itertools.count(seed * 100_000):
        rng = random.Random(number)
        source = rng.choice(sorted(SOURCES))
        steps = [rng.choice(sorted(names or STEPS)) for _ in range(rng.choice([1, 2, 3, 4, 5]))]
        yield {"name": " > ".join([source, *steps]), "seed": number}


class Pipeline:
    """Choices of a pipeline's pieces, and functions on elements."""

    def __init__(self, tf: Any, seed: int) -> None:
        self.tf, self.Dataset, self.more = tf, tf.data.Dataset, tf.data.experimental
        self.random = random.Random(seed)

    def choose(self, items: Sequence[Any]) -> Any:
        """One of the items."""
        return items[self.random.randrange(len(items))]

    def size(self) -> int:
        """Return the size of a batch."""
        return self.choose([1, 2, 3, 4])

    def count(self) -> int:
        """Return the number of elements of a source."""
        return self.choose([0, 1, 3, 5, 7])

    def parts(self, element: tuple[Any, ...]) -> list[Any]:
        """Return the parts of an element, in order."""
        return self.tf.contrib.framework.nest.flatten(element)

    def first(self, *element: Any) -> Any:
        """Return an element's first part, dense."""
        part = self.parts(element)[0]
        sparse = isinstance(part, self.tf.SparseTensor)
        return self.tf.sparse_tensor_to_dense(part) if sparse else part

    def number(self, *element: Any) -> Any:
        """Return an integer that depends on the element's first part."""
        tf, part = self.tf, self.first(*element)
        if part.dtype == tf.string:
            return tf.cast(tf.reduce_sum(tf.strings.length(part)), tf.int64)
        return tf.cast(tf.floor(tf.cast(tf.reduce_sum(part), tf.float64)), tf.int64)


def run(tf: Any, case: dict[str, Any]) -> dict[str, Any]:
    """Build a pipeline and take its elements, twice where its iterator can start again."""
    graph = tf.Graph()
    with graph.as_default():
        tf.set_random_seed(case["seed"])
        try:
            dataset, iterator = _built(Pipeline(tf, case["seed"]), case["name"].split(" > "))
            following = iterator.get_next()
        except Exception as error:
            return outcomes.failed("build", error)
        found = {
            "shapes": str(dataset.output_shapes),
            "types": str(dataset.output_types),
            "nodes": outcomes.nodes_of(graph),
        }
        taken: list[Any] = []
        try:
            with tf.Session(config=outcomes.one_thread(tf)) as session:
                for _ in range(2):
                    if iterator._initializer is not None:
                        session.run(iterator.initializer)
                    _take(tf, session, following, taken)
        except Exception as error:
            return outcomes.failed("run", error, values=taken, **found)
        return outcomes.done(values=taken, **found)


def _built(pipeline: Pipeline, names: list[str]) -> tuple[Any, Any]:
    dataset = SOURCES[names[0]](pipeline)
    for name in names[1:]:
        dataset = STEPS[name](pipeline, dataset)
    if pipeline.choose([True, False]):
        return dataset, dataset.make_one_shot_iterator()
    return dataset, dataset.make_initializable_iterator()


def _take(tf: Any, session: Any, following: Any, taken: list[Any]) -> None:
    """Append what the elements of one pass are made of, and a mark for its end."""
    parts = tf.contrib.framework.nest.flatten(following, expand_composites=True)
    try:
        for _ in range(ELEMENTS):
            taken.extend(outcomes.pack(part) for part in session.run(parts))
    except tf.errors.OutOfRangeError:
        taken.append(outcomes.pack(b"the end"))
