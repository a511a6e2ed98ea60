"""The end of a process in which torch was imported."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import stillflow as tf

PROGRAM = """
import sys
import stillflow as tf

class Log:
    def __init__(self, folder):
        self.text = open(folder + "/text", "w")
        self.bytes = open(folder + "/bytes", "wb")
        self.records = tf.python_io.TFRecordWriter(folder + "/records")
        self.write = self.write_all  # a cycle

    def write_all(self, word):
        self.text.write(word)
        self.bytes.write(word.encode())
        self.records.write(word.encode())

class Last:
    def __del__(self):
        print("deleted")

log, last = Log(sys.argv[1]), Last()
log.write(str(tf.Session().run(tf.constant(7))))
closed = open(sys.argv[1] + "/closed", "w")
closed.close()
print("end")
sys.exit(3)
"""


def test_files_left_open_in_cycles_are_written(tmp_path):
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path)], capture_output=True, text=True, timeout=120,
        env={"PYTHONPATH": str(Path(tf.__file__).parents[1])},
    )  # fmt: skip
    assert (ended.returncode, ended.stdout, ended.stderr) == (3, "end\ndeleted\n", "")
    assert (tmp_path / "text").read_text() == "7"
    assert (tmp_path / "bytes").read_bytes() == b"7"
    assert list(tf.python_io.tf_record_iterator(str(tmp_path / "records"))) == [b"7"]
