"""A layer of gated units, or of tanh cells: the steps and gradients of double precision."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from stillflow import native
from stillflow.ops.recurrent import lstm_layer
from stillflow.ops.recurrent.gru_layer import gru_layer, gru_layer_gradient

pytestmark = pytest.mark.skipif(native.library() is None, reason="the kernel is a native one")

# Times, batches, depths and cells around the sizes of the native loop's panels and groups.
SIZES = [(5, 3, 4, 5), (3, 1, 2, 33), (4, 30, 7, 64), (2, 7, 3, 100), (3, 25, 3, 32), (1, 2, 2, 1),
         (2, 70, 5, 17)]  # fmt: skip


def operands(sizes, gated):
    time, batch, depth, cells = sizes
    random = np.random.RandomState(sum(sizes))

    def draw(*shape, scale=1.0):
        return torch.from_numpy(random.randn(*shape) * scale)

    weights = [draw(depth + cells, columns * cells, scale=0.3) for columns in (2, 1)]
    biases = [draw(columns * cells) for columns in (2, 1)]
    ended = torch.arange(time)[:, None] >= torch.from_numpy(random.randint(0, time + 1, batch))
    if not gated:
        weights[0] = biases[0] = None
    return draw(time, batch, depth), weights, biases, draw(batch, cells), ended


def single(values):
    if isinstance(values, (list, tuple)):
        return [single(each) for each in values]
    return None if values is None else values.detach().float()


def steps_of(x, weights, biases, state, ended):
    """Return values of all steps by the definition: outputs, and what the gradient needs."""
    found = []
    for step, inputs in enumerate(x):
        before, r, u = state, torch.ones_like(state), torch.zeros_like(state)
        if weights[0] is not None:
            gates = torch.sigmoid(torch.cat([inputs, state], 1) @ weights[0] + biases[0])
            r, u = gates.chunk(2, 1)
        c = torch.tanh(torch.cat([inputs, r * state], 1) @ weights[1] + biases[1])
        output = u * state + (1 - u) * c
        state = output if ended is None else torch.where(ended[step][:, None], state, output)
        found.append((c, before, r, u, 1 - u, output, state))
    return found


def close(found, expected):
    # Sums of up to 100 products; gradients go through at most five steps.
    torch.testing.assert_close(found.double(), expected.detach(), rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("lengths", [False, True])
@pytest.mark.parametrize("gated", [False, True])
@pytest.mark.parametrize("sizes", SIZES)
def test_steps_forward(monkeypatch, sizes, gated, lengths):
    x, weights, biases, state, ended = operands(sizes, gated)
    ended = ended if lengths else None
    for most in (1 << 24, 1):  # all steps at once, and each alone
        monkeypatch.setattr(lstm_layer, "MOST", most)
        made = gru_layer(*single([x, weights, biases, state]), ended)
        expected = steps_of(x, weights, biases, state, ended)
        for step, (c, before, r, u, _, output, after) in enumerate(expected):
            close(made.candidate[step], c)
            close(made.output[step], output)
            close(made.state[step], after)
            if gated:
                close(made.gates[step], torch.cat([r, u], 1))
                close(made.reset_state[step], r * before)


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("lengths", [False, True])
@pytest.mark.parametrize("gated", [False, True])
@pytest.mark.parametrize("sizes", SIZES)
def test_gradients_are_those_of_autograd(sizes, gated, lengths, backwards):
    x, weights, biases, state, ended = operands(sizes, gated)
    ended = ended if lengths else None
    biases = [bias if bias is None else bias.expand(len(x), len(state), -1) for bias in biases]
    # A bias for each step and row: its gradient is that of the sum before the activation.
    biases = [bias if bias is None else bias.clone().requires_grad_() for bias in biases]
    state.requires_grad_()
    found, now = [], state
    for step in range(len(x)):
        own = [bias if bias is None else bias[step] for bias in biases]
        stopped = None if ended is None else ended[step : step + 1]
        found += steps_of(x[step : step + 1], weights, own, now, stopped)
        now = found[-1][-1]
    random = np.random.RandomState(3)
    of_outputs = [torch.from_numpy(random.randn(*state.shape)) for _ in found]
    last = torch.from_numpy(random.randn(*state.shape))
    loss = (now * last).sum()
    loss = loss + sum((step[5] * of).sum() for step, of in zip(found, of_outputs, strict=True))
    wanted = [state, *(bias for bias in biases if bias is not None)]
    of_state, *of_biases = torch.autograd.grad(loss, wanted)
    parts = [single(each)[::-1] for each in zip(*found, strict=True)][: 5 if gated else 1]
    gradients, of_start = gru_layer_gradient(
        parts, single(of_outputs)[::-1], single(weights), x.shape[2], single(last),
        None if ended is None else ended.flip(0), backwards,
    )  # fmt: skip
    close(of_start, of_state)
    for mine, other in zip(gradients[0 if gated else 1 :], of_biases, strict=True):
        close(mine if backwards else mine.flip(0), other)


def test_operands_of_other_sizes_raise():
    x, weights, biases, state, ended = operands(SIZES[0], True)
    x, weights, biases, state = single([x, weights, biases, state])
    for changed in (
        (x, [weights[0][1:], weights[1]], biases, state, None),
        (x[:, 1:], weights, biases, state, None),
        (x, weights, [biases[0][1:], biases[1]], state, None),
        (x, weights, biases, state.double(), None), (x, weights, biases, state, ended[1:]),
    ):  # fmt: skip
        with pytest.raises(ValueError, match="not for"):
            gru_layer(*changed)
