"""Rules applied to the rows that have gradients: with loops in C and without."""

import numpy as np
import pytest
import torch

import stillflow as tf
from stillflow import errors
from stillflow.ops.training import rules
from stillflow.ops.training.rows import update_rows

pytestmark = pytest.mark.usefixtures("either_way")

EPSILON = 2.0**-23
UPDATES = 3  # of the row that is named most often

CASES = [
    (rules.adagrad, 1, {"lr": 0.1}, {}),
    (rules.adagrad, 1, {"lr": 0.1}, {"update_slots": False}),
    (rules.ftrl, 2, {"lr": 0.1, "l1": 0.3, "l2": 0.2, "lr_power": -0.5}, {}),
    (rules.ftrl, 2, {"lr": 0.1, "l1": 0.0, "l2": 0.0, "lr_power": -0.5}, {}),
    (rules.ftrl, 2, {"lr": 0.1, "l1": 0.3, "l2": 0.2, "lr_power": -0.3}, {}),
    (rules.momentum, 1, {"lr": 0.1, "momentum": 0.9}, {"use_nesterov": True}),
]


def _states(slots: int, *shape: int) -> list[torch.Tensor]:
    random = np.random.default_rng(1)
    return [
        torch.tensor(random.uniform(0.1, 1, shape), dtype=torch.float32) for _ in range(slots + 1)
    ]


def _named(
    scalars: dict[str, float], dtype: torch.dtype = torch.float32, **tensors: torch.Tensor
) -> dict[str, torch.Tensor]:
    """Return a rule's arguments; double precision takes the numbers that single precision knows."""
    numbers = {name: torch.tensor(value).to(dtype) for name, value in scalars.items()}
    return {**numbers, **tensors}


def _updated_one_by_one(rule, states, rows, grad, scalars, flags):
    """Update double-precision states; return the rounding allowed for each number, by state.

    The numbers are of size 1 and every rule adds to them, which allows an epsilon an update. FTRL
    multiplies the difference of two roots by var / lr, and a root may be an epsilon off: the one of
    C is exact, the vector library that torch asks is exact on some processors only. The variable
    is the linear slot divided by root / lr + 2 * l2.
    """
    allowed = [torch.full_like(state, UPDATES * EPSILON) for state in states]
    for row, part in zip(rows, grad):
        one = [state[row : row + 1] for state in states]
        before = one[0].clone()
        rule(*one, grad=part[None], **_named(scalars, torch.float64), **flags)
        if rule is rules.ftrl:
            root = one[1] ** -scalars["lr_power"] / scalars["lr"]
            allowed[2][row] += (2 * EPSILON * root * before.abs())[0]
            allowed[0][row] += (allowed[2][row] / (root + 2 * scalars["l2"]))[0]
    return allowed


@pytest.mark.parametrize("kind", [torch.int32, torch.int64])
@pytest.mark.parametrize("inner", [(), (1,), (7,), (2, 3)])
@pytest.mark.parametrize(("rule", "slots", "scalars", "flags"), CASES)
def test_a_row_is_updated_as_often_as_it_is_named(rule, slots, scalars, flags, inner, kind):
    states = _states(slots, 6, *inner)
    rows = [4, 1, 4, 0, 4, 1]
    grad = torch.randn((len(rows), *inner), generator=torch.Generator().manual_seed(2))
    expected = [state.double() for state in states]
    allowed = _updated_one_by_one(rule, expected, rows, grad.double(), scalars, flags)
    update_rows(
        rule, states, _named(scalars, grad=grad, indices=torch.tensor(rows, dtype=kind)), flags
    )
    for state, wanted, absolute in zip(states, expected, allowed, strict=True):
        excess = (state.double() - wanted).abs() - absolute - 8 * EPSILON * wanted.abs()
        assert (excess <= 0).all(), f"{state} is not {wanted} within {absolute}"


@pytest.mark.parametrize(("rule", "slots", "scalars", "flags"), CASES)
def test_an_index_out_of_range_changes_the_rows_before_it_if_any(rule, slots, scalars, flags):
    states = _states(slots, 6, 2)
    before = [state.clone() for state in states]
    if rule in (rules.ftrl, rules.momentum):
        given = _named(scalars, grad=torch.ones(1, 2), indices=torch.tensor([0]))
        for _ in range(2):
            update_rows(rule, before, given, flags)
    for wrong in (-1, 6):
        named = _named(scalars, grad=torch.ones(3, 2), indices=torch.tensor([0, wrong, 1]))
        with pytest.raises(
            errors.InvalidArgumentError,
            match=f"Index {wrong} at offset 1 in indices is out of range",
        ):
            update_rows(rule, states, named, flags)
    for state, wanted in zip(states, before, strict=True):
        assert torch.equal(state, wanted)


def test_there_is_a_gradient_for_each_index():
    named = _named({"lr": 0.1}, grad=torch.ones(3, 2), indices=torch.tensor([0, 1]))
    with pytest.raises(errors.InvalidArgumentError, match="same size as indices"):
        update_rows(rules.adagrad, _states(1, 6, 2), named, {})


def tables_and_updates(count, rows=6):
    """Return variables with Adagrad's slots, placeholders of their indices, and their updates."""
    tables = [tf.Variable(np.full((rows, 2), i + 1, "f")) for i in range(count)]
    loss, indices = 0.0, []
    for number, table in enumerate(tables):
        indices.append(tf.placeholder(tf.int32, [None], name=f"indices{number}"))
        loss += tf.reduce_sum(tf.gather(table, indices[-1]) * (number + 2.0))
    update = tf.train.AdagradOptimizer(0.5).minimize(loss)
    return tables, indices, update


def test_updates_of_rows_of_several_variables_are_one_step(graph, cpu):
    tables, indices, update = tables_and_updates(3)
    feeds = dict(zip(indices, ([0, 2], [], [5, 5, 1])))
    with tf.Session() as session:
        assert "3 SparseApplyAdagrad" in session.explain(update, feeds)
        session.run(tf.global_variables_initializer())
        session.run(update, feeds)
        found = session.run(tables)
    # Gradients of a row are added up first: sqrt(0.1 + (2 * 4)^2) for the row that is named twice.
    expected = [np.full((6, 2), i + 1.0) for i in range(3)]
    expected[0][[0, 2]] -= 0.5 * 2 / np.sqrt(0.1 + 4)
    expected[2][5] -= 0.5 * 8 / np.sqrt(0.1 + 64)
    expected[2][1] -= 0.5 * 4 / np.sqrt(0.1 + 16)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_a_wrong_index_among_several_variables_is_an_error(graph, cpu):
    variables = [tf.Variable(np.ones((6, 2), "f")) for _ in range(3)]
    sums = [tf.Variable(np.ones((6, 2), "f")) for _ in range(3)]
    ops = tf.raw_ops.SparseApplyAdagrad
    updates = [
        ops(var=v._ref(), accum=a._ref(), lr=1.0, grad=np.ones((1, 2), "f"), indices=[row]).op
        for v, a, row in zip(variables, sums, (1, 6, 2))
    ]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        with pytest.raises(tf.errors.InvalidArgumentError, match="Index 6 at offset 0 in indices"):
            session.run(updates)
        first, second, _ = session.run(variables)
    assert first[1, 0] == 1 - np.float32(0.5**0.5) and (second == 1).all()
