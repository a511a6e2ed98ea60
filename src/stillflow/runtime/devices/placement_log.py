"""Log of operations' devices for `log_device_placement` of a `ConfigProto`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence

from stillflow.graph.operation import Operation, Tensor
from stillflow.runtime import native_log
from stillflow.runtime.devices.devices import DeviceAttributes
from stillflow.runtime.devices.placer import is_generator

_OF_SESSION = "common_runtime/direct_session.cc:359"
_OF_PLACER = "common_runtime/placer.cc:54"
_PLACEHOLDERS = ("Placeholder", "PlaceholderV2")


class PlacementLog:
    """Log of placements on stdout, and on stderr if all is logged there too.

    Operations come in the order of TensorFlow's placer: generators of one value without inputs are
    placed last, unless they have state and were placed before.
    """

    def __init__(self) -> None:
        self._kept: set[Operation] = set()  # those with state that were placed before
        self._runs: set[tuple[tuple[str, ...], ...]] = set()

    def say_devices(self, devices: Sequence[DeviceAttributes]) -> None:
        """Write the session's devices besides the CPU, with their descriptions."""
        lines = [f"{d.name} -> {d.description}\n" for d in devices if d.device_type != "CPU"]
        said = "".join(["Device mapping:\n", *lines])
        _say(said if lines else "Device mapping: no known devices.\n", said, _OF_SESSION)

    def say_placed(self, ops: Sequence[Operation], device_of: Callable[[Operation], str]) -> None:
        """Says where operations are.

        Args:
          ops: in the order in which they can run.
          device_of: gives the full name of an operation's device.
        """
        self._say_ops(ops, [], device_of)

    def say_run(
        self, ops: Sequence[Operation], ends: tuple[Collection[Tensor], ...], client: str,
        targets: Iterable[Operation], device_of: Callable[[Operation], str],
    ) -> None:  # fmt: skip
        """Says where the operations of a run are, once for all runs that feed and fetch the same.

        Args:
          ops: the needed operations, in an order in which they can run.
          ends: the tensors that are fed, and those that are fetched.
          client: the full name of the device that they are on.
          targets: the operations that are to run.
          device_of: gives the full name of an operation's device.
        """
        fed, fetched = (tuple(sorted({tensor.name for tensor in side})) for side in ends)
        run = (fed, fetched, tuple(sorted(op.name for op in targets)))
        if run in self._runs:
            return
        self._runs.add(run)
        # Consumers of a fed placeholder wait for the feed.
        replaced = {tensor.op for tensor in ends[0] if tensor.op.type in _PLACEHOLDERS}
        ops = [op for op in ops if op not in replaced]
        taken = {tensor.name for op in ops for tensor in op._inputs}
        taken |= {c._outputs[0].name for op in ops for c in op._control_inputs if c in replaced}
        lines = [
            f"_{kind.lower()}_{name.replace(':', '_')}_{number}: (_{kind}): {client}"
            for kind, names in (("Arg", fed), ("Retval", [n for n in fetched if n not in fed]))
            for number, name in enumerate(names)
            if kind == "Retval" or name in taken
        ]
        self._say_ops(ops, lines, device_of)

    def _say_ops(
        self, ops: Sequence[Operation], ends: list[str], device_of: Callable[[Operation], str]
    ) -> None:
        last = [op for op in ops if is_generator(op) and op not in self._kept]
        first = dict.fromkeys(ops)
        for op in last:
            del first[op]
        before, after = ([_line(op, device_of) for op in part] for part in (first, last))
        for line in before + ends + after:
            _say(line + "\n", line, _OF_PLACER)
        self._kept.update(op for op in ops if op._is_stateful)


def _line(op: Operation, device_of: Callable[[Operation], str]) -> str:
    return f"{op.name}: ({op.type}): {device_of(op)}"


def _say(text: str, logged: str, source: str) -> None:
    print(text, end="", flush=True)
    native_log.info(logged, source)
