// Package connector is the way in and out of Weir: the configuration of sources and sinks, the
// parsing of their options, and the registry that finds an implementation by its name.
//
// What a source and a sink must do is defined by their consumer, package exec (Source, Reader,
// Sink, SinkWriter). Each implementation has a folder of its own below this one and is known to
// nobody but the Registry that it is entered into; package builtin makes the registry of all that
// come with Weir:
//
//	r := builtin.New()
//	src, err := r.NewSource(connector.Config{Options: opts, Columns: cols, Clock: connector.WallClock()})
//
// A source is a configured thing without state: it can be opened many times, at any offset. What
// it needs of its surroundings (a clock, a base directory) comes with its Config, so that tests
// and the simulation decide about them.
package connector

import (
	"log/slog"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/sql/sqlerr"
)

// Option is one entry of WITH (...) or ENCODE x (...). It has the fields of the parser's option, so that
// one converts to the other.
type Option struct {
	// Name is folded to lower case.
	Name string
	// Value is "" and IsSet false for a bare name.
	Value string
	IsSet bool
	// Pos is where the option stands in the statement, for error messages.
	Pos int
}

// Config is everything that a statement says about a source or a sink.
type Config struct {
	// Options is the WITH clause. A Registry takes the option "connector" out of it.
	Options []Option
	// Columns is the column list of the statement; empty leaves it to the connector.
	Columns []exec.Column
	// Format and Encode are FORMAT x ENCODE y in lower case, "" if not given.
	Format, Encode string
	// EncodeOptions is the list in parentheses after ENCODE y.
	EncodeOptions []Option
	// FormatPos is where FORMAT stands in the statement.
	FormatPos int
	// Restored says that the object was created before, and that it is being set up again after a
	// restart. Then nothing outside is looked at (a file may be missing for now): Open reports it.
	Restored bool
	// AppendOnly says of a sink that rows are only inserted.
	AppendOnly bool
	// Others are the WITH clauses of the sinks that exist, of all connectors, when a sink is created.
	Others [][]Option
	// Reserved is a directory in which a sink must not write: the server's data. "" is none.
	Reserved string
	// Dir is the directory that relative paths start from; "" is the working directory.
	Dir string
	// Clock is the time for rate limits and for polling; nil is the wall clock.
	Clock Clock
	// Logger takes rare events; nil discards them.
	Logger *slog.Logger
}

// Clock is the passing of time.
type Clock interface {
	Now() time.Time
	// AfterFunc calls f once, on another goroutine, when d has passed. stop prevents the call and
	// tells whether it came in time.
	AfterFunc(d time.Duration, f func()) (stop func() bool)
}

type wallClock struct{}

func (wallClock) Now() time.Time { return time.Now() }

func (wallClock) AfterFunc(d time.Duration, f func()) func() bool {
	return time.AfterFunc(d, f).Stop
}

// WallClock is the real time.
func WallClock() Clock { return wallClock{} }

// ClockOrWall gives the Config's clock, or the wall clock if it has none.
func (c *Config) ClockOrWall() Clock {
	if c.Clock == nil {
		return WallClock()
	}
	return c.Clock
}

// LoggerOrDiscard gives the Config's logger, or one that drops everything.
func (c *Config) LoggerOrDiscard() *slog.Logger {
	if c.Logger == nil {
		return slog.New(slog.DiscardHandler)
	}
	return c.Logger
}

// NewSource makes a source of one connector from its configuration.
type NewSource func(Config) (exec.Source, error)

// NewSink makes a sink of one connector from its configuration.
type NewSink func(Config) (exec.Sink, error)

// Registry finds connectors by name. It is filled once, before it is used, and may then be used by
// several goroutines.
type Registry struct {
	sources map[string]NewSource
	sinks   map[string]NewSink
}

// NewRegistry makes an empty registry.
func NewRegistry() *Registry {
	return &Registry{sources: map[string]NewSource{}, sinks: map[string]NewSink{}}
}

// AddSource enters a source under the name used in WITH (connector = 'name').
func (r *Registry) AddSource(name string, f NewSource) { r.sources[name] = f }

// AddSink enters a sink under the name used in WITH (connector = 'name').
func (r *Registry) AddSink(name string, f NewSink) { r.sinks[name] = f }

// NewSource makes the source that cfg's option "connector" names.
func (r *Registry) NewSource(cfg Config) (exec.Source, error) {
	name, pos, err := takeConnector(&cfg)
	if err != nil {
		return nil, err
	}
	f, ok := r.sources[name]
	if !ok {
		_, other := r.sinks[name]
		return nil, notFound("source", name, pos, other, "sinks", sortedKeys(r.sources))
	}
	return f(cfg)
}

// NewSink makes the sink that cfg's option "connector" names.
func (r *Registry) NewSink(cfg Config) (exec.Sink, error) {
	name, pos, err := takeConnector(&cfg)
	if err != nil {
		return nil, err
	}
	f, ok := r.sinks[name]
	if !ok {
		_, other := r.sources[name]
		return nil, notFound("sink", name, pos, other, "sources", sortedKeys(r.sinks))
	}
	return f(cfg)
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}

func notFound(what, name string, pos int, other bool, otherKind string, valid []string) error {
	var err *sqlerr.Error
	if other {
		err = sqlerr.New(sqlerr.FeatureNotSupported, pos, "connector %q has no %ss, only %s", name, what, otherKind)
	} else {
		err = sqlerr.New(sqlerr.UndefinedObject, pos, "%s connector %q does not exist", what, name)
	}
	return err.WithHint("Available %s connectors: %s.", what, strings.Join(valid, ", "))
}

// takeConnector removes the option "connector" from cfg and gives its value and position.
func takeConnector(cfg *Config) (name string, pos int, err error) {
	i := slices.IndexFunc(cfg.Options, func(o Option) bool { return o.Name == "connector" })
	if i < 0 {
		return "", 0, sqlerr.Newf(sqlerr.SyntaxError, `option "connector" is required`).
			WithHint("Write WITH (connector = '...').")
	}
	o := cfg.Options[i]
	if !o.IsSet || o.Value == "" {
		return "", 0, sqlerr.New(sqlerr.SyntaxError, o.Pos, "connector requires a parameter")
	}
	rest := make([]Option, 0, len(cfg.Options)-1)
	for j, p := range cfg.Options {
		if j == i {
			continue
		}
		if p.Name == "connector" {
			return "", 0, sqlerr.New(sqlerr.SyntaxError, p.Pos, "conflicting or redundant options")
		}
		rest = append(rest, p)
	}
	cfg.Options = rest
	return strings.ToLower(o.Value), o.Pos, nil
}

// NoFormat gives an error if the statement has FORMAT or ENCODE, for connectors whose rows are typed.
func (c *Config) NoFormat(connector string) error {
	if c.Format == "" && c.Encode == "" {
		return nil
	}
	return sqlerr.New(sqlerr.SyntaxError, c.FormatPos, "connector %q takes no FORMAT and ENCODE", connector)
}
