"""Functions that stand above the operations which call them.

The gradient of a split is a concatenation, that of a broadcast a sum. The modules above provide
these functions; `_providers.py` names them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stillflow._hooks import Hook

Function = Callable[..., Any]

concat: Hook[Function] = Hook("ops.forward_declarations.concat")
boolean_mask: Hook[Function] = Hook("ops.forward_declarations.boolean_mask")
cumprod: Hook[Function] = Hook("ops.forward_declarations.cumprod")
dynamic_stitch_op: Hook[Function] = Hook("ops.forward_declarations.dynamic_stitch_op")
reduce_sum: Hook[Function] = Hook("ops.forward_declarations.reduce_sum")
prod_op: Hook[Function] = Hook("ops.forward_declarations.prod_op")

# The scope that says of which kind new variables are.
get_variable_scope: Hook[Function] = Hook("ops.forward_declarations.get_variable_scope")
