package sql

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
)

type (
	pgxNoticeConn = pgconn.PgConn
	pgxNotice     = pgconn.Notice
)

// mode is a way to run a script.
type mode struct {
	name  string
	setup setup
	// after runs after a statement that wrote, with the number of such statements so far.
	after func(w *weir, n int)
}

var modes = []mode{
	{name: "plain", setup: setup{parallelism: 1, onDisk: true}},
	{name: "chunk1", setup: setup{parallelism: 1, chunk: 1}},
	{name: "parallel", setup: setup{parallelism: 2, chunk: 3}},
	{name: "restart", setup: setup{parallelism: 1}, after: func(w *weir, n int) {
		checkpoint(w)
		w.restart()
	}},
	{name: "crash", setup: setup{parallelism: 2, checkpoint: time.Hour}, after: func(w *weir, n int) {
		if n%3 == 0 {
			checkpoint(w)
		}
		w.crash()
	}},
}

func checkpoint(w *weir) {
	c := connect(w.t, w.url(), nil)
	defer closeConn(c)
	ctx, cancel := context.WithTimeout(context.Background(), statementTimeout)
	defer cancel()
	if _, err := c.Exec(ctx, "CHECKPOINT"); err != nil {
		w.t.Fatalf("checkpoint: %v", err)
	}
}

func closeConn(c *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = c.Close(ctx)
}

func files(t *testing.T) []string {
	t.Helper()
	fs, err := filepath.Glob("testdata/*")
	if err != nil || len(fs) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	return fs
}

func TestFiles(t *testing.T) {
	for _, f := range files(t) {
		for _, m := range modes {
			t.Run(filepath.Base(f)+"/"+m.name, func(t *testing.T) {
				t.Parallel()
				w := start(t, m.setup)
				r := &runner{t: t, url: w.url, conns: map[string]*pgx.Conn{}}
				defer r.closeAll()
				if m.after != nil {
					n := 0
					r.wrote = func() {
						n++
						r.closeAll()
						m.after(w, n)
					}
				}
				datadriven.RunTest(t, f, r.run)
				verifyViews(t, w)
			})
		}
	}
}

// verifyViews checks that every materialized view is what its query gives.
func verifyViews(t *testing.T, w *weir) {
	t.Helper()
	if t.Failed() {
		return
	}
	c := connect(t, w.url(), nil)
	defer closeConn(c)
	ctx, cancel := context.WithTimeout(context.Background(), statementTimeout)
	defer cancel()
	views, err := c.PgConn().Exec(ctx, "SELECT oid::regclass, pg_get_viewdef(oid) FROM pg_class WHERE relkind = 'm'").ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range views[0].Rows {
		res, err := c.PgConn().Exec(ctx, "VERIFY MATERIALIZED VIEW "+string(v[0])).ReadAll()
		if code(err) == "0A000" {
			continue // one with watermarks
		}
		if err != nil {
			t.Errorf("view %s: %v", v[0], err)
			continue
		}
		for _, row := range res[0].Rows {
			t.Errorf("view %s: %s\n%s", v[0], strings.Join(texts(row), "|"), v[1])
		}
	}
}

// TestPostgres runs the scripts on PostgreSQL, whose answers are the expected ones.
func TestPostgres(t *testing.T) {
	base := os.Getenv("WEIR_PG")
	if base == "" {
		t.Log("WEIR_PG is not set: nothing to compare with")
		return
	}
	for _, f := range files(t) {
		t.Run(filepath.Base(f), func(t *testing.T) {
			name := "weir_" + strings.ReplaceAll(filepath.Base(f), "-", "_")
			url := pgDatabase(t, base, name)
			r := &runner{t: t, url: func() string { return url }, conns: map[string]*pgx.Conn{}, postgres: true}
			defer r.closeAll()
			datadriven.RunTest(t, f, r.run)
		})
	}
}

// pgDatabase makes an empty database and gives its URL.
func pgDatabase(t testing.TB, base, name string) string {
	t.Helper()
	c := connect(t, base, nil)
	defer closeConn(c)
	ctx := context.Background()
	for _, q := range []string{"DROP DATABASE IF EXISTS " + name + " WITH (FORCE)", "CREATE DATABASE " + name} {
		if _, err := c.Exec(ctx, q); err != nil {
			t.Fatal(err)
		}
	}
	cfg := c.Config()
	return fmt.Sprintf("postgres://%s:%s@%s:%d/%s?sslmode=disable", cfg.User, cfg.Password, cfg.Host, cfg.Port, name)
}

// runner runs a script on a server.
type runner struct {
	t        *testing.T
	url      func() string
	postgres bool
	// wrote is called after a statement that changed something, outside of transactions; nil if nothing
	// is to be done. It may close all connections.
	wrote func()
	conns map[string]*pgx.Conn
	// replay are the statements of the main session that a new connection needs.
	replay  []string
	notices []string
}

func (r *runner) closeAll() {
	for _, c := range r.conns {
		closeConn(c)
	}
	clear(r.conns)
}

func (r *runner) conn(session string) *pgx.Conn {
	if c := r.conns[session]; c != nil {
		return c
	}
	c := connect(r.t, r.url(), func(sev, msg string) {
		// Whether a view is filled within a second depends on what else the machine does.
		if !strings.Contains(msg, " % filled") && !strings.Contains(msg, " rows read") {
			r.notices = append(r.notices, sev+": "+msg)
		}
	})
	r.conns[session] = c
	if session == "" {
		for _, q := range r.replay {
			if _, err := c.PgConn().Exec(context.Background(), q).ReadAll(); err != nil {
				r.t.Fatalf("%s: %v", q, err)
			}
		}
		r.notices = nil
	}
	return c
}

func (r *runner) run(t *testing.T, d *datadriven.TestData) string {
	if r.postgres && d.HasArg("weir") {
		return d.Expected
	}
	var session string
	if d.HasArg("session") {
		d.ScanArgs(t, "session", &session)
	}
	if d.HasArg("eventually") {
		return r.eventually(t, d, session)
	}
	var b strings.Builder
	switch d.Cmd {
	case "sql":
		stmts := statements(d.Input)
		if d.HasArg("batch") {
			stmts = []statement{{text: d.Input}}
		}
		for _, s := range stmts {
			out, tag := r.exec(session, s, d.HasArg("sort"))
			b.WriteString(out)
			r.after(s.text, tag, d.HasArg("keep"))
		}
	case "expr":
		for line := range strings.Lines(d.Input) {
			if line = strings.TrimSpace(line); line != "" {
				b.WriteString(r.expr(line))
			}
		}
	case "notifications":
		n := 0
		if d.HasArg("await") {
			d.ScanArgs(t, "await", &n)
		}
		return r.notifications(session, n, d.HasArg("weir"))
	case "wire":
		for _, s := range statements(d.Input) {
			b.WriteString(r.wire(s.text))
		}
	default:
		d.Fatalf(t, "unknown directive %q", d.Cmd)
	}
	return b.String()
}

// eventually runs reads again and again until they answer as expected: what a source has yet to bring comes when it
// comes. What they say in the end is the result.
func (r *runner) eventually(t *testing.T, d *datadriven.TestData, session string) string {
	deadline := time.Now().Add(statementTimeout)
	for {
		var b strings.Builder
		for _, s := range statements(d.Input) {
			out, _ := r.exec(session, s, d.HasArg("sort"))
			b.WriteString(out)
		}
		if b.String() == d.Expected || time.Now().After(deadline) || d.Rewrite {
			return b.String()
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-t.Context().Done():
		}
	}
}

// statement is one statement, with the rows that a COPY FROM STDIN reads.
type statement struct {
	text string
	data []byte
	copy bool
}

// statements splits the input of a directive.
func statements(input string) []statement {
	var out []statement
	var text, data strings.Builder
	inData := false
	for line := range strings.Lines(input) {
		bare := strings.TrimRight(line, "\n")
		switch {
		case inData && bare == `\.`:
			s := &out[len(out)-1]
			s.data, inData = []byte(data.String()), false
			if isBinary(s.text) {
				s.data = unhex(data.String())
			}
			data.Reset()
		case inData:
			data.WriteString(line)
		case strings.HasSuffix(bare, ";"):
			text.WriteString(bare)
			s := statement{text: strings.TrimSpace(text.String())}
			text.Reset()
			if u := strings.ToUpper(s.text); strings.HasPrefix(u, "COPY") && strings.Contains(u, "FROM STDIN") {
				s.copy, inData = true, true
			}
			out = append(out, s)
		default:
			text.WriteString(line)
		}
	}
	if rest := strings.TrimSpace(text.String()); rest != "" {
		out = append(out, statement{text: rest})
	}
	return out
}

// isBinary tells whether a COPY is in binary format; scripts have its data in hexadecimal.
func isBinary(copy string) bool { return strings.Contains(strings.ToUpper(copy), "BINARY") }

// unhex reads hexadecimal digits between white space, and "text" as it is.
func unhex(s string) []byte {
	var out []byte
	for _, f := range strings.Fields(s) {
		if strings.HasPrefix(f, `"`) {
			out = append(out, strings.Trim(f, `"`)...)
			continue
		}
		b, err := hex.DecodeString(f)
		if err != nil {
			panic(err)
		}
		out = append(out, b...)
	}
	return out
}

// after restarts if the mode wants it and the statement wrote something.
func (r *runner) after(text, tag string, keep bool) {
	word := tag
	if i := strings.IndexByte(word, ' '); i >= 0 {
		word = word[:i]
	}
	switch word {
	case "SET", "PREPARE":
		if strings.HasPrefix(strings.ToLower(text), "set weir.clock") {
			break // the server's, and durable
		}
		if !strings.HasPrefix(strings.ToUpper(text), "SET TRANSACTION") && !strings.HasPrefix(strings.ToUpper(text), "SET LOCAL") {
			r.replay = append(r.replay, text)
		}
		return
	case "DISCARD", "RESET", "DEALLOCATE":
		r.replay = nil
		return
	case "INSERT", "UPDATE", "DELETE", "CREATE", "DROP", "ALTER", "TRUNCATE", "COPY", "COMMIT":
	default:
		if !strings.Contains(text, "nextval") && !strings.Contains(text, "weir_advance_clock") {
			return
		}
	}
	if r.wrote == nil || keep || strings.HasPrefix(strings.ToUpper(text), "COPY") && strings.Contains(strings.ToUpper(text), "TO STDOUT") {
		return
	}
	for _, c := range r.conns {
		if c.PgConn().TxStatus() != 'I' {
			return
		}
	}
	r.wrote()
}

// refresh brings the materialized views of PostgreSQL up to date, which those of Weir always are.
func (r *runner) refresh(c *pgx.Conn) {
	if !r.postgres || c.PgConn().TxStatus() != 'I' {
		return
	}
	ctx := context.Background()
	rows, err := c.PgConn().Exec(ctx, "SELECT oid::regclass FROM pg_class WHERE relkind = 'm' ORDER BY oid").ReadAll()
	if err != nil {
		r.t.Fatal(err)
	}
	for _, row := range rows[0].Rows {
		_, _ = c.PgConn().Exec(ctx, "REFRESH MATERIALIZED VIEW "+string(row[0])).ReadAll()
	}
	r.notices = nil
}

func (r *runner) exec(session string, s statement, sorted bool) (out, tag string) {
	ctx, cancel := context.WithTimeout(context.Background(), statementTimeout)
	defer cancel()
	c := r.conn(session)
	r.refresh(c)
	var b strings.Builder
	var ct pgconn.CommandTag
	var err error
	upper := strings.ToUpper(s.text)
	switch {
	case s.copy:
		ct, err = c.PgConn().CopyFrom(ctx, bytes.NewReader(s.data), s.text)
	case strings.HasPrefix(upper, "COPY") && strings.Contains(upper, "TO STDOUT"):
		var data bytes.Buffer
		ct, err = c.PgConn().CopyTo(ctx, &data, s.text)
		if isBinary(s.text) {
			b.WriteString(hex.Dump(data.Bytes()))
		} else {
			b.Write(data.Bytes())
		}
	default:
		mrr := c.PgConn().Exec(ctx, s.text)
		for mrr.NextResult() {
			rr := mrr.ResultReader()
			ct = writeResult(&b, rr, sorted, strings.HasPrefix(upper, "CREATE MATERIALIZED VIEW"))
		}
		err = mrr.Close()
	}
	for _, n := range r.notices {
		b.WriteString(n + "\n")
	}
	r.notices = nil
	if err != nil {
		b.WriteString(errorText(err))
		return b.String(), ""
	}
	if s.copy || strings.HasPrefix(upper, "COPY") {
		b.WriteString(ct.String() + "\n")
	}
	return b.String(), ct.String()
}

// notifications prints those that a session has got, at least n.
func (r *runner) notifications(session string, n int, epochs bool) string {
	ctx, cancel := context.WithTimeout(context.Background(), statementTimeout)
	defer cancel()
	c := r.conn(session)
	if _, err := c.PgConn().Exec(ctx, "SELECT 1").ReadAll(); err != nil {
		return errorText(err)
	}
	var b strings.Builder
	for {
		got, done := context.WithCancel(ctx)
		if n <= 0 {
			done() // only what is here already
		}
		m, err := c.WaitForNotification(got)
		done()
		switch {
		case err != nil && n > 0:
			return b.String() + errorText(err)
		case err != nil:
			if b.Len() == 0 {
				return "none\n"
			}
			return b.String()
		}
		n--
		if epochs && m.PID == 0 && m.Payload != "" {
			m.Payload = "e"
		}
		b.WriteString(m.Channel + "|" + m.Payload + "\n")
	}
}

func writeResult(b *strings.Builder, rr *pgconn.ResultReader, sorted, view bool) pgconn.CommandTag {
	fields := slices.Clone(rr.FieldDescriptions())
	var rows []string
	for rr.NextRow() {
		vals := make([]string, len(rr.Values()))
		for i, v := range rr.Values() {
			vals[i] = show(v)
			if fields[i].Name == "weir_timestamp" { // which epoch it was depends on the mode
				vals[i] = "e"
			}
		}
		rows = append(rows, strings.Join(vals, "|"))
	}
	ct, err := rr.Close()
	if err != nil { // how many rows came before an error is nobody's business
		return ct
	}
	if len(fields) > 0 {
		names := make([]string, len(fields))
		for i, f := range fields {
			names[i] = f.Name
		}
		b.WriteString(strings.Join(names, "|") + "\n")
	}
	if sorted {
		sort.Strings(rows)
	}
	for _, row := range rows {
		b.WriteString(row + "\n")
	}
	switch tag := ct.String(); {
	case view: // PostgreSQL says how many rows there are
		b.WriteString("CREATE MATERIALIZED VIEW\n")
	case len(fields) == 0, !ct.Select() && !strings.HasPrefix(tag, "SHOW") && !strings.HasPrefix(tag, "EXPLAIN"):
		b.WriteString(tag + "\n")
	case len(rows) == 0:
		b.WriteString("(0 rows)\n")
	}
	return ct
}

// show prints a value in one line.
func show(v []byte) string {
	switch {
	case v == nil:
		return "NULL"
	case len(v) == 0:
		return "''"
	}
	return strings.ReplaceAll(string(v), "\n", `\n`)
}

func errorText(err error) string {
	var pe *pgconn.PgError
	if !errors.As(err, &pe) {
		return "ERROR " + err.Error() + "\n"
	}
	s := "ERROR " + pe.Code
	if pe.Position != 0 {
		s += fmt.Sprintf(" at %d", pe.Position)
	}
	s += ": " + pe.Message + "\n"
	if pe.Detail != "" {
		s += "DETAIL: " + pe.Detail + "\n"
	}
	if pe.Hint != "" {
		s += "HINT: " + pe.Hint + "\n"
	}
	return s
}

var typeMap = pgtype.NewMap()

func typeName(oid uint32) string {
	if t, ok := typeMap.TypeForOID(oid); ok {
		return t.Name
	}
	return fmt.Sprintf("oid %d", oid)
}

func (r *runner) expr(line string) string {
	ctx, cancel := context.WithTimeout(context.Background(), statementTimeout)
	defer cancel()
	mrr := r.conn("").PgConn().Exec(ctx, "SELECT "+line)
	var b strings.Builder
	for mrr.NextResult() {
		rr := mrr.ResultReader()
		fields := slices.Clone(rr.FieldDescriptions())
		for rr.NextRow() {
			for i, v := range rr.Values() {
				if i > 0 {
					b.WriteString("  ")
				}
				b.WriteString(show(v) + "|" + typeName(fields[i].DataTypeOID))
			}
			b.WriteString("\n")
		}
		if _, err := rr.Close(); err != nil {
			break
		}
	}
	r.notices = nil
	if err := mrr.Close(); err != nil {
		return errorText(err)
	}
	return b.String()
}

// wire runs a statement by the extended protocol and compares what text and binary results mean.
func (r *runner) wire(text string) string {
	ctx, cancel := context.WithTimeout(context.Background(), statementTimeout)
	defer cancel()
	c := r.conn("").PgConn()
	r.refresh(r.conn(""))
	binary := c.ExecParams(ctx, text, nil, nil, nil, []int16{1}).Read()
	if binary.Err != nil {
		return errorText(binary.Err)
	}
	textual := &pgconn.Result{}
	if binary.CommandTag.Select() { // others cannot be done twice
		if textual = c.ExecParams(ctx, text, nil, nil, nil, []int16{0}).Read(); textual.Err != nil {
			return errorText(textual.Err)
		}
	}
	var b strings.Builder
	for i, row := range binary.Rows {
		for j, v := range row {
			b.WriteString(typeName(binary.FieldDescriptions[j].DataTypeOID) + " " + showBinary(v))
			if len(textual.Rows) > i {
				b.WriteString(" " + show(textual.Rows[i][j]))
			}
			b.WriteString("\n")
		}
	}
	b.WriteString(binary.CommandTag.String() + "\n")
	return b.String()
}

func showBinary(v []byte) string {
	if v == nil {
		return "NULL"
	}
	return fmt.Sprintf("%x", v)
}
