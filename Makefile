# make app: set up on the first call, and start the dashboard.
# make test: set up on the first call, and run every check.
# make quick: the formatter, the linter, the types, and the tests that need neither a browser nor the built-in model.
# make screenshots: take pictures of the real app: those in docs/, and others in build/screenshots/.
# make showcase: measure anew, on this machine, what comes with clsviz, and draw what pages show until they are drawn.
# make space DIR=...: write the tree of a Hugging Face Space, ready to push.
# make docs: docs/api.md out of the docstrings, and docs/notebook.ipynb run anew.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet

.PHONY: app test quick docs screenshots showcase space clean

app: $(VENV)/app-ready
	$(BIN)/streamlit run app.py

# What Python and pytest compile is kept: dozens of processes load the same files. The types are checked meanwhile.
test: export PYTHONDONTWRITEBYTECODE =
test: $(VENV)/test-ready
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports
	$(BIN)/mypy & types=$$!; $(BIN)/pytest; tests=$$?; wait $$types && exit $$tests

quick: export PYTHONDONTWRITEBYTECODE =
quick: $(VENV)/test-ready
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports
	$(BIN)/mypy & types=$$!; $(BIN)/pytest -m 'not slow and not hub and not screenshots'; tests=$$?; wait $$types && exit $$tests

docs: $(VENV)/test-ready
	$(BIN)/python -m docs.build

screenshots: $(VENV)/test-ready
	$(BIN)/pytest tests/browser -m screenshots -n 0

showcase: $(VENV)/test-ready
	$(BIN)/python -m clsviz.analysis.showcase
	$(BIN)/python -m docs.first_pictures

space:
	$(PYTHON) deploy/space.py "$(DIR)"

clean:
	rm -rf $(VENV)

$(VENV)/app-ready: requirements.txt
	@echo "Setting up $(VENV): this takes a few minutes, once."
	$(PYTHON) -c 'import sys; sys.exit("clsviz needs Python 3.11 or newer" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	$(PIP) -r requirements.txt
	@touch $@

$(VENV)/test-ready: $(VENV)/app-ready requirements-test.txt requirements-benchmarks.txt requirements-s3.txt tests/install_browser.sh
	$(PIP) -r requirements-test.txt
	sh tests/install_browser.sh $(BIN)/playwright
	@touch $@
