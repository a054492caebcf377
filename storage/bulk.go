package storage

import (
	"errors"
	"unsafe"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// bulkFile collects what is written to a file that is complete in one go, and writes a megabyte at a time.
//
// Written in blocks of 16 KiB, and nudged to the disk after each megabyte, a byte costs a nanosecond in the kernel, as much as all the rest
// that a checkpoint does with it; in large pieces it costs a third. What nobody will read soon does not go through the kernel's cache
// at all, which is a tenth. That needs memory at page boundaries and whole pages; the last, partial one goes through the cache.
type bulkFile struct {
	file vfs.File
	buf  []byte
	// direct says that the file is written past the cache.
	direct bool
}

const (
	bulkBytes = 1 << 20
	bulkAlign = 4 << 10
)

// newBulkBuffer makes the memory of a bulkFile, for one file after the other.
func newBulkBuffer() []byte {
	b := make([]byte, bulkBytes+bulkAlign)
	off := 0
	if r := int(uintptr(unsafe.Pointer(unsafe.SliceData(b))) % bulkAlign); r != 0 {
		off = bulkAlign - r
	}
	return b[off : off : off+bulkBytes]
}

// newBulkFile writes to f, with memory of newBulkBuffer. uncached says that what is written will not be read soon.
func newBulkFile(f vfs.File, buf []byte, uncached bool) *bulkFile {
	return &bulkFile{file: f, buf: buf[:0], direct: uncached && setDirect(f, true)}
}

// Write is part of Pebble's Writable.
func (w *bulkFile) Write(p []byte) error {
	for len(p) > 0 {
		n := min(len(p), cap(w.buf)-len(w.buf))
		w.buf = append(w.buf, p[:n]...)
		p = p[n:]
		if len(w.buf) == cap(w.buf) {
			if err := w.put(w.buf); err != nil {
				return err
			}
			w.buf = w.buf[:0]
		}
	}
	return nil
}

// put writes b, as much of it as there are whole pages past the cache if that is wanted and possible.
func (w *bulkFile) put(b []byte) error {
	if w.direct {
		n, err := w.file.Write(b[:len(b)/bulkAlign*bulkAlign])
		b = b[n:]
		if err != nil && !directRefused(err) {
			return err
		}
		if err == nil && len(b) == 0 {
			return nil
		}
		w.direct = false
		if !setDirect(w.file, false) {
			return errors.Join(err, errors.New("a file cannot be written through the cache again"))
		}
	}
	if len(b) == 0 {
		return nil
	}
	_, err := w.file.Write(b)
	return err
}

// Finish is part of Pebble's Writable: the file is durable, and closed.
func (w *bulkFile) Finish() error {
	err := w.put(w.buf)
	if err == nil {
		err = w.file.Sync()
	}
	if cerr := w.file.Close(); err == nil {
		err = cerr
	}
	return err
}

// Abort is part of Pebble's Writable.
func (w *bulkFile) Abort() { _ = w.file.Close() }

// tableFile is a file of Pebble's own, with the content of a memtable or of a compaction, which is written in large pieces too. It is not
// nudged to the disk, but synced when it is complete. What a compaction writes has been read, so it goes through the cache.
type tableFile struct {
	vfs.File
	buf []byte
}

// Write is done when the buffer is full, or the file is synced or closed.
func (f *tableFile) Write(p []byte) (int, error) {
	if len(f.buf)+len(p) > bulkBytes {
		if err := f.flush(); err != nil {
			return 0, err
		}
		if len(p) >= bulkBytes {
			return f.File.Write(p)
		}
	}
	f.buf = append(f.buf, p...)
	return len(p), nil
}

func (f *tableFile) flush() error {
	if len(f.buf) == 0 {
		return nil
	}
	_, err := f.File.Write(f.buf)
	f.buf = f.buf[:0]
	return err
}

func (f *tableFile) WriteAt(p []byte, off int64) (int, error) {
	if err := f.flush(); err != nil {
		return 0, err
	}
	return f.File.WriteAt(p, off)
}

func (f *tableFile) Stat() (vfs.FileInfo, error) {
	if err := f.flush(); err != nil {
		return nil, err
	}
	return f.File.Stat()
}

func (f *tableFile) Sync() error {
	if err := f.flush(); err != nil {
		return err
	}
	return f.File.Sync()
}

func (f *tableFile) SyncData() error {
	if err := f.flush(); err != nil {
		return err
	}
	return f.File.SyncData()
}

// SyncTo promises nothing, and does nothing.
func (f *tableFile) SyncTo(int64) (bool, error) { return false, nil }

func (f *tableFile) Close() error {
	err := f.flush()
	f.buf = nil
	if cerr := f.File.Close(); err == nil {
		err = cerr
	}
	return err
}
