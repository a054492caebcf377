// Package planner turns syntax trees into plans.
//
//	p := planner.New(planner.Config{Catalog: c, SearchPath: path, Registry: fn.Default(), ...})
//	b, err := p.Bind(stmt, paramTypes)       // names and types: ast -> *Bound
//	batch, err := p.Batch(b)                 // a query, run once: *plan.Batch
//	dml, err := p.DML(b)                     // INSERT, UPDATE, DELETE: *plan.DML
//	stream, err := p.Stream(b, StreamOptions{Parallelism: n, Sink: false}) // a view or sink: *plan.Stream
//	text := batch.Explain(); stream.Explain(); dml.Explain()
//
// A Bound and what is planned from it are immutable and may be kept and run any number of times, as
// long as the catalog stays the same: parameters stay scalar.Param in the plan, and
// batch.WithParams(values) gives a cheap copy with constants in their places.
//
// Stand-alone expressions (DEFAULT, CHECK, generated columns, EXECUTE arguments) go through
// p.Expr(e, rel, type, what), the target of COPY FROM through p.Copy.
//
// The way of a query: package bind resolves it to package logical's algebra, package unnest removes
// subqueries and correlation, package rule rewrites, package prop derives keys and append-only, and
// package physical chooses operators and cuts fragments. plan has the result.
package planner
