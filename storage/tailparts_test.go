package storage

import (
	"encoding/binary"
	"slices"
	"testing"
)

// TestPartsBehindAFolder: while a folder is always some epochs behind, what readers of a table look through is bounded by what is not
// folded, however long it goes on, and it is all there.
func TestPartsBehindAFolder(t *testing.T) {
	const lag, size = 20, 100
	var parts []tailPart
	tail := &stateTail{id: 1}
	most := 0
	for e := Epoch(1); e <= 1000; e++ {
		d := &Delta{table: 1}
		for i := range uint64(size) {
			d.put(binary.BigEndian.AppendUint64(nil, uint64(e)*size+i), []byte("v"), false)
		}
		parts = append([]tailPart{{epoch: e, d: d}}, parts...)
		if len(parts) > maxTailParts {
			parts = tail.mergeParts(parts)
		}
		if e > lag && e%5 == 0 {
			last := e - lag
			parts = slices.DeleteFunc(parts, func(p tailPart) bool { return p.epoch <= last })
		}
		held := 0
		for _, p := range parts {
			held += int(p.d.n)
		}
		most = max(most, held)
		for back := range Epoch(min(lag, int(e))) {
			key := binary.BigEndian.AppendUint64(nil, uint64(e-back)*size)
			if !slices.ContainsFunc(parts, func(p tailPart) bool { _, _, ok := p.get(key); return ok }) {
				t.Fatalf("epoch %d: a change of epoch %d is gone", e, e-back)
			}
		}
		if len(parts) > 3*maxTailParts {
			t.Fatalf("epoch %d: %d parts", e, len(parts))
		}
	}
	if most > 6*lag*size {
		t.Errorf("%d entries are held, %d are not folded", most, (lag+5)*size)
	}
}
