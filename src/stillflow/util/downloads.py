"""Files that old programs download from dead addresses: the users' own copies.

A folder named by the environment variable STILLFLOW_DATA is looked into before the network is
asked. A file of ``https://host/folder/name`` may lie there as ``host/folder/name``,
``folder/name`` or ``name``; an archive without an ending, as modules of TensorFlow Hub are, with
``.tar.gz`` added.
"""

from __future__ import annotations

import os
from urllib.parse import urlsplit

VARIABLE = "STILLFLOW_DATA"

# {folder: {name: MD5}} of files whose names alone do not identify them.
_MD5 = {
    "mnist": {
        "t10k-images-idx3-ubyte.gz": "9fb629c4189551a2d022fa330f9573f3",
        "t10k-labels-idx1-ubyte.gz": "ec29112dd5afa0611ce80d1b7f02629c",
        "train-images-idx3-ubyte.gz": "f68b3c2dcbeaaa9fbdd348bbdeb94873",
        "train-labels-idx1-ubyte.gz": "d53e105ee54ea40749a09fcbcd1e9432",
    },
    "": {
        "cifar-10-binary.tar.gz": "c32a1d4ab5d03f1284b67883e8d87530",
        "cifar-10-python.tar.gz": "c58f30108f718f92721af3b95e74349a",
        "cifar-100-python.tar.gz": "eb9058c3a382ffc7106e4002c42a8d85",
    },
}


def provided(url: str) -> str | None:
    """Return the path of the user's copy of the file at an address, None where there is none."""
    root = os.environ.get(VARIABLE)
    if not root:
        return None
    host, folders, name = _parts(url)
    places = [os.path.join(host, *folders), *reversed(folders), ""]
    for place in places:
        for ending in ("", ".tar.gz"):
            path = os.path.join(root, place, name + ending)
            if name and os.path.isfile(path):
                return path
    return None


def advice(url: str, path: str = "", checksum: str | None = None) -> str:
    """Return advice about a file that cannot be fetched.

    The program looks for it at `path`; a known checksum is "MD5 d41d..." or the like.
    """
    _, folders, name = _parts(url)
    known = [_MD5[place][name] for place in ("", *folders) if name in _MD5.get(place, ())]
    checksum = checksum or (f"MD5 {known[0]}" if known else None)
    proof = f" ({checksum})" if checksum else ""
    if not path:
        return f"put {name}{proof} into a folder that {VARIABLE} names"
    return f"put the file at {path}{proof}, or {name} into a folder that {VARIABLE} names"


def _parts(url: str) -> tuple[str, list[str], str]:
    """Return the host, the folders and the name of a file in an address."""
    parts = urlsplit(url)
    *folders, name = [part for part in parts.path.split("/") if part not in ("", ".", "..")] or [""]
    return parts.hostname or "", folders, name
