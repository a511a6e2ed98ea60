"""Support functions of rewritten programs: Python 2's division, and removed methods."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

from stillflow.facade.say import say


def divide(left: Any, right: Any) -> Any:
    """Return ``left / right`` as Python 2 does without ``from __future__ import division``.

    Whole numbers, and NumPy arrays of them, give the floor; tensors give ``tf.div``.
    """
    if _whole(left) and _whole(right):
        return left // right
    for owner, method, other in ((left, "__div__", right), (right, "__rdiv__", left)):
        function = getattr(type(owner), method, None)
        if function is not None:
            result = function(owner, other)
            if result is not NotImplemented:
                return result
    return left / right


def divide_into(left: Any, right: Any) -> Any:
    """Return ``left`` after ``left /= right``, with the same meaning."""
    if _whole(left) and _whole(right):
        return operator.ifloordiv(left, right)
    if getattr(type(left), "__div__", None) is not None:
        return divide(left, right)
    return operator.itruediv(left, right)


def _whole(value: Any) -> bool:
    if isinstance(value, int):
        return True
    return getattr(getattr(value, "dtype", None), "kind", None) in ("i", "u", "b") and hasattr(
        value, "__floordiv__"
    )


def call(owner: Any, method: str, *args: Any, **options: Any) -> Any:
    """Call a method, or its replacement if the object has no such method any more."""
    function = None if _is_scalar(owner) else getattr(owner, method, None)
    if function is None and METHODS[method][0](owner):
        say(f".{method}() was removed; Stillflow replaces it")
        return METHODS[method][1](owner, *args, **options)
    if function is None:
        function = getattr(owner, method)  # for its own complaint
    return function(*args, **options)


def _is_mapping(owner: Any) -> bool:
    return hasattr(owner, "keys") and hasattr(owner, "items")


def _is_array(owner: Any) -> bool:
    return hasattr(owner, "dtype") and hasattr(owner, "tobytes")


def _is_scalar(owner: Any) -> bool:
    """Return True for one of NumPy's scalars, which still have methods that arrays have lost."""
    import numpy as np

    return isinstance(owner, np.generic)


def _is_memory(owner: Any) -> bool:
    return hasattr(owner, "tobytes")


def _is_iterator(owner: Any) -> bool:
    return hasattr(owner, "__next__")


def _is_element(owner: Any) -> bool:
    return hasattr(owner, "iterfind")


def _is_font(owner: Any) -> bool:
    return hasattr(owner, "getbbox")


def _is_drawing(owner: Any) -> bool:
    return hasattr(owner, "textbbox")


def _each(method: str) -> Callable[[Any], Iterator[Any]]:
    return lambda owner: iter(getattr(owner, method)())


def _view(method: str) -> Callable[[Any], Any]:
    return lambda owner: getattr(owner, method)()


def _itemset(array: Any, *args: Any) -> None:
    from stillflow.facade.revive.scalars import set_item

    *index, value = args
    if not index:
        set_item(array, ..., value)
    elif len(index) == 1 and not isinstance(index[0], tuple):
        set_item(array.flat, index[0], value)
    else:
        set_item(array, index[0] if len(index) == 1 else tuple(index), value)


def _newbyteorder(array: Any, new_order: str = "S") -> Any:
    return array.view(array.dtype.newbyteorder(new_order))


def _ptp(array: Any, *args: Any, **options: Any) -> Any:
    import numpy as np

    return np.ptp(array, *args, **options)


def _is_text(owner: Any) -> bool:
    return isinstance(owner, str)


def _is_bytes(owner: Any) -> bool:
    return isinstance(owner, bytes)


def _decode(text: str, encoding: str = "utf-8", errors: str = "strict") -> str:
    """Decode text that a program treats as bytes, and the results of ``hex`` and others."""
    import codecs

    if getattr(codecs.lookup(encoding), "_is_text_encoding", True):
        return text
    return codecs.decode(text.encode("latin-1"), encoding, errors)


def _encode(data: bytes, encoding: str = "utf-8", errors: str = "strict") -> bytes:
    """Return bytes that a program treats as text."""
    return data


def _extent(box: tuple[float, float, float, float]) -> tuple[int, int]:
    return int(box[2]), int(box[3])


# Methods that other objects have as well: only calls that name an encoding are meant.
OF_TEXT = frozenset({"decode", "encode"})
# {method: (True if an object once had it, the replacement)}
METHODS: dict[str, tuple[Callable[[Any], bool], Callable[..., Any]]] = {
    **{f"iter{kind}": (_is_mapping, _each(kind)) for kind in ("keys", "values", "items")},
    **{f"view{kind}": (_is_mapping, _view(kind)) for kind in ("keys", "values", "items")},
    "has_key": (_is_mapping, lambda owner, key: key in owner),
    "tostring": (_is_memory, lambda owner, *args: owner.tobytes(*args)),
    "itemset": (_is_array, _itemset),
    "newbyteorder": (_is_array, _newbyteorder),
    "ptp": (_is_array, _ptp),
    "next": (_is_iterator, next),
    "getchildren": (_is_element, list),
    "getiterator": (_is_element, lambda owner, *args: owner.iter(*args)),
    "decode": (_is_text, _decode),
    "encode": (_is_bytes, _encode),
    "getsize": (
        _is_font,
        lambda font, text, *args, **options: _extent(font.getbbox(text, *args, **options)),
    ),
    "textsize": (
        _is_drawing,
        lambda drawing, text, *args, **options: _extent(
            drawing.textbbox((0, 0), text, *args, **options)
        ),
    ),
}
