"""Reports on TFRecord files and event files."""

from __future__ import annotations

import collections
import datetime
from typing import Any

from google.protobuf.message import DecodeError
from google.protobuf.unknown_fields import UnknownFieldSet

from stillflow import errors
from stillflow.files.compression import DecompressedReader
from stillflow.files.filesystem import open_file
from stillflow.files.kinds import Kind
from stillflow.files.records import Cursor, open_records
from stillflow.protos import Event, Example, SequenceExample
from stillflow.util import progress

Report = dict[str, Any]
_LOOKED_INTO = 1000  # records whose features are described
_SHOWN = 40


def describe_records(kind: Kind) -> Report:
    """Return the content of a TFRecord file; every checksum is verified."""
    features: dict[str, Report] = {}
    counts: collections.Counter[str] = collections.Counter()
    size, smallest, largest = 0, None, 0
    with open_records(kind.path, kind.compression) as file:
        cursor = Cursor(file, kind.path)
        try:
            for record in progress.over(cursor, "reading", "records"):
                length = len(record)
                smallest = length if smallest is None else min(smallest, length)
                size, largest = size + length, max(largest, length)
                if counts.total() < _LOOKED_INTO:
                    counts[_look_into(record, features)] += 1
                else:
                    counts["not looked into"] += 1
            verdict = _verdict(cursor, file)
        except errors.OpError as error:
            verdict = f"damaged: {error.message}"
    return {
        "compression": kind.compression or "none",
        "records": counts.total(),
        "record bytes": size,
        "smallest record": smallest or 0,
        "largest record": largest,
        "messages": dict(counts),
        "features": _with_ranges(features),
        "checksums": verdict,
    }


def _with_ranges(features: dict[str, Report]) -> dict[str, Report]:
    """Write how many values features have as "3" or "1 to 5"."""
    for about in features.values():
        low, high = about["values"]
        about["values"] = str(low) if low == high else f"{low} to {high}"
    return features


def _verdict(cursor: Cursor, file: Any) -> str:
    """Return the summary of a file whose records have all been read."""
    if cursor.rest:
        return f"damaged: the last {cursor.rest} bytes are the beginning of a record cut off"
    if isinstance(file, DecompressedReader) and not file.has_ended:
        return "damaged: the compressed data are cut off after the last record"
    return "right"


def _look_into(record: bytes, features: dict[str, Report]) -> str:
    """Add a record's features to the known ones; return the type of its message."""
    for kind in (Example, SequenceExample):
        try:
            message = kind.FromString(record)
        except DecodeError:
            continue
        if len(UnknownFieldSet(message)):
            continue
        if kind is Example and _describe(message.features.feature, features, "Example"):
            return "Example"
        if kind is SequenceExample and (
            message.HasField("context") or message.HasField("feature_lists")
        ):
            _describe(message.context.feature, features, "context")
            _describe_lists(message.feature_lists.feature_list, features)
            return "SequenceExample"
    return "bytes"


def _describe(found: Any, features: dict[str, Report], part: str) -> bool:
    for name, feature in sorted(found.items()):
        kind = feature.WhichOneof("kind")
        values: Any = getattr(feature, kind).value if kind else ()
        _note(
            features,
            name if part == "Example" else f"{part}/{name}",
            kind,
            len(values),
            values[0] if len(values) else None,
        )
    return bool(found)


def _describe_lists(found: Any, features: dict[str, Report]) -> None:
    for name, steps in sorted(found.items()):
        first = steps.feature[0] if len(steps.feature) else None
        kind = first.WhichOneof("kind") if first is not None else None
        values = getattr(first, kind).value if kind else ()
        _note(features, f"steps/{name}", kind, len(steps.feature), values[0] if values else None)


def _note(features: dict[str, Report], name: str, kind: Any, count: int, value: Any) -> None:
    about = features.setdefault(
        name, {"type": None, "values": [count, count], "records": 0, "first": None}
    )
    low, high = about["values"]
    about["values"] = [min(low, count), max(high, count)]
    about["records"] += 1
    about["type"] = about["type"] or (kind.removesuffix("_list") if kind else None)
    if about["first"] is None and value is not None:
        about["first"] = _short(value)


def _short(value: Any) -> Any:
    if isinstance(value, bytes):
        text = repr(value[:_SHOWN])[2:-1]
        return f"{text}… ({len(value)} bytes)" if len(value) > _SHOWN else text
    return value


def describe_events(kind: Kind) -> Report:
    """Return the content of an event file; every checksum is verified."""
    kinds: collections.Counter[str] = collections.Counter()
    tags: dict[str, Report] = {}
    times, steps = [], []
    version, verdict, undecoded = None, "right", 0
    with open_file(kind.path) as file:
        cursor = Cursor(file, kind.path)
        try:
            for record in progress.over(cursor, "reading", "events"):
                try:
                    event = Event.FromString(record)
                except DecodeError:
                    undecoded += 1
                    continue
                what = event.WhichOneof("what") or "nothing"
                kinds[what] += 1
                times.append(event.wall_time)
                steps.append(event.step)
                version = event.file_version if what == "file_version" else version
                for value in event.summary.value if what == "summary" else ():
                    _note_tag(tags, value, event.step)
            verdict = _verdict(cursor, file)
        except errors.OpError as error:
            verdict = f"damaged: {error.message}"
    return {
        "version": version,
        "events": kinds.total(),
        "kinds": dict(kinds),
        "no events": undecoded,
        "from": _time(min(times, default=None)),
        "to": _time(max(times, default=None)),
        "last step": max(steps, default=None),
        "tags": tags,
        "checksums": verdict,
    }


def _note_tag(tags: dict[str, Report], value: Any, step: int) -> None:
    kind = value.WhichOneof("value") or "nothing"
    about = tags.setdefault(value.tag or value.node_name, {"kind": kind, "count": 0})
    about["count"] += 1
    about["last step"] = step
    if kind == "simple_value":
        about["last value"] = value.simple_value


def _time(seconds: float | None) -> str | None:
    try:
        moment = datetime.datetime.fromtimestamp(seconds or 0, datetime.timezone.utc)
    except (OverflowError, OSError, ValueError):
        return f"{seconds} seconds after 1970"
    return None if seconds is None else moment.isoformat(timespec="seconds")
