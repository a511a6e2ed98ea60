"""List the content of a checkpoint, graph, SavedModel, TFRecord or event file, or tensor file.

Nothing in the file is run, and no tensor is computed.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from typing import Any

from stillflow import errors
from stillflow.cli.inspection import tree
from stillflow.files import kinds
from stillflow.files.checkpoint_paths import advice, in_directory


def main(arguments: list[str]) -> int:
    """Print the description; return the exit status, 1 for damaged or unknown files."""
    parser = argparse.ArgumentParser(
        prog="python -m stillflow inspect", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("path", nargs="+", help="a file or directory, or a checkpoint's prefix")
    parser.add_argument("--json", action="store_true", help="print JSON, a list of reports")
    parser.add_argument("--all", action="store_true", help="show long lists to their end")
    parser.add_argument(
        "--no-verify",
        action="store_true",
        help="do not read the tensors of checkpoints to verify their checksums",
    )
    flags = parser.parse_args(arguments)
    reports = [inspect(path, verify=not flags.no_verify) for path in flags.path]
    if flags.json:
        json.dump(reports, sys.stdout, indent=2, ensure_ascii=False)
        print()
    else:
        for report in reports:
            text = tree.lines(
                {name: value for name, value in report.items() if name not in ("path", "kind")},
                None if flags.all else 50,
                "  ",
            )
            tree.show(f"{report['path']}: {report['kind']}", text)
    return int(any(_is_bad(report) for report in reports))


def _is_bad(report: dict[str, Any]) -> bool:
    verdict = str(report.get("checksums", ""))
    return "error" in report or report["kind"] == kinds.UNKNOWN or verdict.startswith("damaged")


def inspect(path: str, verify: bool = True) -> dict[str, Any]:
    """Return the description of a file, as JSON can hold it.

    It may be the directory of a SavedModel, or a checkpoint's prefix, whose tensors are read to
    `verify` their checksums.
    """
    report: dict[str, Any] = {"path": path, "kind": kinds.UNKNOWN}
    try:
        kind = kinds.identify(path)
        report["kind"] = kind.name
        if os.path.isfile(path):
            report["bytes"] = os.path.getsize(path)
        report.update(_describe(kind, verify))
    except errors.OpError as error:
        if report["kind"] == kinds.GRAPH:  # that was but a guess
            report["kind"] = kinds.UNKNOWN
        report["error"] = error.message + advice(path)
    return report


def _describe(kind: kinds.Kind, verify: bool) -> dict[str, Any]:
    from stillflow.cli.inspection import checkpoints, graphs, lite_models, records, tensor_files

    if kind.name == kinds.RECORDS:
        return records.describe_records(kind)
    if kind.name == kinds.EVENTS:
        return records.describe_events(kind)
    if kind.name == kinds.GRAPH:
        return graphs.describe_graph(kind)
    if kind.name == kinds.LITE_MODEL:
        return lite_models.describe_lite_model(kind)
    if kind.name == kinds.SAVED_MODEL:
        return graphs.describe_saved_model(kind)
    if kind.name == kinds.SAFETENSORS:
        return tensor_files.describe_safetensors(kind.path)
    if kind.name == kinds.NPZ:
        return tensor_files.describe_npz(kind.path)
    if kind.name == kinds.CHECKPOINT:
        return checkpoints.describe_checkpoint(kind.path, verify)
    if kind.name == kinds.CHECKPOINT_STATE:
        return checkpoints.describe_state(kind.path)
    there = in_directory(kind.path) if kind.name == kinds.DIRECTORY else []
    if there:
        return {"checkpoints": there, "note": "name one of them to see its content"}
    return {"note": kind.note or "a directory with no SavedModel and no checkpoints"}
