#!/usr/bin/env bash
# Compares every function of ours with every function of TensorFlow 1.15.5, and fails where too much is alike.
#
#   OVERLAP=FILE TF_SITE=DIR tools/originality.sh
#
#   OVERLAP  overlap.py, which scores our functions against a reference
#   TF_SITE  the site-packages of an installed TensorFlow 1.15.5
#   OUT      where both lists of what is alike go (out)     PYTHON  an interpreter with NumPy
#
# Functions of at least 60 tokens, and classes and modules of at least 120, may share half of their runs of
# tokens with no file of the reference. What cannot be otherwise stands, with a reason each, in
# tests/originality/forced.tsv.
set -euo pipefail

: "${OVERLAP:?names overlap.py}"
: "${TF_SITE:?names the site-packages of TensorFlow 1.15.5}"
OUT=${OUT:-out} PYTHON=${PYTHON:-.venv/bin/python} over=0
mkdir -p "$OUT"

# FILE OPTION...: prints what is over the limits and not allowed
compare() {
  "$PYTHON" "$OVERLAP" --ours src --reference "$TF_SITE"/tensorflow_core "$TF_SITE"/tensorflow_estimator \
    --allow tests/originality/forced.tsv --tsv "$OUT/$1" "${@:2}" | grep -v '  allowed: ' || over=1
}

compare functions.tsv --min-tokens 60 --limit-kept 0.5 --limit-anonymised 0.5
compare classes.tsv --whole --min-tokens 120 --limit-kept 0.5 --limit-anonymised 0.6
exit $over
