// Package builtin knows the connectors that come with Weir.
package builtin

import (
	"github.com/weirdb/weir/connector"
	"github.com/weirdb/weir/connector/blackhole"
	"github.com/weirdb/weir/connector/datagen"
	"github.com/weirdb/weir/connector/file"
	"github.com/weirdb/weir/connector/nexmark"
	"github.com/weirdb/weir/connector/tpch"
)

// New makes a registry with all of them.
func New() *connector.Registry {
	r := connector.NewRegistry()
	r.AddSource("nexmark", nexmark.NewSource)
	r.AddSource("tpch", tpch.NewSource)
	r.AddSource("datagen", datagen.NewSource)
	r.AddSource("file", file.NewSource)
	r.AddSink("file", file.NewSink)
	r.AddSink("blackhole", blackhole.NewSink)
	return r
}
