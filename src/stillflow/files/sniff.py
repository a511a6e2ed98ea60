"""Recognition of files that are not of the expected kind."""

from __future__ import annotations

import os

# First bytes, and the kind of a file that starts so.
_SIGNATURES: tuple[tuple[bytes, str], ...] = (
    (b"version https://git-lfs", "a git-LFS pointer, not the file itself: run `git lfs pull`"),
    (b"\x1f\x8b", "a gzip file: unpack it first"),
    (b"BZh", "a bzip2 file: unpack it first"),
    (b"\xfd7zXZ\x00", "an xz file: unpack it first"),
    (b"PK\x03\x04", "a zip file (an archive, or weights of PyTorch)"),
    (b"\x89HDF\r\n", "an HDF5 file (weights of Keras)"),
    (b"\x93NUMPY", "a NumPy array"),
    (b"\x89PNG", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"\x80\x02", "a Python pickle"),
    (b"\x80\x03", "a Python pickle"),
    (b"\x80\x04", "a Python pickle"),
    (b"\x80\x05", "a Python pickle"),
    (b"model_checkpoint_path", "the text file that lists checkpoints: name a checkpoint itself"),
)

SPECIAL = "a pipe, a socket or a device, and no file"


def describe(head: bytes) -> str | None:
    """Return the kind of a file, by its first hundred bytes or so; None if unknown."""
    if not head:
        return "an empty file"
    for start, what in _SIGNATURES:
        if head.startswith(start):
            return what
    text = head.lstrip().lower()
    if text.startswith((b"<!doctype html", b"<html", b"<head")):
        return "an HTML page, perhaps of a download that wants to be confirmed"
    if head[257:262] == b"ustar":
        return "a tar archive: unpack it first"
    if not head.strip(b"\x00"):
        return "a file of zeros, as a download or a disk that broke off leaves it"
    return None


def is_special(path: str) -> bool:
    """Return True for a special file, neither regular nor a directory: reading may never end."""
    return os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path)


def describe_path(path: str) -> str | None:
    """Return the kind of the file at `path`; None if unknown or not readable."""
    if is_special(path):
        return SPECIAL
    try:
        with open(path, "rb") as file:
            return describe(file.read(512))
    except OSError:
        return None
