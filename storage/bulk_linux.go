package storage

import (
	"errors"
	"syscall"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// setDirect makes writes to a file go past the kernel's cache, or not any more. False: that is not possible.
func setDirect(f vfs.File, on bool) bool {
	fd := f.Fd()
	if fd == vfs.InvalidFd {
		return false
	}
	flags, _, errno := syscall.Syscall(syscall.SYS_FCNTL, fd, syscall.F_GETFL, 0)
	if errno != 0 {
		return false
	}
	if on {
		flags |= syscall.O_DIRECT
	} else {
		flags &^= syscall.O_DIRECT
	}
	_, _, errno = syscall.Syscall(syscall.SYS_FCNTL, fd, syscall.F_SETFL, flags)
	return errno == 0
}

// directRefused tells whether a file system does not take a write past the cache as it was.
func directRefused(err error) bool { return errors.Is(err, syscall.EINVAL) }
