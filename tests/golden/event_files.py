"""Event files as golden programs record them: every byte but the times."""

from __future__ import annotations

import os
import re
import shutil
import socket
import struct
import tempfile

_WALL_TIME = 9  # bytes of the first field of an event: tag and double


class empty_directory:
    """Inside it, the working directory is a new one, which goes when it is left.

    So graphs hold a relative path that is the same wherever and whenever they are built.
    """

    def __enter__(self):
        self._before, self._new = os.getcwd(), tempfile.mkdtemp()
        os.chdir(self._new)
        return self._new

    def __exit__(self, *unused):
        os.chdir(self._before)
        shutil.rmtree(self._new, ignore_errors=True)


def records(path):
    """The contents of the records of a file, which is whole."""
    with open(path, "rb") as file:
        data = file.read()
    position = 0
    while position < len(data):
        (length,) = struct.unpack_from("<Q", data, position)
        yield data[position + 12:position + 12 + length]
        position += length + 16


def events_in(folder="logs"):
    """{name of a file: its serialized events without their times}, below a folder."""
    found = {}
    for place, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(place, name)
            shown = re.sub(r"tfevents\.\d+", "tfevents.TIME", os.path.relpath(path, folder))
            shown = shown.replace(socket.gethostname(), "HOST")
            if "tfevents" not in shown:
                with open(path, "rb") as file:
                    found[shown] = file.read()
                continue
            events = list(records(path))
            assert all(event[:1] == b"\x09" for event in events)
            same = [key for key in found if key.startswith(shown)]  # of one second
            found[f"{shown} {len(same)}"] = [event[_WALL_TIME:] for event in events]
    return found
