"""Memory of the results of reductions, which is used again."""

from __future__ import annotations

import torch

from stillflow.runtime.processes.transfers import SUM, Transfers

SIZE = 1 << 19


def total(transfers: Transfers, value: float) -> torch.Tensor:
    (found,) = transfers.run("allreduce", [torch.full((SIZE,), value)], [SUM, 1.0, 2.0], None)
    return found


def test_a_result_that_somebody_has_stays_and_others_are_written_over() -> None:
    transfers = Transfers(None, 0, 1, False)
    first = total(transfers, 1.0)
    part, address = first[:3], first.data_ptr()
    assert total(transfers, 2.0).data_ptr() != address
    del first
    assert total(transfers, 3.0).data_ptr() != address
    assert part.tolist() == [2.0] * 3
    del part
    assert address in {total(transfers, value).data_ptr() for value in (4.0, 5.0, 6.0)}


def test_results_are_on_the_device_of_their_inputs() -> None:
    transfers = Transfers(None, 0, 1, True)
    total(transfers, 1.0)
    inputs = [torch.empty(SIZE, device="meta")]
    (found,) = transfers.run("allreduce", inputs, [SUM, 1.0, 1.0], None)
    assert found.device.type == "meta"
