"""The stack of default sessions; graphs ask it when a tensor is evaluated."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from stillflow.graph.export import export

if TYPE_CHECKING:
    from stillflow.graph.graph import Graph


class _Stack(threading.local):
    def __init__(self) -> None:
        self.sessions: list[Any] = []

    def get_default(self) -> Any:
        """Return the session entered last, or None."""
        return self.sessions[-1] if self.sessions else None

    def reset(self) -> None:
        """Forget all sessions."""
        self.sessions = []


_stack = _Stack()


@export("get_default_session")
def get_default_session() -> Any:
    """Return the session entered last in this thread, or None.

    Example:
      >>> with tf.Session() as sess: print(tf.get_default_session() is sess)
      True
      >>> print(tf.get_default_session())
      None
    """
    return _stack.get_default()


@contextlib.contextmanager
def default_session(session: Any) -> Iterator[Any]:
    """Make `session` the default one of this thread."""
    _stack.sessions.append(session)
    try:
        yield session
    finally:
        if _stack.sessions and _stack.sessions[-1] is session:
            _stack.sessions.pop()
        elif _stack.sessions:
            raise AssertionError(f"Nesting violated for default stack of {type(session)} objects")


def push(session: Any) -> None:
    """Make `session` the default until `remove`, in any order (InteractiveSession)."""
    _stack.sessions.append(session)


def remove(session: Any) -> None:
    if session in _stack.sessions:
        _stack.sessions.remove(session)


def session_for(graph: Graph, session: Any, purpose: str) -> Any:
    """Return the session to run `graph` in, the given one, else the default; ValueError if none."""
    verb = "eval()" if purpose == "evaluate tensor" else "run()"
    if session is None:
        session = get_default_session()
        if session is None:
            advice = "eval(session=sess)" if verb == "eval()" else "run(session=sess)"
            colon = "" if verb == "eval()" else ":"
            raise ValueError(
                f"Cannot {purpose} using `{verb}`: No default session is registered. Use "
                f"`with sess.as_default(){colon}` or pass an explicit session to `{advice}`"
            )
        if session.graph is not graph:
            raise ValueError(
                f"Cannot use the default session to {purpose}: the "
                f"{_noun(purpose)}'s graph is different from the session's graph. Pass an "
                f"explicit session to `{verb[:-1]}session=sess)`."
            )
    elif session.graph is not graph:
        raise ValueError(
            f"Cannot use the given session to {purpose}: the {_noun(purpose)}'s graph is "
            "different from the session's graph."
        )
    return session


def _noun(purpose: str) -> str:
    return "tensor" if purpose == "evaluate tensor" else "operation"
