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

	"github.com/weirdb/weir/sql/sqlerr"
)

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
		w.Rows().BeginRow()
		w.Rows().String(f.setting(rest))
		return Result{Tag: "SHOW"}, w.Rows().EndRow()
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
