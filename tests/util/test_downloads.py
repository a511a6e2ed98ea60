"""Copies of files whose addresses no longer work."""

from __future__ import annotations

import pytest

from stillflow.util import downloads

URL = "https://host.example/data/mnist/t10k-labels-idx1-ubyte.gz"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv(downloads.VARIABLE, str(tmp_path))
    return tmp_path


def put(folder, path):
    place = folder / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(path)
    return str(place)


def test_the_nearest_place_is_taken(folder):
    assert downloads.provided(URL) is None
    for path in ("", "data/", "mnist/", "host.example/data/mnist/"):
        place = put(folder, path + "t10k-labels-idx1-ubyte.gz")
        assert downloads.provided(URL) == place


def test_a_module_without_an_ending_may_be_an_archive(folder):
    place = put(folder, "tfhub.dev/google/elmo/2.tar.gz")
    assert downloads.provided("https://tfhub.dev/google/elmo/2?tf-hub-format=compressed") == place


def test_an_address_does_not_lead_out_of_the_folder(folder, tmp_path_factory):
    (folder.parent / "secret").write_text("")
    assert downloads.provided("https://host.example/../secret") is None
    assert downloads.provided("https://host.example/") is None


def test_nothing_is_looked_for_without_a_folder(monkeypatch, tmp_path):
    monkeypatch.delenv(downloads.VARIABLE, raising=False)
    monkeypatch.chdir(tmp_path)
    put(tmp_path, "t10k-labels-idx1-ubyte.gz")
    assert downloads.provided(URL) is None


def test_advice_names_the_file_its_checksum_and_the_places():
    assert downloads.advice(URL, "/data/labels.gz") == (
        "put the file at /data/labels.gz (MD5 ec29112dd5afa0611ce80d1b7f02629c), or "
        "t10k-labels-idx1-ubyte.gz into a folder that STILLFLOW_DATA names"
    )
    fashion = URL.replace("mnist", "fashion-mnist")
    assert downloads.advice(fashion) == (
        "put t10k-labels-idx1-ubyte.gz into a folder that STILLFLOW_DATA names"
    )
    assert "(hash 1)" in downloads.advice(URL, checksum="hash 1")
