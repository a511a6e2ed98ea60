"""Shared parts of the tools' command lines."""

from __future__ import annotations

import argparse
import contextlib
from typing import Any

from stillflow.files import gfile, wire
from stillflow.files.file_io import FileIO


def parser(name: str, description: str | None, *options: tuple[str, Any, str]) -> Any:
    """Return a parser of a tool's options: (name, default, help).

    Of the description the first line counts. The default's type is that of the option; a bool may
    stand alone or be followed by true or false.
    """
    result = argparse.ArgumentParser(prog=name, description=(description or "").partition("\n")[0])
    for option, default, text in options:
        if isinstance(default, bool):
            result.add_argument(
                f"--{option}", nargs="?", const=True, type=_is_true, default=default, help=text
            )
        else:
            result.add_argument(f"--{option}", type=type(default), default=default, help=text)
    return result


def _is_true(text: str) -> bool:
    return text.lower() == "true"


def names(text: str) -> list[str]:
    """Return the names in a list with commas."""
    return text.replace(" ", "").split(",")


def read_message(kind: Any, path: str, binary: bool, what: str) -> Any:
    """Return the protobuf message in a file, serialized or text; `what` is for the errors.

    IOError if there is no such file, InvalidArgumentError if it holds no such message.
    """
    from stillflow import errors

    if not gfile.file_exists(path):
        raise OSError(f"Input {what} file '{path}' does not exist!")
    with FileIO(path, "rb") as file:
        content = file.read()
    try:
        return _parsed(kind, content, binary)
    except ValueError as error:
        form, other = ("serialized", "text") if binary else ("text", "serialized")
        text = f"{path} is no {kind.__name__} in {form} form: {error}"
    if wire.is_cut_off(content, kind):
        text += "; it is the beginning of a serialized one, the rest is cut off"
    else:
        with contextlib.suppress(ValueError):
            _parsed(kind, content, not binary)
            text += f"; it is one in {other} form"
    raise errors.invalid_argument(text)


def _parsed(kind: Any, content: bytes, binary: bool) -> Any:
    """Return the message in the contents of a file; ValueError if there is none."""
    from google.protobuf import text_format
    from google.protobuf.message import DecodeError

    message = kind()
    try:
        if binary:
            message.ParseFromString(content)
        else:
            text_format.Merge(content.decode(), message)
    except (DecodeError, text_format.ParseError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(str(error)) from None
    return message


def write_message(message: Any, path: str, binary: bool) -> None:
    """Write a protobuf message to a file, serialized or as text."""
    from google.protobuf import text_format

    content = (
        message.SerializeToString()
        if binary
        else text_format.MessageToString(message, as_utf8=False)
    )
    with FileIO(path, "wb") as file:
        file.write(content)
