"""Programs that fetch files find those that the user has."""

from __future__ import annotations

FETCH = """
import sys
from six.moves import urllib
try:
    path, _ = urllib.request.urlretrieve("http://127.0.0.1:9/mnist/train-labels-idx1-ubyte.gz")
    print(open(path).read(), len(urllib.request.urlopen("http://127.0.0.1:9/a.txt").read()))
except Exception as error:
    print(type(error).__name__)
"""


def test_a_copy_of_the_users_is_opened(launcher):
    launcher.write("data/train-labels-idx1-ubyte.gz", "labels")
    launcher.write("data/a.txt", "text")
    printed, said = launcher.program(FETCH, STILLFLOW_DATA=str(launcher.folder / "data"))
    assert printed == "labels 4\n"
    assert "/mnist/train-labels-idx1-ubyte.gz is read from " in said


def test_what_cannot_be_fetched_is_said_with_its_checksum(launcher):
    printed, said = launcher.program(FETCH)
    assert printed == "URLError\n"
    assert said.count("stillflow: ") == 1
    assert (
        "put train-labels-idx1-ubyte.gz (MD5 d53e105ee54ea40749a09fcbcd1e9432) into a folder that "
        "STILLFLOW_DATA names" in said
    )


def test_plain_urllib_is_left_alone_where_nothing_is_revived(launcher):
    launcher.write("program.py", FETCH)
    done = launcher.run("--no-revive", "program.py")
    assert (done.stdout, done.stderr) == ("URLError\n", "")
