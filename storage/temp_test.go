package storage

import (
	"bytes"
	"testing"
)

// A temporary file is gone when it is closed, and those that nobody closed are gone when the store is opened again.
func TestTempFiles(t *testing.T) {
	fs := MemFS()
	open := func() *Store {
		s, err := Open(Config{Dir: "db", FS: fs})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	names := func() []string {
		ns, err := fs.List("db/tmp")
		if err != nil {
			return nil
		}
		return ns
	}
	s := open()
	if names() != nil {
		t.Fatal("there is a temporary area before anybody wanted one")
	}
	for _, name := range []string{"a", "b"} {
		f, err := s.TempFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteAt([]byte("xxxyyy"), 0); err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteAt([]byte("zz"), 3); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, 6)
		if _, err := f.ReadAt(got, 0); err != nil || !bytes.Equal(got, []byte("xxxzzy")) {
			t.Fatalf("%q %v", got, err)
		}
		if name == "a" {
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(names()) != 1 {
		t.Fatal(names())
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open()
	if names() != nil {
		t.Fatalf("left over: %v", names())
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}
