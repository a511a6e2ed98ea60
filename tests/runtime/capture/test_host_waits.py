"""Operations that would wait for a device, found by running it."""

from __future__ import annotations

import pytest
import torch

from stillflow.runtime.capture.host_waits import Watch

SOURCE = """
def work(x, mask, here):
    y = x * 2 + 1
    {}
    return y.sum()
"""


@pytest.mark.parametrize("line", [
    "float(x[0])", "bool(mask.any())", "x.nonzero()", "x[mask]", "x.cpu()", "y[:2].copy_(here)",
    "torch.unique(x)", "torch.linalg.inv(x.outer(x) + torch.eye(3, device=x.device))",
    "torch.masked_select(x, mask)",
])  # fmt: skip
def test_lines_that_wait_are_found(cuda, line):
    assert found(line) == {4}


@pytest.mark.parametrize("line", [
    "y.add_(x)", "x * here[0]", "x.reshape(3, 1) @ y.reshape(1, 3)", "torch.where(mask, x, y)",
    "x.index_select(0, torch.arange(2, device=x.device))", "float(here[0])",
    "torch._foreach_add_([x, y], 1.0)",
])  # fmt: skip
def test_others_are_not(cuda, line):
    assert found(line) == set()


def found(line):
    names = {"torch": torch}
    exec(compile(SOURCE.format(line), "<source>", "exec"), names)
    device = torch.device("cuda:0")
    x = torch.tensor([1.0, 2.0, 3.0]).to(device)
    mask = torch.tensor([True, False, True]).to(device)
    with torch.inference_mode(), Watch("<source>", device) as watch:
        names["work"](x, mask, torch.tensor([4.0, 5.0]))
    assert watch.count >= 3
    return watch.lines
