package exec

import (
	"errors"
	"testing"

	"github.com/weirdb/weir/sql/sqlerr"
)

// Operators that share a memory are given what is over the limit back in proportion to what they hold.
func TestMemoryShares(t *testing.T) {
	other := int64(0)
	m := NewMemory(MemoryConfig{Limit: 10 << 20, Other: func() int64 { return other }})
	a, b := m.Account(), m.Account()
	for acc, held := range map[*Account]int64{a: 6 << 20, b: 3 << 20} {
		if err := acc.Set(held, held/2); err != nil {
			t.Fatal(err)
		}
	}
	if a.Share() != 0 || b.Share() != 0 {
		t.Errorf("below the limit: %d, %d", a.Share(), b.Share())
	}
	if m.Dirty() != 9<<19 {
		t.Errorf("dirty: %d", m.Dirty())
	}
	other = 11 << 20
	if x, y := a.Share(), b.Share(); x >= 3<<20 || x < 2<<20 || y >= 3<<19 || y < 1<<20 {
		t.Errorf("at twice the limit: %d, %d", x, y)
	}
	a.Close()
	b.Close()
	if m.Used() != other || m.Dirty() != 0 {
		t.Errorf("after closing: %d used, %d dirty", m.Used(), m.Dirty())
	}
	var none *Memory
	if err := none.Account().Set(1<<40, 0); err != nil || none.Account().Share() != 0 {
		t.Errorf("no memory bounds nothing: %v", err)
	}
	none.Account().Close()
}

// A strict memory refuses what is too much, and takes again what was given back.
func TestStrictMemory(t *testing.T) {
	m := NewMemory(MemoryConfig{Limit: 1 << 20, Strict: true})
	a, b := m.Account(), m.Account()
	if err := a.Set(800<<10, 0); err != nil {
		t.Fatal(err)
	}
	var e *sqlerr.Error
	if err := b.Set(800<<10, 0); !errors.As(err, &e) || e.Code != sqlerr.OutOfMemory {
		t.Fatalf("error %v", err)
	}
	a.Close()
	b.Close()
	c := m.Account()
	if err := c.Set(800<<10, 0); err != nil {
		t.Fatal(err)
	}
	// A part counts for the whole too.
	part := NewMemory(MemoryConfig{Limit: 512 << 10, Strict: true, Parent: m}).Account()
	if err := part.Set(400<<10, 0); err == nil {
		t.Error("the whole has no limit")
	}
	part.Close()
	c.Close()
	if err := part.Set(400<<10, 0); err != nil {
		t.Error(err)
	}
	if err := part.Set(600<<10, 0); err == nil {
		t.Error("the part has no limit")
	}
	part.Close()
	if m.Used() != 0 {
		t.Errorf("%d left", m.Used())
	}
}
