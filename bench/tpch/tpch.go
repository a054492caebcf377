// Package tpch holds the tables and the 22 queries of TPC-H, in SQL that Weir and PostgreSQL understand alike. Each file
// qN.sql is one query without a final semicolon, with the parameters of the benchmark's validation runs; where its ORDER BY
// leaves rows in any order, the key is added to it. Connector 'tpch' generates the rows.
package tpch

import (
	"embed"
	"fmt"
	"strings"
)

//go:embed q*.sql
var files embed.FS

// Table is a table as users define it.
type Table struct {
	Name string
	// Columns is what goes between the parentheses of CREATE TABLE.
	Columns string
}

// Tables lists the tables in an order in which they can be filled.
func Tables() []Table {
	return []Table{
		{"region", "r_regionkey int PRIMARY KEY, r_name text, r_comment text"},
		{"nation", "n_nationkey int PRIMARY KEY, n_name text, n_regionkey int, n_comment text"},
		{"supplier", "s_suppkey int PRIMARY KEY, s_name text, s_address text, s_nationkey int, s_phone text, s_acctbal numeric(15,2), s_comment text"},
		{"part", "p_partkey int PRIMARY KEY, p_name text, p_mfgr text, p_brand text, p_type text, p_size int, p_container text, p_retailprice numeric(15,2), p_comment text"},
		{"partsupp", "ps_partkey int, ps_suppkey int, ps_availqty int, ps_supplycost numeric(15,2), ps_comment text, PRIMARY KEY (ps_partkey, ps_suppkey)"},
		{"customer", "c_custkey int PRIMARY KEY, c_name text, c_address text, c_nationkey int, c_phone text, c_acctbal numeric(15,2), c_mktsegment text, c_comment text"},
		{"orders", "o_orderkey bigint PRIMARY KEY, o_custkey int, o_orderstatus text, o_totalprice numeric(15,2), o_orderdate date, o_orderpriority text, o_clerk text, " +
			"o_shippriority int, o_comment text"},
		{"lineitem", "l_orderkey bigint, l_partkey int, l_suppkey int, l_linenumber int, l_quantity numeric(15,2), l_extendedprice numeric(15,2), l_discount numeric(15,2), " +
			"l_tax numeric(15,2), l_returnflag text, l_linestatus text, l_shipdate date, l_commitdate date, l_receiptdate date, l_shipinstruct text, l_shipmode text, " +
			"l_comment text, PRIMARY KEY (l_orderkey, l_linenumber)"},
	}
}

// Indexes are those that a PostgreSQL needs besides the primary keys, or it looks through whole tables for a row.
const Indexes = "CREATE INDEX ON lineitem (l_partkey, l_suppkey); CREATE INDEX ON orders (o_custkey); CREATE INDEX ON partsupp (ps_suppkey)"

// Queries gives the texts of the queries, the first one first.
func Queries() []string {
	queries := make([]string, 22)
	for i := range queries {
		b, err := files.ReadFile(fmt.Sprintf("q%d.sql", i+1))
		if err != nil {
			panic(err) // it is embedded
		}
		queries[i] = strings.TrimSpace(string(b))
	}
	return queries
}

// FillStatements gives the statements that fill a table of Weir with the rows that connector 'tpch' generates.
func FillStatements(table, scaleFactor string) []string {
	return []string{
		fmt.Sprintf("CREATE SOURCE s_%s WITH (connector = 'tpch', table = '%s', scale_factor = '%s')", table, table, scaleFactor),
		fmt.Sprintf("INSERT INTO %s SELECT * FROM s_%s", table, table),
		"DROP SOURCE s_" + table,
	}
}
