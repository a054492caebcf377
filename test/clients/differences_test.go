package clients

import (
	"bufio"
	"os"
	"strconv"
	"strings"
	"testing"
)

// difference is a line of testdata/differences: where answers may differ from PostgreSQL's, and why.
type difference struct {
	line                 int
	client, kind, reason string
	// statements are numbers of lines in the client's file.
	statements map[int]bool
	used       bool
}

type differences []*difference

// readDifferences reads lines of the form
//
//	client kind 1,2,3 reason
//
// client is the name of a file of testdata/replay, kind what differs (error, columns, parameters, tag, rows), and the numbers
// are those of lines in that file.
func readDifferences(t *testing.T) differences {
	t.Helper()
	f, err := os.Open("testdata/differences")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all differences
	sc := bufio.NewScanner(f)
	for n := 1; sc.Scan(); n++ {
		text := strings.TrimSpace(sc.Text())
		if text == "" || strings.HasPrefix(text, "#") {
			continue
		}
		parts := strings.SplitN(text, " ", 4)
		if len(parts) != 4 {
			t.Fatalf("testdata/differences:%d: not client kind numbers reason", n)
		}
		d := &difference{line: n, client: parts[0], kind: parts[1], reason: parts[3], statements: map[int]bool{}}
		for number := range strings.SplitSeq(parts[2], ",") {
			i, err := strconv.Atoi(number)
			if err != nil {
				t.Fatalf("testdata/differences:%d: %v", n, err)
			}
			d.statements[i] = true
		}
		all = append(all, d)
	}
	if err := sc.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// find gives the line that allows a difference of a statement, nil if none does.
func (all differences) find(client, kind string, statement int) *difference {
	for _, d := range all {
		if kind != "" && d.client == client && d.kind == kind && d.statements[statement] {
			d.used = true
			return d
		}
	}
	return nil
}

// unused names lines that nothing needs any more.
func (all differences) unused(t *testing.T) {
	t.Helper()
	for _, d := range all {
		if !d.used {
			t.Logf("testdata/differences:%d: nothing differs there any more: take the line out", d.line)
		}
	}
}
