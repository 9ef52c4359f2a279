# make app: set up on the first call, with the command clsviz, and start the dashboard. TORCH_INDEX=ADDRESS takes torch from
#   another index, such as PyTorch's own of builds for the CPU: without CUDA's packages 6.4 GB become 2.4.
# make test: set up on the first call, and run every check.
# make dist: build a release, install it in an environment of its own, and run its main command.
# make space DIR=FOLDER: write the tree of a Hugging Face Space.
# make quick: the formatter, the linter, the types, and the tests that need neither a browser nor the built-in model.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip --disable-pip-version-check install --quiet $(if $(TORCH_INDEX),--extra-index-url $(TORCH_INDEX))

.PHONY: app test quick check shipped dist space clean

app: $(VENV)/app-ready
	$(BIN)/streamlit run app.py

test: $(VENV)/test-ready check
	$(BIN)/mypy & types=$$!; $(BIN)/pytest; tests=$$?; wait $$types && exit $$tests

quick: $(VENV)/test-ready check
	$(BIN)/mypy & types=$$!; $(BIN)/pytest -m 'not slow'; tests=$$?; wait $$types && exit $$tests

check: $(VENV)/test-ready
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports

# Measures anew, on this machine, what comes with clsviz, and draws the pictures of links.
shipped: $(VENV)/app-ready
	$(BIN)/python -m benchmarks.shipped
	$(BIN)/python -m benchmarks.cards

# From outside the checkout, so that nothing is imported from it.
dist: $(VENV)/app-ready
	$(INSTALL) build twine
	rm -rf dist
	$(BIN)/python -m build --quiet
	$(BIN)/twine check --strict dist/*
	$(PYTHON) -m venv dist/venv
	dist/venv/bin/python -m pip install --quiet $(if $(TORCH_INDEX),--extra-index-url $(TORCH_INDEX)) dist/*.whl
	cd dist && venv/bin/clsviz measure --store store --length-cutoff 60
	rm -rf dist/venv dist/store

space:
	@deploy/space.sh "$(abspath $(DIR))"

clean:
	rm -rf $(VENV)

$(VENV)/app-ready: requirements.txt
	@echo "Setting up $(VENV): this takes a few minutes, once."
	$(PYTHON) -c 'import sys; sys.exit("clsviz needs Python 3.11 or newer" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) -r requirements.txt
	$(INSTALL) --no-deps --editable .
	@touch $@

$(VENV)/test-ready: $(VENV)/app-ready requirements-test.txt tests/install_browser.sh
	$(INSTALL) -r requirements-test.txt
	sh tests/install_browser.sh $(BIN)/playwright
	@touch $@
