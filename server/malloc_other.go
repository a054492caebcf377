//go:build !cgo || !linux

package server

// fewArenas and trimC are about the C library's allocator: without cgo everything is in Go's heap.
func fewArenas() {}

func trimC() {}
