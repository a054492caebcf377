package pgwire

import (
	"bytes"
	"testing"
)

func TestEncodings(t *testing.T) {
	for i := range encodings {
		e := &encodings[i].Encoding
		if FindEncoding(e.Name) != e {
			t.Errorf("%s is not found by its name", e.Name)
		}
		for b := range 256 {
			text, err := e.decode([]byte{'x', byte(b)})
			if err != nil {
				continue
			}
			back, err := e.encodeTail(append([]byte("é"), text...), 2)
			if err != nil || !bytes.Equal(back[2:], []byte{'x', byte(b)}) {
				t.Errorf("%s: byte %02x is %q and back %q, %v", e.Name, b, text, back, err)
			}
		}
	}
	for name, want := range map[string]string{"utf-8": "UTF8", "'utf-8'": "UTF8", "Unicode": "UTF8", "sql_ascii": "SQL_ASCII", "iso-8859-1": "LATIN1", "latin-9": "LATIN9", "windows-1252": "WIN1252"} {
		if e := FindEncoding(name); e == nil || e.Name != want {
			t.Errorf("%s is %v", name, e)
		}
	}
	if FindEncoding("nosuch") != nil {
		t.Error("an encoding that does not exist is found")
	}
}

func TestUntranslatable(t *testing.T) {
	latin1 := FindEncoding("LATIN1")
	var w RowWriter
	w.enc = latin1
	w.BeginRow()
	w.String("caf\u00e9")
	if err := w.EndRow(); err != nil || !bytes.Contains(w.Bytes(), []byte("caf\xe9")) {
		t.Fatal("LATIN1 is not written", err)
	}
	w.BeginRow()
	w.String("\u20ac")
	w.Null()
	if err := w.EndRow(); err == nil || len(w.Bytes()) != 0 {
		t.Fatal("a character that LATIN1 lacks was written")
	}
	w.raw = []bool{true}
	w.BeginRow()
	w.Value([]byte("\xe2\x82\xac"))
	if err := w.EndRow(); err != nil || !bytes.Contains(w.Bytes(), []byte("\xe2\x82\xac")) {
		t.Fatal("binary data was converted", err)
	}
	if got := latin1.message("\u20ac \u00e9"); got != "? \xe9" {
		t.Fatalf("message %q", got)
	}
}
