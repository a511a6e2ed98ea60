"""The names that SavedModels are made of."""

from __future__ import annotations

from stillflow.graph.export import export_value

ASSETS_DIRECTORY = export_value(
    "saved_model.ASSETS_DIRECTORY", "saved_model.constants.ASSETS_DIRECTORY", "assets"
)
ASSETS_KEY = export_value(
    "saved_model.ASSETS_KEY", "saved_model.constants.ASSETS_KEY", "saved_model_assets"
)
LEGACY_INIT_OP_KEY = export_value(
    "saved_model.LEGACY_INIT_OP_KEY", "saved_model.constants.LEGACY_INIT_OP_KEY", "legacy_init_op"
)
MAIN_OP_KEY = export_value(
    "saved_model.MAIN_OP_KEY", "saved_model.constants.MAIN_OP_KEY", "saved_model_main_op"
)
SAVED_MODEL_FILENAME_PB = export_value(
    "saved_model.SAVED_MODEL_FILENAME_PB",
    "saved_model.constants.SAVED_MODEL_FILENAME_PB",
    "saved_model.pb",
)
SAVED_MODEL_FILENAME_PBTXT = export_value(
    "saved_model.SAVED_MODEL_FILENAME_PBTXT",
    "saved_model.constants.SAVED_MODEL_FILENAME_PBTXT",
    "saved_model.pbtxt",
)
SAVED_MODEL_SCHEMA_VERSION = export_value(
    "saved_model.SAVED_MODEL_SCHEMA_VERSION", "saved_model.constants.SAVED_MODEL_SCHEMA_VERSION", 1
)
VARIABLES_DIRECTORY = export_value(
    "saved_model.VARIABLES_DIRECTORY", "saved_model.constants.VARIABLES_DIRECTORY", "variables"
)
VARIABLES_FILENAME = export_value(
    "saved_model.VARIABLES_FILENAME", "saved_model.constants.VARIABLES_FILENAME", "variables"
)
DEFAULT_SERVING_SIGNATURE_DEF_KEY = export_value(
    "saved_model.DEFAULT_SERVING_SIGNATURE_DEF_KEY",
    "saved_model.signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY",
    "serving_default",
)
CLASSIFY_INPUTS = export_value(
    "saved_model.CLASSIFY_INPUTS", "saved_model.signature_constants.CLASSIFY_INPUTS", "inputs"
)
CLASSIFY_METHOD_NAME = export_value(
    "saved_model.CLASSIFY_METHOD_NAME",
    "saved_model.signature_constants.CLASSIFY_METHOD_NAME",
    "tensorflow/serving/classify",
)
CLASSIFY_OUTPUT_CLASSES = export_value(
    "saved_model.CLASSIFY_OUTPUT_CLASSES",
    "saved_model.signature_constants.CLASSIFY_OUTPUT_CLASSES",
    "classes",
)
CLASSIFY_OUTPUT_SCORES = export_value(
    "saved_model.CLASSIFY_OUTPUT_SCORES",
    "saved_model.signature_constants.CLASSIFY_OUTPUT_SCORES",
    "scores",
)
PREDICT_INPUTS = export_value(
    "saved_model.PREDICT_INPUTS", "saved_model.signature_constants.PREDICT_INPUTS", "inputs"
)
PREDICT_METHOD_NAME = export_value(
    "saved_model.PREDICT_METHOD_NAME",
    "saved_model.signature_constants.PREDICT_METHOD_NAME",
    "tensorflow/serving/predict",
)
PREDICT_OUTPUTS = export_value(
    "saved_model.PREDICT_OUTPUTS", "saved_model.signature_constants.PREDICT_OUTPUTS", "outputs"
)
REGRESS_INPUTS = export_value(
    "saved_model.REGRESS_INPUTS", "saved_model.signature_constants.REGRESS_INPUTS", "inputs"
)
REGRESS_METHOD_NAME = export_value(
    "saved_model.REGRESS_METHOD_NAME",
    "saved_model.signature_constants.REGRESS_METHOD_NAME",
    "tensorflow/serving/regress",
)
REGRESS_OUTPUTS = export_value(
    "saved_model.REGRESS_OUTPUTS", "saved_model.signature_constants.REGRESS_OUTPUTS", "outputs"
)
SERVING = export_value("saved_model.SERVING", "saved_model.tag_constants.SERVING", "serve")
TRAINING = export_value("saved_model.TRAINING", "saved_model.tag_constants.TRAINING", "train")
GPU = export_value("saved_model.GPU", "saved_model.tag_constants.GPU", "gpu")
TPU = export_value("saved_model.TPU", "saved_model.tag_constants.TPU", "tpu")

INIT_OP_SIGNATURE_KEY = "__saved_model_init_op"
TRAIN_OP_SIGNATURE_KEY = "__saved_model_train_op"
TRAIN_OP_KEY = "saved_model_train_op"
DEBUG_DIRECTORY = "debug"
SUPERVISED_TRAIN_METHOD_NAME = "tensorflow/supervised/training"
SUPERVISED_EVAL_METHOD_NAME = "tensorflow/supervised/eval"
# The tags of graphs by the modes of Keras and estimators.
EXPORT_TAG_MAP = {
    "train": [TRAINING], "test": ["eval"], "eval": ["eval"], "predict": [SERVING],
    "infer": [SERVING],
}  # fmt: skip
# The keys of their signatures.
SIGNATURE_KEY_MAP = {
    "train": "train", "test": "eval", "eval": "eval",
    "predict": DEFAULT_SERVING_SIGNATURE_DEF_KEY, "infer": DEFAULT_SERVING_SIGNATURE_DEF_KEY,
}  # fmt: skip
