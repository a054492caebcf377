//go:build unix

package file

import (
	"os"
	"syscall"
)

// inodeOf gives the number that the file keeps for its life. The device is left out: its number may
// change when the machine starts again.
func inodeOf(st os.FileInfo) uint64 {
	if sys, ok := st.Sys().(*syscall.Stat_t); ok {
		return uint64(sys.Ino) //nolint:unconvert // its type differs between systems
	}
	return 0
}
