"""Names of an export's files and collections."""

from __future__ import annotations

from stillflow.graph.export import export_value

VERSION_FORMAT_SPECIFIER = export_value(
    "contrib.session_bundle.constants.VERSION_FORMAT_SPECIFIER", "%08d"
)
ASSETS_DIRECTORY = export_value("contrib.session_bundle.constants.ASSETS_DIRECTORY", "assets")
EXPORT_BASE_NAME = export_value("contrib.session_bundle.constants.EXPORT_BASE_NAME", "export")
EXPORT_SUFFIX_NAME = export_value("contrib.session_bundle.constants.EXPORT_SUFFIX_NAME", "meta")
META_GRAPH_DEF_FILENAME = export_value(
    "contrib.session_bundle.constants.META_GRAPH_DEF_FILENAME", "export.meta"
)
VARIABLES_FILENAME = export_value("contrib.session_bundle.constants.VARIABLES_FILENAME", "export")
VARIABLES_FILENAME_PATTERN = export_value(
    "contrib.session_bundle.constants.VARIABLES_FILENAME_PATTERN", "export-?????-of-?????"
)
VARIABLES_FILENAME_PATTERN_V2 = export_value(
    "contrib.session_bundle.constants.VARIABLES_FILENAME_PATTERN_V2", "export.data-?????-of-?????"
)
VARIABLES_INDEX_FILENAME_V2 = export_value(
    "contrib.session_bundle.constants.VARIABLES_INDEX_FILENAME_V2", "export.index"
)
INIT_OP_KEY = export_value("contrib.session_bundle.constants.INIT_OP_KEY", "serving_init_op")
SIGNATURES_KEY = export_value(
    "contrib.session_bundle.constants.SIGNATURES_KEY", "serving_signatures"
)
ASSETS_KEY = export_value("contrib.session_bundle.constants.ASSETS_KEY", "serving_assets")
GRAPH_KEY = export_value("contrib.session_bundle.constants.GRAPH_KEY", "serving_graph")
REGRESSION_SIGNATURE = export_value(
    "contrib.session_bundle.constants.REGRESSION_SIGNATURE", "regression_signature"
)
CLASSIFICATION_SIGNATURE = export_value(
    "contrib.session_bundle.constants.CLASSIFICATION_SIGNATURE", "classification_signature"
)
GENERIC_SIGNATURE = export_value(
    "contrib.session_bundle.constants.GENERIC_SIGNATURE", "generic_signature"
)
