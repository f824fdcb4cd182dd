# Everything a newcomer needs: `make run` to see it play, `make test` to see it hold.
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory
.PHONY: help run test check browser bench soak chaos clean venv system format

BIN := .venv/bin

help: ## list what can be made
	@echo 'Dustup: make run | make test | ...'
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' Makefile
	@echo 'Settings: PYTHON=python3.12  PYTEST_ARGS="-k duel"  ARGS="..." for run, bench and soak'

run: venv browser ## set up, play a short fight, then serve a table to join
	@$(BIN)/dustup run $(ARGS)

test: venv system browser check ## set up, check, then run every test
	@$(BIN)/python -m pytest -n 2 $(PYTEST_ARGS)

check: venv ## lint, formatting, types and layers
	@echo '==> ruff' && $(BIN)/ruff check --quiet . && $(BIN)/ruff format --quiet --check .
	@echo '==> mypy' && $(BIN)/mypy
	@echo '==> import-linter' && $(BIN)/lint-imports --no-logo

browser: venv ## build the page that the server shows (needs Node.js; without it the server shows a small one)
	@bash clients/browser/build.sh

format: venv ## let ruff sort imports and lay out the code
	@$(BIN)/ruff check --quiet --fix-only . && $(BIN)/ruff format .

bench: venv ## measure speed and size (minutes; nothing is asserted)
	@$(BIN)/python -m tests.bench $(ARGS)

soak: venv ## play for a long time while things break
	@$(BIN)/python -m tests.soak $(ARGS)

chaos: venv ## break servers and Redis under load, and check every promise (ARGS="--minutes 12")
	@$(BIN)/python -m tests.chaos $(ARGS)

clean: ## remove .venv and everything that was generated
	@rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .coverage .coverage.* build dist *.egg-info clients/browser/node_modules clients/browser/build
	@cd server/gateway/app && rm -f index.html app.js style.css .built .lock
	@find . -name __pycache__ -type d -not -path './.git/*' -prune -exec rm -rf {} +

venv:
	@bash .ci/venv

system: venv
	@bash .ci/system
