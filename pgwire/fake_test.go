package pgwire

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/weirdb/weir/sql/sqlerr"
)

// fakeBackend understands a handful of statements, enough to make every message of the protocol
// flow, and as PostgreSQL understands them, so that the scripts run against both.
type fakeBackend struct {
	// entered gets a value, if there is room, when a statement that blocks has begun.
	entered chan struct{}
	// closed gets a value, if there is room, when a session was closed.
	closed chan struct{}
	// tame says that no statement blocks or panics.
	tame bool
	// idleLimit is what sessions answer to IdleLimit.
	idleLimit func() (d time.Duration, err *sqlerr.Error)

	mu       sync.Mutex
	sessions map[*fakeSession]bool
	opened   int
}

func newFake() *fakeBackend {
	return &fakeBackend{
		entered: make(chan struct{}, 1), closed: make(chan struct{}, 1), sessions: map[*fakeSession]bool{},
	}
}

func (b *fakeBackend) Connect(_ context.Context, s Startup, client Client) (Session, error) {
	switch s.Database {
	case "nosuchdb":
		return nil, sqlerr.Newf(sqlerr.InvalidCatalogName, "database %q does not exist", s.Database)
	case "panicdb":
		panic("connect")
	}
	f := &fakeSession{b: b, start: s, client: client, status: 'I', settings: map[string]string{}}
	for name, v := range s.Params {
		if _, known := fakeDefaults[strings.ToLower(name)]; !known {
			return nil, sqlerr.Newf(sqlerr.UndefinedObject, "unrecognized configuration parameter %q", name)
		}
		f.settings[strings.ToLower(name)] = v
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sessions[f] = true
	b.opened++
	return f, nil
}

// live is the number of sessions that were not closed.
func (b *fakeBackend) live() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.sessions)
}

func (b *fakeBackend) blocked() {
	select {
	case b.entered <- struct{}{}:
	default:
	}
}

// fakeDefaults are the settings, by the names that PostgreSQL reports them under.
var fakeDefaults = map[string]string{
	"application_name": "", "client_encoding": "UTF8", "datestyle": "ISO, MDY", "timezone": "UTC",
	"extra_float_digits": "1", "search_path": "public", "geqo": "on",
}

var fakeReported = [][2]string{
	{"application_name", "application_name"},
	{"client_encoding", "client_encoding"},
	{"DateStyle", "datestyle"},
	{"TimeZone", "timezone"},
}

type fakeSession struct {
	b      *fakeBackend
	start  Startup
	client Client
	status byte
	// implicit says that there is an implicit transaction, failed that it failed.
	implicit, failed bool
	settings         map[string]string
	// undo is what settings and rows were when the transaction began.
	undoSettings map[string]string
	undoRows     []string
	undo         bool
	rows         []string
	closed       bool
}

func (f *fakeSession) setting(name string) string {
	if v, ok := f.settings[name]; ok {
		return v
	}
	return fakeDefaults[name]
}

func (f *fakeSession) Params() []ParameterStatus {
	return append([]ParameterStatus{{"server_version", "15.0 (Weir test)"}, {"server_encoding", "UTF8"}}, f.ChangedParams()...)
}

func (f *fakeSession) ChangedParams() []ParameterStatus {
	var list []ParameterStatus
	for _, p := range fakeReported {
		list = append(list, ParameterStatus{p[0], f.setting(p[1])})
	}
	return list
}

func (f *fakeSession) IdleLimit() (time.Duration, *sqlerr.Error) {
	if f.b.idleLimit == nil {
		return 0, nil
	}
	return f.b.idleLimit()
}

func (f *fakeSession) TxStatus() byte { return f.status }

func (f *fakeSession) begin() {
	if f.undo {
		return
	}
	f.undo, f.undoRows = true, append([]string(nil), f.rows...)
	f.undoSettings = map[string]string{}
	for k, v := range f.settings {
		f.undoSettings[k] = v
	}
}

func (f *fakeSession) end(commit bool) {
	if f.undo && !commit {
		f.rows, f.settings = f.undoRows, f.undoSettings
	}
	f.undo = false
}

func (f *fakeSession) Sync(context.Context) error {
	if f.closed {
		panic("sync after close")
	}
	if f.status != 'I' {
		return nil
	}
	commitFails := false
	for _, r := range f.rows {
		commitFails = commitFails || r == "commit fails"
	}
	f.end(!f.failed && !commitFails)
	failed := f.failed
	f.failed = false
	if commitFails && !failed {
		return sqlerr.Newf(sqlerr.SerializationFailure, "the commit failed")
	}
	return nil
}

func (f *fakeSession) Abort() {
	f.failed = true
	switch f.status {
	case 'T':
		f.status = 'E'
	case 'I':
		f.end(false)
	}
}

func (f *fakeSession) Close() {
	f.b.mu.Lock()
	defer f.b.mu.Unlock()
	if f.closed {
		panic("closed twice")
	}
	f.closed = true
	delete(f.b.sessions, f)
	select {
	case f.b.closed <- struct{}{}:
	default:
	}
}

// fakeStatement is a piece of SQL that was understood; it is Unit, Prepared and Portal.
type fakeStatement struct {
	f    *fakeSession
	sql  string
	off  int
	cols []Column
	// exprs are the select list.
	exprs  []string
	oids   []uint32
	params []Param
	// wrong is what is wrong with it beyond its syntax.
	wrong error
	// done counts the rows that a portal has given.
	done   int
	closed bool
}

func (f *fakeSession) Split(_ context.Context, sql string) ([]Unit, error) {
	var units []Unit
	off := 0
	for _, part := range splitSQL(sql) {
		lead := len(part) - len(strings.TrimLeft(part, " "))
		st, err := f.parse(strings.TrimSpace(part), off+lead)
		if err != nil {
			return nil, err
		}
		if st.sql != "" {
			units = append(units, st)
		}
		off += len(part) + 1
	}
	return units, nil
}

// splitSQL splits at semicolons outside of quotes.
func splitSQL(sql string) []string {
	var parts []string
	from, quote, dollar := 0, false, false
	for i := range len(sql) {
		switch {
		case sql[i] == '\'' && !dollar:
			quote = !quote
		case strings.HasPrefix(sql[i:], "$$"):
			dollar = !dollar
		case sql[i] == ';' && !quote && !dollar:
			parts = append(parts, sql[from:i])
			from = i + 1
		}
	}
	return append(parts, sql[from:])
}

var (
	fakeParam = regexp.MustCompile(`\$(\d+)(::\w+)?`)
	fakeCast  = regexp.MustCompile(`^(.*)::(\w+)( as \w+)?$`)
	fakeTypes = map[string]Column{
		"int": {TypeOID: 23, TypeLen: 4}, "int4": {TypeOID: 23, TypeLen: 4}, "int8": {TypeOID: 20, TypeLen: 8}, "text": {TypeOID: 25, TypeLen: -1},
	}
)

func (f *fakeSession) parse(sql string, off int) (*fakeStatement, error) {
	if strings.HasPrefix(sql, "--") {
		sql = ""
	}
	if strings.HasPrefix(sql, "COPY  wire_t FROM STDIN") { // psql's way of writing \copy
		sql = "copy wire_t from stdin"
	}
	st := &fakeStatement{f: f, sql: sql, off: off}
	word, rest, _ := strings.Cut(sql, " ")
	switch word {
	case "", "begin", "commit", "rollback", "set", "create", "insert", "do", "copy", "prepare", "deallocate", "panic", "declare",
		"close", "truncate", "notify":
	case "show":
		st.cols = []Column{{Name: rest, TypeOID: 25, TypeLen: -1, TypeMod: -1}}
	case "fetch":
		st.cols = []Column{{Name: "g", TypeOID: 23, TypeLen: 4, TypeMod: -1}}
	case "execute":
		st.cols = []Column{}
	case "select":
		st.cols = []Column{}
		for _, e := range splitList(rest) {
			name := "?column?"
			if i := strings.LastIndex(e, " as "); i >= 0 {
				e, name = e[:i], e[i+4:]
			}
			col := fakeTypes["int"]
			switch {
			case strings.HasPrefix(e, "'") || e == "null":
				col = fakeTypes["text"]
			case strings.HasPrefix(e, "pg_sleep"):
				name, col = "pg_sleep", Column{TypeOID: 2278, TypeLen: 4}
			case strings.HasPrefix(e, "generate_series"):
				if name == "?column?" {
					name = "generate_series"
				}
			case strings.HasPrefix(e, "count"):
				name, col = "count", Column{TypeOID: 20, TypeLen: 8}
			case strings.HasPrefix(e, "nosuch"):
				st.wrong = sqlerr.New(sqlerr.UndefinedColumn, off+strings.Index(sql, e), "column %q does not exist", e)
			}
			if m := fakeCast.FindStringSubmatch(e); m != nil {
				e, col = m[1], fakeTypes[m[2]]
				if name == "?column?" && !strings.HasPrefix(e, "$") {
					name = m[2]
				}
				if name == "?column?" && m[2] == "int" || name == "?column?" && strings.HasPrefix(e, "$") {
					name = strings.NewReplacer("int8", "int8", "int", "int4").Replace(m[2])
				}
			}
			col.Name, col.TypeMod = name, -1
			st.exprs, st.cols = append(st.exprs, e), append(st.cols, col)
		}
	default:
		return nil, sqlerr.New(sqlerr.SyntaxError, off, "syntax error at or near %q", word)
	}
	for _, m := range fakeParam.FindAllStringSubmatch(sql, -1) {
		n, _ := strconv.Atoi(m[1])
		if n < 1 || n > 1000 {
			continue
		}
		for len(st.oids) < n {
			st.oids = append(st.oids, 25)
		}
		if t, ok := fakeTypes[strings.TrimPrefix(m[2], "::")]; ok {
			st.oids[n-1] = t.TypeOID
		}
	}
	return st, nil
}

// splitList splits at commas outside of quotes and parentheses.
func splitList(s string) []string {
	if s = strings.TrimSuffix(s, " from wire_t"); s == "" {
		return nil
	}
	var list []string
	from, depth, quote := 0, 0, false
	for i := range len(s) {
		switch s[i] {
		case '\'':
			quote = !quote
		case '(':
			depth++
		case ')':
			depth--
		case ',':
			if depth == 0 && !quote {
				list = append(list, strings.TrimSpace(s[from:i]))
				from = i + 1
			}
		}
	}
	return append(list, strings.TrimSpace(s[from:]))
}

func (f *fakeSession) Prepare(_ context.Context, sql string, oids []uint32) (Prepared, error) {
	parts := splitSQL(sql)
	if len(parts) > 1 && strings.TrimSpace(parts[1]) != "" {
		return nil, sqlerr.Newf(sqlerr.SyntaxError, "cannot insert multiple commands into a prepared statement")
	}
	st, err := f.parse(strings.TrimSpace(parts[0]), 0)
	if err != nil {
		return nil, err
	}
	if err := f.allowed(st); err != nil {
		return nil, err
	}
	if st.wrong != nil {
		return nil, st.wrong
	}
	for i, oid := range oids {
		if oid != 0 && i < len(st.oids) {
			st.oids[i] = oid
		}
	}
	return st, nil
}

// allowed refuses most statements in a failed transaction.
func (f *fakeSession) allowed(st *fakeStatement) error {
	if f.status == 'E' && st.sql != "rollback" && st.sql != "commit" && st.sql != "" {
		return sqlerr.Newf(sqlerr.InFailedSQLTransaction, "current transaction is aborted, commands ignored until end of transaction block")
	}
	return nil
}

func (st *fakeStatement) ParamOIDs() []uint32                       { return st.oids }
func (st *fakeStatement) Columns(context.Context) ([]Column, error) { return st.cols, nil }

func (st *fakeStatement) Close() {
	if st.closed {
		panic("statement closed twice: " + st.sql)
	}
	st.closed = true
}

func (st *fakeStatement) Bind(_ context.Context, params []Param, formats []Format) (Portal, error) {
	for _, e := range st.exprs {
		if e == "1/0" {
			return nil, divisionByZero()
		}
	}
	p := *st
	p.params, p.cols = nil, append([]Column(nil), st.cols...)
	if st.cols == nil {
		p.cols = nil
	}
	for i, v := range params {
		if v.Value != nil {
			v.Value = append([]byte{}, v.Value...)
		}
		if v.Format == Binary && st.oids[i] == 23 && v.Value != nil {
			if len(v.Value) != 4 {
				return nil, sqlerr.Newf(sqlerr.InvalidBinaryRepresentation, "incorrect binary data format in bind parameter %d", i+1)
			}
			v.Value = strconv.AppendInt(nil, int64(int32(binary.BigEndian.Uint32(v.Value))), 10)
		}
		if st.oids[i] == 23 && v.Value != nil {
			if _, err := strconv.Atoi(string(v.Value)); err != nil {
				return nil, sqlerr.Newf(sqlerr.InvalidTextRepresentation, "invalid input syntax for type integer: %q", v.Value)
			}
		}
		p.params = append(p.params, v)
	}
	for i := range p.cols {
		p.cols[i].Format = FormatOf(formats, i)
	}
	return &fakePortal{p}, nil
}

// fakePortal is a statement with its parameters.
type fakePortal struct{ fakeStatement }

func (p *fakePortal) Columns() []Column { return p.cols }

func (p *fakePortal) Execute(ctx context.Context, w ResultWriter, maxRows int) (Result, error) {
	return p.execute(ctx, w, maxRows)
}

func (st *fakeStatement) Run(ctx context.Context, w ResultWriter) (Result, error) {
	return st.execute(ctx, w, 0)
}

func (st *fakeStatement) execute(ctx context.Context, w ResultWriter, maxRows int) (Result, error) {
	f := st.f
	if err := f.allowed(st); err != nil {
		return Result{}, err
	}
	if st.wrong != nil {
		return Result{}, st.wrong
	}
	f.begin()
	word, rest, _ := strings.Cut(st.sql, " ")
	switch word {
	case "":
		return Result{Empty: true}, nil
	case "begin":
		if f.status == 'T' {
			w.Notice(&Notice{Severity: "WARNING", Code: sqlerr.ActiveSQLTransaction, Message: "there is already a transaction in progress"})
		}
		f.status = 'T'
		return Result{Tag: "BEGIN"}, nil
	case "commit", "rollback":
		tag := strings.ToUpper(word)
		if f.status == 'E' {
			tag = "ROLLBACK"
		}
		if f.status == 'I' {
			w.Notice(&Notice{Severity: "WARNING", Code: sqlerr.NoActiveSQLTransaction, Message: "there is no transaction in progress"})
		}
		f.end(tag == "COMMIT")
		f.status, f.failed = 'I', false
		f.client.RemovePortals(false)
		return Result{Tag: tag}, nil
	case "set":
		name, v, _ := strings.Cut(rest, "=")
		f.settings[strings.TrimSpace(name)] = strings.Trim(strings.TrimSpace(v), "'")
		return Result{Tag: "SET"}, nil
	case "show":
		w.Columns(st.cols)
		return st.rowsOf(w, 0, [][]string{{f.setting(rest)}}, "SHOW")
	case "notify":
		f.b.mu.Lock()
		for other := range f.b.sessions {
			other.client.Notify(Notification{PID: f.start.PID, Channel: rest, Payload: "p"})
		}
		f.b.mu.Unlock()
		return Result{Tag: "NOTIFY"}, nil
	case "create":
		return Result{Tag: "CREATE TABLE"}, nil
	case "truncate":
		f.rows = nil
		return Result{Tag: "TRUNCATE TABLE"}, nil
	case "insert":
		return st.insert(rest)
	case "do":
		m := regexp.MustCompile(`raise (\w+) '([^']*)'`).FindAllStringSubmatch(rest, -1)
		for _, n := range m {
			w.Notice(&Notice{Severity: strings.ToUpper(n[1]), Message: n[2]})
		}
		return Result{Tag: "DO"}, nil
	case "copy":
		return st.copy(w, rest)
	case "panic":
		if f.b.tame {
			return Result{}, sqlerr.Newf(sqlerr.InternalError, "this is not a panic")
		}
		w.Rows().BeginRow()
		panic("the fake was told to")
	case "prepare":
		name, sql, _ := strings.Cut(rest, " as ")
		p, err := f.Prepare(ctx, sql, nil)
		if err != nil {
			return Result{}, err
		}
		return Result{Tag: "PREPARE"}, f.client.AddStatement(name, sql, p)
	case "execute":
		p, ok := f.client.Statement(rest)
		if !ok {
			return Result{}, sqlerr.Newf(sqlerr.InvalidSQLStatementName, "prepared statement %q does not exist", rest)
		}
		run := *p.(*fakeStatement)
		return run.execute(ctx, w, maxRows)
	case "deallocate":
		if rest == "all" {
			f.client.RemoveStatements()
			return Result{Tag: "DEALLOCATE ALL"}, nil
		}
		return Result{Tag: "DEALLOCATE"}, f.client.RemoveStatement(rest)
	case "declare":
		name, sql, _ := strings.Cut(rest, " cursor for ")
		p, err := f.parse(sql, 0)
		if err != nil {
			return Result{}, err
		}
		return Result{Tag: "DECLARE CURSOR"}, f.client.AddPortal(name, sql, &fakePortal{*p}, false)
	case "fetch":
		n, name, _ := strings.Cut(rest, " from ")
		p, ok := f.client.Portal(name)
		if !ok {
			return Result{}, sqlerr.Newf(sqlerr.InvalidCursorName, "cursor %q does not exist", name)
		}
		limit, _ := strconv.Atoi(n)
		_, err := p.Execute(ctx, w, limit)
		return Result{Tag: fmt.Sprintf("FETCH %d", w.Rows().Count())}, err
	case "close":
		return Result{Tag: "CLOSE CURSOR"}, f.client.RemovePortal(rest)
	}
	// PostgreSQL computes constants before it runs anything.
	for _, e := range st.exprs {
		if e == "1/0" {
			return Result{}, divisionByZero()
		}
	}
	w.Columns(st.cols)
	return st.query(ctx, w, maxRows)
}

func divisionByZero() error { return sqlerr.Newf(sqlerr.DivisionByZero, "division by zero") }

func (st *fakeStatement) insert(rest string) (Result, error) {
	n := 0
	for _, v := range strings.Split(strings.TrimPrefix(rest, "into wire_t values "), ",") {
		v = strings.Trim(v, "()' ")
		if strings.HasPrefix(v, "$") && len(st.params) > 0 {
			v = string(st.params[0].Value)
		}
		for _, have := range st.f.rows {
			if have == v {
				return Result{}, &sqlerr.Error{
					Code: sqlerr.UniqueViolation, Message: `duplicate key value violates unique constraint "wire_t_pkey"`,
					Detail: "Key (a)=(" + v + ") already exists.", Pos: sqlerr.NoPos, Table: "wire_t", Constraint: "wire_t_pkey",
				}
			}
		}
		st.f.rows = append(st.f.rows, v)
		n++
	}
	return Result{Tag: fmt.Sprintf("INSERT 0 %d", n)}, nil
}

func (st *fakeStatement) copy(w ResultWriter, rest string) (Result, error) {
	f := st.f
	if strings.HasSuffix(rest, "to stdout") {
		out, err := w.CopyOut(Text, 1)
		if err != nil {
			return Result{}, err
		}
		for _, r := range f.rows {
			if _, err := io.WriteString(out, r+"\n"); err != nil {
				return Result{}, err
			}
		}
		return Result{Tag: fmt.Sprintf("COPY %d", len(f.rows))}, nil
	}
	in, err := w.CopyIn(Text, 1)
	if err != nil {
		return Result{}, err
	}
	f.b.blocked()
	n := 0
	for lines := bufio.NewReader(in); ; n++ {
		line, err := lines.ReadString('\n')
		switch {
		case err == io.EOF && line == "":
			return Result{Tag: fmt.Sprintf("COPY %d", n)}, nil
		case err != nil && err != io.EOF:
			return Result{}, err
		case line == "\\.\n":
			return Result{Tag: fmt.Sprintf("COPY %d", n)}, nil
		case line == "bad\n":
			return Result{}, sqlerr.Newf(sqlerr.BadCopyFileFormat, "bad line")
		}
		f.rows = append(f.rows, strings.TrimSuffix(line, "\n"))
	}
}

// query runs a select.
func (st *fakeStatement) query(ctx context.Context, w ResultWriter, maxRows int) (Result, error) {
	rows := w.Rows()
	if len(st.exprs) == 1 {
		var from, to int
		if n, _ := fmt.Sscanf(st.exprs[0], "generate_series(%d,%d)", &from, &to); n == 2 {
			if st.f.b.tame {
				to = min(to, from+1000)
			}
			first := st.done
			for i := from + st.done; i <= to; i++ {
				rows.BeginRow()
				st.int(rows, 0, i)
				if err := rows.EndRow(); err != nil {
					return Result{}, err
				}
				if st.done++; maxRows > 0 && st.done-first == maxRows {
					return Result{Suspended: true}, nil
				}
			}
			return Result{Tag: fmt.Sprintf("SELECT %d", st.done-first)}, nil
		}
		if strings.HasPrefix(st.exprs[0], "pg_sleep") {
			if st.f.b.tame {
				return Result{Tag: "SELECT 0"}, nil
			}
			st.f.b.blocked()
			<-ctx.Done()
			return Result{}, fmt.Errorf("sleep: %w", ctx.Err())
		}
	}
	if st.done > 0 {
		return Result{Tag: "SELECT 0"}, nil
	}
	st.done = 1
	rows.BeginRow()
	for i, e := range st.exprs {
		switch n, err := strconv.Atoi(e); {
		case err == nil:
			st.int(rows, i, n)
		case strings.HasPrefix(e, "'"):
			rows.String(strings.Trim(e, "'"))
		case strings.HasPrefix(e, "$"):
			n, err := strconv.Atoi(e[1:])
			if err != nil || n < 1 || n > len(st.params) {
				return Result{}, sqlerr.Newf(sqlerr.UndefinedParameter, "there is no parameter %s", e)
			}
			v := st.params[n-1]
			switch {
			case v.Value == nil:
				rows.Null()
			case st.oids[n-1] == 23:
				k, _ := strconv.Atoi(string(v.Value))
				st.int(rows, i, k)
			default:
				rows.Value(v.Value)
			}
		case strings.HasPrefix(e, "count"):
			st.int(rows, i, len(st.f.rows))
		default:
			rows.Null()
		}
	}
	if err := rows.EndRow(); err != nil {
		return Result{}, err
	}
	if maxRows == 1 {
		return Result{Suspended: true}, nil
	}
	return Result{Tag: "SELECT 1"}, nil
}

// int writes an integer in the format of column i.
func (st *fakeStatement) int(rows *RowWriter, i, v int) {
	switch {
	case st.cols[i].Format == Binary && st.cols[i].TypeLen == 8:
		rows.EndValue(binary.BigEndian.AppendUint64(rows.BeginValue(), uint64(v)))
		return
	case st.cols[i].Format == Binary:
		rows.EndValue(binary.BigEndian.AppendUint32(rows.BeginValue(), uint32(v)))
		return
	}
	rows.EndValue(strconv.AppendInt(rows.BeginValue(), int64(v), 10))
}

func (st *fakeStatement) rowsOf(w ResultWriter, _ int, data [][]string, tag string) (Result, error) {
	for _, row := range data {
		w.Rows().BeginRow()
		for _, v := range row {
			w.Rows().String(v)
		}
		if err := w.Rows().EndRow(); err != nil {
			return Result{}, err
		}
	}
	return Result{Tag: tag}, nil
}
