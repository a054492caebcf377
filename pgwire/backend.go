package pgwire

import (
	"context"
	"crypto/x509"
	"net"
	"time"

	"github.com/weirdb/weir/sql/sqlerr"
)

// A Backend opens sessions. Connect may be called from many goroutines at once.
type Backend interface {
	// Connect opens the session of an authenticated connection. An error is reported to the client
	// as FATAL (use 3D000 for an unknown database, 42704 or 22023 for a bad setting, 57P03 while
	// the server is not ready) and ends the connection. ctx ends with the connection.
	//
	// client stays valid for the life of the session; Client says when it may be used.
	Connect(ctx context.Context, s Startup, client Client) (Session, error)
}

// Startup is what a client said when it connected.
type Startup struct {
	// User is never empty. Database is the user's name if the client named none.
	User, Database string
	// Params are the run-time settings asked for: start-up parameters but user, database, options
	// and replication, over the "-c name=value" and "--name=value" settings inside options. Names
	// are as the client wrote them (settings are not case sensitive).
	Params map[string]string
	// Remote is the client's address; its Network is "unix" for a local socket.
	Remote net.Addr
	// Certificate is the one that the server showed if the connection is encrypted, else nil.
	Certificate *x509.Certificate
	// PID is the process id that the client was given, unique among the live connections.
	PID int32
}

// A Session is one client's session. Its methods, and those of the objects it makes, are called
// from one goroutine at a time.
//
// Contexts: the ctx of a call is cancelled when the user cancels the statement, when the client
// goes away and when the server stops. context.Cause then is the *sqlerr.Error to report; an error
// that wraps context.Canceled is replaced by that cause, so returning ctx.Err() is enough. A ctx
// is not cancelled when its call returns: work that a session starts must be ended by the session.
//
// Errors: an *sqlerr.Error is reported as it is (its Pos counts bytes from the start of the text
// that was given to Split or Prepare); any other error is an internal error, XX000.
type Session interface {
	// Params are the settings that are reported to the client at the start, in this order:
	// server_version, server_encoding, client_encoding and the other settings that PostgreSQL
	// reports.
	Params() []ParameterStatus
	// ChangedParams are the reported settings whose value may have changed since the last call
	// of Params or ChangedParams, for whatever reason: SET, the end of a transaction, DISCARD. It
	// is called before every ReadyForQuery and should cost nothing when there was no change.
	// Values that the client knows already are not sent again.
	ChangedParams() []ParameterStatus
	// Split parses a simple query string into the units that run one after the other. Nothing has
	// run when it fails. No units at all means an empty query.
	Split(ctx context.Context, sql string) ([]Unit, error)
	// Prepare parses and analyses one statement, or none (an empty query). paramOIDs are the
	// types that the client declared, 0 where it left the type open; there may be fewer or more
	// than the statement has parameters. It reports 42601 "cannot insert multiple commands into a
	// prepared statement" for more than one statement.
	Prepare(ctx context.Context, sql string, paramOIDs []uint32) (Prepared, error)
	// TxStatus is 'I' outside a transaction block, 'T' inside one and 'E' inside one that failed.
	TxStatus() byte
	// Sync ends the implicit transaction, if there is one: it commits, unless Abort was called
	// since it began, and returns when the commit is as durable as the session promises. It
	// leaves a transaction block of the user's alone.
	//
	// In a simple query Sync comes before the CommandComplete of the last unit, so that a commit
	// which fails is not acknowledged.
	Sync(ctx context.Context) error
	// Abort is called once for every error that is reported to the client, whoever found it,
	// before any other call: a transaction block becomes failed, an implicit transaction is
	// rolled back.
	Abort()
	// Close ends the session and rolls back what is open. It is the last call, and comes exactly
	// once, also after a panic in another method and when the client went away.
	Close()
}

// An IdleLimiter is a Session that limits how long its connection may be idle.
type IdleLimiter interface {
	// IdleLimit is asked when the connection starts to wait for the client. A client that sends
	// nothing for longer than d is disconnected with err; zero or less is no limit.
	IdleLimit() (d time.Duration, err *sqlerr.Error)
}

// An ErrorTexter is a Session that completes errors before a client gets them.
type ErrorTexter interface {
	// ErrorText gives e with the texts that the client is to see. It must not change e.
	ErrorText(e *sqlerr.Error) *sqlerr.Error
}

// A Unit is one statement of a simple query string.
type Unit interface {
	// Run runs the statement, results in text format. A statement that has a result set calls
	// w.Columns before its first row, also when there is no row.
	Run(ctx context.Context, w ResultWriter) (Result, error)
}

// Prepared is a prepared statement. It may be used again and again until Close.
type Prepared interface {
	// ParamOIDs are the types of the parameters, none of them 0. The result must not change.
	ParamOIDs() []uint32
	// Columns describes the result; nil means that there is no result set, which is not the same
	// as a result set without columns. Formats are ignored.
	Columns(ctx context.Context) ([]Column, error)
	// Bind makes a portal. Both slices, and the values in params, are valid only during the call;
	// params has ParamOIDs' length, and text values are valid UTF-8. resultFormats is empty (all
	// text), one format for every column, or one for each; FormatOf reads it.
	Bind(ctx context.Context, params []Param, resultFormats []Format) (Portal, error)
	// Close is called once, when the statement's name is gone. Portals made from it stay usable.
	Close()
}

// Portal is a bound statement that is ready to run.
type Portal interface {
	// Columns describes the result in the formats that were bound; nil means no result set.
	Columns() []Column
	// Execute runs the portal, or goes on where the last call stopped. It writes at most maxRows
	// rows if maxRows > 0, and reports Result.Suspended if it stopped for that reason. Statements
	// that return no rows ignore maxRows. It does not call w.Columns.
	Execute(ctx context.Context, w ResultWriter, maxRows int) (Result, error)
	// Close is called once.
	Close()
}

// Result says how a statement ended.
type Result struct {
	// Tag is the command tag, for example "SELECT 3" or "CREATE TABLE".
	Tag string
	// Empty says that there was no statement at all.
	Empty bool
	// Suspended says that the row limit was reached; the portal can go on.
	Suspended bool
}

// Format is a format code of the protocol.
type Format int16

// The formats of values.
const (
	Text   Format = 0
	Binary Format = 1
)

// FormatOf gives the format of column i from a list as in a Bind message: none means text, one
// holds for every column.
func FormatOf(formats []Format, i int) Format {
	switch len(formats) {
	case 0:
		return Text
	case 1:
		return formats[0]
	default:
		return formats[i]
	}
}

// Param is a parameter's value. A nil Value is NULL.
type Param struct {
	Format Format
	Value  []byte
}

// Column describes a column of a result, as in RowDescription.
type Column struct {
	Name string
	// TableOID and Number say which column of which table this is; 0 if it is an expression.
	TableOID uint32
	Number   int16
	TypeOID  uint32
	// TypeLen is the type's size in bytes, -1 if it varies. TypeMod is -1 without a modifier.
	TypeLen int16
	TypeMod int32
	Format  Format
}

// ParameterStatus is a setting that is reported to the client.
type ParameterStatus struct{ Name, Value string }

// Notice is a message to the client that is not an error.
type Notice struct {
	// Severity is WARNING, NOTICE, INFO, LOG or DEBUG; empty is NOTICE.
	Severity string
	// Code is the SQLSTATE; empty is 01000 for a WARNING and 00000 for anything else.
	Code                  sqlerr.Code
	Message, Detail, Hint string
	// Where says in what it happened, as in an error.
	Where string
}

// Notification is what NOTIFY sends to a session that listens.
type Notification struct {
	// PID is the process id of the session that sent it.
	PID              int32
	Channel, Payload string
}

// Client is a session's way back to its connection. Notify may be called by any goroutine; all
// other methods only inside a call that pgwire makes to the session or to one of its objects.
//
// The names of prepared statements and portals live here, because the protocol and SQL share
// them: PREPARE, EXECUTE, DEALLOCATE, DECLARE, FETCH and CLOSE use these methods.
type Client interface {
	// Notice sends a notice at once.
	Notice(n *Notice)
	// Notify leaves a notification, which is sent when the connection is outside a transaction. It
	// never blocks; it reports false if the connection has ended or has too many waiting.
	Notify(n Notification) bool
	// Statement finds a prepared statement.
	Statement(name string) (Prepared, bool)
	// AddStatement names a prepared statement of the text sql; 42P05 if the name is in use. From
	// then on the connection closes p.
	AddStatement(name, sql string, p Prepared) error
	// RemoveStatement closes a prepared statement; 26000 if there is none.
	RemoveStatement(name string) error
	// RemoveStatements closes all prepared statements.
	RemoveStatements()
	// Portal finds a portal.
	Portal(name string) (Portal, bool)
	// AddPortal names a portal of the text sql; 42P03 if the name is in use. From then on the
	// connection closes p, at the end of the transaction unless it is held.
	AddPortal(name, sql string, p Portal, held bool) error
	// RemovePortal closes a portal; 34000 if there is none.
	RemovePortal(name string) error
	// RemovePortals closes all portals, or all but the held ones, but never the one that is
	// running. A session calls it where a transaction ends in the middle of a query string;
	// pgwire does so itself whenever TxStatus is 'I' after Sync.
	RemovePortals(held bool)
	// Portals lists the named portals, in order of name.
	Portals() []NamedPortal
	// Statements lists the prepared statements for pg_prepared_statements, in order of name.
	Statements() []NamedStatement
}

// NamedPortal is an entry of Client.Portals.
type NamedPortal struct {
	Name, SQL string
	// Held says that it outlives its transaction.
	Held   bool
	Portal Portal
}

// NamedStatement is an entry of Client.Statements.
type NamedStatement struct {
	Name, SQL string
	// FromSQL says that it was made by Client.AddStatement and not by a Parse message.
	FromSQL  bool
	Prepared Prepared
}
