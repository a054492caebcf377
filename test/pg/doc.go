// Package pg compares Weir with PostgreSQL 15, expression by expression.
//
// The files in testdata are lists of expressions and statements by topic, with what PostgreSQL answers: the type and the
// value, or the SQLSTATE and the message. TestFiles asks a Weir in this process and needs no PostgreSQL. Where Weir answers
// differently for a reason, testdata/differences has its answer and the reason; there should be few.
//
// TestPostgres, which "make test-pg" runs, starts a PostgreSQL of its own on a free port of the loopback interface and
// checks that the files say what it says; with -rewrite they are written anew:
//
//	go test ./test/pg -run TestPostgres -postgres -rewrite
//
// testdata/sessions has scripts of several sessions at the same time: what they do to each other, and who waits. TestSessions asks Weir and
// TestSessionsOfPostgres PostgreSQL, with the same flags.
//
// A directive is "expr" (a line is an expression, asked as SELECT line) or "query" (a line is a statement; the names
// of the columns and the rows stand in one line, with values separated by "|" and rows by two blanks), then the lines, "----" and the answers. What a file creates is there for the
// rest of the file.
package pg
