// Package pgoracle compares Weir's parser with PostgreSQL's own grammar, which pg_query links in.
//
// It is a module of its own, since it needs cgo and a C compiler and nothing of it may get into the
// server. Run it with
//
//	cd test/pgoracle && go test ./... [-statements 100000] [-seed 7]
//
// A statement goes two ways to a PostgreSQL tree: as it is written; and parsed by Weir, deparsed
// from Weir's tree and then parsed by PostgreSQL. Both trees must be equal, positions and the
// spelling of some names aside (see normalise). What PostgreSQL refuses, Weir must refuse at the
// same place.
package pgoracle
