"""Seeds of random operations, from the graph's seed and an operation's own seed."""

from __future__ import annotations

from stillflow.graph.export import export

# Stands in for the graph's seed where only an operation has one.
DEFAULT_GRAPH_SEED = 87654321
_MAXINT32 = 2**31 - 1


@export("random.get_seed", "get_seed")
def get_seed(op_seed: int | None) -> tuple[int | None, int | None]:
    """Return the two seeds of an operation that is about to be created.

    With a graph seed and no operation seed, the number of operations in the graph serves as the
    latter, so that a program that is run again draws the same values everywhere.

    Args:
      op_seed: The operation's own seed, or None.

    Returns:
      The pair (graph seed, operation seed), (None, None) if neither was set. It is never (0, 0),
      which operations take to mean that any seed will do.
    """
    from stillflow.graph.graph import get_default_graph

    graph = get_default_graph()
    graph_seed = graph.seed
    if graph_seed is None:
        if op_seed is None:
            return None, None
        graph_seed = DEFAULT_GRAPH_SEED
    else:
        graph_seed %= _MAXINT32
        if op_seed is None:
            if hasattr(graph, "_seed_used"):
                graph._seed_used = True
            op_seed = graph.next_op_seed()
    seeds = graph_seed, op_seed % _MAXINT32
    return (0, _MAXINT32) if seeds == (0, 0) else seeds


@export("random.set_random_seed", "set_random_seed")
def set_random_seed(seed: int | None) -> None:
    """Set the seed of the default graph, from which operations without one derive theirs.

    Args:
      seed: an integer.

    Example:
      >>> tf.set_random_seed(1)
      >>> x = tf.random_uniform([])
      >>> print(tf.Session().run(x) == tf.Session().run(x))
      True
    """
    from stillflow.graph.graph import get_default_graph

    get_default_graph().seed = seed
