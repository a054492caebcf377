package pgwire

import (
	"context"
	"encoding/binary"
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
	// failed says that the implicit transaction failed.
	failed   bool
	settings map[string]string
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
