// Package table is the write side of tables: locks, constraints on keys, transactions that collect
// changes, the log record of a commit, and sequences.
//
// A write goes through these steps:
//
//  1. A statement computes the rows that it changes and puts them into its transaction (Tx). It
//     shares the table's lock and has the locks of the rows and keys that it writes (rowlock.go); a row
//     that has changed after the statement read it makes the statement run again.
//  2. Keys are checked against the newest state of the table (Arrangement.HeadGet), which holds
//     everything acknowledged and more; nobody else can be writing the same key.
//  3. Commit makes one log record of all tables and submits it. When it is durable, and in the
//     order of the log, the record is applied to the open epoch.
//  4. The locks are released, and the client gets its answer.
//
// After a restart the records behind the checkpoint are applied again in the same way.
package table
