# Everything a person does with this repository, one word each; `make` alone lists them.
# What a step does is in scripts/, so that it can be run, read and checked on its own.

.DEFAULT_GOAL := help
.PHONY: help run sink stop-sink cluster stop-cluster test test-quick test-postgres test-asan test-tsan fuzz fuzz-quick simulate power-cuts disk-errors damage check format reference bench bench-quick openapi page metrics mutants deploy package package-test snippets dependency cluster-test backlog overload networks soak cluster-oracle dockerfile clean

# Where the relay listens and keeps its store, and where it forwards to (see `make run`).
export LISTEN ?= 127.0.0.1:8080
export SINK_LISTEN ?= 127.0.0.1:9090
export DATA ?= ./data
export UPSTREAM ?=
# The balancer's port, which the others follow, and the folder of all files (see `make cluster`).
export CLUSTER_PORT ?= 8100
export CLUSTER_FOLDER ?= /tmp/waystation-cluster

# A test that expects a trap would otherwise wait for the backtracer of the process it traps.
test test-quick test-postgres simulate power-cuts disk-errors damage cluster-oracle: export SWIFT_BACKTRACE = enable=no

help: ## List what there is to make
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile

run: ## Build and start the relay on $LISTEN; forwards to $UPSTREAM, or to a sink started beside it
	@scripts/run

sink: ## Start a sink on $SINK_LISTEN: an upstream that prints what reaches it
	@scripts/sink start

stop-sink: ## Stop the sink that `make run` or `make sink` started, as an outage would
	@scripts/sink stop

cluster: ## Start three relays on a database with a standby, behind a balancer, and say what to try
	@scripts/cluster start

stop-cluster: ## Stop what `make cluster` started, and remove all of it
	@scripts/cluster stop

test: ## Build, and run every test
	@scripts/test

test-quick: ## Build, and run the tests of the pure parts alone, within a minute
	@scripts/test --quick

test-postgres: ## The tests of the real binary once more, with stores in PostgreSQL
	@scripts/test --postgres

test-asan: ## The same tests under the address sanitizer
	@scripts/test-sanitized address

test-tsan: ## The same tests under the thread sanitizer
	@scripts/test-sanitized thread

fuzz-quick: ## The fuzzers for 20 seconds in all, to see that they run and find nothing at once
	@scripts/fuzz --quick

fuzz: ## Fuzz what reads strangers' bytes, for FUZZ_SECONDS (600) in all
	@scripts/fuzz

power-cuts: ## Cut the power under RUNS (10) workloads, DISKS (300) times each; count what is lost
	@scripts/setup build
	swift build --build-tests
	@scripts/power-cuts

disk-errors: export WAYSTATION_DISK_ERRORS = all
disk-errors: ## Let every system call of a short workload fail in turn; count what is lost
	@scripts/setup build
	swift build --build-tests
	swift test --skip-build --filter 'EndToEnd.(LongDiskErrors|EndToEnd/FullDisk)'

simulate: ## Run the simulation alone; SEED=n replays the run of that seed, SEEDS=n makes n new ones
	@scripts/simulate

simulate-devices: ## The same of devices, their relay and their upstream, with $SEEDS seeds (10000) from $SEED (1) on
	@scripts/simulate --devices

check: ## Format, lint and tidy: everything that is checked without building
	@scripts/check

format: ## Put every Swift file into the one format
	@scripts/format --write

reference: export WAYSTATION_WRITE_REFERENCE = 1
reference: ## Write the tables of docs/configuration.md from the keys' records
	swift test --filter ConfigurationDocumentTests

bench: ## Measure the relay beside its ceilings in one run; RESULTS=1 keeps it, ONLY=part, BACKLOG=n
	@scripts/bench

bench-quick: ## The same in two minutes, to see that it works rather than how fast it is
	@scripts/bench --quick

openapi: ## Try the running relay against openapi.yaml
	@scripts/check-openapi

metrics: ## Hold /metrics, the alert rules and the dashboard to what reads them
	@scripts/check-metrics

mutants: ## Put single mistakes into a copy, one at a time, and see which tests notice; ARGS="--sample 9"
	@scripts/setup check
	@scripts/mutants $(ARGS)

deploy: ## Hold the units for systemd and the objects for Kubernetes to what reads them
	@scripts/check-deploy

package: ## Make the Debian package, the tarball, the list of what is in them and SHA256SUMS in .build/package
	@scripts/package

package-test: ## Install, upgrade, remove and purge the package in a fresh Debian
	@scripts/check-package

snippets: ## Type-check the blocks of Swift in the documents, and what only Apple's systems compile
	@scripts/check-snippets

dependency: ## Build a package that depends on a tagged version of this one, and run its program
	@scripts/check-dependency

cluster-test: ## Start the cluster, kill relays and the primary, promote the standby, and count what arrives
	@scripts/check-cluster

networks: ## Try the relay over satellite, 3G and broken links, in network namespaces
	@scripts/networks

soak: ## Run the relay among random kills and faults for $SOAK_SECONDS (600), and count what it owes
	@scripts/soak

cluster-oracle: export WAYSTATION_CLUSTER_SECONDS = $(or $(CLUSTER_SECONDS),600)
cluster-oracle: export WAYSTATION_TEST_SEED = $(SEED)
cluster-oracle: ## Three relays on two database servers lose processes for CLUSTER_SECONDS (600), then with Patroni; SEED=n repeats a run
	@scripts/setup build test patroni
	swift build --build-tests
	swift test --skip-build --filter 'EndToEnd.LongClusterOracle'

damage: export DAMAGE_CASES = $(or $(CASES),100)
damage: ## Damage a store in many ways ($CASES of each, 100), and check and salvage it each time
	swift test --filter DamageTests

page: ## Try the operators' page in a headless Chromium
	@scripts/check-page

backlog: ## Hold a relay with a million envelopes, and what operators ask of it, to its limits
	@scripts/check-backlog

overload: ## Send a relay twice what it can take, hold 10,000 connections, end an outage
	@scripts/check-overload

dockerfile: ## Build the Dockerfile and run its image, as far as that goes without a Docker engine
	@scripts/check-dockerfile

clean: ## Remove what was built; ./data, the relay's store, stays
	rm -rf .build .venv Benchmarks/.build
