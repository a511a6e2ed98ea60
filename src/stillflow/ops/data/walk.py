"""Walks through datasets: iterators whose place can be written down and found again.

A walk writes TensorFlow's own keys and values, so that a pipeline that TensorFlow 1.15 saved goes
on here, and the other way round. Where other threads work for a pipeline, other numbers of results
wait than in TensorFlow; parallel_interleave and map_and_batch therefore write keys of their own.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, ClassVar

from stillflow import errors
from stillflow.ops.io.variants import IteratorState

Element = tuple[Any, ...]
State = IteratorState

# How TensorFlow's iterators call an input that they gave up when it came to its end.
_INPUT_GONE = (
    "input_impl_empty", "input_impls_empty", "exhausted", "end_of_input_sequence",
    "input_impl_uninitialized",
)  # fmt: skip


class Walk:
    """An iterator over the elements of a dataset. It ends with StopIteration, again and again.

    After any other error it continues with the next element, so it is never a generator: a
    generator ends with an error.

    Attributes:
      prefix: the path of the walk in the pipeline; the dataset that starts it sets it.
      early: whether nobody sees that elements are made early; the dataset sets that, too.
    """

    prefix = ""
    early = False
    inputs: ClassVar[Sequence[str]] = ("source",)  # attributes that are walks, or lists of them
    numbers: ClassVar[dict[str, str]] = {}  # integers among the attributes, and their names there
    flags: ClassVar[dict[str, str]] = {}  # booleans, and their names there where they are true

    def __iter__(self) -> Walk:
        return self

    def __next__(self) -> Any:
        raise NotImplementedError

    def take(self, count: int) -> tuple[Sequence[Element], Exception | None]:
        """Return the next elements.

        Args:
          count: how many; fewer are given if the walk ends, or something goes wrong.

        Returns:
          The elements, and the error that is in the place of the next one.
        """
        elements: list[Element] = []
        try:
            elements.extend(itertools.islice(self, count))
        except Exception as error:
            return elements, error
        return elements, None

    def save(self, state: State) -> None:
        """Write the place down.

        Raises:
          UnimplementedError: if this walk cannot.
        """
        for attribute in self.inputs:
            found = getattr(self, attribute)
            for walk in found if isinstance(found, list) else [found]:
                self.save_input(state, walk)
        for attribute, name in self.numbers.items():
            self.put(state, name, getattr(self, attribute))
        for attribute, name in self.flags.items():
            if getattr(self, attribute):
                self.put(state, name, b"")

    def restore(self, state: State) -> None:
        """Goes to a place that was written down; the walk has not begun before.

        Raises:
          NotFoundError: if it is not the place of such a walk.
        """
        for attribute in self.inputs:
            found = getattr(self, attribute)
            if isinstance(found, list):
                setattr(self, attribute, [self.restored(state, walk) for walk in found])
            else:
                setattr(self, attribute, self.restored(state, found))
        for attribute, name in self.numbers.items():
            setattr(self, attribute, self.integer(state, name))
        for attribute, name in self.flags.items():
            setattr(self, attribute, self.has(state, name))

    def save_input(self, state: State, walk: Walk) -> None:
        """Write the place of another walk down on which this one depends."""
        if isinstance(walk, Ended):
            self.put(state, _INPUT_GONE[0], b"")
        else:
            walk.save(state)

    def restored(self, state: State, walk: Walk) -> Walk:
        """Another walk on which this one depends, at its place; one that is over if it was."""
        if any(self.has(state, name) for name in _INPUT_GONE):
            return Ended()
        walk.restore(state)
        return walk

    def put(self, state: State, name: str, value: Any) -> None:
        """Write down a value."""
        state[f"{self.prefix}:{name}"] = value

    def get(self, state: State, name: str) -> Any:
        """Return a value that was written down."""
        return state[f"{self.prefix}:{name}"]

    def integer(self, state: State, name: str) -> int:
        """Return an integer that was written down."""
        return int(self.get(state, name))

    def integer_or_zero(self, state: State, name: str) -> int:
        """Return a number that is not written down where it is 0."""
        return self.integer(state, name) if self.has(state, name) else 0

    def has(self, state: State, name: str) -> bool:
        """Return True if a value was written down."""
        return f"{self.prefix}:{name}" in state

    def put_values(self, state: State, size: str, item: str, values: Sequence[Any]) -> None:
        """Write down several values: `size` names their number, `item.format(i)` each of them."""
        self.put(state, size, len(values))
        for index, value in enumerate(values):
            self.put(state, item.format(index), value)

    def get_values(self, state: State, size: str, item: str) -> Element:
        """Return the values that `put_values` stored."""
        return tuple([
            self.get(state, item.format(index)) for index in range(self.integer(state, size))
        ])  # fmt: skip

    def put_status(self, state: State, name: str, error: BaseException | None) -> None:
        """Write down an error, or that there was none."""
        if error is None:
            self.put(state, f"{name}.code", 0)
        else:
            self.put(state, f"{name}.code", getattr(error, "error_code", errors.UNKNOWN))
            message = getattr(error, "message", str(error))
            self.put(state, f"{name}.error_message", message.encode())

    def get_status(self, state: State, name: str) -> errors.OpError | None:
        """Return the status that `put_status` stored."""
        code = self.integer(state, f"{name}.code")
        if not code:
            return None
        kind = errors.exception_type_from_error_code(code)
        text = self.get(state, f"{name}.error_message")
        message = text if isinstance(text, bytes) else text.item()
        return kind(None, None, message.decode())

    def put_result(
        self, state: State, name: str, error: BaseException | None, element: Element | None
    ) -> None:
        """Write down an error or else an element."""
        self.put_status(state, name, error)
        self.put_values(state, f"{name}.size", f"{name}[{{}}]", element or ())

    def get_result(self, state: State, name: str) -> tuple[errors.OpError | None, Element | None]:
        """Return the result that `put_result` stored."""
        error = self.get_status(state, name)
        return error, None if error else self.get_values(state, f"{name}.size", f"{name}[{{}}]")


class Ended(Walk):
    """A walk that is over."""

    inputs = ()

    def __next__(self) -> Element:
        raise StopIteration


class Unsaved(Walk):
    """A walk whose place cannot be written down."""

    def save(self, state: State) -> None:
        raise errors.unimplemented("SaveInternal")

    def restore(self, state: State) -> None:
        raise errors.unimplemented("RestoreInternal")
