package syscat

import (
	"slices"

	"github.com/weirdb/weir/sql/catalog"
)

// foreignRelations show sources as foreign tables: there is one wrapper, and a connector is a server.
func foreignRelations() []relation {
	return []relation{
		{schema: pgCatalog, name: "pg_foreign_data_wrapper", oid: 2328, cols: `
			oid oid!, fdwname name!, fdwowner oid!, fdwhandler oid!, fdwvalidator oid!, fdwacl aclitem[],
			fdwoptions text[]`, rows: wrapperRows},
		{schema: pgCatalog, name: "pg_foreign_server", oid: 1417, cols: `
			oid oid!, srvname name!, srvowner oid!, srvfdw oid!, srvtype text, srvversion text, srvacl aclitem[],
			srvoptions text[]`, rows: serverRows},
		{schema: pgCatalog, name: "pg_foreign_table", oid: 3118, cols: `
			ftrelid oid!, ftserver oid!, ftoptions text[]`, rows: foreignTableRows},
	}
}

// wrapperID is the oid of the only foreign-data wrapper; servers are numbered from the next one on.
const wrapperID = catalog.ID(14000)

func wrapperRows(c *content) {
	c.columns("oid", "fdwname", "fdwowner")
	c.add(wrapperID, "weir", bootstrapRoleID)
}

// connectors lists the connectors of sources by name.
func (e *Env) connectors() []string {
	var names []string
	for _, x := range e.objects().list {
		if x.kind == kindForeign && !slices.Contains(names, connectorName(x.rel)) {
			names = append(names, connectorName(x.rel))
		}
	}
	slices.Sort(names)
	return names
}

func connectorName(r *catalog.Relation) string {
	for _, o := range r.Options {
		if o.Name == "connector" {
			return o.Value
		}
	}
	return "weir"
}

func serverRows(c *content) {
	c.columns("oid", "srvname", "srvowner", "srvfdw")
	for i, n := range c.env.connectors() {
		c.add(wrapperID+1+catalog.ID(i), n, bootstrapRoleID, wrapperID)
	}
}

func foreignTableRows(c *content) {
	c.columns("ftrelid", "ftserver", "ftoptions")
	servers := c.env.connectors()
	for _, x := range c.env.objects().list {
		if x.kind == kindForeign {
			c.add(x.oid, wrapperID+1+catalog.ID(slices.Index(servers, connectorName(x.rel))), optionList(x.rel))
		}
	}
}
