package storage

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Log segments on disk.
//
// A segment is a file named after the position of its first record (20 decimal digits, ".log").
//
//	header:  magic "WEIRLOG1" | first position u64 | salt u32 | crc u32 of the 20 bytes before
//	block*:  magic u32 | length of body u32 | crc u32 | first position u64 | synced u64 | count u32 | body
//	body:    count times: length of record (uvarint), record
//
// Integers are little endian. A block is what one write wrote: all submissions that were waiting.
// Its crc covers everything after the crc field and starts from the segment's salt, so that
// neither old contents of the disk nor a record that looks like a block can be taken for one.
// synced is the last position known to be durable when the block was written.
//
// Invariants that recovery checks:
//
//  1. The positions of a segment's blocks are consecutive, from the header's on.
//  2. A segment's successor starts at or before the position after its last valid block; blocks at
//     or after the successor's first position are superseded (their write failed).
//  3. In the last segment, what follows the last valid block is the torn end of writes that were
//     never acknowledged. If a valid block follows that proves that the broken part had been
//     synced, the file is damaged.
const (
	segMagic     = "WEIRLOG1"
	segHeaderLen = 24
	blockMagic   = 0x6c426557
	blockHeader  = 32
	segSuffix    = ".log"
	tmpSuffix    = ".tmp"
)

var crcTable = crc32.MakeTable(crc32.Castagnoli)

type segHeader struct {
	first LogPos
	salt  uint32
}

func newSegHeader(first LogPos) segHeader {
	var b [4]byte
	rand.Read(b[:]) // never fails
	return segHeader{first: first, salt: binary.LittleEndian.Uint32(b[:])}
}

func (h segHeader) encode() []byte {
	b := append(make([]byte, 0, segHeaderLen), segMagic...)
	b = binary.LittleEndian.AppendUint64(b, uint64(h.first))
	b = binary.LittleEndian.AppendUint32(b, h.salt)
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, crcTable))
}

func decodeSegHeader(b []byte) (segHeader, bool) {
	if len(b) < segHeaderLen || string(b[:8]) != segMagic ||
		binary.LittleEndian.Uint32(b[20:]) != crc32.Checksum(b[:20], crcTable) {
		return segHeader{}, false
	}
	return segHeader{
		first: LogPos(binary.LittleEndian.Uint64(b[8:])),
		salt:  binary.LittleEndian.Uint32(b[16:]),
	}, true
}

// beginBlock appends an unfinished block header.
func beginBlock(dst []byte) []byte {
	return append(dst, make([]byte, blockHeader)...)
}

func appendRecord(dst, rec []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(rec)))
	return append(dst, rec...)
}

// finishBlock fills in the header of block b, which beginBlock began.
func finishBlock(b []byte, salt uint32, first, synced LogPos, count int) {
	binary.LittleEndian.PutUint32(b, blockMagic)
	binary.LittleEndian.PutUint32(b[4:], uint32(len(b)-blockHeader))
	binary.LittleEndian.PutUint64(b[12:], uint64(first))
	binary.LittleEndian.PutUint64(b[20:], uint64(synced))
	binary.LittleEndian.PutUint32(b[28:], uint32(count))
	binary.LittleEndian.PutUint32(b[8:], blockCRC(b, salt))
}

func blockCRC(b []byte, salt uint32) uint32 {
	c := crc32.Update(salt, crcTable, b[4:8])
	return crc32.Update(c, crcTable, b[12:])
}

// blockRange gives the first position and the record count of a block that finishBlock finished.
func blockRange(b []byte) (first LogPos, count int) {
	return LogPos(binary.LittleEndian.Uint64(b[12:])), int(binary.LittleEndian.Uint32(b[28:]))
}

// block is a decoded block; body aliases the segment's bytes.
type block struct {
	first, synced LogPos
	count         int
	body          []byte
	size          int // of the whole block in the file
}

// last gives the position of the block's last record.
func (b block) last() LogPos { return b.first + LogPos(b.count) - 1 }

// decodeBlock decodes the block at the start of data; ok is false if there is no valid one.
func decodeBlock(data []byte, salt uint32) (b block, ok bool) {
	if len(data) < blockHeader || binary.LittleEndian.Uint32(data) != blockMagic {
		return b, false
	}
	n := int(binary.LittleEndian.Uint32(data[4:]))
	if n > len(data)-blockHeader {
		return b, false
	}
	data = data[:blockHeader+n]
	if binary.LittleEndian.Uint32(data[8:]) != blockCRC(data, salt) {
		return b, false
	}
	b = block{
		first:  LogPos(binary.LittleEndian.Uint64(data[12:])),
		synced: LogPos(binary.LittleEndian.Uint64(data[20:])),
		count:  int(binary.LittleEndian.Uint32(data[28:])),
		body:   data[blockHeader:],
		size:   len(data),
	}
	return b, b.count > 0
}

// records calls fn for each record of the block.
func (b block) records(fn func(pos LogPos, rec []byte) error) error {
	body := b.body
	for i := range b.count {
		n, k := binary.Uvarint(body)
		if k <= 0 || n > uint64(len(body)-k) {
			return fmt.Errorf("record %d is malformed", b.first+LogPos(i))
		}
		if err := fn(b.first+LogPos(i), body[k:k+int(n):k+int(n)]); err != nil {
			return err
		}
		body = body[k+int(n):]
	}
	return nil
}

// scanSegment calls fn for the valid blocks of a segment's bytes, in order, up to position limit
// (exclusive; 0 is none). It gives the position after the last one, and for a damaged segment an
// error.
func scanSegment(data []byte, limit LogPos, fn func(block) error) (next LogPos, err error) {
	h, ok := decodeSegHeader(data)
	if !ok {
		return 0, fmt.Errorf("segment header is damaged")
	}
	next = h.first
	off := segHeaderLen
	for limit == 0 || next < limit {
		b, ok := decodeBlock(data[off:], h.salt)
		if !ok || b.first != next {
			break
		}
		if limit != 0 && b.last() >= limit {
			return next, fmt.Errorf("block of records %d to %d at offset %d overlaps the next segment, which starts at %d",
				b.first, b.last(), off, limit)
		}
		if fn != nil {
			if err := fn(b); err != nil {
				return next, err
			}
		}
		next = b.last() + 1
		off += b.size
	}
	if limit != 0 {
		if next < limit {
			return next, fmt.Errorf("record %d at offset %d is missing or damaged, and later records exist", next, off)
		}
		return next, nil
	}
	// The last segment. Look for a block after the broken part whose writer knew that the broken
	// part was durable.
	magic := binary.LittleEndian.AppendUint32(nil, blockMagic)
	for rest := off; ; rest++ {
		i := bytes.Index(data[rest:], magic)
		if i < 0 {
			return next, nil
		}
		rest += i
		if b, ok := decodeBlock(data[rest:], h.salt); ok && b.synced >= next {
			return next, fmt.Errorf("record %d at offset %d is damaged, and records up to %d had been synced", next, off, b.synced)
		}
	}
}

func segName(first LogPos) string { return fmt.Sprintf("%020d%s", uint64(first), segSuffix) }

// listSegments gives the first positions of the segments in dir, sorted, and removes segments that
// a crash has kept from being finished, unless readOnly.
func listSegments(fs vfs.FS, dir string, readOnly bool) ([]LogPos, error) {
	names, err := fs.List(dir)
	if err != nil {
		return nil, err
	}
	var firsts []LogPos
	for _, n := range names {
		num, ok := strings.CutSuffix(n, segSuffix)
		if !ok {
			if !readOnly && strings.HasSuffix(n, segSuffix+tmpSuffix) {
				if err := fs.Remove(fs.PathJoin(dir, n)); err != nil {
					return nil, err
				}
			}
			continue
		}
		v, err := strconv.ParseUint(num, 10, 64)
		if err != nil || segName(LogPos(v)) != n {
			return nil, fmt.Errorf("%s is not the name of a log segment", fs.PathJoin(dir, n))
		}
		firsts = append(firsts, LogPos(v))
	}
	slices.Sort(firsts)
	return firsts, nil
}

func readFile(fs vfs.FS, name string) ([]byte, error) {
	f, err := fs.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	b := make([]byte, st.Size())
	if _, err := io.ReadFull(f, b); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return b, nil
}
