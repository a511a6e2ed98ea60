#!/usr/bin/env bash
# Loads models, checkpoints, records and logs that TF1 projects published, and compares what they
# answer with what TensorFlow 1.15.5 answered.
#
#   ARTEFACTS=DIR tools/artefacts.sh [name ...]
#
#   ARTEFACTS  the kit: index.json, and a folder for each name in it
#   PYTHON     the interpreter to test with
#
# Exits with 1 if any differs. Nothing of the kit is kept in this repository.
set -euo pipefail

: "${ARTEFACTS:?names the folder with index.json}"
HERE=$(cd "$(dirname "$0")/.." && pwd)
PYTHONPATH="$HERE/src${PYTHONPATH:+:$PYTHONPATH}" \
  exec "${PYTHON:-$HERE/.venv/bin/python}" "$HERE/tools/artefacts.py" "$ARTEFACTS" "$@"
