"""Combinations of the seeds of graph and operation."""

import pytest

import stillflow as tf
from stillflow.graph import random_seed
from stillflow.graph.graph import Graph


@pytest.mark.parametrize(
    ("graph_seed", "op_seed", "seeds"),
    [
        (None, None, (None, None)),
        (None, 5, (87654321, 5)),
        (7, None, (7, 0)),
        (7, 5, (7, 5)),
        (0, 0, (0, 2**31 - 1)),
        (0, None, (0, 2**31 - 1)),
        (2**31 - 1, 0, (0, 2**31 - 1)),
        (2**31, 2**40, (1, 2**40 % (2**31 - 1))),
        (-1, 1, (2**31 - 2, 1)),
        (None, -1, (87654321, 2**31 - 2)),
    ],
)
def test_seeds_of_the_first_operation(graph_seed, op_seed, seeds):
    with Graph().as_default():
        random_seed.set_random_seed(graph_seed)
        assert random_seed.get_seed(op_seed) == seeds


def test_operations_that_were_refused_count():
    with Graph().as_default():
        tf.set_random_seed(1)
        numbers = tf.ones([2, 3])
        for wrong in (lambda: tf.matmul(numbers, numbers), lambda: tf.reshape(numbers, [4, 4])):
            with pytest.raises(ValueError):
                wrong()
        assert random_seed.get_seed(None) == (1, 4)  # of the two that are there one is a shape
