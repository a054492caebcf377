package storage

import (
	"bytes"
	"fmt"
	"io"
	"math/rand"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// refusing is a file that refuses some writes as a file system does that cannot write past the cache, after half of what it was given.
type refusing struct {
	vfs.File
	direct  func() bool
	refused int
}

func (f *refusing) Write(p []byte) (int, error) {
	if f.direct() && f.refused > 0 {
		f.refused--
		n, err := f.File.Write(p[:len(p)/2/bulkAlign*bulkAlign])
		if err == nil {
			err = syscall.EINVAL
		}
		return n, err
	}
	return f.File.Write(p)
}

// TestBulkFile: what is written in pieces of any size is in the file, on a disk and in memory, through the cache and past it, and also if writing past it
// turns out to be impossible.
func TestBulkFile(t *testing.T) {
	buf := newBulkBuffer()
	for seed := range int64(40) {
		rng := rand.New(rand.NewSource(seed))
		fs, dir := vfs.FS(vfs.Default), t.TempDir()
		if seed%4 == 0 {
			fs, dir = vfs.NewMem(), ""
		}
		path := filepath.Join(dir, fmt.Sprint("f", seed))
		f, err := fs.Create(path, vfs.WriteCategoryUnspecified)
		if err != nil {
			t.Fatal(err)
		}
		var w *bulkFile
		f = &refusing{File: f, refused: rng.Intn(2), direct: func() bool { return w.direct }}
		w = newBulkFile(f, buf, seed%3 != 0)
		var want []byte
		for range rng.Intn(40) {
			p := make([]byte, rng.Intn(1<<rng.Intn(19)))
			rng.Read(p)
			want = append(want, p...)
			if err := w.Write(p); err != nil {
				t.Fatal(err)
			}
		}
		if seed%5 == 0 { // whole pages
			p := make([]byte, bulkAlign-len(want)%bulkAlign)
			want = append(want, p...)
			if err := w.Write(p); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Finish(); err != nil {
			t.Fatal(err)
		}
		r, err := fs.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(r)
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("seed %d: %d bytes, not %d: %v", seed, len(got), len(want), err)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
