package server

import (
	"bytes"
	"context"
	"os"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/weirdb/weir/server/engine"
)

// memoryInterval is the time between two looks at how much memory the process has.
const memoryInterval = 500 * time.Millisecond

// keepMemory fits Go's heap into what the rest of the process leaves of the memory limit, until ctx ends. How much that is cannot
// be known before: pages of the program that have been used, blocks that the C library's allocator has not given back. What
// it could give back is taken from it when that would be felt.
func (s *Server) keepMemory(ctx context.Context) {
	ticker := time.NewTicker(memoryInterval)
	defer ticker.Stop()
	for last, trimmed := int64(0), int64(0); ; {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		inc, release, err := s.engine.Acquire(ctx)
		if err != nil {
			continue
		}
		n, ok := residentMemory()
		outside := inc.Outside(n)
		if ok && outside > trimmed+s.cfg.MemoryLimit/50 {
			trimC()
			if n, ok = residentMemory(); ok {
				outside = inc.Outside(n)
				trimmed = outside
			}
		}
		release()
		if !ok {
			return
		}
		if limit := engine.HeapLimit(s.cfg.MemoryLimit, outside); limit != last {
			debug.SetMemoryLimit(limit)
			last = limit
		}
	}
}

// residentMemory is how many bytes of the process are in memory, if the system tells.
func residentMemory() (int64, bool) {
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, false
	}
	f := bytes.Fields(b)
	if len(f) < 2 {
		return 0, false
	}
	n, err := strconv.ParseInt(string(f[1]), 10, 64)
	return n * int64(os.Getpagesize()), err == nil
}
