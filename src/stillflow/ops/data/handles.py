"""Iterators that are named by a string."""

from __future__ import annotations

from typing import Any

from stillflow import errors
from stillflow.ops.data.pipeline import invalid

_ON_CPU = "/device:CPU:"


def named_by(handle: Any, kind: str, resources: Any, device: str = "") -> Any:
    """Return the resource that a serialized `ResourceHandleProto` names under this kind.

    InvalidArgumentError if it is no handle, or one of another host device than `device`,
    NotFoundError if the session has nothing of that name.
    """
    from stillflow.protos import ResourceHandleProto

    proto = ResourceHandleProto()
    try:
        proto.ParseFromString(handle[()])
    except Exception:
        raise invalid("Could not parse string_handle as a valid ResourceHandle") from None
    if device != proto.device and _ON_CPU in device and _ON_CPU in proto.device:
        raise invalid(
            f'Attempted create an iterator on device "{device}" from handle defined on device '
            f'"{proto.device}"'
        )
    found = resources.find("", kind, proto.name)
    if found is None:
        raise errors.not_found(
            f"Resource {proto.container}/{proto.name}/{proto.maybe_type_name} does not exist."
        )
    return found
