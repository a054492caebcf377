// Package pgwire speaks the server side of the PostgreSQL protocol, version 3.0. It knows no SQL:
// it turns messages into calls of the interfaces Backend, Session, Unit, Prepared and Portal, which
// package server implements, and the results of those calls into messages.
//
// # One connection
//
// A connection is one goroutine that reads a message, acts on it, and appends the answer to an
// output buffer. The buffer is written out when it is full, after ReadyForQuery, on Flush, and
// whenever a session asks (notices, streaming results). Nothing else writes to the socket, and
// every call of a Session and of what it made comes from that one goroutine, one call at a time.
//
// Other goroutines only leave marks and wake the connection through a deadline in the past: a
// CancelRequest cancels the context of the running statement; Shutdown and Server.Terminate end
// the connection; Client.Notify leaves a notification. Because a deadline interrupts reads and
// writes alike, a statement that is blocked on a slow client can be cancelled too; the bytes that
// were not yet sent stay in the buffer, so the stream of messages is never torn.
//
// # Transactions
//
// A session decides what a transaction is. pgwire only says where a group of statements ends: it
// calls Session.Sync at the end of a simple query string and on a Sync message, and Session.Abort
// at once for every error that it reports. After an error in the extended protocol it skips
// messages until the next Sync.
//
// # Memory
//
// Per connection: a read buffer that holds the current message (bounded by Config.MaxMessageSize,
// grown only as bytes arrive, and returned when it was unusually large) and an output buffer of
// Config.WriteBuffer bytes plus one row. COPY data streams through without being collected.
package pgwire
