// Package catalog describes the objects of a database: relations with their columns and
// constraints, schemas, dependencies. A Catalog value is immutable once published; the server makes
// a changed copy for each DDL statement and swaps it in when the change is durable.
package catalog

import (
	"maps"
	"sort"

	"github.com/weirdb/weir/sql/types"
)

// ID identifies an object; it is also its oid in pg_catalog. User objects start at FirstUserID,
// as in Postgres.
type ID uint32

// FirstUserID is the first id given to a user's object.
const FirstUserID ID = 16384

// RelKind is the kind of a relation.
type RelKind string

// The relation kinds; the values are stored.
const (
	Table   RelKind = "table"
	Source  RelKind = "source"
	View    RelKind = "view"
	MatView RelKind = "matview"
	Sink    RelKind = "sink"
	Index   RelKind = "index"
	// SequenceKind is a sequence.
	SequenceKind RelKind = "sequence"
	// System is a relation of pg_catalog, information_schema or weir_*: rows are made on demand.
	System RelKind = "system"
)

// InternalSchema is where relations are that have no name: it is no schema of the catalog.
const InternalSchema = "weir_internal"

// PublicSchema is the schema where objects go by default.
const PublicSchema = "public"

// Column is a column of a relation.
type Column struct {
	Name string
	Type types.Type
	// Hidden columns carry a stream key that the user did not ask for; SELECT * and \d omit them.
	Hidden  bool `json:",omitempty"`
	NotNull bool `json:",omitempty"`
	// Default is the DEFAULT expression as SQL text, "" for none. For a generated column it is
	// the generation expression and Generated is true.
	Default   string `json:",omitempty"`
	Generated bool   `json:",omitempty"`
	// Identity is "", "always" or "by default". Serial: the default is the next value of a sequence; of the hidden column
	// _row_id, of a counter that is no object.
	Identity string `json:",omitempty"`
	Serial   bool   `json:",omitempty"`
	// Sequence is the sequence of an identity or serial column.
	Sequence ID `json:",omitempty"`
	// Domain is the domain that the column is of; Type is its base.
	Domain ID `json:",omitempty"`
	// Uses are the relations that the default names by their ids.
	Uses []ID `json:",omitempty"`
}

// SortColumn is a column of an arrangement's key.
type SortColumn struct {
	Col        int
	Desc       bool `json:",omitempty"`
	NullsFirst bool `json:",omitempty"`
}

// Check is a CHECK constraint.
type Check struct {
	Name string
	Expr string // SQL text
	// NotValid: rows that were there before it may violate it.
	NotValid bool `json:",omitempty"`
}

// Unique is a UNIQUE or PRIMARY KEY constraint.
type Unique struct {
	Name    string
	Columns []int
	Primary bool
	// NullsNotDistinct: NULL is a value like another.
	NullsNotDistinct bool `json:",omitempty"`
}

// ForeignKey is a FOREIGN KEY constraint. All sets of columns are in the order in which the constraint names them.
type ForeignKey struct {
	ID      ID
	Name    string
	Columns []int
	// Ref is the referenced table, RefColumns its columns, and Key the name of the unique constraint or index that they have there.
	Ref        ID
	RefColumns []int
	Key        string
	MatchFull  bool `json:",omitempty"`
	// OnDelete and OnUpdate are one of the constants below.
	OnDelete string `json:",omitempty"`
	OnUpdate string `json:",omitempty"`
	// SetColumns are the columns that ON DELETE SET NULL or DEFAULT sets, nil for all.
	SetColumns []int `json:",omitempty"`
	Deferrable bool  `json:",omitempty"`
	Deferred   bool  `json:",omitempty"`
	NotValid   bool  `json:",omitempty"`
	// Table is the id of the arrangement of its index.
	Table uint32
}

// The actions of a foreign key.
const (
	NoAction   = ""
	Restrict   = "restrict"
	Cascade    = "cascade"
	SetNull    = "set null"
	SetDefault = "set default"
)

// IndexColumn is a column of an index: one of the indexed relation by its name, or an expression over
// its columns, which is the index's column Column.
type IndexColumn struct {
	Column     string
	Expr       string `json:",omitempty"` // SQL text
	Desc       bool   `json:",omitempty"`
	NullsFirst bool   `json:",omitempty"`
}

// IndexDef is what CREATE INDEX said.
type IndexDef struct {
	Columns []IndexColumn
	Include []string `json:",omitempty"`
	Where   string   `json:",omitempty"` // SQL text
	// Unique indexes have an arrangement Table, with which their table keeps rows from having the same values.
	Unique           bool   `json:",omitempty"`
	NullsNotDistinct bool   `json:",omitempty"`
	Table            uint32 `json:",omitempty"`
}

// Expressions lists the columns that are expressions.
func (d *IndexDef) Expressions() []IndexColumn {
	var es []IndexColumn
	for _, c := range d.Columns {
		if c.Expr != "" {
			es = append(es, c)
		}
	}
	return es
}

// Relation is a table, source, view, materialized view, sink, index or system relation.
type Relation struct {
	ID      ID
	Schema  string
	Name    string
	Kind    RelKind
	Owner   string
	ACL     ACL `json:",omitempty"`
	Columns []Column
	// Key orders the arrangement of a table, materialized view or index, and is unique: the primary
	// key, or the stream key. Empty for sources, views and sinks.
	Key []SortColumn `json:",omitempty"`
	// PrimaryKey names the user's primary key constraint, "" if there is none (then Key is the hidden
	// column _row_id for a table).
	PrimaryKey string   `json:",omitempty"`
	Uniques    []Unique `json:",omitempty"`
	Checks     []Check  `json:",omitempty"`
	// ForeignKeys are those of a table.
	ForeignKeys []ForeignKey `json:",omitempty"`
	AppendOnly  bool         `json:",omitempty"`
	// SourceKeys are sets of columns of which the connector of a source promises that they are never NULL and that no two
	// rows agree in all of them.
	SourceKeys [][]int `json:",omitempty"`
	// Query is the defining query of a view, materialized view or sink as SQL text, with names
	// resolved by SearchPath at creation.
	Query      string   `json:",omitempty"`
	SearchPath []string `json:",omitempty"`
	// Options are the WITH options of a source, sink or table with connector, Format and Encode
	// and their options likewise.
	Options       []Option `json:",omitempty"`
	Format        string   `json:",omitempty"`
	Encode        string   `json:",omitempty"`
	EncodeOptions []Option `json:",omitempty"`
	// Splits is the number of splits of a source or table with connector.
	Splits int `json:",omitempty"`
	// Watermark is the WATERMARK FOR clause of a source or table.
	Watermark *Watermark `json:",omitempty"`
	// Watermarks are the columns of a materialized view for which its job gives watermarks.
	Watermarks []WatermarkColumn `json:",omitempty"`
	// OnClose: rows of a materialized view or sink come when their window has closed (EMIT ON WINDOW CLOSE).
	OnClose bool `json:",omitempty"`
	// Into is the table that a sink writes to, 0 if it is something outside; IntoColumns are the columns that it gives
	// values. The table is among what the sink depends on.
	Into        ID       `json:",omitempty"`
	IntoColumns []string `json:",omitempty"`
	// DependsOn lists the relations that this one reads.
	DependsOn []ID `json:",omitempty"`
	// Takes lists the relations whose rows the plan takes for equal parts of the query, in which they are not named. They are
	// planned for when the relation is created, and not given up while it is there.
	Takes []ID `json:",omitempty"`
	// Internal: the user has dropped the relation, and others take its rows still. It has no name any more, and goes with the last of them.
	Internal bool `json:",omitempty"`
	// Named is what DependsOn was when the query was written, if a view that it reads was replaced since; see Meant.
	Named []ID `json:",omitempty"`
	// Functions lists the functions in SQL that the query calls; of what is kept up to date also those that these call, and those
	// in views. When the query is bound again no other functions are seen.
	Functions []ID `json:",omitempty"`
	// Parent is the indexed relation of an index, Index what it indexes. An index has the rows of its parent
	// that meet its condition, with the parent's columns by name and then one for each expression, under a Key
	// that begins with the indexed columns.
	Parent ID        `json:",omitempty"`
	Index  *IndexDef `json:",omitempty"`
	// Seq is what a sequence does.
	Seq *Sequence `json:",omitempty"`
	// StateTables maps the name of each operator state ("fragment/operator/table") to its table id.
	StateTables map[string]uint32 `json:",omitempty"`
	Comment     string            `json:",omitempty"`
	// ColumnComments by column name, ConstraintComments by the name of the constraint.
	ColumnComments     map[string]string `json:",omitempty"`
	ConstraintComments map[string]string `json:",omitempty"`
	// Parallelism is the number of actors per fragment that the job was planned with.
	Parallelism int `json:",omitempty"`
	// Shares: the joins of the job read relations by key where they can, instead of keeping copies. Earlier versions did
	// not plan so.
	Shares bool `json:",omitempty"`
	// SharesCheap: they do where that costs little.
	SharesCheap bool `json:",omitempty"`
	// Common: equal parts of the query that keep state run once. Earlier versions did not plan so.
	Common bool `json:",omitempty"`
	// Stale says why a materialized view or sink was given up while its inputs went on: its rows are of
	// that time, and it cannot go on.
	//
	// Earlier versions wrote it; now the engine keeps it beside the catalog.
	Stale string `json:",omitempty"`
	// Failover names the failover strategy of the job; empty: the server's.
	Failover string `json:",omitempty"`
	// OnError says what becomes of a row of which an expression fails, one of the OnError constants.
	OnError string `json:",omitempty"`
	// RowsID is the table id of the rows of a materialized view that was filled again; see Rows.
	RowsID uint32 `json:",omitempty"`
	// Reads says how many of the columns of a relation its query knows, where the relation has got more since: those
	// are not in a star.
	Reads map[ID]int `json:",omitempty"`
	// Altered counts the changes of a table after which statements that were planned before cannot go on.
	Altered int `json:",omitempty"`
	// JobID is the id of the job while that is built beside the one in whose place it will be; 0: the
	// relation's. It is not stored.
	JobID ID `json:"-"`
	// Temp: it is a temporary relation of a session, which no stored catalog has. OnCommit says what the end of a transaction does with it.
	Temp     bool   `json:"-"`
	OnCommit string `json:"-"`
}

// Job is the id of the relation's job.
func (r *Relation) Job() ID {
	if r.JobID != 0 {
		return r.JobID
	}
	return r.ID
}

// Visible counts the columns that are not hidden.
func (r *Relation) Visible() int {
	n := 0
	for i := range r.Columns {
		if !r.Columns[i].Hidden {
			n++
		}
	}
	return n
}

// Meant lists the relations among which are those that the names in the query meant when it was written. They mean them
// still, whatever came into an earlier schema of the search path since.
func (r *Relation) Meant() []ID {
	if r.Named != nil {
		return r.Named
	}
	return r.DependsOn
}

// Seen gives r as the query of by knows it: the columns that it has got since are hidden.
func (r *Relation) Seen(by *Relation) *Relation {
	n, ok := by.Reads[r.ID]
	if !ok || n >= r.Visible() {
		return r
	}
	c := *r
	c.Columns = append([]Column(nil), r.Columns...)
	for i := range c.Columns {
		if n--; n < 0 {
			c.Columns[i].Hidden = true
		}
	}
	return &c
}

// What becomes of a row of which an expression fails: NULL stands in the place of the expression; the row is left out; or
// as with NULL, but the relation cannot be read as long as there is such a row (a sink stops).
const (
	OnErrorNull = ""
	OnErrorSkip = "skip"
	OnErrorFail = "fail"
)

// Rows is the table id of the relation's rows: that of the relation, unless it was filled again.
func (r *Relation) Rows() uint32 {
	if r.RowsID != 0 {
		return r.RowsID
	}
	return uint32(r.ID)
}

// Watermark is WATERMARK FOR column AS column - delay: a row is late if its value in Col is more than Delay
// microseconds behind the greatest one that came before it. Of a source, every split has a watermark of its own.
type Watermark struct {
	Col   int
	Delay int64 `json:",omitempty"`
	// Idle is after how many microseconds without a row a split of a source does not hold back the others; 0: never.
	Idle int64 `json:",omitempty"`
}

// WatermarkColumn is a column that has watermarks. Rank tells what says best when a row is final: 0 is an event time, 1
// the start of a window, 2 its end.
type WatermarkColumn struct{ Col, Rank int }

// Option is a name = 'value' pair.
type Option struct{ Name, Value string }

// Made tells whether the rows of a relation are made when it is read, and it has no changes that a job could follow.
func (r *Relation) Made() bool { return r.Kind == System || r.Kind == SequenceKind }

// ColumnIndex finds a column by name, hidden ones included; -1 if there is none.
func (r *Relation) ColumnIndex(name string) int {
	for i := range r.Columns {
		if r.Columns[i].Name == name {
			return i
		}
	}
	return -1
}

// HasConnector tells whether rows come from outside.
func (r *Relation) HasConnector() bool {
	return r.Kind == Source || len(r.Options) > 0 && r.Kind == Table
}

// Reader is what the planner needs of a catalog.
type Reader interface {
	// Relation finds a relation by schema and name; nil if there is none.
	Relation(schema, name string) *Relation
	// RelationByID finds a relation by id; nil if there is none.
	RelationByID(id ID) *Relation
	// HasSchema tells whether a schema exists.
	HasSchema(name string) bool
	// Indexes lists the indexes of a relation, by id.
	Indexes(id ID) []*Relation
	// RelationNames lists the names of all relations of a schema, sorted (for hints).
	RelationNames(schema string) []string
	// FunctionsNamed lists the functions in SQL of a name in a schema, by id.
	FunctionsNamed(schema, name string) []*Function
	// TypeNamed finds a type that a user made by schema and name; nil if there is none.
	TypeNamed(schema, name string) *Type
	types.UserTypes
	// Domains lists a domain and those that it was made over, in the order in which they are checked.
	Domains(id ID) []*Type
}

// Catalog is an immutable set of objects. It implements Reader for user objects.
type Catalog struct {
	Version   uint64
	NextID    ID
	NextTable uint32
	Schemas   map[string]Schema
	Relations map[ID]*Relation
	// Functions are the functions in SQL.
	Functions map[ID]*Function `json:",omitempty"`
	// Types are those that users made.
	Types map[ID]*Type `json:",omitempty"`
	// Roles are the roles by name, the bootstrap role only if it was changed.
	Roles map[string]Role `json:",omitempty"`
	// Settings are what all sessions begin with, DatabaseSettings those of the database.
	Settings         []Option `json:",omitempty"`
	DatabaseSettings []Option `json:",omitempty"`
	// Pending are materialized views that are being created in the background. Nobody can read them yet; their names are taken.
	Pending map[ID]*Relation `json:",omitempty"`
	// TempSchema is the schema of the temporary relations of a session, which is also called pg_temp; "" if it has none.
	TempSchema string `json:"-"`
	byName     map[[2]string]*Relation
	indexes    map[ID][]*Relation
	// into are the sinks that write to tables, by table.
	into map[ID][]*Relation
	// typeNames and described are Types by name, and as package types knows them.
	typeNames map[[2]string]*Type
	described map[types.Kind]*types.UserType
}

// Schema is a namespace.
type Schema struct {
	ID    ID
	Name  string
	Owner string
	ACL   ACL `json:",omitempty"`
	// Comment is that of COMMENT ON SCHEMA.
	Comment string `json:",omitempty"`
}

// New gives a catalog with the public schema only.
func New() *Catalog {
	c := &Catalog{
		NextID: FirstUserID, NextTable: 1,
		Schemas:   map[string]Schema{PublicSchema: {ID: 2200, Name: PublicSchema}},
		Relations: map[ID]*Relation{},
	}
	c.Index()
	return c
}

// Index rebuilds the name index after Relations was filled directly.
func (c *Catalog) Index() {
	c.byName = make(map[[2]string]*Relation, len(c.Relations))
	for _, r := range c.Relations {
		if !r.Internal {
			c.byName[[2]string{r.Schema, r.Name}] = r
		}
	}
	c.listIndexes()
	c.listTypes()
}

// listIndexes rebuilds indexes and into; the maps are shared with no other Catalog.
func (c *Catalog) listIndexes() {
	c.indexes = map[ID][]*Relation{}
	for _, r := range c.Relations {
		if r.Kind == Index && !r.Internal {
			c.indexes[r.Parent] = append(c.indexes[r.Parent], r)
		}
	}
	c.into = map[ID][]*Relation{}
	for _, r := range c.Relations {
		if r.Into != 0 {
			c.into[r.Into] = append(c.into[r.Into], r)
		}
	}
	for _, by := range []map[ID][]*Relation{c.indexes, c.into} {
		for _, rs := range by {
			sort.Slice(rs, func(i, j int) bool { return rs[i].ID < rs[j].ID })
		}
	}
}

// Clone gives a copy that may be changed: maps are copied, relations shared (replace, never edit).
func (c *Catalog) Clone() *Catalog {
	d := *c
	d.Version++
	d.Schemas = make(map[string]Schema, len(c.Schemas))
	for k, v := range c.Schemas {
		d.Schemas[k] = v
	}
	d.Relations = make(map[ID]*Relation, len(c.Relations))
	for k, v := range c.Relations {
		d.Relations[k] = v
	}
	d.Functions = maps.Clone(c.Functions)
	d.Types = maps.Clone(c.Types)
	d.Roles = maps.Clone(c.Roles)
	d.Pending = maps.Clone(c.Pending)
	d.Index()
	return &d
}

// SetPending adds, replaces or, with nil, removes a pending relation.
func (c *Catalog) SetPending(id ID, r *Relation) {
	switch {
	case r == nil:
		delete(c.Pending, id)
	case c.Pending == nil:
		c.Pending = map[ID]*Relation{id: r}
	default:
		c.Pending[id] = r
	}
}

// PendingRelation finds a pending relation, nil if there is none.
func (c *Catalog) PendingRelation(schema, name string) *Relation {
	for _, r := range c.Pending {
		if r.Schema == schema && r.Name == name {
			return r
		}
	}
	return nil
}

// Put adds or replaces a relation.
func (c *Catalog) Put(r *Relation) {
	if old := c.Relations[r.ID]; old != nil {
		c.unname(old)
	}
	c.Relations[r.ID] = r
	if !r.Internal {
		c.byName[[2]string{r.Schema, r.Name}] = r
	}
	if r.Kind == Index || r.Into != 0 {
		c.listIndexes()
	}
}

// unname takes the name from a relation, if it has one.
func (c *Catalog) unname(r *Relation) {
	if !r.Internal {
		delete(c.byName, [2]string{r.Schema, r.Name})
	}
}

// Remove deletes a relation.
func (c *Catalog) Remove(id ID) {
	if old := c.Relations[id]; old != nil {
		c.unname(old)
		delete(c.Relations, id)
		if old.Kind == Index || old.Into != 0 {
			c.listIndexes()
		}
	}
}

// Relation finds a relation by schema and name.
func (c *Catalog) Relation(schema, name string) *Relation {
	if schema == TempAlias && c.TempSchema != "" {
		schema = c.TempSchema
	}
	return c.byName[[2]string{schema, name}]
}

// TempAlias is how a session may call the schema of its temporary relations.
const TempAlias = "pg_temp"

// RelationByID finds a relation by id.
func (c *Catalog) RelationByID(id ID) *Relation { return c.Relations[id] }

// HasSchema tells whether a schema exists.
func (c *Catalog) HasSchema(name string) bool {
	if name == TempAlias {
		return c.TempSchema != ""
	}
	_, ok := c.Schemas[name]
	return ok
}

// Indexes lists the indexes of a relation that have names, by id.
func (c *Catalog) Indexes(id ID) []*Relation { return c.indexes[id] }

// RelationNames lists the names of all relations of a schema, sorted.
func (c *Catalog) RelationNames(schema string) []string {
	var names []string
	for _, r := range c.Relations {
		if r.Schema == schema && !r.Internal {
			names = append(names, r.Name)
		}
	}
	sort.Strings(names)
	return names
}
