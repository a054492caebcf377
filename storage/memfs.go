package storage

import "github.com/cockroachdb/pebble/v2/vfs"

// MemFS gives a new, empty file system in memory for Config.FS, for tests of what is built on storage. A
// store that is closed and opened again on it finds what it wrote.
func MemFS() vfs.FS { return vfs.NewMem() }

// FS is what Config.FS takes, and DiskUsage what its GetDiskUsage gives, for tests that put their own file
// system in front of one.
type (
	FS        = vfs.FS
	DiskUsage = vfs.DiskUsage
)
