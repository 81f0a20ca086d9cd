# Every target is a line or two that a person could type. Set-up happens once, in .venv.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
# Threads that wait sleep: on busy cores, spinning ones cost ten times the work.
export OMP_WAIT_POLICY ?= PASSIVE

.PHONY: run test tables chaos fuzz lint lab app book bench setup sbom clean

run: $(READY)          ## align English and French, print the table
	@$(BIN)/demalib fetch en fr
	@$(BIN)/demalib run notebooks/02_train.ipynb -p pair en-fr -p max_vocab 0

test: lint             ## everything: lint, unit tests, examples in docstrings, notebooks
	$(BIN)/python -m pytest tests
	$(BIN)/python -m pytest --doctest-modules demalib
	$(BIN)/python -m pytest --nbval-lax --nbval-current-env --nbval-cell-timeout 600 --nbval-kernel-startup-timeout 600 \
	  --nbval-sanitize-with tests/nbval_sanitize.cfg notebooks

tables: $(READY)       ## every committed table anew, hours; goes on where it stopped; set DEMALIB_MUSE for MUSE's words
	$(BIN)/demalib reproduce --scheduler local --workers 2

lint: $(READY)         ## ruff, formatting included; types; known holes in the pinned versions
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	@.ci/audit $(BIN)

chaos: $(READY)        ## damaged files, kills, power cuts, faults; SEED=1 repeats, PARTS="kills fuzz" runs two
	cd tests && OMP_NUM_THREADS=1 ../$(BIN)/python -m chaos $(PARTS) $(if $(SEED),--seed $(SEED))

fuzz: $(READY)         ## a million inputs or an hour, guided by coverage: pip install -e ".[fuzz]" first
	cd tests && OMP_NUM_THREADS=1 ../$(BIN)/python -W ignore -m chaos.guided

bench: $(READY)        ## ratios of time and memory, measured in one run; PARTS="em csls" runs two
	cd tests && ../$(BIN)/python -m bench $(PARTS)
	$(BIN)/python -m pytest -m long tests

lab: $(READY)          ## open the notebooks
	$(BIN)/jupyter lab notebooks

app: $(READY)          ## the explorer as a page of its own, for this machine only
	$(BIN)/voila notebooks/06_explorer.ipynb --Voila.ip=127.0.0.1

book: $(READY)         ## the notebooks as a site, without a network; open build/book/index.html
	$(BIN)/sphinx-build -W --keep-going -q -d build/doctrees -c notebooks/book notebooks build/book
	@echo "the book is in build/book/index.html"

setup: $(READY)        ## only set up; LOCKED=1 checks what is installed against hashes.txt

sbom: $(READY)         ## what is installed, with licences, as a CycloneDX bill of materials
	@$(BIN)/python .ci/sbom

$(READY): pyproject.toml constraints.txt
	@echo "setting up .venv, once (a few minutes) ..."
	@$(PYTHON) -m venv .venv
ifdef LOCKED
	@.ci/locked $(BIN)
else
	@cpu="$$($(PYTHON) .ci/torch_index.py)"; test -z "$$cpu" || { echo "no GPU: torch for CPUs"; \
	  $(BIN)/python -m pip install -qq --disable-pip-version-check -c constraints.txt $$cpu torch; }
	@$(BIN)/python -m pip install -qq --disable-pip-version-check -c constraints.txt -e ".[dev]"
endif
	@touch $@

clean:                 ## forget the set-up and all runs; the cache of vectors stays
	rm -rf .venv results/runs build
