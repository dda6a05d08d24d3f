# SPDX-License-Identifier: Apache-2.0
# Thin on purpose: each target calls one program that says what it does. `make help` lists them.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

# Tools that are called here (make itself, PATH, lab.confine) take these characters for the end of a name.
COMMA := ,
ifneq ($(words x$(CURDIR)x),1)
$(error the folder's name "$(CURDIR)" has a blank in it: clone Weir into one without)
endif
ifneq ($(findstring :,$(CURDIR))$(findstring $(COMMA),$(CURDIR)),)
$(error the folder's name "$(CURDIR)" has a colon or a comma in it: clone Weir into one without)
endif

PORT ?= 8080
VARIANT ?= vm
LAB ?= namespaces
$(if $(filter-out namespaces vm,$(LAB)),$(error LAB=$(LAB): choose namespaces or vm))
PYTHON := build/venv/bin/python
NPM := PATH="$(CURDIR)/build/venv/bin:$$PATH" npm
STAMPS := build/stamps
WEBUI_SOURCES := $(shell find webui -type f -not -path '*/node_modules/*' -not -path '*/dist/*' -not -path '*/.*' 2>/dev/null)

.PHONY: help deps datapath rig webui run vm lab lab-down dev lint format test bench openapi screenshots lock clean kernel test-kernel test-newcomer test-ci test-all image image-life image-start image-check

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z][a-z-]*:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile

run: build $(if $(filter vm,$(LAB)),vm-image) ## Start the lab and print its URL and password; Ctrl-C removes it (PORT=8080, LAB=vm for the virtual machine)
	@exec $(PYTHON) -m lab run --port $(PORT) $(if $(filter vm,$(LAB)),--vm)

lab: build $(if $(filter vm,$(LAB)),vm-image) ## The same in the background; writes build/lab.json (url, token, namespaces, addresses)
	@$(PYTHON) -m lab up --port $(PORT) $(if $(filter vm,$(LAB)),--vm)

lab-down: ## Remove the lab, also one that somebody else started
	@$(PYTHON) -m lab down

dev: lab ## A lab, and the web interface with hot reload in front of it on port 5173; Ctrl-C removes both
	@trap 'cd .. && $(PYTHON) -m lab down' EXIT && cd webui && WEIR_URL=http://127.0.0.1:$(PORT) $(NPM) run --silent dev

vm: build vm-image ## Boot the newest image of build/images, or without one the lab on the product's kernel, in a virtual machine (PORT=8080)
	@exec $(PYTHON) -m lab vm --port $(PORT)

deps: $(STAMPS)/debian $(STAMPS)/venv $(STAMPS)/npm ## Install what is missing: Debian packages, build/venv with Node.js, npm packages

.PHONY: build bytecode
build: deps datapath webui bytecode

# Who runs it may not write beside the sources: the API's user, and everybody in the virtual machine.
bytecode: $(STAMPS)/venv
	@$(PYTHON) -m compileall -q api/weir bench lab tests

datapath: $(STAMPS)/debian ## Build the eBPF programs and libweir
	@$(MAKE) -C datapath

rig: $(STAMPS)/debian ## Build the bench's forwarding rig, and the emulator's plugin that counts what a packet touches
	@$(MAKE) -s -C bench/rig

webui: build/webui/index.html ## Build the web interface

lint: deps ## Every check of the sources that runs nothing
	@$(PYTHON) -m tests.run lint

format: deps ## Put Python, C and TypeScript sources into the one format
	@build/venv/bin/ruff format --quiet api lab bench tests && build/venv/bin/ruff check --quiet --fix api lab bench tests
	@find datapath bench -name '*.[ch]' -not -path '*/build/*' | xargs --no-run-if-empty clang-format -i
	@cd webui && $(NPM) run --silent format

test: build ## What a change of code is checked by before it is committed: a quarter of an hour on two processors
	@$(PYTHON) -m tests.run lint unit

bench: build rig vm-image ## Measure every figure of docs/benchmarks.md; names the rows that miss their must
	@$(PYTHON) -m bench

openapi: deps ## Write what is made from the declarations: docs/api/openapi.json, tables of the reference, types of the web interface
	@$(PYTHON) -m weir.http.openapi docs/api/openapi.json
	@$(PYTHON) -m weir.http.reference
	@$(PYTHON) -m weir.http.forms
	@cd webui && $(NPM) run --silent generate

screenshots: build ## Every page, light and dark, wide and narrow, few and many queues, to build/screenshots
	@$(PYTHON) -m lab screenshots --port $(PORT)

kernel: $(STAMPS)/debian $(STAMPS)/kernel ## Build the product kernel from Debian's packaged source (VARIANT=vm, or appliance: an hour)
	@board/kernel/kernel build $(VARIANT)

test-kernel: build vm-image kernel ## Build and check the product kernel: its patches and defaults, and on it long tests of tests/vm and the disk's slots and updates
	@$(PYTHON) -m tests.run kernel

test-newcomer: build $(STAMPS)/newcomer ## `make run` as committed, on bare trees of Debian 12 and 13 below /root, to a sign-in
	@$(PYTHON) -m tests.run newcomer

test-ci: build rig vm-image $(STAMPS)/newcomer ## As CI does: test, routers, traffic, the virtual machine, the browser and test-newcomer, an hour in all
	@$(PYTHON) -m tests.run all newcomer

test-all: build rig vm-image $(STAMPS)/kernel $(STAMPS)/newcomer ## test-ci and test-kernel in one schedule
	@$(PYTHON) -m tests.run all kernel newcomer

image: webui $(STAMPS)/image ## Build the appliance's image (BUILDROOT_DIR= and BR2_DL_DIR= for local copies)
	@board/image/build appliance

image-life: build $(STAMPS)/image ## What build/images has, on emulated machines: setup, update, the way back, resets, console, other disks (PORT=8080, ONLY=steps)
	@$(PYTHON) -m lab.image_life --port $(PORT) $(if $(ONLY),--only $(ONLY))

image-start: build $(STAMPS)/image ## From the kernel's start until build/images can be used, by a clock that counts instructions (PORT=8080)
	@$(PYTHON) -m lab.image_start --port $(PORT)

image-check: $(STAMPS)/venv ## Check the external tree, defconfigs and kernel fragments without a download
	@$(PYTHON) board/image/check.py

lock: $(STAMPS)/venv ## Pin and hash the Python packages again after a change of api/requirements*.in
	@lab/setup/lock.sh

clean: ## Remove everything that was built (the lab first)
	@if [ -x $(PYTHON) ]; then $(PYTHON) -m lab down; fi
	@rm -rf build webui/node_modules && $(MAKE) -C datapath clean

.PHONY: vm-image
vm-image: $(STAMPS)/debian
	@lab/setup/vm.sh

# What a stamp was made from is a file that changes only with it: versions and sums, not times.
.PHONY: FORCE
FORCE:

$(STAMPS)/from/%: FORCE
	@lab/setup/made_from.sh $* $@

$(STAMPS)/debian: $(STAMPS)/from/debian
	@lab/setup/debian.sh
	@touch $@

$(STAMPS)/kernel: $(STAMPS)/debian board/kernel/packages.txt
	@lab/setup/debian.sh board/kernel/packages.txt
	@touch $@

$(STAMPS)/image: $(STAMPS)/debian board/image/packages.txt
	@lab/setup/debian.sh board/image/packages.txt
	@touch $@

$(STAMPS)/newcomer: $(STAMPS)/debian tests/newcomer/packages.txt
	@lab/setup/debian.sh tests/newcomer/packages.txt
	@touch $@

$(STAMPS)/from/venv: $(STAMPS)/debian
$(STAMPS)/venv: $(STAMPS)/from/venv
	@lab/setup/venv.sh
	@touch $@

$(STAMPS)/from/npm: $(STAMPS)/venv
$(STAMPS)/npm: $(STAMPS)/from/npm
	@echo "installing npm packages of webui/package-lock.json"
	@cd webui && $(NPM) ci --no-audit --no-fund --loglevel=error
	@touch $@

build/webui/index.html: $(STAMPS)/npm $(WEBUI_SOURCES)
	@echo "building the web interface"
	@cd webui && $(NPM) run --silent build
	@touch $@
