package clients

import (
	"bytes"
	"os"
	"strconv"
	"testing"
)

// idleBudget is what the server may use with idleClients connected clients, of which each has run a statement.
const (
	idleClients = 5000
	idleBudget  = 200 << 20
)

// TestIdleClients connects many clients, which share the process with the server: its memory is that of both.
func TestIdleClients(t *testing.T) {
	addr := startWeir(t)
	n := idleClients
	if testing.Short() {
		n /= 10
	}
	all := make([]*wire, 0, n)
	defer func() {
		for _, w := range all {
			w.close()
		}
	}()
	before := resident(t)
	for range n {
		w, err := dialWire(t.Context(), addr, "weir", "weir")
		if err != nil {
			t.Fatalf("client %d: %v", len(all), err)
		}
		all = append(all, w)
		if a, err := w.send(statement{Proto: "Q", SQL: "SELECT 1"}); err != nil || a.Error != "" {
			t.Fatalf("client %d: %v %s", len(all), err, a.Message)
		}
	}
	after := resident(t)
	t.Logf("%d clients: %d MB before, %d MB after, clients included", n, before>>20, after>>20)
	// A client of this test has buffers of its own, of some 8 KB.
	if used := after - before - int64(n)*(8<<10); used > idleBudget {
		t.Errorf("%d idle clients take %d MB", n, used>>20)
	}
}

// resident is the memory of the process, in bytes.
func resident(t *testing.T) int64 {
	t.Helper()
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Logf("no account of memory here: %v", err)
		return 0
	}
	_, rest, _ := bytes.Cut(b, []byte("VmRSS:"))
	kb, err := strconv.ParseInt(string(bytes.Fields(rest)[0]), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return kb << 10
}
