"""Iterators that are named by a string."""

from __future__ import annotations

from typing import Any

from stillflow import errors
from stillflow.ops.data.pipeline import invalid


def named_by(handle: Any, kind: str, resources: Any) -> Any:
    """Return the resource that a serialized `ResourceHandleProto` names under this kind.

    InvalidArgumentError if it is no handle, NotFoundError if the session has nothing of that name.
    """
    from stillflow.protos import ResourceHandleProto

    proto = ResourceHandleProto()
    try:
        proto.ParseFromString(handle[()])
    except Exception:
        raise invalid("Could not parse string_handle as a valid ResourceHandle") from None
    found = resources.find("", kind, proto.name)
    if found is None:
        raise errors.not_found(
            f"Resource {proto.container}/{proto.name}/{proto.maybe_type_name} does not exist."
        )
    return found
