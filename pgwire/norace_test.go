//go:build !race

package pgwire

const poolMisses = 0
