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
    """Yield the contents of the records of a file, which is whole."""
    with open(path, "rb") as file:
        data = file.read()
    position = 0
    while position < len(data):
        (length,) = struct.unpack_from("<Q", data, position)
        yield data[position + 12 : position + 12 + length]
        position += length + 16


def in_order(tf, content):
    """Return a serialized event without its time.

    Maps in the graphs that it holds are put in order.
    """
    assert content[:1] == b"\x09"
    event = tf.Event.FromString(content)
    for field, kind in (("graph_def", tf.GraphDef), ("meta_graph_def", tf.MetaGraphDef)):
        if getattr(event, field):
            held = kind.FromString(getattr(event, field))
            setattr(event, field, held.SerializeToString(deterministic=True))
            content = event.SerializeToString()
    return content[_WALL_TIME:]


def events_in(tf, folder="logs"):
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
            same = [key for key in found if key.startswith(shown)]  # of one second
            found[f"{shown} {len(same)}"] = [in_order(tf, event) for event in records(path)]
    return found
