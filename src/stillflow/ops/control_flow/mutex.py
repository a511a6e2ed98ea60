"""Mutexes: held by one session run while others wait."""

from __future__ import annotations

import threading

from stillflow.graph.card import op
from stillflow.graph.node import Node
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.ops.queues.attempts import Attempt, Attempts

mutex_v2_op = op("""MutexV2() -> resource: resource
    container: string = ""
    shared_name: string = ""
    flags: stateful
""", differentiable=False, devices="host first", handle="mutex", gives="mutex")  # fmt: skip
mutex_lock_op = op("""MutexLock(mutex: resource) -> mutex_lock: variant
    flags: stateful
""", differentiable=False, devices="host first", handle="mutex", access="lock")  # fmt: skip
consume_mutex_lock_op = op("""ConsumeMutexLock(mutex_lock: variant)
    flags: stateful
""", differentiable=False, devices="host first", handle="mutex")  # fmt: skip


class Mutex(Attempts):
    """Mutex held by a thread: the operations of a run come one after the other.

    A thread that locks it again has ended the run that did so before: that run failed.
    """

    def __init__(self) -> None:
        super().__init__()
        # A lock may be collected, and so released, while this thread is in here already.
        self.lock = threading.RLock()  # type: ignore[assignment]
        self.holder: Lock | None = None
        self._flushing = False

    def release(self, lock: Lock) -> None:
        """Release the mutex if `lock` holds it."""
        with self.lock:
            if self.holder is lock:
                self.holder = None
                self._flush()

    def _flush(self) -> None:
        if self._flushing:
            return
        self._flushing = True
        try:
            super()._flush()
            while self.holder is None and self.taking:
                super()._flush()
        finally:
            self._flushing = False


class Lock:
    """Handle of a run that holds a mutex; its deletion releases the mutex."""

    def __init__(self, mutex: Mutex) -> None:
        self.mutex = mutex
        self.thread = threading.get_ident()

    def __del__(self) -> None:
        self.mutex.release(self)


class _Locking(Attempt):
    def __init__(self, mutex: Mutex, lock: Lock) -> None:
        super().__init__("Mutex lock", 1)
        self._mutex, self._lock = mutex, lock

    def run(self) -> bool:
        holder = self._mutex.holder
        if holder is not None and holder.thread != self._lock.thread:
            return False
        self._mutex.holder = self._lock
        return self.finish()


@mutex_v2_op.shape
def mutex_v2_shape(node: Node) -> OutputDims:
    return ()


@mutex_v2_op.kernel
def mutex_v2_kernel(node: Node) -> Kernel:
    return node.handle(node.resource(Mutex, kind="mutex", private=True))


@mutex_lock_op.shape
def mutex_lock_shape(node: Node) -> OutputDims:
    return ()


@mutex_lock_op.kernel
def mutex_lock_kernel(node: Node) -> Kernel:
    waits = node.waits()

    def run(mutex: Mutex) -> Lock:
        if not isinstance(mutex, Mutex):
            raise ValueError("Trying to access resource using the wrong type for MutexLock")
        lock = Lock(mutex)
        mutex.submit(_Locking(mutex, lock), mutex.taking, waits)
        return lock

    return run


@consume_mutex_lock_op.kernel
def consume_mutex_lock_kernel(node: Node) -> Kernel:
    return lambda lock: lock.mutex.release(lock)
