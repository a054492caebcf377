package runner

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// cluster is a PostgreSQL in a directory of its own, which listens on loopback.
type cluster struct {
	bin, dir string
	attr     *syscall.SysProcAttr
	port     int
}

// startCluster makes and starts one with the programs in bin. It is durable, as PostgreSQL is by default; of its settings only
// the memory for shared buffers is another one, 1 GB, as its manual advises for a machine of its own.
func startCluster(ctx context.Context, bin, parent string) (_ *cluster, err error) {
	if _, err := os.Stat(filepath.Join(bin, "initdb")); err != nil {
		return nil, fmt.Errorf("no PostgreSQL in %s: %w", bin, err)
	}
	c := &cluster{bin: bin, attr: &syscall.SysProcAttr{}}
	if c.dir, err = os.MkdirTemp(parent, "weir-bench-pg-"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(c.dir))
		}
	}()
	if os.Geteuid() == 0 {
		// PostgreSQL does not run as root.
		if err := c.becomePostgres(); err != nil {
			return nil, err
		}
	}
	if c.port, err = freePort(); err != nil {
		return nil, err
	}
	if err := c.run(ctx, "initdb", "-D", c.data(), "-A", "trust", "-E", "UTF8", "--locale=C", "-U", "weir"); err != nil {
		return nil, err
	}
	if err := c.run(ctx, "pg_ctl", "-D", c.data(), "-w", "-l", filepath.Join(c.dir, "log"), "-o",
		fmt.Sprintf("-p %d -c listen_addresses=127.0.0.1 -c shared_buffers=1GB -k %s", c.port, c.dir), "start"); err != nil {
		return nil, err
	}
	return c, nil
}

func (c *cluster) data() string { return filepath.Join(c.dir, "data") }

func (c *cluster) becomePostgres() error {
	u, err := user.Lookup("postgres")
	if err != nil {
		return err
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return err
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return err
	}
	c.attr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return os.Chown(c.dir, int(uid), int(gid))
}

func (c *cluster) run(ctx context.Context, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, filepath.Join(c.bin, name), args...)
	cmd.Dir, cmd.SysProcAttr = c.dir, c.attr
	// No pipes: the server would inherit them and keep them open.
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// stop ends it and removes what it had.
func (c *cluster) stop() error {
	err := c.run(context.Background(), "pg_ctl", "-D", c.data(), "-m", "immediate", "stop")
	return errors.Join(err, os.RemoveAll(c.dir))
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	port := l.Addr().(*net.TCPAddr).Port
	return port, l.Close()
}
