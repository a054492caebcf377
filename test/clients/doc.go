// Package clients shows that what real clients of PostgreSQL send gets PostgreSQL's answers.
//
// testdata/replay has what drivers, ORMs and tools sent to a PostgreSQL 15, a file for each client, and what that server
// answered: TestReplay sends it to Weir and compares names and types of columns, SQLSTATEs, command tags and rows.
// testdata/differences lists where the answers may differ, each with its reason.
//
// The programs themselves are in the folders beside this file. make clients installs what they need, starts a server
// and runs them.
package clients
