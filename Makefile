# Two commands do all the set-up: `make hello` (speaks) and `make test` (installs what tests need, passes them).
SHELL := /bin/bash
.DEFAULT_GOAL := help
PYTHON ?= python3
VENV ?= .venv
TORCH ?= torch==2.13.0# the trainer and its tests; name a build for your machine, such as TORCH=torch==2.13.0+cpu
PYTEST_ARGS ?=
PY := $(VENV)/bin/python
TEXT ?= The ferry leaves at dawn.
SOURCES := pyproject.toml $(wildcard kernels/CMakeLists.txt kernels/*/*.cpp kernels/*/*.hpp kernels/cuda/*.cu*)
# -P and importlib: the installed package is tested, not the folder of the same name in the checkout.
# One process a core; tests of one file stay together, for what they share.
PYTEST := -P -m pytest --import-mode=importlib -n auto --dist loadfile
CHECKS := build/checks
CPP := kernels/cpu/*.?pp kernels/cuda/*.?pp kernels/cuda/*.cu* kernels/bindings/*.?pp kernels/parity/*.?pp
export PYTHONDONTWRITEBYTECODE := 1

.PHONY: help hello setup build test lint format types wheel test-wheel sanitized sanitize parity cuda soak voice clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 14

hello: $(VENV)/.hello ## install into .venv and speak into hello.wav
	$(VENV)/bin/deepvoice say "$(TEXT)" -o hello.wav

setup: $(VENV)/.dev ## install everything that development needs

build: $(VENV)/.built ## compile the kernels after a change

test: build ## run the test suite
	$(PY) $(PYTEST) -q -m "not slow and not bench" $(PYTEST_ARGS)

lint: setup ## check style
	$(VENV)/bin/ruff check .
	@! command -v $(VENV)/bin/clang-format >/dev/null || \
	  $(VENV)/bin/clang-format --dry-run -Werror $(CPP)

format: setup ## put the C++ sources into the house style
	$(VENV)/bin/ruff check --fix-only .
	$(VENV)/bin/clang-format -i $(CPP)

# mypy cannot follow the mapping of models/ to deepvoice.models, so it is shown a tree of links.
types: build ## check types
	rm -rf $(CHECKS)/types && mkdir -p $(CHECKS)/types/deepvoice
	ln -s $(CURDIR)/deepvoice/* $(addprefix $(CURDIR)/,models kernels recipes server) $(CHECKS)/types/deepvoice/
	cd $(CHECKS)/types && MYPYPATH=. $(abspath $(PY)) -m mypy --config-file $(CURDIR)/pyproject.toml -p deepvoice

wheel: setup ## build a wheel, through the source distribution, into dist/
	rm -rf dist && $(PY) -m build -q --no-isolation --outdir dist .

# A second environment that sees the test tools of the first but not the checkout.
test-wheel: build wheel ## run the test suite on the built wheel
	rm -rf $(CHECKS)/wheel && mkdir -p $(CHECKS)/wheel
	$(PYTHON) -m venv $(CHECKS)/wheel/venv
	$(CHECKS)/wheel/venv/bin/python -m pip install -q dist/*.whl
	$(PY) -c 'import sysconfig; print(sysconfig.get_path("purelib"))' > \
	  "$$($(CHECKS)/wheel/venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/tools.pth"
	cp -r tests README.md pyproject.toml $(CHECKS)/wheel/ && cp -r dist $(CHECKS)/wheel/dist
	cd $(CHECKS)/wheel && venv/bin/python $(PYTEST) -q -m "not slow and not bench" $(PYTEST_ARGS)

# AddressSanitizer and UndefinedBehaviorSanitizer watch the kernels while damaged voices are loaded and spoken with.
SANITIZED := $(CHECKS)/sanitize
sanitized: build
	rm -rf $(SANITIZED)/venv && $(PYTHON) -m venv --without-pip $(SANITIZED)/venv
	DEEPVOICE_SANITIZE=ON DEEPVOICE_CUDA_EMULATED=ON $(PY) -m pip install -q --no-build-isolation --no-deps -C build-dir=$(SANITIZED)/build --target \
	  "$$($(SANITIZED)/venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')" .

sanitize: sanitized ## run the kernel and damage tests under AddressSanitizer
	$(PY) -c 'import sysconfig; print(sysconfig.get_path("purelib"))' > \
	  "$$($(SANITIZED)/venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/tools.pth"
	LD_PRELOAD="$$(g++ -print-file-name=libasan.so) $$(g++ -print-file-name=libstdc++.so)" \
	  ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
	  $(SANITIZED)/venv/bin/python $(PYTEST) -q -m "$(SANITIZE_MARKS)" -p no:cacheprovider $(SANITIZE_LESS) tests/kernels tests/voice
SANITIZE_MARKS ?= not slow and not bench
# Whole voices on emulated kernels take minutes there and come to no memory that the kernels' own tests do not.
CUDA_TESTS := tests/kernels/cuda
SANITIZE_LESS := --ignore=$(CUDA_TESTS)/test_cuda_speaking.py \
  --deselect=$(CUDA_TESTS)/test_cuda_wavenet.py::test_the_shipped_voice_says_the_reference_codes_for_200_ms

# One program and one file of golden tensors for two processors: this one under the sanitizers, and AArch64 in an
# emulator, with and without the dot product. WaveNets must come out bit for bit the same.
PARITY := $(CHECKS)/parity
CROSS ?= aarch64-linux-gnu-
EMULATOR ?= qemu-aarch64 -L /usr/aarch64-linux-gnu
CMAKE := PATH="$(abspath $(VENV))/bin:$$PATH" cmake
parity: sanitized ## hold the kernels of this processor and of AArch64 to golden tensors
	mkdir -p $(PARITY) && $(PY) -P -m deepvoice.kernels.parity.golden $(PARITY)/golden.bin
	$(CMAKE) --build $(SANITIZED)/build --target parity
	$(CMAKE) -S kernels -B $(PARITY)/aarch64 -G Ninja -DCMAKE_BUILD_TYPE=Release -DDEEPVOICE_PARITY=ON \
	  -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64 -DCMAKE_CXX_COMPILER=$(CROSS)g++ >/dev/null
	$(CMAKE) --build $(PARITY)/aarch64 --target parity
	UBSAN_OPTIONS=print_stacktrace=1 $(SANITIZED)/build/parity $(PARITY)/golden.bin $(PARITY)/native.txt
	$(EMULATOR) -cpu max $(PARITY)/aarch64/parity $(PARITY)/golden.bin $(PARITY)/dot.txt
	$(EMULATOR) -cpu cortex-a53 $(PARITY)/aarch64/parity $(PARITY)/golden.bin $(PARITY)/plain.txt
	cmp $(PARITY)/native.txt $(PARITY)/dot.txt && cmp $(PARITY)/native.txt $(PARITY)/plain.txt

# nvcc by CUDACXX, from PATH or /usr/local/cuda*; no device is needed.
CUDA_REPORT := build/cuda/report.json
cuda: build ## compile the CUDA kernels for every kind of card; none may spill
	$(PY) -P -m deepvoice.kernels.bench.resources --json $(CUDA_REPORT)
	DEEPVOICE_CUDA_REPORT=$(abspath $(CUDA_REPORT)) $(PY) -P -m pytest --import-mode=importlib -q tests/kernels/cuda/test_cuda_resources.py

soak: ## everything slow: all tests, and thousands of damaged voices under AddressSanitizer
	$(MAKE) build
	$(PY) $(PYTEST) -q -m "slow" $(PYTEST_ARGS)
	$(MAKE) sanitize SANITIZE_MARKS="not bench"

voice: setup ## train and pack the default voice (hours; see recipes/voice/README.md)
	$(PY) -m deepvoice.recipes.voice.run --help

clean: ## remove everything that was built
	rm -rf $(VENV) build dist hello.wav

$(PY):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "deepvoice needs Python 3.11 or newer; pass PYTHON=/path/to/python3.11"; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { echo "on Debian: apt-get install python3-venv"; exit 1; }

$(VENV)/.hello: $(SOURCES) | $(PY)
	test -e $(VENV)/.dev || $(PY) -m pip install -q -e .
	@touch $@

$(VENV)/.dev: pyproject.toml | $(PY)
	$(PY) -m pip install -q "$(TORCH)" build cmake ninja "scikit-build-core>=1.1,<1.2" "nanobind>=3.1,<3.2"
	$(PY) -m pip install -q --no-build-isolation -e ".[dev,server,train]" "$(TORCH)"
	@touch $@

$(VENV)/.built: $(SOURCES) $(VENV)/.dev
	$(PY) -m pip install -q --no-build-isolation --no-deps -e .
	@touch $@ $(VENV)/.hello
