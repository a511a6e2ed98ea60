"""State shared by mixed-precision training and sessions."""

from __future__ import annotations

import copy
from typing import Any

# Whether sessions may compute parts of a graph in half precision.
mixed_precision_graph_rewrite_is_enabled = False
# Whether a session was made that may not.
non_mixed_precision_session_created = False
# Whether Keras computes in the types that its layers have by default.
using_default_mixed_precision_policy = True

_ON, _OFF = 1, 2  # of RewriterConfig.Toggle


def session_config(config: Any) -> Any:
    """Return the `ConfigProto` (or None) of a session, with the rewrite on if it is enabled."""
    global non_mixed_precision_session_created
    switch = 0
    if config is not None:
        switch = config.graph_options.rewrite_options.auto_mixed_precision
    if mixed_precision_graph_rewrite_is_enabled and switch != _OFF:
        from stillflow.protos import ConfigProto

        made = ConfigProto() if config is None else copy.deepcopy(config)
        made.graph_options.rewrite_options.auto_mixed_precision = _ON
        return made
    if switch != _ON:
        non_mixed_precision_session_created = True
    return config
