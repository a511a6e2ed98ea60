"""Environment variables that Stillflow reads, each with its effect."""

from __future__ import annotations

# docs/debugging.md has the same table; a test holds the two together.
VARIABLES = {
    "STILLFLOW_ALLOW": (
        "libraries, separated by commas, that may import TensorFlow where they only look whether "
        "it is installed: `keras,tensorboard`"
    ),
    "STILLFLOW_CLUSTER_AUTHORITIES": "a file of those who sign the certificates of other tasks",
    "STILLFLOW_CLUSTER_BIND": "the address that a server listens on, if not its own in the cluster",
    "STILLFLOW_CLUSTER_CERTIFICATE": "a file with the certificate of this task, for TLS",
    "STILLFLOW_CLUSTER_KEY": "a file with the private key of this task, for TLS",
    "STILLFLOW_CLUSTER_MUTUAL_TLS": "`1`: clients need certificates, too",
    "STILLFLOW_CLUSTER_TLS_NAME": "the name in all certificates, if not that of the address",
    "STILLFLOW_CLUSTER_TOKEN_FILE": "a file with a token that every call needs",
    "STILLFLOW_CUDA_GRAPHS": "`0`: steps on a GPU are not captured as CUDA graphs",
    "STILLFLOW_DATA": "a folder that is searched for data sets before they are downloaded",
    "STILLFLOW_ENABLED": "`0`: plain `python` does not serve TensorFlow, although it is enabled",
    "STILLFLOW_ENGINE": (
        "`auto`, `onnxruntime`, ...: another runtime runs pure parts of a session's plans"
    ),
    "STILLFLOW_ENGINE_CACHE": "`0`: engines keep no models on disk",
    "STILLFLOW_LENIENT": "`1`: a missing name raises when it is called, not when it is looked up",
    "STILLFLOW_METRICS_PORT": "a port for Prometheus; `--metrics_port` sets it",
    "STILLFLOW_NATIVE": "`0`: no kernel of the C library is used",
    "STILLFLOW_PYTHON2": "`1`: sources are written in Python 2; `--python2` sets it",
    "STILLFLOW_SYNC_SAVES": "`1`: a save returns when its files are on the disk",
    "STILLFLOW_TF0": "`0.12`, ...: names and arguments of that version; `--tf0` sets it",
    "STILLFLOW_VERIFY_PLANS": "`1`: plans are checked after every pass, which takes time",
}
