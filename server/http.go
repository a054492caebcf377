package server

import (
	"fmt"
	"net/http"
	"net/http/pprof"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/weirdb/weir/pgwire"
	"github.com/weirdb/weir/server/engine"
)

// handler serves health, metrics and profiles.
func (s *Server) handler() http.Handler {
	reg := prometheus.NewRegistry()
	reg.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), s.metrics())
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		if !s.engine.Ready() {
			http.Error(w, "recovering", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	mux.Handle("GET /metrics", promhttp.HandlerFor(reg, promhttp.HandlerOpts{}))
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return mux
}

// metric is a value that is read when it is asked for.
type metric struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(m *measured) []labelled
}

// labelled is one value of a metric, with the value of its label if it has one.
type labelled struct {
	value float64
	label []string
}

// measured is what the values of all metrics are taken from: of one moment.
type measured struct {
	wire   *pgwire.Stats
	engine engine.Stats
}

// collector reads the server's counters.
type collector struct {
	s  *Server
	ms []metric
}

func (s *Server) metrics() prometheus.Collector {
	c := &collector{s: s}
	gauge, counter := prometheus.GaugeValue, prometheus.CounterValue
	many := func(name, help, label string, kind prometheus.ValueType, value func(*measured) []labelled) {
		var labels []string
		if label != "" {
			labels = []string{label}
		}
		c.ms = append(c.ms, metric{prometheus.NewDesc("weir_"+name, help, labels, nil), kind, value})
	}
	add := func(name, help string, kind prometheus.ValueType, value func(*measured) float64) {
		many(name, help, "", kind, func(m *measured) []labelled { return []labelled{{value: value(m)}} })
	}
	add("connections", "Open client connections.", gauge, func(m *measured) float64 { return float64(m.wire.Open.Load()) })
	add("connections_total", "Client connections since the start.", counter, func(m *measured) float64 { return float64(m.wire.Connections.Load()) })
	add("statements_total", "Statements that ran.", counter, func(m *measured) float64 { return float64(m.wire.Statements.Load()) })
	add("errors_total", "Errors that clients were told of.", counter, func(m *measured) float64 { return float64(m.wire.Errors.Load()) })
	add("wire_read_bytes_total", "Bytes read from clients.", counter, func(m *measured) float64 { return float64(m.wire.BytesRead.Load()) })
	add("wire_written_bytes_total", "Bytes written to clients.", counter, func(m *measured) float64 { return float64(m.wire.BytesWritten.Load()) })
	add("epoch_injected", "Newest epoch whose barrier was injected.", gauge, func(m *measured) float64 { return float64(m.engine.Marks.Injected) })
	add("epoch_completed", "Newest completed epoch.", gauge, func(m *measured) float64 { return float64(m.engine.Marks.Completed) })
	add("epoch_durable", "Epoch of the newest checkpoint.", gauge, func(m *measured) float64 { return float64(m.engine.Marks.Durable) })
	add("epoch_lag", "Epochs whose barrier was injected and that are not completed.", gauge, func(m *measured) float64 {
		return float64(m.engine.Marks.Injected - m.engine.Marks.Completed)
	})
	add("barriers_in_flight", "Barriers that not all actors have passed.", gauge, func(m *measured) float64 { return float64(m.engine.InFlight) })
	many("checkpoints_total", "Checkpoints since the start, by result.", "result", counter, func(m *measured) []labelled {
		t := m.engine.Checkpoints
		return []labelled{
			{float64(t.Committed), []string{"committed"}}, {float64(t.Failed), []string{"failed"}}, {float64(t.Aborted), []string{"aborted"}},
		}
	})
	add("checkpoint_seconds_total", "Time that committed checkpoints took, from barrier to disk, added up.", counter, func(m *measured) float64 {
		return m.engine.Checkpoints.Time.Seconds()
	})
	add("checkpoint_last_seconds", "Time that the newest committed checkpoint took.", gauge, func(m *measured) float64 {
		return m.engine.Checkpoints.Last.Seconds()
	})
	add("checkpoint_bytes_total", "Bytes that checkpoints wrote.", counter, func(m *measured) float64 { return float64(m.engine.Checkpoints.Bytes) })
	many("barrier_bytes_total", "Bytes at actors that had several producers while the barriers of checkpoints were aligned.", "kind", counter,
		func(m *measured) []labelled {
			t := m.engine.Checkpoints
			return []labelled{
				{float64(t.Aligned), []string{"aligned"}}, {float64(t.Buffered), []string{"buffered"}}, {float64(t.Spilled), []string{"spilled"}},
			}
		})
	many("messages_dropped_total", "Messages between actors that were not taken: of a dead generation, sent twice, or of a generation that is not known yet.",
		"reason", counter, func(m *measured) []labelled {
			d := m.engine.Checkpoints.Dropped
			return []labelled{
				{float64(d.Fenced), []string{"fenced"}}, {float64(d.Duplicates), []string{"duplicate"}}, {float64(d.Ahead), []string{"ahead"}},
			}
		})
	add("checkpoints_retained", "Checkpoints before the newest one that can be gone back to.", gauge, func(m *measured) float64 {
		return float64(m.engine.Retained)
	})
	add("checkpoint_fallbacks_total", "Times since the start that the newest checkpoint could not be used.", counter, func(m *measured) float64 {
		return float64(m.engine.Fallbacks)
	})
	add("jobs", "Running jobs.", gauge, func(m *measured) float64 { return float64(m.engine.Jobs) })
	add("jobs_stalled", "Jobs that failed again and again, and those that depend on them.", gauge, func(m *measured) float64 { return float64(m.engine.Stalled) })
	many("job_restarts_total", "Restarts of jobs since the start, of those that had one.", "job", counter, func(m *measured) []labelled {
		var out []labelled
		for _, j := range m.engine.JobRestarts {
			out = append(out, labelled{float64(j.Restarts), []string{j.Job}})
		}
		return out
	})
	many("late_rows_total", "Rows that were left out because they came later than the watermark, of jobs and tables that had some.", "relation", counter, func(m *measured) []labelled {
		var out []labelled
		for _, r := range m.engine.LateRows {
			out = append(out, labelled{float64(r.Rows), []string{r.Relation}})
		}
		return out
	})
	add("actors", "Running actors.", gauge, func(m *measured) float64 { return float64(m.engine.Actors) })
	add("buffered_bytes", "Bytes in the queues between actors.", gauge, func(m *measured) float64 { return float64(m.engine.Queued) })
	add("recoveries_total", "Recoveries from failures since the start.", counter, func(m *measured) float64 { return float64(m.engine.Recoveries) })
	add("region_restarts_total", "Restarts of a region alone since the start.", counter, func(m *measured) float64 { return float64(m.engine.Restarts) })
	return c
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(ch chan<- *prometheus.Desc) {
	for _, m := range c.ms {
		ch <- m.desc
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	now := &measured{wire: c.s.wire.Stats(), engine: c.s.engine.AllStats()}
	for _, m := range c.ms {
		for _, v := range m.value(now) {
			ch <- prometheus.MustNewConstMetric(m.desc, m.kind, v.value, v.label...)
		}
	}
}
