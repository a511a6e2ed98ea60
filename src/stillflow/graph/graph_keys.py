"""The names of the collections that every part of the library agrees on."""

from __future__ import annotations

from stillflow.graph.export import export


@export("GraphKeys")
class GraphKeys:
    """Names of a graph's standard collections.

    Example:
      >>> v = tf.Variable(1.0, name="v", collections=[tf.GraphKeys.LOCAL_VARIABLES])
      >>> tf.get_collection(tf.GraphKeys.LOCAL_VARIABLES)[0].name, tf.GraphKeys.LOCAL_VARIABLES
      ('v:0', 'local_variables')
    """

    # Variables, by their purpose.
    GLOBAL_VARIABLES = "variables"
    VARIABLES = GLOBAL_VARIABLES  # its name before TensorFlow 1.0
    LOCAL_VARIABLES = "local_variables"
    METRIC_VARIABLES = "metric_variables"
    MODEL_VARIABLES = "model_variables"
    TRAINABLE_VARIABLES = "trainable_variables"
    TRAINABLE_RESOURCE_VARIABLES = "trainable_resource_variables"
    MOVING_AVERAGE_VARIABLES = "moving_average_variables"
    CONCATENATED_VARIABLES = "concatenated_variables"
    WEIGHTS = "weights"
    BIASES = "biases"

    # Parts of a model.
    ACTIVATIONS = "activations"
    UPDATE_OPS = "update_ops"
    LOSSES = "losses"
    REGULARIZATION_LOSSES = "regularization_losses"
    SUMMARIES = "summaries"
    _SUMMARY_COLLECTION = "_SUMMARY_V2"

    # Objects that a session starts, initializes and saves.
    QUEUE_RUNNERS = "queue_runners"
    TABLE_INITIALIZERS = "table_initializer"
    ASSET_FILEPATHS = "asset_filepaths"
    SAVERS = "savers"
    SAVEABLE_OBJECTS = "saveable_objects"
    RESOURCES = "resources"
    LOCAL_RESOURCES = "local_resources"
    INIT_OP = "init_op"
    LOCAL_INIT_OP = "local_init_op"
    READY_OP = "ready_op"
    READY_FOR_LOCAL_INIT_OP = "ready_for_local_init_op"
    SUMMARY_OP = "summary_op"
    GLOBAL_STEP = "global_step"
    EVAL_STEP = "eval_step"
    TRAIN_OP = "train_op"

    # Control flow, and streaming models.
    COND_CONTEXT = "cond_context"
    WHILE_CONTEXT = "while_context"
    _STREAMING_MODEL_PORTS = "streaming_model_ports"

    _VARIABLE_COLLECTIONS = [
        GLOBAL_VARIABLES,
        LOCAL_VARIABLES,
        METRIC_VARIABLES,
        MODEL_VARIABLES,
        TRAINABLE_VARIABLES,
        MOVING_AVERAGE_VARIABLES,
        CONCATENATED_VARIABLES,
        TRAINABLE_RESOURCE_VARIABLES,
    ]


# Private collections with the one store of a graph's variables, and that of its variable scopes.
VARIABLE_STORE = ("__variable_store",)
VARIABLE_SCOPES = ("__varscope",)
