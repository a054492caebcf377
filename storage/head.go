package storage

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/errors/oserror"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// The head file says what the directory of Pebble's files must at least hold. Pebble takes a write
// ahead log or a manifest that ends early, or is not there, for one that was not written further:
// that is right after a crash, and silently wrong after damage. So whoever opens the directory
// compares it with the head file:
//
//   - the newest checkpoint is not older than the head's;
//   - each write ahead log of the head that is still needed is there, and at least as long as what was
//     known to be synced;
//   - the manifest is the head's or a newer one, and valid at least as far as it was synced.
//
// Everything in the head was durable before the head was written. The head itself is not synced: it
// costs one write into the page cache for each checkpoint, and after a power failure it may be an
// older one, which asks for less. It has two slots that are written in turn, so that one of them is
// always whole.
const (
	headFile     = "WEIR_HEAD"
	headSlot     = 4096
	headSlots    = 2
	manifestName = "MANIFEST-"
	markerName   = "marker.manifest."
)

// head is the content of the head file.
type head struct {
	// Seq grows with each write.
	Seq uint64
	// Epoch and LogPos are the newest committed checkpoint.
	Epoch  Epoch
	LogPos LogPos
	// Manifest is the name of Pebble's present manifest, ManifestBytes how much of it is synced.
	Manifest      string
	ManifestBytes int64
	// Logs are the write ahead logs that exist, with the bytes of each that are synced.
	Logs map[string]int64
}

// encode gives a slot; false if the head is too large for one, which it never is.
func (h *head) encode() ([]byte, bool) {
	body, err := json.Marshal(h)
	if err != nil || len(body)+8 > headSlot {
		return nil, false
	}
	b := make([]byte, headSlot)
	binary.LittleEndian.PutUint32(b, uint32(len(body)))
	binary.LittleEndian.PutUint32(b[4:], crc32.Checksum(body, crcTable))
	copy(b[8:], body)
	return b, true
}

// decodeHead gives the newest whole slot, nil if there is none.
func decodeHead(b []byte) *head {
	var newest *head
	for len(b) >= 8 {
		slot := b[:min(len(b), headSlot)]
		b = b[len(slot):]
		n := binary.LittleEndian.Uint32(slot)
		if n == 0 || int64(n) > int64(len(slot)-8) || crc32.Checksum(slot[8:8+n], crcTable) != binary.LittleEndian.Uint32(slot[4:]) {
			continue
		}
		h := new(head)
		if json.Unmarshal(slot[8:8+n], h) == nil && (newest == nil || h.Seq > newest.Seq) {
			newest = h
		}
	}
	return newest
}

// readHead gives the head of a directory, nil if it has none that can be read: then less is known.
func readHead(fs vfs.FS, dir string) *head {
	b, err := readFile(fs, fs.PathJoin(dir, headFile))
	if err != nil {
		return nil
	}
	return decodeHead(b)
}

// writeHead makes the head file of a directory, durably.
func writeHead(fs vfs.FS, dir string, h *head) error {
	b, ok := h.encode()
	if !ok {
		return fmt.Errorf("%s has no room for %d files", headFile, len(h.Logs))
	}
	return writeFileAtomic(fs, dir, headFile, append(b, make([]byte, headSlot*(headSlots-1))...))
}

// headWriter keeps the head file of an open store.
type headWriter struct {
	inv *inventory
	// failed gets the first error of a write; later ones are not told.
	failed func(error)

	mu   sync.Mutex
	file vfs.File
	last head
	told bool
}

// openHead opens the head file of dir, or makes it.
func openHead(fs vfs.FS, dir string, inv *inventory, failed func(error)) (*headWriter, error) {
	w := &headWriter{inv: inv, failed: failed}
	path := fs.PathJoin(dir, headFile)
	if h := readHead(fs, dir); h != nil {
		w.last = *h
	} else if err := writeFileAtomic(fs, dir, headFile, make([]byte, headSlot*headSlots)); err != nil {
		return nil, err
	}
	f, err := fs.OpenReadWrite(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return nil, err
	}
	w.file = f
	return w, nil
}

// checkpoint says that a checkpoint is durable.
func (w *headWriter) checkpoint(info CheckpointInfo) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last.Epoch, w.last.LogPos = info.Epoch, info.LogPos
	w.write()
}

// files says that the set of files has changed.
func (w *headWriter) files() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.write()
}

func (w *headWriter) write() {
	if w.file == nil {
		return
	}
	w.last.Seq++
	w.inv.fill(&w.last)
	b, ok := w.last.encode()
	if !ok {
		return // an older head asks for less
	}
	if _, err := w.file.WriteAt(b, int64(w.last.Seq%headSlots)*headSlot); err != nil && !w.told {
		w.told = true
		w.failed(err)
	}
}

func (w *headWriter) close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.file == nil {
		return nil
	}
	err := w.file.Close()
	w.file = nil
	return err
}

// inventory knows what Pebble has synced of its manifest and its write ahead logs.
type inventory struct {
	mu       sync.Mutex
	manifest string
	files    map[string]*trackedLength
	// changed, if not nil, is called after a file was added.
	changed func()
}

type trackedLength struct{ written, synced atomic.Int64 }

// newInventory begins with what a head says, which may be nil.
func newInventory(h *head) *inventory {
	v := &inventory{files: map[string]*trackedLength{}}
	if h == nil {
		return v
	}
	v.manifest = h.Manifest
	for name, n := range h.Logs {
		v.add(name, n)
	}
	v.add(h.Manifest, h.ManifestBytes)
	return v
}

func (v *inventory) add(name string, n int64) *trackedLength {
	v.mu.Lock()
	defer v.mu.Unlock()
	t := &trackedLength{}
	t.written.Store(n)
	t.synced.Store(n)
	v.files[name] = t
	return t
}

func (v *inventory) remove(name string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.files, name)
}

func (v *inventory) setManifest(name string) {
	v.mu.Lock()
	v.manifest = name
	v.mu.Unlock()
	v.notify()
}

func (v *inventory) setChanged(fn func()) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.changed = fn
}

func (v *inventory) notify() {
	v.mu.Lock()
	fn := v.changed
	v.mu.Unlock()
	if fn != nil {
		fn()
	}
}

// keep forgets the files that do not exist.
func (v *inventory) keep(exists func(name string) bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	maps.DeleteFunc(v.files, func(name string, _ *trackedLength) bool { return !exists(name) })
}

// fill puts the files into a head.
func (v *inventory) fill(h *head) {
	v.mu.Lock()
	defer v.mu.Unlock()
	h.Manifest, h.ManifestBytes = v.manifest, 0
	h.Logs = make(map[string]int64, len(v.files))
	for name, t := range v.files {
		switch {
		case name == v.manifest:
			h.ManifestBytes = t.synced.Load()
		case isWAL(name):
			// Once something in it was synced, its directory was too.
			if n := t.synced.Load(); n > 0 {
				h.Logs[name] = n
			}
		}
	}
}

func isWAL(name string) bool { return strings.HasSuffix(name, ".log") }

// stateFS is the file system that Pebble gets. It keeps the inventory, and it makes the order of
// Pebble's directory changes durable where it matters: Pebble switches to a new manifest by creating a
// file, creating a marker that names it, removing the old marker and then syncing the directory,
// once. A file system that keeps any subset of unsynced directory changes may lose the manifest or
// both markers. So the directory is synced before and after a marker is created; that is rare.
type stateFS struct {
	vfs.FS
	// raw is for files outside of the directory, those of a retained checkpoint: making one of those fails
	// if there is no room.
	raw  vfs.FS
	dir  string
	inv  *inventory
	gate *gate
}

func (fs stateFS) Unwrap() vfs.FS { return fs.FS }

// Lock does nothing: the store has locked the data directory.
func (fs stateFS) Lock(string) (io.Closer, error) { return io.NopCloser(nil), nil }

func (fs stateFS) Open(name string, opts ...vfs.OpenOption) (vfs.File, error) {
	fs.gate.pass()
	return fs.FS.Open(name, opts...)
}

func (fs stateFS) OpenReadWrite(name string, category vfs.DiskWriteCategory, opts ...vfs.OpenOption) (vfs.File, error) {
	fs.gate.pass()
	return fs.FS.OpenReadWrite(name, category, opts...)
}

func (fs stateFS) OpenDir(name string) (vfs.File, error) {
	fs.gate.pass()
	return fs.FS.OpenDir(name)
}

func (fs stateFS) Link(oldname, newname string) error {
	fs.gate.pass()
	if fs.PathDir(newname) != fs.dir {
		return fs.raw.Link(oldname, newname)
	}
	return fs.FS.Link(oldname, newname)
}

func (fs stateFS) Rename(oldname, newname string) error {
	fs.gate.pass()
	return fs.FS.Rename(oldname, newname)
}

// tracked gives the base name of a file that the inventory has.
func (fs stateFS) tracked(path string) (name string, ok bool) {
	name = fs.PathBase(path)
	return name, fs.PathDir(path) == fs.dir && (isWAL(name) || strings.HasPrefix(name, manifestName))
}

func (fs stateFS) Create(path string, category vfs.DiskWriteCategory) (vfs.File, error) {
	fs.gate.pass()
	name := fs.PathBase(path)
	marker := strings.HasPrefix(name, "marker.")
	dir := fs.PathDir(path)
	under := fs.FS
	if dir != fs.dir {
		under = fs.raw
	}
	if marker {
		if err := syncDir(under, dir); err != nil {
			return nil, err
		}
	}
	f, err := under.Create(path, category)
	if err != nil {
		return nil, err
	}
	if marker {
		if err := syncDir(under, dir); err != nil {
			f.Close()
			return nil, err
		}
		if m, ok := markedManifest(name); ok && dir == fs.dir {
			fs.inv.setManifest(m)
		}
	}
	if _, ok := fs.tracked(path); ok {
		return fs.track(name, f), nil
	}
	if strings.HasSuffix(name, ".sst") {
		return &tableFile{File: f}, nil
	}
	return f, nil
}

// markedManifest gives the manifest that a marker file names.
func markedManifest(marker string) (name string, ok bool) {
	rest, ok := strings.CutPrefix(marker, markerName)
	if !ok {
		return "", false
	}
	_, name, ok = strings.Cut(rest, ".")
	return name, ok
}

func (fs stateFS) track(name string, f vfs.File) vfs.File {
	t := fs.inv.add(name, 0)
	return &trackedFile{File: f, t: t, gate: fs.gate}
}

func (fs stateFS) ReuseForWrite(oldname, newname string, category vfs.DiskWriteCategory) (vfs.File, error) {
	fs.gate.pass()
	f, err := fs.FS.ReuseForWrite(oldname, newname, category)
	if err != nil {
		return nil, err
	}
	if name, ok := fs.tracked(oldname); ok {
		fs.inv.remove(name)
	}
	if name, ok := fs.tracked(newname); ok {
		return fs.track(name, f), nil
	}
	return f, nil
}

func (fs stateFS) Remove(path string) error {
	fs.gate.pass()
	name, ok := fs.tracked(path)
	err := fs.FS.Remove(path)
	if ok && (err == nil || oserror.IsNotExist(err)) {
		fs.inv.remove(name)
	}
	return err
}

// trackedFile counts what is written and what is synced. Its writes come from one goroutine at a time.
type trackedFile struct {
	vfs.File
	t    *trackedLength
	gate *gate
}

func (f *trackedFile) Write(p []byte) (int, error) {
	f.gate.pass()
	n, err := f.File.Write(p)
	f.t.written.Add(int64(n))
	return n, err
}

func (f *trackedFile) Sync() error {
	n := f.t.written.Load()
	err := f.File.Sync()
	if err == nil {
		f.t.synced.Store(n)
	}
	return err
}

func (f *trackedFile) SyncData() error {
	n := f.t.written.Load()
	err := f.File.SyncData()
	if err == nil {
		f.t.synced.Store(n)
	}
	return err
}

func (f *trackedFile) SyncTo(length int64) (bool, error) {
	n := f.t.written.Load()
	full, err := f.File.SyncTo(length)
	if err == nil && full {
		f.t.synced.Store(n)
	}
	return full, err
}
