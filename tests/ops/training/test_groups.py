"""Rules for many variables at once against the same rules for one."""

import numpy as np
import pytest
import torch

from stillflow.ops.training import groups, rules

SCALARS = {
    "Momentum": {"lr": 0.1, "momentum": 0.9},
    "Adagrad": {"lr": 0.1},
    "Adadelta": {"lr": 1.0, "rho": 0.9, "epsilon": 1e-3},
    "RMSProp": {"lr": 0.1, "rho": 0.9, "momentum": 0.5, "epsilon": 1e-3},
    "CenteredRMSProp": {"lr": 0.1, "rho": 0.9, "momentum": 0.5, "epsilon": 1e-1},
    "Ftrl": {"lr": 0.1, "l1": 0.3, "l2": 0.2, "lr_power": -0.5},
    "FtrlV2": {"lr": 0.1, "l1": 0.0, "l2": 0.2, "l2_shrinkage": 0.1, "lr_power": -0.3},
    "Adam": {
        "beta1_power": 0.81, "beta2_power": 0.99, "lr": 0.1, "beta1": 0.9, "beta2": 0.99,
        "epsilon": 1e-3,
    },
}  # fmt: skip
SINGLE = {
    "Momentum": (rules.momentum, 1), "Adagrad": (rules.adagrad, 1), "Adadelta": (rules.adadelta, 2),
    "RMSProp": (rules.rms_prop, 2), "CenteredRMSProp": (rules.centered_rms_prop, 3),
    "Ftrl": (rules.ftrl, 2), "FtrlV2": (rules.ftrl_v2, 2), "Adam": (rules.adam, 2),
}  # fmt: skip
FLAGS = {
    "Momentum": [{}, {"use_nesterov": True}],
    "Adagrad": [{}, {"update_slots": False}],
    "Adam": [{}, {"use_nesterov": True}],
}
CASES = [(name, flags) for name in SCALARS for flags in FLAGS.get(name, [{}])]


@pytest.mark.usefixtures("either_way")
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16])
@pytest.mark.parametrize(("name", "flags"), CASES)
def test_a_group_is_updated_as_each_of_it_is(name, flags, dtype, monkeypatch):
    monkeypatch.setattr(groups, "_PIECE", 8)  # cuts the larger variables up
    random = np.random.default_rng(1)
    single, slots = SINGLE[name]
    shapes = [(3,), (5, 4), (), (2, 2), (9,)]
    states = [
        [torch.tensor(random.uniform(0.1, 1.0, shape), dtype=dtype) for shape in shapes]
        for _ in range(slots + 1)
    ]
    torch._foreach_mul_(states[1], 0.1)  # means of gradients are below the roots of mean squares
    grads = [torch.tensor(random.uniform(-1.0, 1.0, shape), dtype=dtype) for shape in shapes]
    scalars = {key: torch.tensor(value, dtype=dtype) for key, value in SCALARS[name].items()}
    expected = [[tensor.clone() for tensor in column] for column in states]
    for *state, grad in zip(*expected, grads, strict=True):
        single(*state, grad=grad, **scalars, **flags)
    groups.GROUP_RULES[name][0](states, grads, **scalars, **flags)
    tolerance = 2e-3 if dtype == torch.float16 else 1e-5
    for column, wanted in zip(states, expected, strict=True):
        for tensor, value in zip(column, wanted, strict=True):
            torch.testing.assert_close(tensor, value, rtol=tolerance, atol=tolerance)


def test_tensors_with_gaps_are_updated_too():
    whole = torch.ones(4, 6)
    variable, accumulator = whole[:, ::2], torch.zeros(4, 3)
    rule, _ = groups.GROUP_RULES["Momentum"]
    scalars = {"lr": torch.tensor(0.5), "momentum": torch.tensor(0.9)}
    rule([[variable], [accumulator]], [torch.ones(4, 3)], **scalars)
    assert whole.tolist() == [[0.5, 1.0] * 3] * 4


def test_momentum_may_be_zero():
    state, grads = [[torch.ones(2)], [torch.full((2,), 3.0)]], [torch.full((2,), 4.0)]
    rule, _ = groups.GROUP_RULES["Momentum"]
    rule(state, grads, lr=torch.tensor(0.5), momentum=torch.tensor(0.0))
    assert state[0][0].tolist() == [-1.0, -1.0]
    assert state[1][0].tolist() == [4.0, 4.0]


@pytest.mark.usefixtures("either_way")
@pytest.mark.parametrize("name", ["Adagrad", "Adadelta", "Ftrl", "RMSProp"])
def test_large_variables_are_updated_to_their_ends(name):
    single, slots = SINGLE[name]
    generator = torch.Generator().manual_seed(1)
    sizes = [70_001, 5, 32_768, 0, 65_537]
    states = [
        [torch.rand(size, generator=generator) + 0.1 for size in sizes] for _ in range(slots + 1)
    ]
    grads = [torch.randn(size, generator=generator) for size in sizes]
    scalars = {key: torch.tensor(value) for key, value in SCALARS[name].items()}
    expected = [[tensor.clone() for tensor in column] for column in states]
    for *state, grad in zip(*expected, grads, strict=True):
        single(*state, grad=grad, **scalars)
    groups.GROUP_RULES[name][0](states, grads, **scalars)
    for column, wanted in zip(states, expected, strict=True):
        for tensor, value in zip(column, wanted, strict=True):
            torch.testing.assert_close(tensor, value, rtol=1e-5, atol=1e-5)
