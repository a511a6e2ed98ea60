"""Files of the net that are kept in a folder of the user."""

from __future__ import annotations

import hashlib
import os
import shutil
import tarfile
import zipfile
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import urlretrieve

from stillflow.graph.export import export
from stillflow.util import downloads


@export("keras.utils.get_file")
def get_file(
    fname: str,
    origin: str,
    untar: bool = False,
    md5_hash: str | None = None,
    file_hash: str | None = None,
    cache_subdir: str = "datasets",
    hash_algorithm: str = "auto",
    extract: bool = False,
    archive_format: str | list[str] | None = "auto",
    cache_dir: str | None = None,
) -> str:
    """Return the path of a file, which is fetched from the net if it is not there.

    Args:
      fname: the file's name, or an absolute path.
      origin: the address.
      untar: whether it is an archive `fname`.tar.gz that becomes a folder `fname`.
      md5_hash: the old way to say `file_hash`.
      file_hash: what the file's hash has to be; one that has another is fetched again.
      cache_subdir: the folder in `cache_dir`.
      hash_algorithm: "sha256", "md5" or "auto".
      extract: whether archives are extracted.
      archive_format: "tar", "zip", a list of these, "auto" for both, or None.
      cache_dir: ~/.keras by default.

    Raises:
      Exception: if the file cannot be fetched.
    """
    if md5_hash is not None and file_hash is None:
        file_hash, hash_algorithm = md5_hash, "md5"
    base = os.path.expanduser(cache_dir or os.path.join("~", ".keras"))
    if not os.access(base, os.W_OK) and not os.access(os.path.dirname(base), os.W_OK):
        base = os.path.join("/tmp", ".keras")  # where TensorFlow keeps it then
    folder = os.path.join(base, cache_subdir)
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, fname)
    archive = path + ".tar.gz" if untar else path
    checksum = f"hash {file_hash}" if file_hash else None
    if not os.path.exists(archive):
        _fetch(origin, archive, checksum)
    elif file_hash is not None and not validate_file(archive, file_hash, hash_algorithm):
        print(
            "A local file was found, but it seems to be incomplete or outdated because the "
            f"{hash_algorithm} file hash does not match the original value of {file_hash} so we "
            "will re-download the data."
        )
        _fetch(origin, archive, checksum)
    if untar:
        if not os.path.exists(path):
            _extract(archive, folder, "tar")
    elif extract:
        _extract(archive, folder, archive_format)
    return path


def _fetch(origin: str, path: str, checksum: str | None) -> None:
    copy = downloads.provided(origin)
    partial = f"{path}.{os.getpid()}.part"
    try:
        if copy is not None:
            shutil.copyfile(copy, partial)
        else:
            print("Downloading data from", origin)
            urlretrieve(origin, partial)
        os.replace(partial, path)
    except URLError as error:
        what = f"{error.errno} -- {error.reason}"
        if isinstance(error, HTTPError):
            what = f"{error.code} -- {error.msg}"
        advice = downloads.advice(origin, path, checksum)
        raise Exception(f"URL fetch failure on {origin}: {what}; {advice}") from None
    finally:
        Path(partial).unlink(missing_ok=True)


def _extract(path: str, folder: str, formats: str | list[str] | None) -> None:
    kinds = ["tar", "zip"] if formats == "auto" else formats or []
    if "tar" in kinds and tarfile.is_tarfile(path):
        with tarfile.open(path) as archive:
            archive.extractall(folder, filter="data")
    elif "zip" in kinds and zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as zipped:
            zipped.extractall(folder)


def validate_file(path: str, file_hash: str, algorithm: str = "auto") -> bool:
    """Return True if a file has a hash."""
    sha256 = algorithm == "sha256" or (algorithm == "auto" and len(file_hash) == 64)
    return hash_of_file(path, "sha256" if sha256 else "md5") == file_hash


def hash_of_file(path: str, algorithm: str = "sha256", chunk_size: int = 1 << 16) -> str:
    """Return the hash of a file's content, by "sha256" or, for any other algorithm, MD5."""
    found = hashlib.sha256() if algorithm == "sha256" else hashlib.md5()
    with open(path, "rb") as file:
        while chunk := file.read(chunk_size):
            found.update(chunk)
    return found.hexdigest()
