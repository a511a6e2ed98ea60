"""Collective operations of several processes, and of processes that fail."""

from __future__ import annotations

import re
import signal

from tests.ranks import Ranks

_GROUP = """
import os, signal, sys, time
import torch
from stillflow import errors
from stillflow.runtime.processes.kernels import of_launcher
from stillflow.runtime.processes.requests import Request

group = of_launcher()
rank, size = group.world.rank, group.world.size

def begin(name, tensor, kind="allreduce", detail=(1, 1.0, 1.0), dtype="float32"):
    return group.submit(Request(name, kind, dtype, list(tensor.shape), list(detail)), tensor)
"""


def test_operations_are_matched_by_name_in_whatever_order_ranks_come(ranks: Ranks) -> None:
    program = """
names = ["a", "b", "c", "d"]
begun = {n: begin(n, torch.full((2,), (rank + 1.0) * ord(n))) for n in names[rank:] + names[:rank]}
print([begun[n].result().tolist() for n in names])
"""
    outputs = ranks.run(_GROUP + program, size=3)
    assert outputs == [f"{[[6.0 * ord(n)] * 2 for n in 'abcd']}\n"] * 3


def test_every_kind_of_operation(ranks: Ranks) -> None:
    program = """
def done(*arguments, **keywords):
    print(begin(*arguments, **keywords).result().tolist())

done("min", torch.tensor([1.0, 4.0]) * (rank + 1), detail=[3, 1.0, 1.0])
done("product", torch.tensor([1.0, 4.0]) * (rank + 1), detail=[5, 0.5, 3.0])
done("average", torch.tensor([3, 4 + rank]), detail=[0, 1.0, 1.0], dtype="int64")
done("half", torch.tensor([1.5, rank]).half(), dtype="float16")
done("adasum", torch.tensor([1.0, 2.0 * rank]), detail=[2, 1.0, 1.0])
done("gather", torch.full((rank + 1, 2), rank, dtype=torch.int16), "allgather", [], "int16")
done("empty", torch.full((rank, 1), True), "allgather", [], "bool")
done("broadcast", torch.tensor([rank == 1, False]), "broadcast", [1], "bool")
done("none", torch.zeros(0, 2, dtype=torch.int16), "alltoall", [0, 0], "int16")
done("part", torch.arange(3) + 10 * rank, "alltoall", [1, 1], "int64")
done("all", torch.arange(3) + 10 * rank, "alltoall", [[1, 2], [0, 3]][rank], "int64")
try:
    done("shapes", torch.zeros(2 + rank))
except errors.FailedPreconditionError as error:
    print("[2]" in error.message and "[3]" in error.message)
done("after", torch.tensor([1.0]))
"""
    expected = [
        "[1.0, 4.0]", "[1.5, 24.0]", "[3, 4]", "[3.0, 1.0]",
        # Of (1, 0) and (1, 2): half of the first, nine tenths of the second.
        "[1.399999976158142, 1.7999999523162842]",
        "[[0, 0], [1, 1], [1, 1]]", "[[True]]", "[True, False]", "[]", None, None, "True", "[2.0]",
    ]  # fmt: skip
    for rank, output in enumerate(ranks.run(_GROUP + program)):
        expected[9:11] = [["[0, 10]", "[0]"], ["[1, 11]", "[1, 2, 10, 11, 12]"]][rank]
        assert output.splitlines() == expected


def test_ranks_that_have_joined_add_zeros(ranks: Ranks) -> None:
    program = """
for step in range(rank + 1):
    print(begin(f"step{step}", torch.ones(2)).result().tolist())
print(group.join())
print(begin("again", torch.ones(1)).result().tolist())
"""
    first, second = ranks.run(_GROUP + program)
    assert first.splitlines() == ["[2.0, 2.0]", "1", "[2.0]"]
    assert second.splitlines() == ["[2.0, 2.0]", "[1.0, 1.0]", "1", "[2.0]"]


def test_an_operation_of_a_name_that_is_running_is_an_error(ranks: Ranks) -> None:
    program = """
first = begin("a", torch.ones(1)) if rank == 0 else None
if rank == 0:
    try:
        begin("a", torch.ones(1))
    except errors.InvalidArgumentError as error:
        print(error.message)
(first or begin("a", torch.ones(1))).result()
"""
    first, second = ranks.run(_GROUP + program)
    assert "a: an operation of this name is running" in first
    assert second == ""


def test_a_rank_that_never_comes_is_named_with_the_operation(ranks: Ranks) -> None:
    program = """
if rank < 2:
    try:
        begin("gradient_of_w", torch.ones(1)).result()
    except errors.DeadlineExceededError as error:
        print(error.message)
    open(f"done{rank}", "w").close()
while not (os.path.exists("done0") and os.path.exists("done1")):
    time.sleep(0.1)
"""
    outputs = ranks.run(_GROUP + program, size=3, HOROVOD_STALL_SHUTDOWN_TIME_SECONDS=8)
    expected = "gradient_of_w: rank 2 did not come within 8 seconds\n"
    assert outputs == [expected, expected, ""]


def test_a_rank_that_waits_is_told_which_one_holds_it_up(ranks: Ranks) -> None:
    program = """
if rank:
    time.sleep(4)
begin("loss", torch.ones(1)).result()
"""
    ended = ranks.wait(ranks.start(_GROUP + program, HOROVOD_STALL_CHECK_TIME_SECONDS=1))
    assert [each.code for each in ended] == [0, 0]
    assert re.search("loss has waited for more than 1 seconds: rank 1 did not", ended[0].errors)


def test_a_killed_rank_ends_what_the_others_wait_for(ranks: Ranks) -> None:
    program = """
begin("start", torch.ones(1)).result()
if rank == size - 1:
    os.kill(os.getpid(), signal.SIGKILL)
for name in ("step", "next"):
    try:
        begin(name, torch.ones(1 << 20)).result()
    except errors.UnknownError as error:
        print(error.message)
"""
    *others, killed = ranks.wait(ranks.start(_GROUP + program, size=3))
    assert killed.code == -signal.SIGKILL
    for each in others:
        assert each.code == 0
        assert len(each.output.splitlines()) == 2
        assert "rank 2 has ended" in each.output.splitlines()[0]


def test_a_rank_that_stops_during_an_operation_is_named(ranks: Ranks) -> None:
    program = """
begin("start", torch.ones(1)).result()
if rank == 1:
    begin("step", torch.ones(1)).work()
    os.kill(os.getpid(), signal.SIGSTOP)
    sys.exit()
try:
    begin("step", torch.ones(1)).result()
except errors.UnknownError as error:
    print(error.message, flush=True)
os._exit(0)
"""
    started = ranks.start(
        _GROUP + program, HOROVOD_STALL_SHUTDOWN_TIME_SECONDS=4, HOROVOD_STALL_CHECK_TIME_SECONDS=2
    )
    try:
        output, told = started[0].communicate(timeout=180)
    finally:
        for each in started:
            each.kill()
            each.communicate()
    assert "The process group has lost rank 1, which does not answer any more" in output
    assert "while step waited for all ranks" in output
    assert "step runs for more than 2 seconds: it waits for rank 1" in told


def test_the_death_of_the_coordinating_rank_ends_all(ranks: Ranks) -> None:
    program = """
begin("start", torch.ones(1)).result()
if rank == 0:
    os.kill(os.getpid(), signal.SIGKILL)
try:
    begin("step", torch.ones(1)).result()
except errors.UnknownError as error:
    print(error.message)
"""
    killed, other = ranks.wait(ranks.start(_GROUP + program))
    assert killed.code == -signal.SIGKILL
    assert other.code == 0
    assert "rank 0 has ended" in other.output


def test_a_rank_that_leaves_early_is_named(ranks: Ranks) -> None:
    program = """
begin("start", torch.ones(1)).result()
if rank == 0:
    try:
        begin("step", torch.ones(1)).result()
    except errors.UnknownError as error:
        print(error.message)
"""
    first, _ = ranks.run(_GROUP + program)
    assert first == "rank 1 has shut down, and has not come to step\n"


def test_processes_that_do_not_start_are_named(ranks: Ranks) -> None:
    program = "from stillflow.runtime.processes.kernels import of_launcher\nof_launcher()\n"
    (ended,) = ranks.wait(ranks.start(program, size=3, started=1, HOROVOD_START_TIMEOUT=2))
    assert ended.code == 1
    assert "Of 3 processes rank 1, 2 did not come to 127.0.0.1:" in ended.errors
