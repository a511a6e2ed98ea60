"""tf.gfile and tf.io.gfile: what TensorFlow 1.15.5 answers, on the disk and on memory://."""

from __future__ import annotations

import os
import re

import pytest

import stillflow as tf
from stillflow import errors
from stillflow.files import gfile as file_io


@pytest.fixture(params=["disk", "memory"])
def root(request, tmp_path):
    """Return a directory with a, b.txt, sub/c and sub/deep/."""
    if request.param == "memory":
        import fsspec

        store = fsspec.filesystem("memory")
        store.store.clear()
        store.pseudo_dirs[:] = [""]
        folder = "memory://root"
    else:
        folder = str(tmp_path / "root")
    tf.gfile.MakeDirs(folder + "/sub/deep")
    for name, text in (("a", "one\ntwo\r\nthree"), ("b.txt", "b"), ("sub/c", "c")):
        with tf.gfile.GFile(f"{folder}/{name}", "w") as file:
            file.write(text)
    return folder


def failure(function, *args, **kwargs):
    """Return the class and message of the error that a call raises."""
    with pytest.raises(errors.OpError) as caught:
        function(*args, **kwargs)
    return type(caught.value).__name__, caught.value.message


def test_text_is_read_whole_by_line_and_by_piece(root):
    path = root + "/a"
    assert tf.gfile.GFile(path).read() == "one\ntwo\r\nthree"
    assert tf.gfile.GFile(path, "rb").read() == b"one\ntwo\r\nthree"
    # Carriage returns are dropped from lines, as TensorFlow drops them.
    assert tf.gfile.GFile(path).readlines() == ["one\n", "two\n", "three"]
    assert list(tf.gfile.Open(path, "rb")) == [b"one\n", b"two\n", b"three"]
    with tf.io.gfile.GFile(path) as file:
        assert [file.read(2), file.tell(), file.readline(), file.tell()] == ["on", 2, "e\n", 4]
        assert [file.size(), file.name, file.mode, file.seekable()] == [14, path, "r", True]


def test_seeking(root):
    file = tf.gfile.GFile(root + "/a")
    file.seek(4)
    assert file.read(3) == "two"
    file.seek(-5, 2)
    assert file.read() == "three"
    file.seek(1)
    file.seek(2, 1)
    assert file.tell() == 3
    assert failure(file.seek, -2) == ("InvalidArgumentError", "Seeking to a negative position: -2")
    assert failure(file.seek, 100) == ("OutOfRangeError", "reached end of file")
    assert file.read() == ""
    assert failure(file.seek, 1, 7) == (
        "InvalidArgumentError",
        "Invalid whence argument: 7. Valid values are 0, 1, or 2.",
    )
    with pytest.raises(TypeError, match="offset argument required"):
        file.seek()
    with pytest.raises(TypeError, match="may not be set simultaneously"):
        file.seek(1, position=2)


def test_modes(root):
    path = root + "/new"
    with tf.gfile.GFile(path, "w") as file:
        assert not tf.gfile.Exists(path)  # nothing is written yet
        file.write("one")
        assert file.tell() == 3
    with tf.gfile.GFile(path, "a") as file:
        file.write(b"two")
    assert tf.gfile.GFile(path).read() == "onetwo"
    with tf.gfile.GFile(path, "w+") as file:
        file.write("x")
    assert tf.gfile.GFile(path).read() == "x"
    assert failure(tf.gfile.GFile(path, "w").read) == (
        "PermissionDeniedError",
        "File isn't open for reading",
    )
    assert failure(tf.gfile.GFile(path).write, "x") == (
        "PermissionDeniedError",
        "File isn't open for writing",
    )
    assert failure(tf.gfile.GFile, path, "q") == (
        "InvalidArgumentError",
        "mode is not 'r' or 'w' or 'a' or 'r+' or 'w+' or 'a+'",
    )
    with pytest.raises(TypeError, match="Expected binary or unicode string, got 3"):
        tf.gfile.GFile(path, "w").write(3)


def test_writing_and_reading_at_once_on_the_disk(tmp_path):
    with tf.gfile.GFile(str(tmp_path / "f"), "w+") as file:
        file.write("abc")
        assert file.size() == 0
        file.flush()
        assert file.size() == 3
        assert file.read() == "abc"


def test_text_has_to_be_text(tmp_path):
    (tmp_path / "f").write_bytes(b"\xff\n")
    with pytest.raises(UnicodeDecodeError):
        tf.gfile.GFile(str(tmp_path / "f")).read()
    assert tf.gfile.GFile(str(tmp_path / "f"), "rb").read() == b"\xff\n"


def test_what_is_missing(root):
    missing = root + "/no"
    expected = ("NotFoundError", f"{missing}; No such file or directory")
    assert failure(tf.gfile.GFile(missing).read) == expected
    assert failure(tf.gfile.GFile(missing).size) == expected
    assert failure(tf.gfile.Remove, missing) == expected
    assert failure(tf.gfile.Stat, missing) == expected
    assert failure(tf.gfile.Copy, missing, root + "/x") == expected
    assert failure(tf.gfile.Rename, missing, root + "/x") == expected
    assert failure(tf.gfile.ListDirectory, missing) == (
        "NotFoundError",
        f"Could not find directory {missing}",
    )
    assert failure(tf.gfile.DeleteRecursively, missing) == ("NotFoundError", f"{missing} not found")
    assert not tf.gfile.Exists(missing)
    assert not tf.gfile.IsDirectory(missing)
    assert list(tf.gfile.Walk(missing)) == []
    assert tf.gfile.Glob(missing + "*") == []
    told = []
    list(tf.io.gfile.walk(missing, onerror=told.append))
    assert isinstance(told[0], errors.NotFoundError)


def test_what_is_there(root):
    assert tf.gfile.Exists(root + "/a")
    assert tf.gfile.IsDirectory(root)
    assert not tf.gfile.IsDirectory(root + "/a")
    assert sorted(tf.gfile.ListDirectory(root)) == ["a", "b.txt", "sub"]
    assert tf.gfile.Stat(root + "/a").length == 14
    assert not tf.gfile.Stat(root + "/a").is_directory
    assert tf.gfile.Stat(root + "/sub").is_directory
    assert failure(tf.gfile.ListDirectory, root + "/a")[0] == "NotFoundError"
    assert failure(tf.gfile.Remove, root + "/sub") == (
        "FailedPreconditionError",
        f"{root}/sub; Is a directory",
    )
    assert failure(tf.gfile.GFile(root + "/sub").read) == (
        "FailedPreconditionError",
        f"{root}/sub; Is a directory",
    )


def test_walking(root):
    walked = [(folder, folders, sorted(files)) for folder, folders, files in tf.gfile.Walk(root)]
    assert walked == [
        (root, ["sub"], ["a", "b.txt"]),
        (root + "/sub", ["deep"], ["c"]),
        (root + "/sub/deep", [], []),
    ]
    assert [folder for folder, _, _ in tf.gfile.Walk(root, in_order=False)] == [
        root + "/sub/deep",
        root + "/sub",
        root,
    ]


def test_globbing(root):
    def found(pattern):
        return sorted(name.removeprefix(root + "/") for name in tf.gfile.Glob(f"{root}/{pattern}"))

    assert found("*") == ["a", "b.txt", "sub"]
    assert found("?") == ["a"]
    assert found("[ab]*") == ["a", "b.txt"]
    assert found("[!a]*") == found("[^a]*") == ["b.txt", "sub"]
    assert found("[a-b].txt") == ["b.txt"]
    assert found("*/*") == ["sub/c", "sub/deep"]
    assert found("s*/c") == found("**/c") == ["sub/c"]
    assert found(r"\a") == ["a"]
    assert found("[a") == found("{a,b}") == found("[z-a]") == []
    assert found("a") == ["a"]
    assert tf.gfile.Glob([root + "/a", root + "/s*"]) == [root + "/a", root + "/sub"]


def test_directories_are_listed_in_their_own_order(tmp_path, monkeypatch):
    """TensorFlow 1.15.5 sorts names in `tf.io.matching_files` and `Dataset.list_files` only."""
    for folder in "ab":
        (tmp_path / folder).mkdir()
        for name in "xyz":
            (tmp_path / folder / name).write_text("")
    listed = os.listdir
    monkeypatch.setattr(os, "listdir", lambda path: sorted(listed(path), reverse=True))
    root = str(tmp_path)
    assert tf.gfile.ListDirectory(root) == ["b", "a"]
    assert list(tf.gfile.Walk(root)) == [
        (root, ["b", "a"], []),
        (root + "/b", [], ["z", "y", "x"]),
        (root + "/a", [], ["z", "y", "x"]),
    ]
    found = [f"{root}/{folder}/{name}" for folder in "ba" for name in "zyx"]
    assert tf.gfile.Glob(root + "/*/*") == found
    with tf.Session() as session:
        matched = session.run(tf.io.matching_files(root + "/*/*"))
        element = tf.data.Dataset.list_files(root + "/*/*", shuffle=False)
        first = session.run(tf.data.make_one_shot_iterator(element).get_next())
    assert [name.decode() for name in matched] == sorted(found)
    assert first.decode() == sorted(found)[0]


def test_globbing_from_here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a").write_text("")
    (tmp_path / ".hidden").write_text("")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "c").write_text("")
    assert sorted(tf.gfile.Glob("*")) == ["./.hidden", "./a", "./sub"]
    assert tf.gfile.Glob("sub/*") == ["sub/c"]
    assert tf.gfile.Glob("*/*") == ["./sub/c"]
    assert tf.gfile.Glob("") == []


def test_copying_and_renaming(root):
    tf.gfile.Copy(root + "/a", root + "/copy")
    assert tf.gfile.GFile(root + "/copy").read() == tf.gfile.GFile(root + "/a").read()
    taken = ("AlreadyExistsError", "file already exists")
    assert failure(tf.gfile.Copy, root + "/a", root + "/b.txt") == taken
    assert failure(tf.gfile.Rename, root + "/a", root + "/b.txt") == taken
    tf.gfile.Copy(root + "/a", root + "/b.txt", overwrite=True)
    tf.gfile.Rename(root + "/a", root + "/b.txt", overwrite=True)
    assert sorted(tf.gfile.ListDirectory(root)) == ["b.txt", "copy", "sub"]
    tf.gfile.Rename(root + "/sub", root + "/other")
    assert tf.gfile.GFile(root + "/other/c").read() == "c"


def test_copying_from_one_file_system_to_another(tmp_path):
    with tf.gfile.GFile("memory://one/f", "wb") as file:
        file.write(b"\x00\xff")
    tf.gfile.Copy("memory://one/f", str(tmp_path / "f"))
    assert (tmp_path / "f").read_bytes() == b"\x00\xff"
    assert failure(tf.gfile.Rename, "memory://one/f", str(tmp_path / "g"))[0] == (
        "UnimplementedError"
    )


def test_making_and_deleting_directories(root):
    tf.gfile.MkDir(root + "/new")
    tf.gfile.MkDir(root + "/new")
    tf.gfile.MakeDirs(root + "/x/y/z")
    tf.gfile.MakeDirs(root + "/x/y/z")
    assert tf.gfile.IsDirectory(root + "/x/y/z")
    tf.gfile.DeleteRecursively(root + "/x")
    tf.gfile.DeleteRecursively(root + "/sub")
    tf.gfile.Remove(root + "/a")
    assert sorted(tf.gfile.ListDirectory(root)) == ["b.txt", "new"]


def test_directories_that_cannot_be_made(tmp_path):
    (tmp_path / "a").write_text("")
    root = str(tmp_path)
    tf.gfile.MakeDirs("")
    tf.gfile.MkDir("")
    tf.gfile.MakeDirs(root + "/a")  # TensorFlow does not mind
    assert failure(tf.gfile.MakeDirs, root + "/a/b") == (
        "FailedPreconditionError",
        f"{root}/a/b; Not a directory",
    )
    assert failure(tf.gfile.MkDir, root + "/q/w") == (
        "NotFoundError",
        f"{root}/q/w; No such file or directory",
    )
    assert failure(tf.gfile.DeleteRecursively, root + "/a") == (
        "FailedPreconditionError",
        f"{root}/a; Not a directory",
    )


def test_deleting_spares_what_links_lead_to(tmp_path):
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "f").write_text("")
    (tmp_path / "gone").mkdir()
    try:
        os.symlink(tmp_path / "kept", tmp_path / "gone" / "link")
    except OSError:
        pytest.skip("only administrators make symbolic links here")
    tf.gfile.DeleteRecursively(str(tmp_path / "gone"))
    assert (tmp_path / "kept" / "f").exists()
    assert not (tmp_path / "gone").exists()


def test_file_urls_are_paths(tmp_path):
    (tmp_path / "a").write_text("x")
    assert tf.gfile.GFile(f"file://{tmp_path}/a").read() == "x"
    assert tf.gfile.Glob(f"file://{tmp_path}/a*") == [f"file://{tmp_path}/a"]


def test_schemes_that_nothing_knows():
    expected = (
        "UnimplementedError",
        "File system scheme 'foo' not implemented (file: 'foo://bar')",
    )
    assert failure(tf.gfile.Exists, "foo://bar") == expected
    assert failure(tf.gfile.GFile("foo://bar").read) == expected


def test_paths_may_be_bytes_and_path_objects_but_not_numbers(tmp_path):
    (tmp_path / "a").write_text("x")
    assert tf.gfile.GFile(tmp_path / "a").read() == "x"
    assert tf.gfile.Exists(os.fsencode(tmp_path / "a"))
    with pytest.raises(TypeError, match="Expected binary or unicode string"):
        tf.gfile.Exists(3)
    assert failure(tf.gfile.Exists, "a\0b")[0] == "InvalidArgumentError"


def test_atomic_writing_comparing_and_checksums(tmp_path):
    path = str(tmp_path / "f")
    file_io.atomic_write_string_to_file(path, "one\ntwo\r\nl3")
    assert file_io.read_file_to_string(path) == "one\ntwo\r\nl3"
    assert failure(file_io.atomic_write_string_to_file, path, "x", overwrite=False)[0] == (
        "AlreadyExistsError"
    )
    assert os.listdir(tmp_path) == ["f"]
    tf.gfile.Copy(path, path + "2")
    assert file_io.filecmp(path, path + "2")
    assert file_io.file_crc32(path) == file_io.file_crc32(path, block_size=4)
    assert re.fullmatch("0x[0-9a-f]+", file_io.file_crc32(path))
    file_io.write_string_to_file(path, "other text")
    assert not file_io.filecmp(path, path + "2")


def test_old_names_are_the_new_classes():
    assert tf.gfile.Open is tf.gfile.GFile is tf.io.gfile.GFile
    assert issubclass(tf.gfile.FastGFile, file_io.FileIO)


@pytest.mark.parametrize("pattern", ["nowhere/*", "nowhere/x", "nowhere/*/x"])
def test_a_pattern_in_a_directory_that_is_not_there_is_refused(tmp_path, pattern):
    with pytest.raises(errors.NotFoundError, match="nowhere; No such file or directory"):
        tf.gfile.Glob(str(tmp_path / pattern))
    (tmp_path / "nowhere").touch()
    with pytest.raises(errors.FailedPreconditionError, match="nowhere; Not a directory"):
        tf.gfile.Glob(str(tmp_path / pattern))
    assert tf.gfile.Glob(str(tmp_path / "no*" / "x")) == []


def test_walking_goes_on_after_a_directory_that_is_missing(root):
    seen = []
    walked = list(tf.io.gfile.walk(root + "/missing", onerror=seen.append))
    assert walked == [(root + "/missing", [], [])]
    assert [type(error) for error in seen] == [errors.NotFoundError]


def test_names_with_and_without_a_scheme_are_one_disk(tmp_path):
    (tmp_path / "a").write_text("text")
    tf.gfile.Rename(str(tmp_path / "a"), f"file://{tmp_path}/b")
    assert [path.name for path in tmp_path.iterdir()] == ["b"]


def test_a_scheme_of_capitals_is_unknown(tmp_path):
    path = f"FILE://{tmp_path}"
    expected = f"File system scheme 'FILE' not implemented (file: '{path}')"
    assert failure(tf.gfile.Exists, path) == ("UnimplementedError", expected)
    assert not tf.gfile.IsDirectory(path)
