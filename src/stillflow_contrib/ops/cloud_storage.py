"""Operations that configure Google Cloud Storage: its credentials, and the size of its blocks."""

from __future__ import annotations

import json
from typing import Any

from stillflow import errors
from stillflow.files.filesystem import configure
from stillflow.graph.card import op
from stillflow.graph.node import Node
from stillflow.graph.parts import Kernel

_FIELDS = {"private_key", "refresh_token"}

gcs_configure_credentials_op = op(
    "GcsConfigureCredentials(json: string)\nflags: stateful",
    differentiable=False, effect="network",
)  # fmt: skip
gcs_configure_block_cache_op = op(
    "GcsConfigureBlockCache(max_cache_size: uint64, block_size: uint64, max_staleness: uint64)"
    "\nflags: stateful",
    differentiable=False, effect="network",
)  # fmt: skip


@gcs_configure_credentials_op.kernel
def gcs_configure_credentials_kernel(node: Node) -> Kernel:
    def run(text: Any) -> None:
        try:
            found = json.loads(text.item())
        except ValueError as error:
            raise errors.invalid_argument(f"The credentials are no JSON: {error}") from None
        if not isinstance(found, dict) or not _FIELDS.intersection(found):
            raise errors.invalid_argument(
                f"The credentials have none of the fields {', '.join(sorted(_FIELDS))}."
            )
        configure("gcs", token=found)

    return run


@gcs_configure_block_cache_op.kernel
def gcs_configure_block_cache_kernel(node: Node) -> Kernel:
    def run(most: Any, size: Any, staleness: Any) -> None:
        # fsspec has a cache for each open file, which ends with it: only the size is for us to say.
        configure("gcs", block_size=int(size))

    return run
