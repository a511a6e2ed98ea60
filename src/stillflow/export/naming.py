"""Names of variables as keys of a state dict, and back.

A slash becomes a dot, so that name scopes are modules. Other characters that no Python name may
have, a digit in front, and the first letter of keywords and of names that `torch.nn.Module` uses
itself are written as `_x` and two hexadecimal digits for each byte: `lstm/w-1` is `lstm.w_x2d1`.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable
from functools import cache

_PLAIN = re.compile(r"[A-Za-z0-9_]")
_ESCAPED = re.compile(r"((?:_x[0-9a-f]{2})+)")
_LOOKS_ESCAPED = re.compile(r"_x(?=[0-9a-f]{2})")


@cache
def _reserved() -> frozenset[str]:
    from torch import nn

    return frozenset({*dir(nn.Module()), "device"})


def key_of(name: str) -> str:
    """Return the key of a variable in the state dict."""
    return ".".join(_component(part) for part in name.split("/"))


def name_of(key: str) -> str:
    """Return the variable that a key stands for."""
    return "/".join("" if part == "_x" else _decoded(part) for part in key.split("."))


def keys_of(names: Iterable[str]) -> dict[str, str]:
    """Return the keys of several variables.

    One that is named as a scope of others is told apart.
    """
    names = list(dict.fromkeys(names))
    scopes = {
        "/".join(name.split("/")[:end]) for name in names for end in range(1, name.count("/") + 1)
    }
    return {name: _last_escaped(key_of(name)) if name in scopes else key_of(name) for name in names}


def _component(text: str) -> str:
    if text in ("", "_x"):
        return "_x" if not text else "_x5fx"
    text = _LOOKS_ESCAPED.sub("\0x", text)
    result = "".join(c if _PLAIN.fullmatch(c) else _escaped("_" if c == "\0" else c) for c in text)
    if (
        text[0].isdigit()
        or text.startswith("__")
        or keyword.iskeyword(text)
        or (text in _reserved())
    ):
        result = _escaped(text[0]) + result[1:]
    return result


def _escaped(character: str) -> str:
    return "".join(f"_x{byte:02x}" for byte in character.encode())


def _last_escaped(key: str) -> str:
    """Return the key with its last character escaped, if it is not yet."""
    return key if re.search(r"_x[0-9a-f]{2}$", key) else key[:-1] + _escaped(key[-1])


def _decoded(text: str) -> str:
    def decode(found: re.Match[str]) -> str:
        digits = found[1].split("_x")[1:]
        return bytes(int(each, 16) for each in digits).decode()

    return _ESCAPED.sub(decode, text)
