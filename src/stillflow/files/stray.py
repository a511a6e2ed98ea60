"""Leftovers of killed saves: temporary files, and directories of shards."""

from __future__ import annotations

import os
import re
import time

from stillflow.files import atomic

_DIRECTORY = re.compile(r".+_temp_[0-9a-f]{32}")
_SHARD = re.compile(r"part-\d{5}-of-\d{5}(\.index|\.data-\d{5}-of-\d{5})(\.tempstate\d+)?")
_FILE = re.compile(r".+(\.index|\.data-\d{5}-of-\d{5})\.tempstate\d+")
# A save that still runs has written something in this time.
_QUIET_SECONDS = 600.0


def sweep(directory: str) -> list[str]:
    """Remove remains of saves in a directory, "" for the current one, untouched for ten minutes.

    Returns the paths of the removed files.
    """
    swept = []
    before = time.time() - _QUIET_SECONDS
    try:
        with os.scandir(directory or ".") as entries:
            found = [entry for entry in entries if _is_old(entry, before)]
    except OSError:
        return []
    for entry in found:
        if _FILE.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
            atomic.remove(entry.path)
            swept.append(entry.path)
        elif _is_temporary(entry) and _remove_shards(entry.path, before):
            swept.append(entry.path)
    return swept


def _is_temporary(entry: os.DirEntry[str]) -> bool:
    return bool(_DIRECTORY.fullmatch(entry.name)) and entry.is_dir(follow_symlinks=False)


def _is_old(entry: os.DirEntry[str], before: float) -> bool:
    try:
        return entry.stat(follow_symlinks=False).st_mtime < before
    except OSError:  # gone already
        return False


def _remove_shards(directory: str, before: float) -> bool:
    """Remove a directory if nothing is in it but old shards."""
    try:
        with os.scandir(directory) as entries:
            shards = list(entries)
        if not all(_SHARD.fullmatch(shard.name) and _is_old(shard, before) for shard in shards):
            return False
        for shard in shards:
            os.remove(shard.path)
        os.rmdir(directory)
    except OSError:
        return False
    return True
