package ast

type (
	// Maintain is VACUUM, ANALYZE, REINDEX or CLUSTER: statements that look after storage and statistics.
	Maintain struct {
		// What is VACUUM, ANALYZE, REINDEX or CLUSTER.
		What string
		// Kind is what REINDEX names: index, table, schema, database or system.
		Kind string
		// Tables are the relations with their columns; none: all.
		Tables []MaintainTable
		// Name is that of a schema or database.
		Name string
		Pos  int
	}

	// MaintainTable is a relation, and columns of it (none: all).
	MaintainTable struct {
		Name    Name
		Columns []string
	}

	// LockTable is LOCK TABLE.
	LockTable struct {
		Tables []Name
		// Mode is in upper case, for example ACCESS EXCLUSIVE.
		Mode   string
		NoWait bool
		Pos    int
	}
)

func (*Maintain) stmt()  {}
func (*LockTable) stmt() {}
