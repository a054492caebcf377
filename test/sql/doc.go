// Package sql tests Weir from the outside, through the Postgres protocol.
//
// Every file in testdata is a script of statements and what they answer. TestFiles runs each file on a
// server in this process several times, with one expected result: plain, with chunks of one row, with two
// actors per fragment, with a checkpoint and a restart after each statement that writes, and with a crash
// (everything that was not synced is lost) after each. TestRandom compares random queries with
// themselves: ad hoc, as views that existed before the data, as views that were made after it.
//
// With WEIR_PG set to the URL of a PostgreSQL 15 server (a role that may create databases),
// TestPostgres runs the same files there, and TestRandom compares with it as well. Expected results can be
// taken from it:
//
//	WEIR_PG=postgres://... go test ./test/sql -run TestPostgres -rewrite
//
// # Scripts
//
// A directive is a line, then its input, then "----", then what is expected.
//
//	sql [weir] [sort] [batch] [keep] [eventually] [session=name]
//
// runs statements; each ends at a line that ends with ";". Rows are printed as a line of column names and
// then one line each, with values separated by "|". Other statements print their tag, errors
// "ERROR sqlstate at position: message" and notices their severity and message. "weir" says that PostgreSQL
// does not have the statement or answers differently; "sort" sorts the rows; "batch" sends the whole
// input in one message; "keep" makes no restart afterwards, because the state of the session is what
// is tested; "eventually" runs reads until they answer as expected, for what a source has yet to bring; "session" names another connection. The rows of a COPY FROM STDIN follow the statement and end
// with "\.".
//
//	expr [weir]
//
// computes one expression a line, and prints its value and type.
//
//	notifications [session=name] [await=n]
//
// prints the notifications that a session has got: those that are there, and at least n.
//
//	wire
//
// runs each statement by the extended protocol, and prints the types, binary values and texts of its results.
package sql
