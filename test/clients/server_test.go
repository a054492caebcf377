package clients

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/weirdb/weir/server"
	"github.com/weirdb/weir/server/engine"
)

// startWeir runs a server in memory and gives its address. It ends with the test.
func startWeir(t testing.TB) string {
	t.Helper()
	srv, err := server.Open(server.Config{
		DataDir: "/data", Listen: "127.0.0.1:0", HTTP: "off", Parallelism: 1,
		BarrierInterval: 20 * time.Millisecond, ShutdownGrace: 5 * time.Second,
		Logger: slog.New(slog.DiscardHandler),
		Tune: func(c *engine.Config) {
			c.Storage.CacheBytes, c.Storage.MemTableBytes = 4<<20, 1<<20
			c.Storage.FS = vfs.NewMem()
		},
	})
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- srv.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("shutdown: %v", err)
		}
	})
	return srv.Addr().String()
}
