"""Start a program as several processes that train together, as `horovodrun` does.

Torch's launcher (`torchrun`) starts and watches the processes of each machine; other machines are
reached by ssh.
"""

from __future__ import annotations

import argparse
import glob
import logging
import os
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from typing import Any, NamedTuple

_LINES = 40  # of the failed rank's error output, shown at the end
_LOCAL = ("localhost", "127.0.0.1")
_PORT = 29500
_PYTHONS = ("python", "python3", sys.executable)


class Node(NamedTuple):
    """A machine and how many processes it runs."""

    host: str
    slots: int


def main(arguments: list[str]) -> int:
    """Start the processes and wait for them; return the exit status of the first that failed."""
    flags = _parser().parse_args(arguments)
    if flags.check_build:
        print(_BUILD)
        return 0
    try:
        nodes = _nodes(flags)
    except (ValueError, OSError) as error:
        print(f"stillflow launch: {error}", file=sys.stderr)
        return 2
    if not flags.command:
        print("stillflow launch: name a program to run", file=sys.stderr)
        return 2
    os.environ.update(_environment(flags))
    others = [] if flags.node_rank else _start_others(flags, nodes)
    try:
        return _run_here(flags, nodes)
    finally:
        for process in others:
            process.terminate()


_BUILD = """\
Available frameworks: TensorFlow 1.15 (Stillflow)
Available controllers: gloo (torch.distributed)
Available tensor operations: gloo; NCCL where CUDA is available"""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m stillflow launch", description=(__doc__ or "").partition("\n")[0],
        allow_abbrev=False,
    )  # fmt: skip
    add = parser.add_argument
    add("-np", "--num-proc", type=int, dest="np", help="processes in all; by default all slots")
    add("-H", "--hosts", help="machines and how many processes each runs: host1:2,host2:2")
    add("-hostfile", "--hostfile", help="a file with lines `host slots=2`")
    add("-p", "--ssh-port", type=int, help="port of ssh on the other machines")
    add("--port", type=int, default=_PORT, help="port of the first machine where all meet")
    add("--start-timeout", type=float, help="seconds that processes wait for each other")
    add("--output-filename", help="folder for the output of each rank")
    add("--timeline-filename", help="file for a timeline of collective operations")
    add("--timeline-mark-cycles", action="store_true", help="marks in it where ranks go on")
    add("--fusion-threshold-mb", type=float, help="size of buckets of several tensors")
    add("--no-stall-check", action="store_true", help="no warning if some ranks do not come")
    add("--stall-check-warning-time-seconds", type=float)
    add("--stall-check-shutdown-time-seconds", type=float)
    add("--check-build", action="store_true", help="print the backends there are, and stop")
    add("--verbose", action="store_true", help="show the commands for other machines")
    for ignored in ("--gloo", "--disable-cache"):
        add(ignored, action="store_true", help="accepted; it is so in any case")
    for ignored in ("--cycle-time-ms", "--cache-capacity", "--network-interface", "--log-level"):
        add(ignored, help="accepted without effect")
    add("--node-rank", type=int, default=0, help=argparse.SUPPRESS)
    add("command", nargs=argparse.REMAINDER, help="program.py or -m module, and its arguments")
    return parser


def _nodes(flags: argparse.Namespace) -> list[Node]:
    """Return the machines that run processes, each with their number.

    Raises:
      ValueError: if there are fewer slots than processes, or hosts cannot be read.
    """
    if flags.hosts and flags.hostfile:
        raise ValueError("give --hosts or --hostfile, not both")
    found = _hosts(flags)
    wanted = flags.np or sum(node.slots for node in found)
    if wanted < 1:
        raise ValueError(f"-np {wanted} is no number of processes")
    nodes, left = [], wanted
    for host, slots in found or [Node("localhost", wanted)]:
        if left:
            nodes.append(Node(host, min(slots, left)))
            left -= nodes[-1].slots
    if left:
        raise ValueError(f"-np {wanted} processes, but the hosts have {wanted - left} slots")
    if len({node.slots for node in nodes}) > 1:
        raise ValueError(
            "all machines have to run the same number of processes: "
            + ", ".join(f"{host}:{slots}" for host, slots in nodes)
        )
    return nodes


def _hosts(flags: argparse.Namespace) -> list[Node]:
    if flags.hostfile:
        with open(flags.hostfile, encoding="utf-8") as file:
            lines = [line.split("#")[0].replace("slots=", "").split() for line in file]
        pairs = [(line[0], (line + ["1"])[1]) for line in lines if line]
    else:
        entries = filter(None, (flags.hosts or "").split(","))
        pairs = [(host, slots or "1") for host, _, slots in (e.partition(":") for e in entries)]
    for host, slots in pairs:
        if not host or not slots.isdigit() or host.startswith("-"):
            raise ValueError(f"{host}:{slots} is no host with a number of slots")
    return [Node(host, int(slots)) for host, slots in pairs]


def _environment(flags: argparse.Namespace) -> dict[str, str]:
    """Return the variables by which process groups are told what the flags say."""
    fusion = flags.fusion_threshold_mb
    found = {
        "HOROVOD_START_TIMEOUT": flags.start_timeout,
        "HOROVOD_TIMELINE": flags.timeline_filename,
        "HOROVOD_TIMELINE_MARK_CYCLES": "1" if flags.timeline_mark_cycles else None,
        "HOROVOD_FUSION_THRESHOLD": None if fusion is None else int(fusion * 2**20),
        "HOROVOD_STALL_CHECK_DISABLE": 1 if flags.no_stall_check else None,
        "HOROVOD_STALL_CHECK_TIME_SECONDS": flags.stall_check_warning_time_seconds,
        "HOROVOD_STALL_SHUTDOWN_TIME_SECONDS": flags.stall_check_shutdown_time_seconds,
    }
    return {name: str(value) for name, value in found.items() if value is not None}


def _start_others(
    flags: argparse.Namespace, nodes: Sequence[Node]
) -> list[subprocess.Popen[bytes]]:
    """Start this launcher on the other machines, in the same folder."""
    hosts = ",".join(f"{host}:{slots}" for host, slots in nodes)
    names = [n for n in os.environ if n.startswith(("HOROVOD_", "STILLFLOW_", "PYTHONPATH"))]
    started = []
    for number, (host, _) in enumerate(nodes[1:], 1):
        remote = [
            "cd", os.getcwd(), "&&", "env", *(f"{name}={os.environ[name]}" for name in names),
            sys.executable, "-m", "stillflow", "launch", "-H", hosts, "--port", str(flags.port),
            "--node-rank", str(number), *flags.command,
        ]  # fmt: skip
        text = " ".join(part if part == "&&" else shlex.quote(part) for part in remote)
        port = ["-p", str(flags.ssh_port)] if flags.ssh_port else []
        # With a terminal, the other machine's processes end when this connection does.
        command = ["ssh", "-tt", "-o", "BatchMode=yes", *port, host, text]
        if flags.verbose:
            print(shlex.join(command), file=sys.stderr)
        started.append(subprocess.Popen(command, stdin=subprocess.DEVNULL))
    return started


def _run_here(flags: argparse.Namespace, nodes: Sequence[Node]) -> int:
    """Run this machine's processes; return the exit status."""
    from torch.distributed.elastic.multiprocessing import DefaultLogsSpecs, SignalException, Std
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
    from torch.distributed.launcher.api import LaunchConfig, elastic_launch

    slots = nodes[flags.node_rank].slots
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, (os.cpu_count() or 1) // slots)))
    logging.getLogger("torch.distributed").setLevel(logging.CRITICAL)
    with tempfile.TemporaryDirectory(prefix="stillflow-launch-") as folder:
        logs = flags.output_filename or folder
        single = len(nodes) == 1
        config = LaunchConfig(
            min_nodes=len(nodes), max_nodes=len(nodes), nproc_per_node=slots,
            rdzv_backend="c10d" if single else "static",
            rdzv_endpoint="localhost:0" if single else f"{_address(nodes[0])}:{flags.port}",
            rdzv_configs={} if single else {"rank": flags.node_rank},
            local_addr="localhost" if single else None, run_id="stillflow", max_restarts=0,
            monitor_interval=0.1, log_line_prefix_template="[${rank}] ",
            logs_specs=DefaultLogsSpecs(log_dir=logs, tee=Std.ALL),
        )  # fmt: skip
        try:
            elastic_launch(config, entrypoint=sys.executable)(*_program(flags.command))
        except ChildFailedError as error:
            rank, failure = error.get_first_failure()
            _show_failure(logs, rank, failure)
            return failure.exitcode if failure.exitcode > 0 else 128 - failure.exitcode
        except SignalException as error:
            return 128 + int(error.sigval)
        except KeyboardInterrupt:
            return 128 + int(signal.SIGINT)
    return 0


def _program(command: Sequence[str]) -> list[str]:
    """Return the arguments of Python: `python train.py` of horovodrun's users is a program, too."""
    words = list(command)
    if words[0] == "--":
        del words[0]
    if words and words[0] in _PYTHONS:
        del words[0]
    return ["-u", "-m", "stillflow", *words]


def _address(node: Node) -> str:
    return socket.gethostname() if node.host in _LOCAL else node.host


def _show_failure(folder: str, rank: int, failure: Any) -> None:
    """Print the end of the failed rank's error output."""
    pattern = os.path.join(folder, "**", str(failure.local_rank), "stderr.log")
    for path in sorted(glob.glob(pattern, recursive=True))[-1:]:
        with open(path, encoding="utf-8", errors="replace") as file:
            lines = file.read().splitlines()[-_LINES:]
        print("\n".join(f"[{rank}] {line}" for line in lines), file=sys.stderr)
    code = failure.exitcode
    how = f"exit status {code}" if code >= 0 else signal.Signals(-code).name
    print(f"stillflow launch: rank {rank} ended with {how}; the others were ended", file=sys.stderr)
