package storage

import (
	"errors"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// roomFS is the file system as Pebble sees it: a write for which there is no room waits until there is.
// Pebble takes a write ahead log or a manifest that it cannot write for the end, and would have to be opened
// again; waiting costs nothing but time. Meanwhile reads go on, and the log refuses new records.
//
// A sync that fails is not tried again: what it should have written may be lost by then.
type roomFS struct {
	vfs.FS
	logger *slog.Logger
	// waiting counts the writes that wait.
	waiting atomic.Int32
	// given is closed when nobody waits any more for those who wait: they stand still for good.
	given  chan struct{}
	giveUp sync.Once
	// stuck is told that somebody does.
	stuck func()
	// wanted is told, if not nil, that a write waits. It must not block: Pebble's locks may be held.
	wanted func()
}

// roomPoll is how often a write is tried again.
const roomPoll = 200 * time.Millisecond

func newRoomFS(fs vfs.FS, logger *slog.Logger) *roomFS {
	return &roomFS{FS: fs, logger: logger, given: make(chan struct{})}
}

func (fs *roomFS) Unwrap() vfs.FS { return fs.FS }

// full tells whether somebody waits for room.
func (fs *roomFS) full() bool { return fs.waiting.Load() > 0 }

// interrupt makes all who wait, and who would have to from now on, stand still for good. An error is not for them: there are places where
// Pebble ends the process then.
func (fs *roomFS) interrupt() { fs.giveUp.Do(func() { close(fs.given) }) }

func noRoom(err error) bool {
	return err != nil && (vfs.IsNoSpaceError(err) || errors.Is(err, syscall.EDQUOT))
}

// try calls f until its error is another one than that of a full disk.
func (fs *roomFS) try(name string, f func() error) error {
	err := f()
	if !noRoom(err) {
		return err
	}
	if fs.waiting.Add(1) == 1 {
		fs.logger.Error("storage: the disk is full, writing waits for room", "event", "disk_full", "file", name, "error", err)
	}
	if fs.wanted != nil {
		fs.wanted()
	}
	defer func() {
		if fs.waiting.Add(-1) == 0 {
			fs.logger.Info("storage: writing goes on", "event", "disk_has_room", "file", name, "error", err)
		}
	}()
	timer := time.NewTimer(roomPoll)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
			timer.Reset(roomPoll)
		case <-fs.given:
			fs.stuck()
			select {}
		}
		if err = f(); !noRoom(err) {
			return err
		}
	}
}

func (fs *roomFS) file(name string, open func() (vfs.File, error)) (vfs.File, error) {
	var f vfs.File
	err := fs.try(name, func() (err error) {
		f, err = open()
		return err
	})
	if err != nil {
		return nil, err
	}
	return &roomFile{File: f, fs: fs, name: name}, nil
}

func (fs *roomFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return fs.file(name, func() (vfs.File, error) { return fs.FS.Create(name, c) })
}

func (fs *roomFS) OpenReadWrite(name string, c vfs.DiskWriteCategory, opts ...vfs.OpenOption) (vfs.File, error) {
	return fs.file(name, func() (vfs.File, error) { return fs.FS.OpenReadWrite(name, c, opts...) })
}

func (fs *roomFS) ReuseForWrite(from, to string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return fs.file(to, func() (vfs.File, error) { return fs.FS.ReuseForWrite(from, to, c) })
}

func (fs *roomFS) Link(from, to string) error {
	return fs.try(to, func() error { return fs.FS.Link(from, to) })
}

func (fs *roomFS) Rename(from, to string) error {
	return fs.try(to, func() error { return fs.FS.Rename(from, to) })
}

func (fs *roomFS) MkdirAll(dir string, perm os.FileMode) error {
	return fs.try(dir, func() error { return fs.FS.MkdirAll(dir, perm) })
}

// roomFile is a file whose writes wait for room.
type roomFile struct {
	vfs.File
	fs   *roomFS
	name string
}

// Write goes on where a write that was cut short has ended.
func (f *roomFile) Write(p []byte) (n int, err error) {
	err = f.fs.try(f.name, func() error {
		m, err := f.File.Write(p[n:])
		n += m
		return err
	})
	return n, err
}

func (f *roomFile) WriteAt(p []byte, off int64) (n int, err error) {
	err = f.fs.try(f.name, func() error {
		m, err := f.File.WriteAt(p[n:], off+int64(n))
		n += m
		return err
	})
	return n, err
}
