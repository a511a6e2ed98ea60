"""The other tasks of a session, as one of its tasks sends values to them and receives theirs."""

from __future__ import annotations

import contextlib
import functools
from collections import deque
from collections.abc import Mapping
from typing import Any

from stillflow import errors
from stillflow.graph.device import DeviceSpecV2
from stillflow.graph.dtypes import DType
from stillflow.ops.send_recv import SEND, arrival_name, rendezvous_key
from stillflow.runtime.cluster import tensor_coding
from stillflow.runtime.cluster.links import IsTensorFlow, Link, ask_when_there, link_to
from stillflow.runtime.cluster.packed import pack
from stillflow.runtime.cluster.rendezvous import Pull, Rendezvous
from stillflow.runtime.plan.crossings import DEAD

Task = tuple[str, int]


class Peers:
    """The tasks of a session's cluster.

    Args:
      own: the task whose peers they are.
      addresses: of all tasks.
      rendezvous: keeps values for tasks that ask for them.
      asks: whether all of them do; else those of TensorFlow alone.
    """

    def __init__(
        self, own: Task, addresses: Mapping[Task, str], rendezvous: Rendezvous, asks: bool
    ) -> None:
        self._own, self._addresses, self._rendezvous = own, addresses, rendezvous
        self._all_ask = asks
        self._ask: dict[Task, bool] = {own: False}
        self._held: deque[Link] = deque()

    def meet(self, op: Any) -> Pull | None:
        """Find out how a `_Send` or `_Recv` reaches the other task; return its value to ask for."""
        sends = op.type == SEND
        side = "recv_device" if sends else "send_device"
        task = _task_of(op.attrs[side].decode())
        if not self._asks(task) or sends:
            return None
        in_loop = any(control.card.flow == "merge" for control in op._control_inputs)
        return Pull(self._addresses[task], rendezvous_key(op.attrs), in_loop)

    def _asks(self, task: Task) -> bool:
        """Return True if a task asks for values, and is asked for them."""
        found = self._ask.get(task)
        if found is None:
            found = self._all_ask or self._is_tensorflow(task)
            self._ask[task] = found
        return found

    def _is_tensorflow(self, task: Task) -> bool:
        try:
            ask_when_there(self._address(task), str(task), lambda: None, describe={})
        except IsTensorFlow:
            return True
        return False

    def _address(self, task: Task) -> str:
        address = self._addresses.get(task)
        if address is None:
            name = f"/job:{task[0]}/replica:0/task:{task[1]}"
            raise errors.InternalError(None, None, f"This cluster has no {name}")
        return address

    def send(
        self, session: str, step: int, device: str, key: str, dtype: DType, value: Any, more: bool
    ) -> str | None:
        """Send a value, with `more` only before `flush` or the next one; or keep it until asked.

        Returns:
          The value's name, if the receiver is this task itself.
        """
        task = _task_of(device)
        name = arrival_name(key)
        if task == self._own:
            return name
        if self._asks(task):
            # At once, as the memory may be a variable's.
            given = None if value is DEAD else value
            self._rendezvous.put(step, key, tensor_coding.response(given, dtype, name))
            return None
        arrival = {"session": session, "key": name, "dead": value is DEAD}
        tensors = [] if value is DEAD else [pack(value, dtype)]
        link = link_to(self._address(task))
        link.tell(tensors, step, more, arrival=arrival)
        if more:
            self._held.append(link)
        return None

    def flush(self) -> None:
        """Send what waits for more; UnavailableError if a task is not reachable any more."""
        while self._held:
            with contextlib.suppress(IndexError):  # another step was faster
                self._held.popleft().tell()

    def end(self, step: int) -> None:
        """Forget the values of a step that has failed."""
        if any(self._ask.values()):
            self._rendezvous.end(step)


@functools.cache
def _task_of(device: str) -> Task:
    spec = DeviceSpecV2.from_string(device)
    return spec.job or "", spec.task or 0
