"""Run of random calls for any time: `python -m tests.ops.fuzzing --seconds 600`.

Each operation runs in a process of its own, with bounded memory, so that a crash is a finding.
"""

from __future__ import annotations

import argparse
import os
import resource
import signal
import sys
import tempfile
import time
import traceback

from tests.ops.fuzzing import choice, outcomes

import stillflow as tf
from stillflow.graph import card as cards


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", default="0")
    parser.add_argument("--rounds", type=int, default=10, help="calls of an operation in a row")
    parser.add_argument("--memory", type=int, default=3, help="GiB that a process may take")
    parser.add_argument("--trace", action="store_true", help="print tracebacks")
    parser.add_argument("ops", nargs="*")
    args = parser.parse_args()
    tf.logging.set_verbosity(tf.logging.ERROR)
    names = args.ops or choice.operations()
    with tf.Graph().as_default(), tf.Session() as session:
        session.run(tf.constant(1) + 1)  # what all children need is loaded once
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        end, found, count = time.monotonic() + args.seconds, 0, 0
        while time.monotonic() < end:
            for name in names:
                if time.monotonic() > end:
                    break
                found += _in_child(name, args, count)
            count += args.rounds
    print(f"{count} calls of {len(names)} operations, {found} with faults")
    return bool(found)


def _in_child(name: str, args: argparse.Namespace, first: int) -> bool:
    sys.stdout.flush()
    child = os.fork()
    if not child:
        resource.setrlimit(resource.RLIMIT_AS, (args.memory << 30, args.memory << 30))
        signal.alarm(60)
        failed = False
        try:
            for at in range(first, first + args.rounds):
                try:
                    outcomes.check(cards.get(name), f"{args.seed}.{at}")
                except outcomes.Fault as fault:
                    failed = True
                    print("FAULT", fault, flush=True)
                    if args.trace and fault.__cause__ is not None:
                        traceback.print_exception(fault.__cause__)
        except BaseException as error:
            print("FAULT", name, "of the test itself", repr(error), flush=True)
            traceback.print_exc()
            failed = True
        finally:
            os._exit(failed)
    status = os.waitpid(child, 0)[1]
    if status and not os.WIFEXITED(status):
        print(f"FAULT {name} ended by signal {os.WTERMSIG(status)}, seed {args.seed}.{first}...")
    return bool(status)


if __name__ == "__main__":
    sys.exit(main())
