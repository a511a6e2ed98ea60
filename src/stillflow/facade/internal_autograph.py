"""Internal names of AutoGraph."""

from __future__ import annotations

_AT = "tensorflow.python.autograph."
_OURS = "stillflow.autograph."
_GAST = "stillflow_contrib.autograph."  # passes over trees of gast

MODULES = {
    f"{_AT}operators.control_flow": f"{_OURS}operators.control_flow",
    f"{_AT}operators.data_structures": f"{_OURS}operators.data_structures",
    f"{_AT}operators.exceptions": f"{_OURS}operators.exceptions",
    f"{_AT}operators.logical": f"{_OURS}operators.logical",
    f"{_AT}operators.py_builtins": f"{_OURS}operators.builtin_functions",
    f"{_AT}operators.slices": f"{_OURS}operators.slices",
    f"{_AT}operators.special_values": f"{_OURS}operators.special_values",
    f"{_AT}pyct.anno": f"{_GAST}annotations",
    f"{_AT}pyct.common_transformers.anf": f"{_GAST}anf",
    f"{_AT}pyct.qual_names": f"{_GAST}qualified_names",
    f"{_AT}pyct.templates": f"{_GAST}templates",
    f"{_AT}utils.ag_logging": f"{_OURS}verbosity",
}

OBJECTS = {
    _AT.rstrip("."): {"*": f"{_OURS}api {_OURS}calls"},
    f"{_AT}converters.break_statements": {"transform": f"{_GAST}passes:lower_loop_jumps"},
    f"{_AT}converters.continue_statements": {"transform": f"{_GAST}passes:lower_loop_jumps"},
    f"{_AT}converters.return_statements": {"transform": f"{_GAST}passes:lower_returns"},
    f"{_AT}core.ag_ctx": {"*": "stillflow.graph.autograph_status"},
    f"{_AT}core.converter": {
        "STANDARD_OPTIONS": f"{_OURS}options:STANDARD",
        "Base": f"{_OURS}transformer:Base",
        "EntityContext": f"{_GAST}passes:EntityContext",
        "ProgramContext": f"{_GAST}passes:ProgramContext",
        "standard_analysis": f"{_GAST}passes:standard_analysis",
        "*": f"{_OURS}options",
    },
    f"{_AT}core.function_wrappers": {"*": f"{_OURS}scope"},
    f"{_AT}core.naming": {"Namer": f"{_GAST}trees:Namer"},
    f"{_AT}impl.api": {
        # Their names without a suffix are those of TensorFlow 2.
        "to_code": f"{_OURS}api:to_code",
        "to_graph": f"{_OURS}api:to_graph",
        "*": f"{_OURS}api {_OURS}calls {_OURS}failures",
    },
    f"{_AT}impl.conversion": {"is_whitelisted_for_graph": f"{_OURS}allowed:is_allowed"},
    f"{_AT}lang.directives": {"*": f"{_OURS}lang"},
    f"{_AT}lang.special_functions": {"*": f"{_OURS}lang"},
    f"{_AT}operators": {"*": f"{_OURS}operators"},
    f"{_AT}pyct.compiler": {
        "ast_to_object": f"{_GAST}trees:ast_to_object",
        "ast_to_source": f"{_GAST}trees:ast_to_source",
    },
    f"{_AT}pyct.errors": {"ErrorMetadataBase": f"{_OURS}failures:ErrorMetadata"},
    f"{_AT}pyct.inspect_utils": {
        "getfutureimports": f"{_OURS}source:future_imports",
        "isnamedtuple": f"{_OURS}allowed:is_named_tuple",
    },
    f"{_AT}pyct.parser": {
        "parse_entity": f"{_GAST}trees:parse_entity",
        "parse_expression": f"{_OURS}source:parse_expression",
        "parse_str": f"{_OURS}source:parse_str",
    },
    f"{_AT}pyct.transformer": {"*": f"{_OURS}transformer"},
    f"{_AT}utils": {"fake_tf": "stillflow.testing.fake_tf:fake_tf"},
    f"{_AT}utils.py_func": {
        "MatchDType": f"{_OURS}operators.python_calls:MatchDType",
        "wrap_py_func": f"{_OURS}operators.python_calls:call_python",
    },
    f"{_AT}utils.tensors": {"*": f"{_OURS}operators.tensors"},
}
