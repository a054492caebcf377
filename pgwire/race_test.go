//go:build race

package pgwire

// poolMisses is how many allocations of a run are due to the race detector, under which a sync.Pool drops some of what it is given.
const poolMisses = 50
