//go:build !linux

package storage

import "github.com/cockroachdb/pebble/v2/vfs"

// setDirect is only for systems that have it.
func setDirect(vfs.File, bool) bool { return false }

func directRefused(error) bool { return false }
