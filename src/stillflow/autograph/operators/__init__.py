"""Operators of converted code, `ag__`: each checks its operands at run time."""

from __future__ import annotations

from typing import Any

from stillflow.autograph.operators.blocks import for_, if_, while_
from stillflow.autograph.operators.builtin_functions import (
    abs_,
    enumerate_,
    float_,
    int_,
    len_,
    print_,
    range_,
    zip_,
)  # fmt: skip
from stillflow.autograph.operators.control_flow import for_stmt, if_stmt, while_stmt
from stillflow.autograph.operators.data_structures import (
    ListPopOpts,
    ListStackOpts,
    list_append,
    list_pop,
    list_stack,
    new_list,
)  # fmt: skip
from stillflow.autograph.operators.exceptions import assert_stmt
from stillflow.autograph.operators.logical import and_, eq, if_exp, not_, not_eq, or_
from stillflow.autograph.operators.slices import GetItemOpts, get_item, set_item
from stillflow.autograph.operators.special_values import (
    Undefined,
    UndefinedReturnValue,
    is_undefined,
    is_undefined_return,
    returned,
    retval,
)  # fmt: skip
from stillflow.autograph.options import STANDARD as STD
from stillflow.autograph.options import ConversionOptions, Feature
from stillflow.autograph.scope import FunctionScope, with_function_scope

__all__ = [
    "STD", "ConversionOptions", "Feature", "FunctionScope", "GetItemOpts", "ListPopOpts",
    "ListStackOpts", "Undefined", "UndefinedReturnValue", "abs_", "and_", "assert_stmt", "callee",
    "enumerate_", "eq", "float_", "for_", "for_stmt", "get_item", "if_", "if_exp", "if_stmt",
    "int_", "is_undefined", "is_undefined_return", "len_", "list_append", "list_pop",
    "list_stack", "new_list", "not_", "not_eq", "or_", "print_", "range_", "returned", "retval",
    "set_item", "while_", "while_stmt", "with_function_scope", "zip_",
]  # fmt: skip


def callee(f: Any, scope: FunctionScope) -> Any:
    """Return the callee for `f` in a scope."""
    from stillflow.autograph.calls import resolve

    return resolve(f, scope.callopts)
