"""Work that goes on while nobody waits for it: prefetching and calls in parallel."""

from __future__ import annotations

import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

from stillflow import errors
from stillflow.graph.lazy import torch
from stillflow.ops.data.pipeline import Context
from stillflow.ops.data.run_length import MOST, RunLength
from stillflow.ops.data.walk import Element, State, Walk
from stillflow.ops.queues.elements import joined
from stillflow.util.interpreter_exit import at_work
from stillflow.util.threads import our_thread

_END = object()

# Threads that make calls of fewer nanoseconds of work mostly wait for each other.
_LONG = 200_000
_PATIENCE = 8  # so many long calls in a row are not by chance
_SETTLING = 0.5  # seconds; an item in progress may wait for the thread that closes


class Channel:
    """A bounded row of results that other threads fill in.

    Args:
      waits: how the thread that takes them waits.
      limit: how many there may be.
    """

    def __init__(self, waits: Any, limit: int) -> None:
        self.waits = waits
        self.limit = limit
        self.changed = threading.Condition(threading.Lock())
        self.making = threading.Lock()  # held while an item is made
        self.maker: int | None = None  # the thread that does
        self.items: deque[Any] = deque()
        self.closed = False
        self._waiting: threading.Lock | None = None

    def wait_for_room(self) -> bool:
        """Wait until there is room for an item; False if nobody wants it any more."""
        with self.changed:
            while len(self.items) >= self.limit and not self.closed:
                self.changed.wait()
            return not self.closed

    def put(self, item: Any) -> None:
        """Add an item. Only one thread may do so, once there is room."""
        with self.changed:
            if not self.closed:
                self.items.append(item)
                self._wake()

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            release(waiting)

    def take(self) -> tuple[Any, Any]:
        """Return the next item.

        Raises:
          CancelledError: the session was closed.
          DeadlineExceededError: the run took longer than it may.
        """
        while True:
            with self.changed:
                if self.items:
                    item = self.items.popleft()
                    self.changed.notify()
                    return item
                if self.closed:
                    raise cancelled()
                done = self._waiting = threading.Lock()
                done.acquire()
            wait(self.waits, done)

    def close(self) -> None:
        with self.changed:
            self.closed = True
            self.items.clear()
            self.changed.notify_all()
            self._wake()

    def settle(self) -> None:
        """Wait for the item in progress: its effects come first."""
        if self.maker != threading.get_ident() and self.making.acquire(timeout=_SETTLING):
            self.making.release()


def cancelled() -> errors.OpError:
    return errors.cancelled("Operation was cancelled")


def release(lock: threading.Lock) -> None:
    """Releases a lock, unless another thread did."""
    try:
        lock.release()
    except RuntimeError:
        pass


def wait(waits: Any, done: threading.Lock) -> None:
    """Wait for the release of a lock, or raise the OpError that ends the run."""
    found: list[errors.OpError] = []

    def cancel(error: errors.OpError) -> None:
        found.append(error)
        release(done)

    waits.wait(done, cancel)
    if found:
        if isinstance(found[0], errors.CancelledError):
            raise cancelled()
        kind: Any = type(found[0])
        raise kind(None, None, found[0].message)


def start_threads(function: Callable[[], None], name: str, count: int = 1) -> None:
    """Run a function in threads that do not keep the process alive.

    Their kernels begin no further threads: those would compete with each other, and with the
    program's use of the elements.
    """
    before = torch.get_num_threads()
    ready = threading.Semaphore(0)

    def run() -> None:
        torch.get_num_threads()  # the first call in a thread applies the last setting
        torch.set_num_threads(1)
        ready.release()
        with torch.inference_mode():
            function()

    for _ in range(count):
        our_thread(threading.Thread(target=run, name=name, daemon=True)).start()
    for _ in range(count):
        ready.acquire()
    torch.set_num_threads(before)


class Prefetching(Walk):
    """Elements that a thread fetches ahead; errors come in their place.

    Cheap elements are fetched some at a time where that has no visible effect.
    """

    def __init__(self, context: Context, source: Walk, limit: int, name: str = "") -> None:
        self.context = context
        self.source = source
        self.name = name
        self.limit = limit
        self.channel: Channel | None = None
        self.fetched: list[_Run] = []  # before there was a channel
        self.here: Sequence[Element] = ()  # elements of the run that was taken last
        self.error: Any = None  # the error after them
        self.ended = False

    def __next__(self) -> Element:
        elements, error = self.take(1)
        if error is not None:
            raise error
        if not len(elements):
            raise StopIteration
        return elements[0]

    def take(self, count: int) -> tuple[Sequence[Element], Exception | None]:
        parts: list[Sequence[Element]] = []
        try:
            while count and self._has_some():
                parts.append(self.here[:count])
                self.here = self.here[count:]
                count -= len(parts[-1])
        except Exception as error:
            return joined(parts), error
        return joined(parts), None

    def _has_some(self) -> bool:
        """Wait; return True if elements come before the end, or raise what comes instead."""
        while not len(self.here) and not self.ended:
            error, self.error = self.error, None
            if error is _END:
                self.ended = True
            elif error is not None:
                raise error
            else:
                channel = self.begin()
                self.here, self.error = channel.take()
                if self.context.stats is not None and self.error is not _END:
                    self._report(min(len(channel.items) + 1, self.limit))
        return not self.ended

    def _report(self, size: int) -> None:
        stats, name = self.context.stats, self.name
        stats.add_to_histogram(f"{name}::buffer_utilization", size / self.limit)
        stats.add_scalar(f"{name}::buffer_size", size)
        stats.add_scalar(f"{name}::buffer_capacity", self.limit)

    def begin(self) -> Channel:
        """Has the thread begin, if it has not yet."""
        if self.channel is None:
            channel = self.channel = Channel(self.context.waits, self.limit)
            channel.items.extend(self.fetched)
            self.context.on_close(channel)
            weakref.finalize(self, channel.close)
            source = self.source
            most = MOST if source.early and self.context.stats is None else 1
            start_threads(lambda: _fill(channel, source, most), "tf_data_prefetch")
        return self.channel

    def save(self, state: State) -> None:
        channel = self.channel
        with nullcontext() if channel is None else channel.making:
            items = list(self.fetched if channel is None else channel.items)
            super().save(state)
        results: list[tuple[Any, Any]] = []
        for elements, error in [(self.here, self.error), *items]:
            results.extend((None, element) for element in elements)
            if error is not None and error is not _END:
                results.append((error, None))
        self.put(state, "buffer_size", len(results))
        for index, (error, element) in enumerate(results):
            self.put_status(state, f"status[{index}]", error)
            if error is None:
                item = f"buffer[{index}]"
                self.put_values(state, f"{item}.size", f"{item}[{{}}]", element)

    def restore(self, state: State) -> None:
        super().restore(state)
        for index in range(self.integer(state, "buffer_size")):
            error, item = self.get_status(state, f"status[{index}]"), f"buffer[{index}]"
            element = self.get_values(state, f"{item}.size", f"{item}[{{}}]") if not error else None
            self.fetched.append(((), error) if error else ([element or ()], None))


_Run = tuple[Sequence[Element], Any]  # elements, and the error or the end behind them


def _fill(channel: Channel, source: Walk, most: int) -> None:
    error: Any = None
    run = RunLength(most=most)
    channel.maker = threading.get_ident()
    while error is not _END and channel.wait_for_room():
        with channel.making, at_work:
            before, elements = time.perf_counter_ns(), ()
            try:
                elements, error = source.take(run.size)  # type: ignore[assignment]
                if error is None and len(elements) < run.size:
                    error = _END
            except BaseException as failure:  # raised where the element is requested
                error = failure
            run.took(time.perf_counter_ns() - before, len(elements))
            channel.put((elements, error))
            elements = ()  # freed at work: to free a tensor is to leave Python as well


class Parallel(Walk):
    """Results of calls that several threads make, in the order of the elements or as they come.

    Args:
      call: gives the result for an element; StopIteration ends everything.
      threads: how many calls there may be at a time.
      ordered: whether results come in the order of the elements.
      pure: whether calls have no effects and wait for nobody. While they are short, the thread
        that takes their results makes them.
      together: gives the results for several elements at once, or None where it cannot.
    """

    def __init__(
        self, context: Context, source: Walk, call: Callable[[Any], Any], threads: int,
        ordered: bool = True, name: str = "", pure: bool = False,
        together: Callable[[Sequence[Any]], Sequence[Any] | None] | None = None,
    ) -> None:  # fmt: skip
        self.name = name
        self.context = context
        self.source = source
        self.threads = min(threads, context.most_threads or threads)
        self.work = _Work(source, call, self.threads, ordered)
        self.started = False
        self.patience = _PATIENCE if pure and context.stats is None else 0
        self.together = together
        self.run = RunLength()
        self.read: list[Any] = []  # elements whose results are still to be made
        self.made: deque[Any] = deque()  # results, together with others that were taken

    def __next__(self) -> tuple[Any, ...]:
        if self.made:
            return self.made.popleft()
        if self.patience:
            return self._call_here()
        if not self.started:
            self.started = True
            self.context.on_close(self.work)
            weakref.finalize(self, self.work.close)
            start_threads(self.work.run, "tf_data_parallel", self.threads)
        result = self.work.take(self.context.waits)
        if self.context.stats is not None:
            busy = min(self.work.active, self.threads) / self.threads
            self.context.stats.add_scalar(f"{self.name}::thread_utilization", busy)
        return result

    def _call_here(self) -> tuple[torch.Tensor | int, ...]:
        """Return a result for which no other thread works.

        Long calls in a row are the last of these.
        """
        work, count = self.work, 1
        if work.slots:  # saved, or one of them failed
            return work.result(work.slots.popleft())
        if work.ended:
            raise StopIteration
        start, before = time.thread_time_ns(), time.perf_counter_ns()
        try:
            if self.together is None:
                return work.call(next(self.source))
            count = self._take_run()
            return self.made.popleft() if self.made else work.result(work.slots.popleft())
        except StopIteration:
            work.ended = True
            raise
        finally:
            # The work, and not how long it had to wait for other threads.
            long = time.thread_time_ns() - start > _LONG * count
            self.patience = self.patience - 1 if long else _PATIENCE
            self.run.took(time.perf_counter_ns() - before, count)

    def _take_run(self) -> int:
        """Make the results for the elements of the next run; give their number, at least 1."""
        assert self.together is not None
        elements = self.read  # some, if the run before was interrupted
        slots = self.work.slots
        while len(elements) < self.run.size and not slots:
            try:
                elements.append(next(self.source))
            except Exception as error:  # in its place, as the results of calls
                slots.append(_Slot(error=error))
        results = self.together(elements) if len(elements) > 1 else None
        if results is None:
            slots.extendleft([_called(self.work.call, element) for element in elements][::-1])
        else:
            self.made.extend(results)
        self.read = []
        return len(self.made) + len(slots)

    def save(self, state: State) -> None:
        with self.work.paused() as found:
            slots = [*map(_Slot, self.made), *found]
            super().save(state)
            self.put(state, "invocation_results.size", len(slots))
            for index, slot in enumerate(slots):
                name, over = f"invocation_results[{index}]", isinstance(slot.error, StopIteration)
                self.put_result(state, name, None if over else slot.error, slot.result)
                if over:
                    self.put(state, f"{name}.end_of_input", b"")

    def restore(self, state: State) -> None:
        super().restore(state)
        self.work.source = self.source
        for index in range(self.integer(state, "invocation_results.size")):
            name = f"invocation_results[{index}]"
            error, result = self.get_result(state, name)
            slot = _Slot(result, error)
            if self.has(state, f"{name}.end_of_input"):
                slot.error = StopIteration()
            self.work.slots.append(slot)


class _Slot:
    """Place for the result of one call."""

    __slots__ = ("error", "ready", "result")

    def __init__(
        self, result: Any = None, error: BaseException | None = None, ready: bool = True
    ) -> None:
        self.ready = ready
        self.error = error
        self.result = result


def _called(call: Callable[[Any], Any], element: Any) -> _Slot:
    try:
        return _Slot(call(element))
    except Exception as error:  # raised where the result is taken
        return _Slot(error=error)


class _Work:
    """The calls that are being made, oldest first."""

    def __init__(self, source: Any, call: Callable[[Any], Any], threads: int, ordered: bool):
        self.source = source
        self.call = call
        self.limit = 2 * threads
        self.ordered = ordered
        self.slots: deque[_Slot] = deque()
        self.reading = threading.Lock()  # its holder takes the next element
        self.changed = threading.Condition(threading.Lock())
        self.ended = False
        self.closed = False
        self.active = 0  # threads that read or call
        self.saving = False
        self._waiting: threading.Lock | None = None

    @contextmanager
    def paused(self) -> Iterator[deque[_Slot]]:
        """Finish running calls and begin no others inside `with`."""
        with self.changed:
            self.saving = True
            while self.active:
                self.changed.wait()
        try:
            yield self.slots
        finally:
            with self.changed:
                self.saving = False
                self.changed.notify_all()

    def run(self) -> None:
        while not self.closed:
            with self.reading:
                slot, element = self._next()
            if slot is None:
                return
            with at_work:
                if slot.error is None:
                    try:
                        slot.result = self.call(element)
                    except BaseException as error:  # raised where the result is taken
                        slot.error = error
                self._finish(slot)
                slot = element = None

    def _next(self) -> tuple[_Slot | None, Any]:
        """Return a place for a result, with the element to call the function with."""
        with self.changed:
            while (len(self.slots) >= self.limit or self.saving) and not self.closed:
                self.changed.wait()
            if self.closed or self.ended:
                return None, None
            self.active += 1
        slot, element = _Slot(ready=False), None
        try:
            with at_work:
                element = next(self.source)
        except StopIteration:
            self.ended = True
        except BaseException as error:
            slot.error = error
        if self.ended:
            self._finish(slot)
            return None, None
        with self.changed:
            self.slots.append(slot)
        return slot, element

    def _finish(self, slot: _Slot) -> None:
        with self.changed:
            slot.ready = True
            self.active -= 1
            if self.saving:
                self.changed.notify_all()
            self._wake()

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            release(waiting)

    def _ready(self) -> _Slot | None:
        if self.ordered:
            if self.slots and self.slots[0].ready:
                return self.slots.popleft()
            return None
        for index, slot in enumerate(self.slots):
            if slot.ready:
                del self.slots[index]
                return slot
        return None

    def take(self, waits: Any) -> tuple[Any, ...]:
        while True:
            with self.changed:
                slot = self._ready()
                if slot is not None:
                    self.changed.notify()
                    break
                if self.closed:
                    raise cancelled()
                if self.ended and not self.slots:
                    raise StopIteration
                done = self._waiting = threading.Lock()
                done.acquire()
            wait(waits, done)
        return self.result(slot)

    def result(self, slot: _Slot) -> Any:
        """Return the result of a removed slot, or raise its error or the end."""
        if isinstance(slot.error, StopIteration):
            self.close()
            self.closed, self.ended = False, True
            self.slots.clear()
            raise StopIteration
        if slot.error is not None:
            raise slot.error
        return slot.result

    def close(self) -> None:
        with self.changed:
            self.closed = True
            self.changed.notify_all()
            self._wake()
