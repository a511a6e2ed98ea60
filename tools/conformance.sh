#!/usr/bin/env bash
# Runs TensorFlow 1.15's own unit tests against Stillflow and scores them by area.
#
#   CONFORMANCE=DIR TF_TESTS=DIR tools/conformance.sh [options of conformance.py run]
#
#   CONFORMANCE  the kit: conformance.py, score.py, areas.json, reference.json
#   TF_TESTS     where the test files lie; if the folder is not there they are laid out in it, from
#   TF_GIT       a bare git folder of TensorFlow 1.15.5, and
#   TF_SITE      the site-packages of an installed TensorFlow 1.15.5
#   AREA         which area to run (core)     JOBS    how many files at a time (2)
#   OUT          where results go (out)       PYTHON  the interpreter to test with
#
# Only methods that pass on the real TensorFlow 1.15.5 are run. Test files are loaded as the launcher
# loads programs (tools/conformance_worker.py): they find NumPy 1 where today's differs. A run of a
# whole area is compared with the one before, and with the committed list of what fails
# (tests/conformance): it fails if anything fails that is not listed.
set -euo pipefail

: "${CONFORMANCE:?names the folder with conformance.py}"
: "${TF_TESTS:?names the folder of the test files}"
AREA=${AREA:-core} JOBS=${JOBS:-2} OUT=${OUT:-out} PYTHON=${PYTHON:-.venv/bin/python}
worker=$(cd "$(dirname "$0")" && pwd)/conformance_worker.py
results=$OUT/conformance-$AREA.json
case " $* " in *" --select "*) results=$OUT/conformance-part.json ;; esac
kit() { "$PYTHON" "$CONFORMANCE/conformance.py" "$@"; }
mkdir -p "$OUT"

if [ ! -d "$TF_TESTS/tensorflow" ]; then
  : "${TF_GIT:?names a git folder of TensorFlow 1.15.5}"
  : "${TF_SITE:?names the site-packages of TensorFlow 1.15.5}"
  "$PYTHON" "$CONFORMANCE/extract.py" "$TF_GIT" "$TF_TESTS" "$TF_SITE"
fi
"$PYTHON" -m pip --disable-pip-version-check install --quiet \
  six 'absl-py>=2.1' mock scipy portpicker

area_files() {
  "$PYTHON" - "$CONFORMANCE/areas.json" "$AREA" <<'END'
import json, sys
for name, row in json.load(open(sys.argv[1])).items():
    if row["area"] == sys.argv[2] and row["class"] == "public":
        print(name)
END
}

select=()
case " $* " in
  *" --select "*) part=true ;;
  *) part=false; while read -r file; do select+=(--select "$file"); done < <(area_files) ;;
esac
case " $* " in
  *" --resume "*) ;;
  *) [ ! -f "$results" ] || mv "$results" "$results.before" ;;
esac

OMP_NUM_THREADS=1 kit run --tests "$TF_TESTS" --python "$PYTHON" --launcher "-m stillflow $worker" \
  --baseline "$CONFORMANCE/reference.json" --fast-first --jobs "$JOBS" --out "$results" \
  ${select[@]+"${select[@]}"} "$@"
if $part; then
  kit report "$results" --files
  exit
fi
"$PYTHON" "$CONFORMANCE/score.py" "$results" --area "$AREA" --worst 20
[ ! -f "$results.before" ] || kit diff "$results.before" "$results" || true
"$PYTHON" tools/conformance_gaps.py "$results" --kit "$CONFORMANCE" --area "$AREA"
