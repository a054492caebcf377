package server

import (
	"fmt"
	"net/http"
	"net/http/pprof"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
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
	value func(s *Server) float64
}

// collector reads the server's counters.
type collector struct {
	s  *Server
	ms []metric
}

func (s *Server) metrics() prometheus.Collector {
	c := &collector{s: s}
	add := func(name, help string, kind prometheus.ValueType, value func(*Server) float64) {
		c.ms = append(c.ms, metric{prometheus.NewDesc("weir_"+name, help, nil, nil), kind, value})
	}
	st := s.wire.Stats()
	gauge, counter := prometheus.GaugeValue, prometheus.CounterValue
	add("connections", "Open client connections.", gauge, func(*Server) float64 { return float64(st.Open.Load()) })
	add("connections_total", "Client connections since the start.", counter, func(*Server) float64 { return float64(st.Connections.Load()) })
	add("statements_total", "Statements that ran.", counter, func(*Server) float64 { return float64(st.Statements.Load()) })
	add("errors_total", "Errors that clients were told of.", counter, func(*Server) float64 { return float64(st.Errors.Load()) })
	add("wire_read_bytes_total", "Bytes read from clients.", counter, func(*Server) float64 { return float64(st.BytesRead.Load()) })
	add("wire_written_bytes_total", "Bytes written to clients.", counter, func(*Server) float64 { return float64(st.BytesWritten.Load()) })
	add("epoch_injected", "Newest epoch whose barrier was injected.", gauge, func(s *Server) float64 { return float64(s.engine.Stats().Marks.Injected) })
	add("epoch_completed", "Newest completed epoch.", gauge, func(s *Server) float64 { return float64(s.engine.Stats().Marks.Completed) })
	add("epoch_durable", "Epoch of the newest checkpoint.", gauge, func(s *Server) float64 { return float64(s.engine.Stats().Marks.Durable) })
	add("jobs", "Running jobs.", gauge, func(s *Server) float64 { return float64(s.engine.Stats().Jobs) })
	add("actors", "Running actors.", gauge, func(s *Server) float64 { return float64(s.engine.Stats().Actors) })
	add("region_restarts_total", "Regions that were started again by themselves after a failure.", counter, func(s *Server) float64 { return float64(s.engine.Stats().Restarts) })
	add("recoveries_total", "Recoveries from failures since the start.", counter, func(s *Server) float64 { return float64(s.engine.Stats().Recoveries) })
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
	for _, m := range c.ms {
		ch <- prometheus.MustNewConstMetric(m.desc, m.kind, m.value(c.s))
	}
}
