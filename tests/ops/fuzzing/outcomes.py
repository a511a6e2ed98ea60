"""One random call of an operation, and the verdict on how it ends."""

from __future__ import annotations

import os
import random
import re
import time
import warnings
from pathlib import Path
from typing import Any

from tests.ops.fuzzing.arguments import Arguments

import stillflow as tf
from stillflow.graph.card import Card

SLOWEST = 10.0  # seconds
TIMEOUT_MS = 400  # of operations that wait for something that never comes
# Errors while a graph is built; TensorFlow's functions raise the same ones.
BUILD_ERRORS = (ValueError, TypeError, tf.errors.OpError)
CHECKOUT = Path(__file__).resolve().parents[3]
# Texts of Python, NumPy, torch or of this package's own code.
INTERNALS = re.compile(
    r"has no attribute|NoneType|IntArrayRef|SymInt|[Tt]orch|\baten\b|ATen|c10|\bnumpy\b|ndarray"
    r"|<class|<function|lambda|positional argument|keyword argument|to unpack|index out of range$"
    r"|subscriptable|unhashable|numel|Allocator|enforce fail|not implemented for '"
    r"|size of tensor [ab]|mat1|non-singleton|invalid literal|must be real number|SystemError"
    r"|broadcast together|stillflow[./]|TensorIterator|is ambiguous|zero-size array|Traceback"
    r"|at least one array|object is not|cannot be interpreted|out of bounds for|\w\(\): "
    r"|Python int too large|int too large|maximum recursion|unsupported operand|"
    r"'(int|float|str|bytes|list|tuple|dict|NoneType)'|StopIteration|a leaf Variable|KeyError"
)


class Fault(Exception):
    """An outcome that should not be."""


def case(card: Card, seed: object) -> tuple[Arguments, str]:
    """Return the arguments of a case, and how to repeat it."""
    return Arguments(random.Random(f"{seed}/{card.name}"), card), f"{card.name} seed {seed}"


def check(card: Card, seed: object) -> str:
    """Build and run one random call; give "built", "ran", or where it failed.

    Raises:
      Fault: if the outcome is no value and no clear error, or takes too long.
    """
    start = time.monotonic()
    arguments, label = case(card, seed)
    try:
        return _outcome(card, arguments)
    except Fault as fault:
        raise Fault(f"{label}: {fault}\n{describe(arguments)}") from fault.__cause__
    finally:
        took = time.monotonic() - start
        if took > SLOWEST:
            raise Fault(f"{label}: took {took:.1f} s\n{describe(arguments)}")


def _outcome(card: Card, arguments: Arguments) -> str:
    graph = tf.Graph()
    try:
        _, feeds, before = arguments.build(graph)
    except NotImplementedError as error:
        if not card.removed:
            raise Fault(f"while building, {error!r}") from error
        return "removed"
    except BUILD_ERRORS as error:
        _check_text(error, str(error), "while building")
        return "refused"
    except Exception as error:
        raise Fault(f"while building, {error!r}") from error
    ops = [op for op in graph.get_operations() if op.type == card.name]
    fetches = [t for op in ops for t in op.outputs] or ops
    if any(t.dtype in (tf.resource, tf.variant) or t.dtype._is_ref_dtype
           for t in fetches if isinstance(t, tf.Tensor)):  # fmt: skip
        fetches = ops
    config = tf.ConfigProto(operation_timeout_in_ms=TIMEOUT_MS)
    with tf.Session(graph=graph, config=config) as session, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            if before:
                session.run(before)
            session.run(fetches, feeds)
        except tf.errors.OpError as error:
            _check_run_error(error)
            return "failed"
        except (TypeError, ValueError) as error:  # of feeds, as TensorFlow says them
            if not any(word in str(error).lower() for word in ("feed", " fed", "fetch")):
                raise Fault(f"while running, {error!r}") from error
            return "not fed"
        except Exception as error:
            raise Fault(f"while running, {error!r}") from error
    return "ran"


def _check_run_error(error: Any) -> None:
    _check_text(error, error.message, "while running")
    if isinstance(error, tf.errors.DeadlineExceededError):
        return
    if isinstance(error, tf.errors.UnknownError) or "fault of Stillflow" in error.message:
        raise Fault(f"while running, {error!r}: {error.message}") from error
    if error.op is None and "node " not in error.message:
        raise Fault(f"while running, no operation: {error!r}: {error.message}") from error


def _check_text(error: BaseException, text: str, when: str) -> None:
    first = text.split("\n\t [[")[0].split("\n\nThe run held")[0]
    first = first.replace(f"{CHECKOUT}{os.sep}", "")  # whose folder may have any name
    found = INTERNALS.search(first)
    if found:
        raise Fault(f"{when}, {type(error).__name__} with {found[0]!r}: {first}") from error


def describe(arguments: Arguments) -> str:
    """Return the call, to repeat by hand."""
    return f"  known={arguments.known} attrs={arguments.attrs}\n  inputs={arguments.inputs}"[:1500]
