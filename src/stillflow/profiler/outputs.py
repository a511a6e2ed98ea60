"""Outputs of the profiler: the terminal, files, timelines and pprof's profiles."""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

from stillflow import errors
from stillflow.files.gfile import write_string_to_file
from stillflow.protos import OptionsProto

_KINDS = ("file", "none", "pprof", "stdout", "timeline")
_TO_FILES = ("timeline", "file", "pprof")
_DEFAULTS = {"max_depth": 10, "step": -1, "order_by": "name", "output": "stdout"}


class Output(NamedTuple):
    """Output of a report: "stdout", "none", or the kind of a file and its path."""

    kind: str
    path: str = ""

    def __str__(self) -> str:
        return f"{self.kind}:{f'outfile={self.path}' if self.path else ''}"


def options_proto(options: dict[str, Any]) -> Any:
    """Return options as an `OptionsProto`; names that it does not know are left out.

    TypeError if a value is of a wrong type.
    """
    known = OptionsProto.DESCRIPTOR.fields_by_name
    given = {name: value for name, value in options.items() if name in known}
    return OptionsProto(**{**_DEFAULTS, **given})


def output_of(options: Any) -> Output | None:
    """Return the output in the options; None, and a line on stderr, if it is invalid."""
    try:
        output = _parsed(options.output)
    except ValueError as error:
        print(f"Invalid argument: {error}", file=sys.stderr)
        return None
    if options.dump_to_file:
        path = options.dump_to_file
        print("-dump_to_file option is deprecated. Please use -output file:outfile=<filename>\n"
              f"-output {options.output} is overwritten with -output file:outfile={path}",
              file=sys.stderr)  # fmt: skip
        return Output("file", path)
    return output


def _parsed(text: str) -> Output:
    kind, _, rest = (text or "stdout").partition(":")
    if kind not in _KINDS:
        raise ValueError(f"E.g. Unknown output type: {kind}, Valid types: {','.join(_KINDS)}\n")
    path = ""
    for pair in filter(None, rest.split(",")):
        name, equals, value = pair.partition("=")
        if not equals or not name or not value:
            raise ValueError("Visualize format: -output timeline:key=value,key=value,...")
        if name != "outfile" or kind not in _TO_FILES:
            raise ValueError(f"Unrecognized options {name} for output_type: {kind}\n")
        path = value
    if kind in _TO_FILES and not path:
        raise ValueError(f"Missing required output_options for {kind}\n"
                         f"E.g. -output {kind}:outfile=...\n")  # fmt: skip
    return Output(kind, path)


def write(path: str, content: str | bytes) -> bool:
    """Write a file, or say on stderr why it could not; return whether it did."""
    try:
        write_string_to_file(path, content)
    except errors.OpError as error:
        print(f"{type(error).__name__}: {error.message}", file=sys.stderr)
        return False
    return True
