"""A layer over all time steps: what its steps give in double precision, one after the other."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from stillflow.ops.recurrent.cell_patterns import as_tensor, in_memory
from stillflow.ops.recurrent.lstm_layer import lstm_layer, lstm_layer_gradient

# Times, batches, depths and cells around the sizes of the native loop's panels and groups.
SIZES = [
    (5, 3, 4, 5), (3, 1, 2, 33), (4, 30, 7, 64), (2, 7, 3, 100), (3, 25, 3, 32), (1, 2, 2, 1),
    (2, 70, 5, 17), (2, 16, 1, 81),
]  # fmt: skip


def operands(sizes, kind):
    time, batch, depth, cells = sizes
    random = np.random.RandomState(sum(sizes))

    def draw(*shape):
        return torch.from_numpy(random.randn(*shape)).to(kind)

    state = (draw(batch, cells), draw(batch, cells))
    lengths = torch.from_numpy(random.randint(0, time + 1, batch))
    ended = torch.arange(time)[:, None] >= lengths
    weights = draw(depth + cells, 4 * cells) * 0.3
    return draw(time, batch, depth), weights, draw(4 * cells), state, ended


def doubled(value):
    if isinstance(value, (tuple, list)):
        return type(value)(map(doubled, value))
    return value.double() if value is not None and value.is_floating_point() else value


def close(found, expected):
    # Sums of up to 100 products; gradients go through at most five steps.
    torch.testing.assert_close(found.double(), expected, rtol=2e-5, atol=2e-5)


def results(steps):
    return [*steps.parts, steps.memory, steps.output, steps.state_memory, steps.state_output]


def peepholes_of(state, there):
    return (state[0][0], state[1][0], state[1][-1]) if there else (None, None, None)


@pytest.mark.parametrize("peepholes", [False, True])
@pytest.mark.parametrize("lengths", [False, True])
@pytest.mark.parametrize("sizes", SIZES)
def test_native_steps_forward(sizes, lengths, peepholes):
    x, weights, bias, state, ended = operands(sizes, torch.float32)
    ended, seen = ended if lengths else None, peepholes_of(state, peepholes)
    found = lstm_layer(x, weights, bias, state, 1.0, ended, True, seen)
    given = doubled([x, weights, bias, state])
    expected = lstm_layer(*given, 1.0, ended, True, doubled(seen))
    for mine, other in zip(results(found), results(expected), strict=True):
        close(mine, other)


@pytest.mark.parametrize("threads", [2, 3])
@pytest.mark.parametrize("sizes", [(40, 1, 20, 200), (30, 9, 3, 130), (20, 70, 5, 100)])
def test_threads_share_the_cells_of_each_step(sizes, threads):
    x, weights, bias, state, ended = operands(sizes, torch.float32)
    parts, of_outputs, *given = backward_operands(sizes, torch.float32)
    before = torch.get_num_threads()
    found = []
    try:
        for count in (1, threads):
            torch.set_num_threads(count)
            made = lstm_layer(x, weights, bias, state, 1.0, ended, True)
            gradients = lstm_layer_gradient(parts, of_outputs, *given, False)
            found.append([*results(made), *gradients])
    finally:
        torch.set_num_threads(before)
    for mine, other in zip(*found, strict=True):
        close(mine, other.double())


@pytest.mark.parametrize("sizes", SIZES[:3])
def test_constant_weights_are_packed_once(sizes):
    x, weights, bias, state, _ = operands(sizes, torch.float32)
    packed = []
    first = lstm_layer(x, weights, bias, state, 1.0, None, True, packed=packed)
    kept = list(packed)
    again = lstm_layer(x, weights, bias, state, 1.0, None, True, packed=packed)
    assert all(map(torch.equal, results(first), results(again)))
    assert all(mine is other for mine, other in zip(packed, kept, strict=True))


@pytest.mark.parametrize("batch", [1, 2, 20])
def test_inputs_may_be_other_tensors_with_their_axes_exchanged(batch):
    x, weights, bias, state, _ = operands((4, batch, 5, 6), torch.float32)
    expected = lstm_layer(x, weights, bias, state, 1.0, None, True)
    exchanged = x.new_empty(batch, 4, 5).transpose(0, 1).copy_(x)
    assert exchanged.stride() == (5, 20, 1)
    found = lstm_layer(exchanged, weights, bias, state, 1.0, None, True)
    assert all(map(torch.equal, results(found), results(expected)))


def test_many_steps_of_few_rows_are_run_in_parts(monkeypatch):
    x, weights, bias, state, ended = operands((9, 3, 4, 5), torch.float32)
    expected = lstm_layer(x, weights, bias, state, 1.0, ended, True)
    monkeypatch.setattr("stillflow.ops.recurrent.lstm_layer.MOST", 3 * 5 * 4 * 4 * 2)
    found = lstm_layer(x, weights, bias, state, 1.0, ended, True)
    assert all(map(torch.equal, results(found), results(expected)))


def test_parts_are_kept_on_request_only():
    x, weights, bias, state, _ = operands(SIZES[0], torch.float32)
    assert lstm_layer(x, weights, bias, state, 1.0, None, False).parts is None


@pytest.mark.parametrize("lengths", [False, True])
def test_steps_by_the_definition(lengths):
    x, weights, bias, (memory, output), ended = operands(SIZES[0], torch.float64)
    made = lstm_layer(x, weights, bias, (memory, output), 0.5, ended if lengths else None, True)
    for step, inputs in enumerate(x):
        i, j, f, o = (torch.cat([inputs, output], 1) @ weights + bias).chunk(4, 1)
        new = torch.sigmoid(f + 0.5) * memory + torch.sigmoid(i) * torch.tanh(j)
        out = torch.sigmoid(o) * torch.tanh(new)
        close(made.memory[step], new)
        close(made.output[step], out)
        stays = ended[step][:, None] if lengths else torch.zeros(len(new), 1, dtype=torch.bool)
        memory, output = torch.where(stays, memory, new), torch.where(stays, output, out)
        close(made.state_memory[step], memory)
        close(made.state_output[step], output)


def backward_operands(sizes, kind):
    x, weights, bias, state, ended = operands(sizes, kind)
    made = lstm_layer(x, weights, bias, state, 1.0, None, True)
    before = [state[0], *made.memory.unbind()][: len(x)]
    parts = [part.unbind()[::-1] for part in made.parts] + [tuple(before[::-1])]
    of_outputs = torch.randn_like(made.output, dtype=torch.float64).to(kind)
    return parts, of_outputs.unbind(), weights, x.shape[2], state, ended


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("of_ended", [False, True])
@pytest.mark.parametrize("lengths", [False, True])
@pytest.mark.parametrize("peepholes", [False, True])
@pytest.mark.parametrize("sizes", SIZES)
def test_native_steps_backward(sizes, peepholes, lengths, of_ended, backwards):
    parts, of_outputs, weights, depth, state, ended = backward_operands(sizes, torch.float32)
    how = (ended if lengths else None, backwards, of_ended)
    seen = peepholes_of(state, peepholes)
    found = lstm_layer_gradient(parts, of_outputs, weights, depth, state, *how, seen)
    given = doubled([parts, of_outputs, weights])
    expected = lstm_layer_gradient(*given, depth, doubled(state), *how, doubled(seen))
    for mine, other in zip(found, expected, strict=True):
        close(mine, other)


@pytest.mark.parametrize("peepholes", [False, True])
@pytest.mark.parametrize("kind", [torch.float32, torch.float64])
def test_gradients_are_those_of_autograd(kind, peepholes):
    x, weights, bias, state, _ = operands(SIZES[0], torch.float64)
    seen = peepholes_of(state, peepholes)
    see_i, see_f, see_o = seen if peepholes else (torch.zeros(SIZES[0][3]),) * 3
    seen = tuple(None if each is None else each.to(kind) for each in seen)
    variables = [each.clone().requires_grad_() for each in (x, *state)]
    inputs, memory, output = variables
    outputs = []
    for step in inputs:
        i, j, f, o = (torch.cat([step, output], 1) @ weights + bias).chunk(4, 1)
        forget = torch.sigmoid(f + 1 + see_f * memory)
        memory = forget * memory + torch.sigmoid(i + see_i * memory) * torch.tanh(j)
        output = torch.sigmoid(o + see_o * memory) * torch.tanh(memory)
        outputs.append(output)
    loss = torch.stack(outputs).square().sum() + memory.sum()
    expected = torch.autograd.grad(loss, variables)
    made = lstm_layer(x.to(kind), weights.to(kind), bias.to(kind),
                      (state[0].to(kind), state[1].to(kind)), 1.0, None, True, seen)  # fmt: skip
    before = [state[0].to(kind), *made.memory.unbind()][: len(x)]
    parts = [part.unbind()[::-1] for part in made.parts] + [before[::-1]]
    of_outputs = (2 * made.output).unbind()[::-1]
    last = (torch.ones_like(made.memory[0]), torch.zeros_like(made.memory[0]))
    gates, of_memory, of_output = lstm_layer_gradient(
        parts, of_outputs, weights.to(kind), x.shape[2], last, None, True, peepholes=seen
    )
    close(gates @ weights[: x.shape[2]].to(kind).t(), expected[0])
    close(of_memory, expected[1])
    close(of_output, expected[2])


def test_operands_of_other_sizes_raise():
    x, weights, bias, state, ended = operands(SIZES[0], torch.float32)
    for changed in (
        (x, weights[1:], bias, state, 1.0, None), (x, weights, bias[1:], state, 1.0, None),
        (x[:, 1:], weights, bias, state, 1.0, None),
        (x, weights, bias, (state[0], state[1][1:]), 1.0, None),
        (x, weights, bias, state, 1.0, ended[1:]),
    ):  # fmt: skip
        with pytest.raises(ValueError, match="not"):
            lstm_layer(*changed, False)


def test_values_in_one_tensor_are_found_without_a_copy():
    whole = torch.arange(24.0).reshape(4, 3, 2)
    parts = whole.unbind()
    assert in_memory(parts)[0].data_ptr() == whole.data_ptr()
    found, backwards = in_memory(parts[::-1])
    assert backwards and torch.equal(found, whole)
    assert in_memory([parts[0], parts[2]])[0] is None
    assert in_memory([parts[0], whole[1].t().contiguous().t()])[0] is None
    assert torch.equal(as_tensor(parts[::-1]), whole.flip(0))
