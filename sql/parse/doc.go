// Package parse turns PostgreSQL's SQL, and Weir's few statements more, into the tree of package
// sql/ast. It is the only package that knows the TiDB parser.
//
// The way of a statement:
//
//  1. Package lex cuts the text into tokens, by PostgreSQL's rules.
//  2. DDL and utility statements (statement.go, set.go, create.go, ddl.go) are read by recursive descent
//     and need no more, except for the queries and expressions in them.
//  3. Queries, expressions and data-modifying statements are rewritten to text that TiDB's MySQL
//     grammar reads with PostgreSQL's meaning (expr.go and parens.go, primary.go, keyword.go, query.go,
//     from.go, dml.go). The rewriter builds no tree. It knows PostgreSQL's precedences and keyword classes,
//     finds syntax errors with their positions, puts every compound operand in parentheses, and
//     replaces what MySQL does not have by markers: calls of a function named \x01, whose first
//     argument is the number of a cell (output.go). The cell is the AST node that the marker
//     stands for, with its leaves filled in and its operands empty.
//  4. TiDB parses the whole text (driver.go has the hooks for literals).
//  5. The decoder (decode.go, decodeexpr.go) walks TiDB's tree and makes ours of it: a marker gives
//     its cell, filled with the decoded operands.
//
// What has no place in TiDB's statement (RETURNING, ON CONFLICT, UPDATE ... FROM, DELETE ... USING,
// WITH before DML, DML inside of WITH) goes into further statements of the same text.
//
// Positions survive because each piece of the rewritten text knows its source offset: TiDB reports
// where in its text an expression starts, and the pieces lead back.
package parse
