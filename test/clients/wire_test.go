package clients

import (
	"context"
	"encoding/hex"
	"fmt"
	"net"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgproto3"
)

// answerTimeout is how long a statement may take before its connection is given up.
const answerTimeout = 30 * time.Second

// statement is one that a client sent.
type statement struct {
	// SQL may have ${name} where the client sent the OID of an object of its server.
	SQL string `json:"sql"`
	// Proto is Q for the simple protocol, P for the extended one.
	Proto string `json:"proto"`
	// OIDs are the types that the client declared, Params the values (nil: NULL; \x and hexadecimal digits where the
	// format is binary), ParamFormats and ResultFormats those of Bind.
	OIDs          []uint32  `json:"oids,omitempty"`
	Params        []*string `json:"params,omitempty"`
	ParamFormats  []int16   `json:"pf,omitempty"`
	ResultFormats []int16   `json:"rf,omitempty"`
}

// column is a name and the OID of a type, as in RowDescription.
type column struct {
	Name string `json:"name"`
	Type uint32 `json:"type"`
}

// result is what one statement of a message gave.
type result struct {
	Columns []column    `json:"cols,omitempty"`
	Rows    [][]*string `json:"rows,omitempty"`
	Tag     string      `json:"tag,omitempty"`
}

// answer is what a server said to one message.
type answer struct {
	// ParamTypes are those of ParameterDescription.
	ParamTypes []uint32 `json:"poids,omitempty"`
	Results    []result `json:"results,omitempty"`
	Error      string   `json:"error,omitempty"`
	Message    string   `json:"message,omitempty"`
}

// wire is a connection that sends messages as they are.
type wire struct {
	conn net.Conn
	fe   *pgproto3.Frontend
	// status is that of the last ReadyForQuery.
	status byte
}

// dialWire connects as a user, without a password.
func dialWire(ctx context.Context, addr, user, database string) (*wire, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	w := &wire{conn: c, fe: pgproto3.NewFrontend(c, c)}
	if err := c.SetDeadline(time.Now().Add(answerTimeout)); err != nil {
		return nil, err
	}
	w.fe.Send(&pgproto3.StartupMessage{ProtocolVersion: pgproto3.ProtocolVersionNumber, Parameters: map[string]string{
		"user": user, "database": database, "TimeZone": "UTC", "client_encoding": "UTF8",
	}})
	if err := w.fe.Flush(); err != nil {
		return nil, err
	}
	a, err := w.read()
	if err == nil && a.Error != "" {
		err = fmt.Errorf("%s %s", a.Error, a.Message)
	}
	return w, err
}

func (w *wire) close() { _ = w.conn.Close() }

// read takes messages up to ReadyForQuery. A COPY into the server gets no rows.
func (w *wire) read() (answer, error) {
	var a answer
	var r result
	for {
		m, err := w.fe.Receive()
		if err != nil {
			if a.Error != "" {
				return a, nil // FATAL: the server closed the connection.
			}
			return a, err
		}
		switch m := m.(type) {
		case *pgproto3.ReadyForQuery:
			w.status = m.TxStatus
			return a, nil
		case *pgproto3.ErrorResponse:
			a.Error, a.Message = m.Code, m.Message
			r = result{}
		case *pgproto3.ParameterDescription:
			a.ParamTypes = append([]uint32(nil), m.ParameterOIDs...)
		case *pgproto3.RowDescription:
			r.Columns = make([]column, len(m.Fields))
			for i, f := range m.Fields {
				r.Columns[i] = column{string(f.Name), f.DataTypeOID}
			}
		case *pgproto3.DataRow:
			r.Rows = append(r.Rows, cells(m.Values))
		case *pgproto3.CopyData:
			s := cell(m.Data)
			r.Rows = append(r.Rows, []*string{&s})
		case *pgproto3.CommandComplete:
			r.Tag = string(m.CommandTag)
			a.Results = append(a.Results, r)
			r = result{}
		case *pgproto3.EmptyQueryResponse:
			a.Results = append(a.Results, result{})
			r = result{}
		case *pgproto3.CopyInResponse:
			w.fe.Send(&pgproto3.CopyDone{})
			if err := w.fe.Flush(); err != nil {
				return a, err
			}
		}
	}
}

func cells(values [][]byte) []*string {
	row := make([]*string, len(values))
	for i, v := range values {
		if v != nil {
			s := cell(v)
			row[i] = &s
		}
	}
	return row
}

// cell shows a value: as it is where it is text.
func cell(v []byte) string {
	if utf8.Valid(v) && !strings.ContainsRune(string(v), 0) {
		return string(v)
	}
	return `\x` + hex.EncodeToString(v)
}

var placeholder = regexp.MustCompile(`\$\{[^}]+\}`)

// oid asks for the OID of an object.
func (w *wire) oid(name string) string {
	kind, name, _ := strings.Cut(name, " ")
	a, err := w.send(statement{Proto: "Q", SQL: "SELECT '" + name + "'::pg_catalog." + kind + "::pg_catalog.oid"})
	if err != nil || len(a.Results) != 1 || len(a.Results[0].Rows) != 1 {
		return "0"
	}
	return *a.Results[0].Rows[0][0]
}

// send sends a statement and reads the answer.
func (w *wire) send(s statement) (answer, error) {
	sql := s.SQL
	if strings.Contains(sql, "${reg") {
		sql = placeholder.ReplaceAllStringFunc(sql, func(p string) string { return w.oid(p[2 : len(p)-1]) })
	}
	if err := w.conn.SetDeadline(time.Now().Add(answerTimeout)); err != nil {
		return answer{}, err
	}
	if s.Proto == "Q" {
		w.fe.Send(&pgproto3.Query{String: sql})
	} else {
		params := make([][]byte, len(s.Params))
		for i, p := range s.Params {
			if p == nil {
				continue
			}
			params[i] = []byte(*p)
			if h, ok := strings.CutPrefix(*p, `\x`); ok && (len(s.ParamFormats) == 1 && s.ParamFormats[0] == 1 || i < len(s.ParamFormats) && s.ParamFormats[i] == 1) {
				b, err := hex.DecodeString(h)
				if err != nil {
					return answer{}, err
				}
				params[i] = b
			}
		}
		w.fe.Send(&pgproto3.Parse{Query: sql, ParameterOIDs: s.OIDs})
		w.fe.Send(&pgproto3.Describe{ObjectType: 'S'})
		w.fe.Send(&pgproto3.Bind{Parameters: params, ParameterFormatCodes: s.ParamFormats, ResultFormatCodes: s.ResultFormats})
		w.fe.Send(&pgproto3.Execute{})
		w.fe.Send(&pgproto3.Sync{})
	}
	if err := w.fe.Flush(); err != nil {
		return answer{}, err
	}
	return w.read()
}
