package pgwire

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
)

// ListenTCP listens on a host and port.
func ListenTCP(ctx context.Context, addr string) (net.Listener, error) {
	var lc net.ListenConfig
	return lc.Listen(ctx, "tcp", addr)
}

// ListenUnix listens on the socket that PostgreSQL clients look for in dir: .s.PGSQL.port. A
// socket that nobody listens on any more is replaced. Only the owner's user and group may connect.
func ListenUnix(ctx context.Context, dir string, port int) (net.Listener, error) {
	path := filepath.Join(dir, fmt.Sprintf(".s.PGSQL.%d", port))
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "unix", path)
	if errors.Is(err, syscall.EADDRINUSE) {
		var d net.Dialer
		nc, dialErr := d.DialContext(ctx, "unix", path)
		if dialErr == nil {
			_ = nc.Close()
			return nil, fmt.Errorf("pgwire: another server listens on %s: %w", path, err)
		}
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("pgwire: stale socket: %w", err)
		}
		ln, err = lc.Listen(ctx, "unix", path)
	}
	if err != nil {
		return nil, fmt.Errorf("pgwire: listen: %w", err)
	}
	if err := os.Chmod(path, 0o770); err != nil {
		_ = ln.Close()
		return nil, fmt.Errorf("pgwire: socket permissions: %w", err)
	}
	return ln, nil
}
