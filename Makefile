# Everything here needs Python 3.10 or later and make, nothing else: the first target that needs a
# package makes .venv and installs it there. PYTHON names the Python to start from; CONSTRAINTS=newest
# or oldest installs those versions of everything into an environment of its own, .venv-newest.

PYTHON ?= python3
CONSTRAINTS ?=
ENDS := $(CONSTRAINTS:%=-%)
VENV ?= .venv$(ENDS)
OUT ?= out
JOBS ?= 2

BIN := $(VENV)/$(if $(filter Windows_NT,$(OS)),Scripts,bin)
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet --constraint constraints$(ENDS).txt
PYTEST := $(BIN)/python -m pytest
PEERS := $(or $(STILLFLOW_ENVS),$(HOME)/.cache/stillflow-envs)/peers

.DEFAULT_GOAL := help
.PHONY: help test test-extras test-gpu test-processors test-platforms test-all browser demo lint lint-platforms tables docs compat bench bench-inference bench-peers conformance originality release-check clean

help: ## show what there is
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

test: $(VENV)/installed-test ## run the tests (ARGS="-k relu" narrows them down; CONSTRAINTS=newest or oldest)
	OMP_NUM_THREADS=1 $(PYTEST) -n $(JOBS) -m "not slow and not oracle and not browser" $(ARGS)

test-extras: $(VENV)/installed-extras ## run the tests of ONNX models and of the server, whose packages are extras
	OMP_NUM_THREADS=1 $(PYTEST) -n $(JOBS) -m "not slow and not oracle and not browser" tests/export/test_onnx.py tests/runtime/engines tests/serve $(ARGS)

test-gpu: $(VENV)/installed-test ## run them as if a GPU were the first device (ARGS="tests/ops" narrows them down)
	OMP_NUM_THREADS=1 $(PYTEST) -n $(JOBS) --first-device simulated_gpu -m "not slow and not oracle and not browser" $(ARGS)

test-processors: $(VENV)/installed-test ## run those of numbers as other processors compute (ARGS="avx2 --few"; ARGS=--help)
	$(BIN)/python tools/processors.py --jobs $(JOBS) $(ARGS)

test-platforms: $(VENV)/installed-test ## run the tests of files and the launcher as if on Windows and macOS
	for platform in windows macos; do \
	  STILLFLOW_TEST_PLATFORM=$$platform PYTHONPATH=tests/platforms/site OMP_NUM_THREADS=1 \
	  $(PYTEST) -n $(JOBS) -m "not slow and not oracle and not browser" \
	  $(or $(ARGS),tests/files tests/cli tests/facade/revive tests/util tests/platforms) || exit 1; \
	done

test-all: $(VENV)/installed-test ## run every test, the slow ones too
	OMP_NUM_THREADS=1 $(PYTEST) -n $(JOBS) $(ARGS)

browser: $(VENV)/installed-browser ## look at TensorBoard in headless Chromium (pictures in out/tensorboard)
	tools/install_chromium.sh
	OUT=$(OUT) $(PYTEST) -m browser tests/summary $(ARGS)

demo: $(VENV)/installed-demo ## train TF1 networks on real digits: curve, resume, freeze, TensorBoard
	@mkdir -p $(OUT) && rm -rf $(OUT)/demo
	$(BIN)/python -m stillflow examples/mnist_cnn.py --curve $(OUT)/mnist_cnn.png
	$(BIN)/python -m stillflow examples/mnist_resume.py --folder $(OUT)/demo --epochs 3
	$(BIN)/python -m stillflow examples/mnist_resume.py --folder $(OUT)/demo --epochs 3
	$(BIN)/python -m stillflow examples/mnist_freeze.py --folder $(OUT)/demo
	@echo "to look at it: $(BIN)/python -m stillflow tensorboard --logdir $(OUT)/demo"

lint: $(VENV)/installed-dev ## style, types, layers, budgets, generated files
	$(BIN)/ruff check .
	$(BIN)/ruff format --check --quiet .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo --no-cache
	$(BIN)/python tools/check_layers.py
	$(BIN)/python tools/check_budgets.py
	$(BIN)/python tools/check_op_names.py
	$(BIN)/python tools/check_words.py
	$(BIN)/python tools/make_api.py --check
	$(BIN)/python tools/readme_tables.py --check
	$(BIN)/python tools/test_index.py --check
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows $(wildcard .github/workflows/*.yml)
	$(BIN)/zizmor --offline --quiet .github

lint-platforms: $(VENV)/installed-dev ## types as Windows and macOS have them
	$(BIN)/mypy --platform win32 --cache-dir .mypy_cache/win32
	$(BIN)/mypy --platform darwin --cache-dir .mypy_cache/darwin

tables: $(VENV)/installed-test ## write the generated files: public names, known gaps, tables of README and docs
	$(BIN)/python tools/make_api.py
	$(BIN)/python tools/make_card_index.py
	$(BIN)/python tools/coverage_table.py --write-gaps
	$(BIN)/python tools/readme_tables.py
	$(BIN)/python tools/raw_ops_table.py

docs: $(VENV)/installed-docs ## build the documentation site into out/site; warnings are errors
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet --site-dir $(abspath $(OUT))/site

compat: $(VENV)/installed-test ## run a row of docs/compatibility.md again (NAME=... SOURCES=... ORACLE=... DATA=...)
	$(BIN)/python tools/compat.py $(if $(SOURCES),--sources "$(SOURCES)") $(if $(ORACLE),--oracle "$(ORACLE)") \
	  $(if $(DATA),--data "$(DATA)") $(ARGS) $(NAME)

bench: $(VENV)/installed-test ## benchmarks, side by side with whatever peers are installed
	$(BIN)/python -m benchmarks --out $(OUT)/benchmarks.json $(ARGS)

bench-inference: bench-peers ## inference of frozen graphs, beside the runtimes of today
	$(BIN)/python -m benchmarks.inference --out $(OUT)/inference.json $(ARGS)

bench-peers: $(PEERS)/installed ## install ONNX Runtime and OpenVINO, which benchmarks measure, in an environment of their own

$(PEERS)/installed: pyproject.toml constraints$(ENDS).txt
	$(PYTHON) -m venv $(PEERS)
	$(PEERS)/bin/python -m pip --disable-pip-version-check install --quiet --constraint constraints$(ENDS).txt --editable '.[onnx]' openvino
	@touch $@

conformance: $(VENV)/installed-test ## TensorFlow's own unit tests (CONTRIBUTING.md says what to set)
	PYTHON=$(BIN)/python OUT=$(OUT) JOBS=$(JOBS) tools/conformance.sh $(ARGS)

originality: $(VENV)/installed-test ## compare the code with TensorFlow's (CONTRIBUTING.md says what to set)
	PYTHON=$(BIN)/python OUT=$(OUT) tools/originality.sh

release-check: $(VENV)/installed-release ## build wheel and sdist, install each elsewhere, try what is installed
	$(BIN)/python tools/release_check.py --out $(OUT)/dist

clean: ## remove the environment and everything built
	rm -rf .venv .venv-newest .venv-oldest $(VENV) $(OUT) .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis

$(VENV)/pyvenv.cfg:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10) and "Stillflow needs Python 3.10 or later")'
	$(PYTHON) -m venv $(VENV)

# A stamp per set of packages; a change of what is asked for installs again, nothing else does.
$(VENV)/installed-%: pyproject.toml constraints$(ENDS).txt $(wildcard src/stillflow/native/*.[ch]) | $(VENV)/pyvenv.cfg
	@echo "installing stillflow[$*] into $(VENV) (the first time takes a few minutes)"
	$(PIP) --editable '.[$*]'
	@touch $@
