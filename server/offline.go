package server

import (
	"github.com/weirdb/weir/server/engine"
	"github.com/weirdb/weir/storage"
)

// Restore makes the data directory dir, which must not exist or be empty, from the backup in from.
func Restore(from, dir string) (storage.BackupInfo, error) {
	return storage.Restore(storage.Config{Dir: dir}, from)
}

// Check verifies a data directory that no server has open.
func Check(dir string) (*storage.CheckReport, error) {
	return engine.Check(storage.Config{Dir: dir})
}
