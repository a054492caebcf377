# Weir. `make` alone lists the targets.
.DEFAULT_GOAL := help
GO ?= go
BIN := bin/weir
# TiDB's parser brings a failpoint package whose init reads these.
unexport GO_FAILPOINTS GO_FAILPOINTS_HTTP

.PHONY: help run build test lint race staticcheck fmt fuzz bench soak soak-sim soak-kill soak-panics soak-random test-pg clients oracle proto clean

help: ## list the targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sort | awk -F ':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

run: build ## build and start the server (data in ./weir-data, psql -h localhost -p 9347)
	./$(BIN) serve

build: ## build bin/weir
	$(GO) build -trimpath -o $(BIN) ./cmd/weir

test: ## run all tests
	$(GO) test -timeout 15m ./...

test-pg: ## compare with a PostgreSQL 15 that the test starts (PGBIN says where its programs are)
	$(GO) test ./test/pg -run TestPostgres -postgres -count=1
	$(GO) test ./test/pg -run TestFiles -count=1

lint: ## formatting, go vet and the project's own rules (tidy_test.go)
	@out=$$(gofmt -l $$(git ls-files '*.go')); if [ -n "$$out" ]; then echo "gofmt needed:"; echo "$$out"; exit 1; fi
	$(GO) vet ./...
	$(GO) test .

race: ## the race detector, where goroutines meet (needs a C compiler)
	$(GO) test -race -short -timeout 15m ./checkpoint/... ./exec/flow/... ./storage ./pgwire/... ./server/...

staticcheck: ## more about the code (its version is in tools.mod)
	$(GO) tool -modfile=tools.mod staticcheck ./...

fmt: ## format the code
	gofmt -w $$(git ls-files '*.go')

fuzz: ## run every fuzz target for FUZZTIME (30s) each
	@for pkg in $$($(GO) list ./...); do \
	  for f in $$($(GO) test -list '^Fuzz' $$pkg | grep '^Fuzz'); do \
	    echo "== $$pkg $$f"; $(GO) test -run '^$$' -fuzz "^$$f$$" -fuzztime $${FUZZTIME:-30s} $$pkg || exit 1; \
	  done; \
	done

bench: build ## the short form of all benchmarks, with ratios
	./$(BIN) bench nexmark --events $${EVENTS:-2000000} --by-hand --parallelism 1
	./$(BIN) bench latency
	./$(BIN) bench updates --changes 200
	./$(BIN) bench checkpoint --together --events 1000000 --duration 1s
	./$(BIN) bench restart --size 200MB --kills 1
	./$(BIN) bench postgres --rounds 1 --slice 2s

# One line for each kind, so that the first that fails is seen at once; docs/testing.md says how long each takes.
SOAK := WEIR_SOAK=1 $(GO) test -count=1 -timeout 6h -v

soak: soak-sim soak-kill soak-panics soak-random ## long tests: simulation, kill -9, panics, random graphs and queries

soak-sim: ## 100,000 seeds of the simulated protocol
	$(SOAK) -run 'TestSimulation|TestSoakSimulation|TestPlanted' ./checkpoint/sim

soak-kill: ## kill -9 of a loaded server, 500 times; its sinks; its disk damaged
	$(SOAK) ./test/crash

soak-panics: ## ten minutes of panics in operators; coordinators killed under load
	$(SOAK) -run 'TestRandomPanics|TestRandomCoordinatorDeaths' ./test/sim ./exec/flow

soak-random: ## 20,000 random views, TPC-H and Nexmark under changes; the other random and crash tests
	$(SOAK) -run 'Crash|Soak|Random|TPCH|Nexmark|RecursiveViewsEqual' -skip 'TestRandomPanics|TestRandomCoordinatorDeaths' $$($(GO) list ./... | grep -vE '/(checkpoint/sim|test/crash)$$')

clients: ## run drivers, ORMs and tools against Weir (installs them: apt, npm, Go; Debian 12)
	./test/clients/programs/run.sh $(CLIENTS)

oracle: ## compare the SQL parser with PostgreSQL's own (needs cgo; a long first build)
	cd test/pgoracle && $(GO) test ./...

proto: ## generate Go from the .proto files (needs protoc)
	GOBIN=$(CURDIR)/bin $(GO) install google.golang.org/protobuf/cmd/protoc-gen-go
	PATH="$(CURDIR)/bin:$$PATH" protoc --go_out=. --go_opt=paths=source_relative checkpoint/checkpointpb/checkpoint.proto

clean: ## remove what was built
	rm -rf bin
