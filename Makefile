# make app: set up on the first call, and start the dashboard. TORCH_INDEX=ADDRESS takes torch from another index, such as
#   PyTorch's own of builds for the CPU: without CUDA's packages 6.4 GB become 2.4.
# make test: set up on the first call, and run every check.
# make test-newest, make test-lowest: the same but for the browser, with the newest or the lowest versions that the ranges of
#   pyproject.toml allow, in an environment of its own. torch is the newest of TORCH_INDEX, or else the pinned one.
# make quick: the formatter, the linter, the types, and the tests that need neither a browser nor the built-in model.
# make screenshots: take pictures of the real app: those in docs/, and others in build/screenshots/.
# make showcase: measure anew, on this machine, what comes with clsviz, and draw what pages show until they are drawn.
# make space DIR=...: write the tree of a Hugging Face Space, ready to push.
# make docs: docs/api.md out of the docstrings, and docs/notebook.ipynb run anew.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet $(if $(TORCH_INDEX),--extra-index-url $(TORCH_INDEX))
UV := uv==0.13.9

.PHONY: app test test-newest test-lowest quick docs screenshots showcase space clean

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

test-newest: RESOLUTION := highest
test-lowest: RESOLUTION := lowest-direct
test-newest test-lowest:
	$(PYTHON) -m venv build/$@
	build/$@/bin/python -m pip --disable-pip-version-check install --quiet $(UV)
	$(if $(TORCH_INDEX),:,grep "^torch==") requirements.txt > build/$@/torch.txt
	build/$@/bin/uv pip install --python build/$@ --resolution $(RESOLUTION) --only-binary :all: \
	  $(if $(TORCH_INDEX),--extra-index-url $(TORCH_INDEX)) --constraint build/$@/torch.txt \
	  -r pyproject.toml -r requirements-test.txt
	build/$@/bin/pytest --ignore tests/browser

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

$(VENV)/test-ready: $(VENV)/app-ready requirements-test.txt benchmarks/requirements.txt deploy/requirements-s3.txt tests/install_browser.sh
	$(PIP) -r requirements-test.txt
	sh tests/install_browser.sh $(BIN)/playwright
	@touch $@
