package storage

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// Delta blobs: how the changes of state tables are written at a checkpoint when there are many.
//
// A blob holds up to blobEntries changes in one value, in the order in which the keys were first
// changed. That costs a tenth of writing them key by key, because Pebble neither sorts nor
// compacts them one by one. The folder (fold.go) later brings them into key order; of a key
// changed in a hundred checkpoints it writes the last value only.
//
//	'b' table(4) epoch(8) number(4)  ->  blob
//	'i' table(4) epoch(8)            ->  blobs, entries, bytes (uvarints): the group of an epoch
//
// Of two blobs the one with the greater (epoch, number) is newer, in a blob the later entry; all
// blobs of a table are newer than its keys in key order.
const (
	kindBlob  = 'b'
	kindGroup = 'i'

	blobEntries = 1024
	// blobBytes ends a blob early when values are large.
	blobBytes = 128 << 10
)

func blobPrefix(kind byte, id TableID) []byte {
	return binary.BigEndian.AppendUint32([]byte{kind}, uint32(id))
}

func blobPrefixEnd(kind byte, id TableID) []byte {
	if id == ^TableID(0) {
		return []byte{kind + 1}
	}
	return blobPrefix(kind, id+1)
}

func groupKey(id TableID, epoch Epoch) []byte {
	return binary.BigEndian.AppendUint64(blobPrefix(kindGroup, id), uint64(epoch))
}

func blobKey(id TableID, epoch Epoch, n uint32) []byte {
	k := binary.BigEndian.AppendUint64(blobPrefix(kindBlob, id), uint64(epoch))
	return binary.BigEndian.AppendUint32(k, n)
}

// blobGroup is the blobs that one checkpoint wrote for a table.
type blobGroup struct {
	epoch          Epoch
	blobs          uint32
	entries, bytes int64
}

func (g blobGroup) encode() []byte {
	b := binary.AppendUvarint(nil, uint64(g.blobs))
	b = binary.AppendUvarint(b, uint64(g.entries))
	return binary.AppendUvarint(b, uint64(g.bytes))
}

func decodeGroup(key, val []byte) (id TableID, g blobGroup, err error) {
	blobs, n1 := binary.Uvarint(val)
	var entries, size uint64
	n2, n3 := 0, 0
	if n1 > 0 {
		entries, n2 = binary.Uvarint(val[n1:])
	}
	if n2 > 0 {
		size, n3 = binary.Uvarint(val[n1+n2:])
	}
	if len(key) != 13 || n3 <= 0 {
		return 0, g, fmt.Errorf("malformed blob group %x", key)
	}
	return TableID(binary.BigEndian.Uint32(key[1:])), blobGroup{
		epoch: Epoch(binary.BigEndian.Uint64(key[5:])),
		blobs: uint32(blobs), entries: int64(entries), bytes: int64(size),
	}, nil
}

// writeBlobs writes the delta as blobs of g, which it extends.
func (d *Delta) writeBlobs(w keyWriter, g *blobGroup) error {
	d.settle()
	var out []byte
	for from := 0; from < d.n; {
		// The blob's extent: header with two lengths an entry, then keys and values in turn.
		size, to := 0, from
		for to < d.n && to-from < blobEntries && (size < blobBytes || to == from) {
			e := d.at(uint32(to))
			size += int(e.klen) + uvarintLen(uint64(e.klen))
			if e.vlen != tombstone {
				size += int(e.vlen) + uvarintLen(uint64(e.vlen)+1)
			} else {
				size++
			}
			to++
		}
		size += uvarintLen(uint64(to - from))
		out = binary.AppendUvarint(slices.Grow(out[:0], size), uint64(to-from))
		for i := from; i < to; i++ {
			e := d.at(uint32(i))
			out = binary.AppendUvarint(out, uint64(e.klen))
			if e.vlen == tombstone {
				out = append(out, 0)
			} else {
				out = binary.AppendUvarint(out, uint64(e.vlen)+1)
			}
		}
		for i := from; i < to; i++ {
			e := d.at(uint32(i))
			out = append(out, d.keyOf(e)...)
			out = append(out, d.valueOf(e)...)
		}
		if len(out) != size {
			return fmt.Errorf("blob of table %d has %d bytes, not %d", d.table, len(out), size)
		}
		if err := w.Set(blobKey(d.table, g.epoch, g.blobs), out); err != nil {
			return err
		}
		g.blobs++
		g.bytes += int64(size)
		from = to
	}
	g.entries += int64(d.n)
	return nil
}

func uvarintLen(v uint64) int {
	n := 1
	for ; v >= 0x80; v >>= 7 {
		n++
	}
	return n
}

// eachBlobEntry calls fn with where the keys and values of a blob's entries lie, in order.
func eachBlobEntry(blob []byte, fn func(koff, klen, voff, vlen int, del bool)) error {
	count, n := binary.Uvarint(blob)
	if n <= 0 || count > uint64(len(blob)) {
		return fmt.Errorf("malformed blob of %d bytes", len(blob))
	}
	// The lengths come first: data starts after the last of them.
	off := n
	for range 2 * count {
		for off < len(blob) && blob[off] >= 0x80 {
			off++
		}
		off++
	}
	if off > len(blob) {
		return fmt.Errorf("malformed lengths in a blob of %d bytes", len(blob))
	}
	lens := blob[n:off]
	for range count {
		klen, k1 := binary.Uvarint(lens)
		if k1 <= 0 {
			return fmt.Errorf("malformed length in a blob of %d bytes", len(blob))
		}
		vlen, k2 := binary.Uvarint(lens[k1:])
		if k2 <= 0 {
			return fmt.Errorf("malformed length in a blob of %d bytes", len(blob))
		}
		lens = lens[k1+k2:]
		del := vlen == 0
		if !del {
			vlen--
		}
		if left := uint64(len(blob) - off); klen > left || vlen > left-klen {
			return fmt.Errorf("malformed entry in a blob of %d bytes", len(blob))
		}
		voff := off + int(klen)
		fn(off, int(klen), voff, int(vlen), del)
		off = voff + int(vlen)
	}
	if off != len(blob) {
		return fmt.Errorf("%d bytes too many in a blob of %d", len(blob)-off, len(blob))
	}
	return nil
}
