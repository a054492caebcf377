package lex

import "strings"

// Category says where a keyword may stand as a name, by PostgreSQL's four classes.
type Category uint8

// The classes of keywords. NotKeyword is the class of every other word.
const (
	NotKeyword Category = iota
	// Unreserved words are names anywhere.
	Unreserved
	// ColName words may name columns and tables, but no functions or types.
	ColName
	// TypeFuncName words may name functions and types, but no columns or tables.
	TypeFuncName
	// Reserved words are names only after AS or in quotes.
	Reserved
)

// keyword is what is known of one word.
type keyword struct {
	word string
	cat  Category
	// bare is set if the word may be a column label without AS.
	bare bool
}

// keywords holds PostgreSQL 15's list (pg_get_keywords).
var keywords = makeKeywords([]keywordClass{
	{ColName, false, `
		char character precision`},
	{ColName, true, `
		between bigint bit boolean coalesce dec decimal exists extract float greatest grouping
		inout int integer interval least national nchar none normalize nullif numeric out
		overlay position real row setof smallint substring time timestamp treat trim values
		varchar xmlattributes xmlconcat xmlelement xmlexists xmlforest xmlnamespaces xmlparse
		xmlpi xmlroot xmlserialize xmltable`},
	{Reserved, false, `
		array as create except fetch for from grant group having intersect into limit offset on
		order returning to union where window with`},
	{Reserved, true, `
		all analyse analyze and any asc asymmetric both case cast check collate column
		constraint current_catalog current_date current_role current_time current_timestamp
		current_user default deferrable desc distinct do else end false foreign in initially
		lateral leading localtime localtimestamp not null only or placing primary references
		select session_user some symmetric table then trailing true unique user using variadic
		when`},
	{TypeFuncName, false, `
		isnull notnull overlaps`},
	{TypeFuncName, true, `
		authorization binary collation concurrently cross current_schema freeze full ilike inner
		is join left like natural outer right similar tablesample verbose`},
	{Unreserved, false, `
		day filter hour minute month over second varying within without year`},
	{Unreserved, true, `
		abort absolute access action add admin after aggregate also alter always asensitive
		assertion assignment at atomic attach attribute backward before begin breadth by cache
		call called cascade cascaded catalog chain characteristics checkpoint class close
		cluster columns comment comments commit committed compression configuration conflict
		connection constraints content continue conversion copy cost csv cube current cursor
		cycle data database deallocate declare defaults deferred definer delete delimiter
		delimiters depends depth detach dictionary disable discard document domain double drop
		each enable encoding encrypted enum escape event exclude excluding exclusive execute
		explain expression extension external family finalize first following force forward
		function functions generated global granted groups handler header hold identity if
		immediate immutable implicit import include including increment index indexes inherit
		inherits inline input insensitive insert instead invoker isolation key label language
		large last leakproof level listen load local location lock locked logged mapping match
		matched materialized maxvalue merge method minvalue mode move name names new next nfc
		nfd nfkc nfkd no normalized nothing notify nowait nulls object of off oids old operator
		option options ordinality others overriding owned owner parallel parameter parser
		partial partition passing password plans policy preceding prepare prepared preserve
		prior privileges procedural procedure procedures program publication quote range read
		reassign recheck recursive ref referencing refresh reindex relative release rename
		repeatable replace replica reset restart restrict return returns revoke role rollback
		rollup routine routines rows rule savepoint schema schemas scroll search security
		sequence sequences serializable server session set sets share show simple skip snapshot
		sql stable standalone start statement statistics stdin stdout storage stored strict
		strip subscription support sysid system tables tablespace temp template temporary text
		ties transaction transform trigger truncate trusted type types uescape unbounded
		uncommitted unencrypted unknown unlisten unlogged until update vacuum valid validate
		validator value version view views volatile whitespace work wrapper write xml yes zone`},
})

type keywordClass struct {
	cat   Category
	bare  bool
	words string
}

func makeKeywords(classes []keywordClass) map[string]keyword {
	m := make(map[string]keyword, 512)
	for _, c := range classes {
		for _, w := range strings.Fields(c.words) {
			m[w] = keyword{word: w, cat: c.cat, bare: c.bare}
		}
	}
	return m
}

// Lookup gives the class of a word in lower case and whether it may be a column label without AS.
func Lookup(word string) (cat Category, bareLabel bool) {
	k := keywords[word]
	return k.cat, k.bare || k.cat == NotKeyword
}
