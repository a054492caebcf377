package plan

import (
	"fmt"
	"strings"

	"github.com/weirdb/weir/planner/sqltext"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/fn"
	"github.com/weirdb/weir/sql/scalar"
	"github.com/weirdb/weir/sql/types"
)

// Explain writes a batch plan as a tree.
func (b *Batch) Explain() string {
	return b.ExplainNoted(nil)
}

func (b *Batch) write(w *explainer) {
	if b.Point != nil {
		w.point(b.Point)
	} else {
		w.tree(b.Root, 0)
	}
}

// Explain writes a stream plan: one tree, or one for each fragment if there are several.
func (s *Stream) Explain() string { return s.ExplainNoted(nil) }

// fragmentLine describes a fragment and where it sends its rows.
func fragmentLine(f *Fragment) string {
	var w strings.Builder
	fmt.Fprintf(&w, "Fragment %d (parallelism %d)", f.ID, f.Parallel)
	for _, x := range f.Sends {
		fmt.Fprintf(&w, " -> fragment %d, %s", x.To, distText(x.Dist, f.Root.Properties()))
		if x.Feedback {
			w.WriteString(", feedback")
		}
	}
	return w.String()
}

func (s *Stream) write(w *explainer) {
	for i := len(s.Fragments) - 1; i >= 0; i-- {
		f := s.Fragments[i]
		if len(s.Fragments) > 1 {
			w.WriteString(fragmentLine(f) + "\n")
			w.tree(f.Root, 1)
			continue
		}
		w.tree(f.Root, 0)
	}
}

// Explain writes what an INSERT, UPDATE or DELETE does.
func (d *DML) Explain() string {
	var w explainer
	fmt.Fprintf(&w.Builder, "%s on %s\n", [...]string{"Insert", "Update", "Delete", "Merge"}[d.Kind], d.Target.Name)
	if c := d.Conflict; c != nil {
		what := "Nothing"
		if c.DoUpdate {
			what = "Update"
		}
		fmt.Fprintf(&w.Builder, "  Conflict Resolution: %s\n", what)
		switch len(c.Arbiters) {
		case 0:
		case 1:
			fmt.Fprintf(&w.Builder, "  Conflict Arbiter: %s\n", c.Arbiters[0])
		default:
			fmt.Fprintf(&w.Builder, "  Conflict Arbiter Indexes: %s\n", strings.Join(c.Arbiters, ", "))
		}
	}
	w.child(d.Query.Root, 0)
	return w.String()
}

func distText(d Dist, p *Props) string {
	switch d.Kind {
	case Hash:
		return "hash(" + names(d.Cols, p) + ")"
	case Broadcast:
		return "broadcast"
	case Any:
		return "any"
	}
	return "single"
}

type explainer struct {
	strings.Builder
	stream bool
	notes  Notes
}

// line writes s at a depth; children are six columns further right than their parent, as in
// Postgres.
func (w *explainer) line(depth int, s string) {
	w.WriteString(strings.Repeat(" ", depth) + s + "\n")
}

// colName names column i of p; a name that is not unique gets its position.
func colName(i int, p *Props) string {
	if i < 0 || i >= len(p.Cols) {
		return fmt.Sprintf("#%d", i)
	}
	n := p.Cols[i].Name
	for j, c := range p.Cols {
		if j != i && c.Name == n {
			return fmt.Sprintf("%s#%d", n, i)
		}
	}
	return n
}

func names(cols []int, p *Props) string {
	ss := make([]string, len(cols))
	for i, c := range cols {
		ss[i] = colName(c, p)
	}
	return strings.Join(ss, ", ")
}

func exprText(e scalar.Expr, p *Props) string {
	return sqltext.Expr(e, func(c *scalar.Column) string { return colName(c.Index, p) }, nil)
}

func exprList(es []scalar.Expr, p *Props) string {
	ss := make([]string, len(es))
	for i, e := range es {
		ss[i] = exprText(e, p)
	}
	return strings.Join(ss, ", ")
}

// concat is the input of a join's expressions.
func concat(l, r *Props) *Props {
	return &Props{Cols: append(append([]Column(nil), l.Cols...), r.Cols...)}
}

func orderText(os []SortKey, p *Props) string {
	ss := make([]string, len(os))
	for i, o := range os {
		ss[i] = colName(o.Col, p)
		if o.Desc {
			ss[i] += " DESC"
		}
		if o.NullsFirst != o.Desc {
			if o.NullsFirst {
				ss[i] += " NULLS FIRST"
			} else {
				ss[i] += " NULLS LAST"
			}
		}
	}
	return strings.Join(ss, ", ")
}

func relName(r *catalog.Relation) string {
	if r.Schema == catalog.PublicSchema || r.Schema == "" || r.Schema == "pg_catalog" {
		return r.Name
	}
	return r.Schema + "." + r.Name
}

func relColumns(r *catalog.Relation, ords []int) string {
	if len(ords) == 0 {
		return "none"
	}
	ss := make([]string, len(ords))
	for i, o := range ords {
		ss[i] = r.Columns[o].Name
	}
	return strings.Join(ss, ", ")
}

// JoinNames names the join kinds.
var JoinNames = [...]string{"Inner", "Left", "Right", "Full", "Semi", "Anti"}

func (w *explainer) tree(n Node, depth int) {
	head, details := w.describe(n)
	if p := n.Properties(); w.stream && p.AppendOnly {
		head += "  (append-only)"
	}
	if p := n.Properties(); w.stream && len(p.Watermarks) > 0 {
		cols := make([]int, len(p.Watermarks))
		for i, m := range p.Watermarks {
			cols[i] = m.Col
		}
		head += "  (watermark: " + names(cols, p) + ")"
	}
	w.line(depth, head+noteText(w.note(n)))
	for _, d := range details {
		w.line(depth+2, d)
	}
	for _, in := range n.Inputs() {
		w.child(in, depth)
	}
}

func (w *explainer) child(n Node, depth int) {
	var c explainer
	c.stream, c.notes = w.stream, w.notes
	c.tree(n, 0)
	for i, l := range strings.Split(strings.TrimSuffix(c.String(), "\n"), "\n") {
		if i == 0 {
			w.line(depth, "  ->  "+l)
		} else {
			w.line(depth, "      "+l)
		}
	}
}

func (w *explainer) point(p *Point) {
	w.line(0, "Point Read on "+relName(p.Rel)+noteText(w.note(nil)))
	row := relProps(p.Rel)
	w.line(2, "Key: "+keyText(p.Rel, p.Key))
	if p.Filter != nil {
		w.line(2, "Filter: "+exprText(p.Filter, row))
	}
	w.line(2, "Output: "+exprList(p.Exprs, row))
}

func relProps(r *catalog.Relation) *Props {
	p := &Props{}
	for _, c := range r.Columns {
		p.Cols = append(p.Cols, Column{Name: c.Name, Type: c.Type})
	}
	return p
}

func keyText(r *catalog.Relation, vals []scalar.Expr) string {
	ss := make([]string, len(vals))
	for i, v := range vals {
		ss[i] = r.Columns[r.Key[i].Col].Name + " = " + exprText(v, &Props{})
	}
	return strings.Join(ss, " AND ")
}

func (w *explainer) describe(n Node) (string, []string) {
	var d []string
	add := func(format string, args ...any) { d = append(d, fmt.Sprintf(format, args...)) }
	in := func() *Props { return n.Inputs()[0].Properties() }
	switch n := n.(type) {
	case *Filter:
		add("Filter: %s", exprText(n.Pred, in()))
		return "Filter", d
	case *Lookup:
		for i, k := range n.Keys {
			add("Lookup: %s = %s", n.R.Rel.Columns[n.R.Rel.Key[i].Col].Name, exprText(k, in()))
		}
		all := concat(n.In.Properties(), &n.R.Props)
		if n.Residual != nil {
			add("Join Filter: %s", exprText(n.Residual, all))
		}
		add("Output: %s", names(n.Output, all))
		return "Lookup " + map[JoinKind]string{Inner: "Inner", Left: "Left"}[n.Kind] + " Join", d
	case *LookupScan:
		return "Current Rows of " + n.Rel.Name, d
	case *TemporalFilter:
		op := map[bool]string{false: ">", true: "<"}[n.Upper]
		if n.Inclusive {
			op += "="
		}
		add("Filter: %s %s %s", exprText(n.Value, in()), op, exprText(n.Bound, in()))
		return "Temporal Filter", d
	case *Project:
		ss := make([]string, len(n.Exprs))
		for i, e := range n.Exprs {
			ss[i] = exprText(e, in())
			if name := n.Cols[i].Name; ss[i] != name {
				ss[i] += " AS " + name
			}
		}
		add("Output: %s", strings.Join(ss, ", "))
		return "Project", d
	case *HashAgg:
		head := "Aggregate"
		switch {
		case len(n.Aggs) == 0:
			head = "Distinct"
		case len(n.Keys) > 0:
			head = "Hash Aggregate"
		}
		if len(n.Keys) > 0 {
			add("Key: %s", names(n.Keys, in()))
		}
		if len(n.Aggs) > 0 {
			add("Aggregates: %s", aggTexts(n.Aggs, in()))
		}
		return head, d
	case *HashJoin:
		l, r := n.L.Properties(), n.R.Properties()
		head := JoinNames[n.Kind] + " Join"
		if len(n.LeftKeys) == 0 {
			head = "Nested Loop " + head
		} else {
			head = "Hash " + head
			ss := make([]string, len(n.LeftKeys))
			for i := range n.LeftKeys {
				op := "="
				if n.NullSafe[i] {
					op = "IS NOT DISTINCT FROM"
				}
				ss[i] = fmt.Sprintf("%s %s %s", colName(n.LeftKeys[i], l), op, colName(n.RightKeys[i], r))
			}
			add("Hash Cond: %s", strings.Join(ss, " AND "))
		}
		both := concat(l, r)
		if n.Residual != nil {
			add("Join Filter: %s", exprText(n.Residual, both))
		}
		for i, sh := range []*Shared{n.LeftShared, n.RightShared} {
			if sh != nil {
				add("Arrangement: %s side is read from %s by %s", [...]string{"left", "right"}[i], relName(sh.Scan.Rel), sh.keyNames())
			}
		}
		if n.Interval != nil {
			add("State: cleaned by the watermarks of %s and %s", colName(n.Interval.LeftCol, l), colName(n.Interval.RightCol, r))
		}
		switch l, r := n.Brief(); {
		case l && r:
			add("State: rows until they match")
		case l:
			add("State: left rows until they match, right rows")
		case r:
			add("State: left rows, right rows until they match")
		}
		add("Output: %s", names(n.Output, both))
		return head, d
	case *TopN:
		head := "TopN"
		if len(n.GroupBy) > 0 {
			head = "Group TopN"
			add("Group Key: %s", names(n.GroupBy, in()))
		}
		if len(n.OrderBy) > 0 {
			add("Order By: %s", orderText(n.OrderBy, in()))
		}
		add("%s", limitText(n.Limit, n.Offset, n.WithTies))
		if len(d) > 0 && d[len(d)-1] == "" {
			d = d[:len(d)-1]
		}
		if n.RankOutput {
			add("Rank: %s", n.Cols[len(n.Cols)-1].Name)
		}
		if n.RisingIn {
			add("Input: rows only rise")
		}
		return head, d
	case *Window:
		if len(n.PartitionBy) > 0 {
			add("Partition By: %s", names(n.PartitionBy, in()))
		}
		if len(n.OrderBy) > 0 {
			add("Order By: %s", orderText(n.OrderBy, in()))
		}
		for i := range n.Calls {
			add("%s: %s", n.Cols[len(n.Cols)-len(n.Calls)+i].Name, callText(&n.Calls[i], in()))
		}
		return "WindowAgg", d
	case *Hop:
		text := windowText(colName(n.TimeCol, in()), n.Size, n.Slide, n.Offset)
		switch {
		case n.Size == n.Slide:
			add("%s", text)
			return "Tumble", d
		case n.Cumulate:
			add("%s", strings.Replace(text, " slide ", " step ", 1))
			return "Cumulate", d
		}
		add("%s", text)
		return "Hop", d
	case *Watermark:
		if n.Def.Idle > 0 {
			add("Idle Timeout: %s", microsText(n.Def.Idle))
		}
		if n.Def.Delay > 0 {
			add("Delay: %s", microsText(n.Def.Delay))
		}
		return "Watermark on " + colName(n.TimeCol, in()), d
	case *ProcTime:
		return "Processing Time", d
	case *WindowClose:
		add("Final: below the watermark of %s", colName(n.Col, in()))
		return "Emit On Window Close", d
	case *Session:
		if len(n.Partition) > 0 {
			add("Partition: %s", names(n.Partition, in()))
		}
		time := colName(n.TimeCol, in())
		if n.LastCol != n.TimeCol {
			time += " to " + colName(n.LastCol, in())
		}
		add("Window: %s gap %s", time, types.Format(types.T(types.Interval), types.DSpan(n.Gap), nil))
		return "Session", d
	case *HopAgg:
		head := "Hop Aggregate"
		if len(n.Aggs) == 0 {
			head = "Hop Distinct"
		}
		if len(n.Keys) > 0 {
			add("Key: %s", names(n.Keys, in()))
		}
		add("%s", windowText(colName(n.TimeCol, in()), n.Size, n.Slide, n.Offset))
		if len(n.Aggs) > 0 {
			add("Aggregates: %s", aggTexts(n.Aggs, in()))
		}
		return head, d
	case *UnionAll:
		return "Append", d
	case *Values:
		if n.Moving {
			for _, r := range n.Rows {
				add("Output: %s", exprList(r, &n.Props))
			}
			return "Time", d
		}
		if len(n.Rows) != 1 || len(n.Rows[0]) > 0 {
			return fmt.Sprintf("Values (%d rows)", len(n.Rows)), d
		}
		return "Result", d
	case *Lock:
		for _, r := range n.Rels {
			t := r.Rel.Name + " FOR " + r.Strength.String()
			switch {
			case r.NoWait:
				t += " NOWAIT"
			case r.SkipLocked:
				t += " SKIP LOCKED"
			}
			add("Of: %s", t)
		}
		return "Lock Rows", d
	case *Max1Row:
		if len(n.GroupBy) > 0 {
			add("Per: %s", names(n.GroupBy, in()))
		}
		return "Assert Single Row", d
	case *Consolidate:
		return "Consolidate", d
	case *ProjectSet:
		ss := make([]string, len(n.Funcs))
		for i, f := range n.Funcs {
			ss[i] = f.Fn.Name + "(" + exprList(f.Args, in()) + ")"
		}
		add("Functions: %s", strings.Join(ss, ", "))
		return "Project Set", d
	case *SourceScan:
		add("Columns: %s", relColumns(n.Rel, n.Cols))
		if n.RowID {
			d[0] = strings.Replace(d[0]+", _row_id", "none, ", "", 1)
		}
		return "Source Scan on " + relName(n.Rel), d
	case *TableScan:
		add("Columns: %s", relColumns(n.Rel, n.Cols))
		if n.Taken {
			add("Shared View: has the rows of an equal part of the query")
		}
		return "Stream Scan on " + relName(n.Rel), d
	case *Scan:
		add("Columns: %s", relColumns(n.Rel, n.Cols))
		for _, f := range n.Feeds {
			add("Lookup: %s", f.text())
		}
		a := &n.Access
		switch {
		case a.Points != nil:
			if len(a.Points) == 1 {
				add("Key: %s", keyText(n.Rel, a.Points[0]))
			} else {
				ss := make([]string, len(a.Points))
				for i, p := range a.Points {
					ss[i] = "(" + exprList(p, &Props{}) + ")"
				}
				add("Keys: %s", strings.Join(ss, ", "))
			}
			if n.Base != nil {
				return "Index Scan using " + n.Rel.Name + " on " + relName(n.Base), d
			}
			return "Key Scan on " + relName(n.Rel), d
		case !a.Full():
			var ss []string
			if len(a.Prefix) > 0 {
				ss = append(ss, keyText(n.Rel, a.Prefix))
			}
			next := ""
			if a.Lo != nil || a.Hi != nil {
				next = n.Rel.Columns[n.Rel.Key[len(a.Prefix)].Col].Name
			}
			for k, e := range []*Endpoint{a.Lo, a.Hi} {
				if e == nil {
					continue
				}
				op := [...]string{">", "<"}[k]
				if e.Inclusive {
					op += "="
				}
				ss = append(ss, next+" "+op+" "+exprText(e.Val, &Props{}))
			}
			add("Range: %s", strings.Join(ss, " AND "))
			if n.Base != nil {
				return "Index Range Scan using " + n.Rel.Name + " on " + relName(n.Base), d
			}
			return "Range Scan on " + relName(n.Rel), d
		}
		return "Scan on " + relName(n.Rel), d
	case *Sort:
		add("Sort Key: %s", orderText(n.OrderBy, in()))
		return "Sort", d
	case *Limit:
		if t := limitText(n.Limit, n.Offset, false); t != "" {
			add("%s", t)
		}
		return "Limit", d
	case *Recursive:
		head := "Recursive Union"
		if n.All {
			head += " All"
		}
		return head + " " + n.Name, d
	case *Working:
		return "Working Table Scan on " + n.Name, d
	case *LoopHead:
		head := "Loop"
		if n.All {
			head += " All"
		}
		add("Feedback: fragment %d", n.Feedback)
		return head + " " + n.Name, d
	case *Receive:
		if n.Loop {
			return fmt.Sprintf("Receive in loop from fragment %d, %s", n.From, distText(n.Dist, n.Properties())), d
		}
		return fmt.Sprintf("Receive from fragment %d, %s", n.From, distText(n.Dist, n.Properties())), d
	case *Materialize:
		add("Key: %s", orderText(n.Key, n.Properties()))
		if len(n.Key) == 0 {
			d[0] = "Key: none (one row)"
		}
		return "Materialize", d
	case *Sink:
		add("Columns: %s", names(n.Visible, n.Properties()))
		return "Sink", d
	}
	return fmt.Sprintf("%T", n), d
}

func limitText(limit, offset scalar.Expr, ties bool) string {
	var ss []string
	if limit != nil {
		s := "Limit: " + exprText(limit, &Props{})
		if ties {
			s += " with ties"
		}
		ss = append(ss, s)
	}
	if offset != nil {
		ss = append(ss, "Offset: "+exprText(offset, &Props{}))
	}
	return strings.Join(ss, "  ")
}

func microsText(n int64) string {
	return types.Format(types.T(types.Interval), types.DSpan(types.Span{Micros: n}), nil)
}

func windowText(time string, size, slide, offset types.Span) string {
	span := func(s types.Span) string { return types.Format(types.T(types.Interval), types.DSpan(s), nil) }
	text := fmt.Sprintf("Window: %s size %s", time, span(size))
	if size != slide {
		text += " slide " + span(slide)
	}
	if offset != (types.Span{}) {
		text += " offset " + span(offset)
	}
	return text
}

func aggTexts(as []Agg, p *Props) string {
	ss := make([]string, len(as))
	for i, a := range as {
		ss[i] = aggText(a, p)
	}
	return strings.Join(ss, ", ")
}

func aggText(a Agg, p *Props) string {
	s := a.Fn.Name + "("
	if a.Distinct {
		s += "DISTINCT "
	}
	if len(a.Args) == 0 {
		s += "*"
	}
	s += names(a.Args, p)
	if len(a.OrderBy) > 0 {
		s += " ORDER BY " + orderText(a.OrderBy, p)
	}
	s += ")"
	if a.Filter >= 0 {
		s += " FILTER (WHERE " + colName(a.Filter, p) + ")"
	}
	return s
}

// callText prints a window function call with its frame, if that is not the default one.
func callText(c *WindowCall, in *Props) string {
	var args []string
	for i, a := range c.Args {
		if a >= 0 {
			args = append(args, colName(a, in))
		} else {
			args = append(args, exprText(c.Consts[i], nil))
		}
	}
	s := c.Fn.Name + "(" + strings.Join(args, ", ") + ")"
	if len(c.Args) == 0 && c.Fn.Kind == fn.Aggregate {
		s = c.Fn.Name + "(*)"
	}
	if c.Filter >= 0 {
		s += " FILTER (WHERE " + colName(c.Filter, in) + ")"
	}
	if !c.Frame.IsDefault() {
		s += " " + c.Frame.Text(func(e scalar.Expr) string { return exprText(e, nil) })
	}
	return s
}

// keyNames lists the columns of the relation's key by which the side is read.
func (s *Shared) keyNames() string {
	ords := make([]int, len(s.Keys))
	for i := range s.Keys {
		ords[i] = s.Scan.Rel.Key[i].Col
	}
	return relColumns(s.Scan.Rel, ords)
}

// text names the arrangement and its columns.
func (f *ScanFeed) text() string {
	ss := make([]string, len(f.Keys))
	for i := range f.Keys {
		ss[i] = f.Rel.Columns[f.Rel.Key[i].Col].Name
	}
	return fmt.Sprintf("%s by %s, if few values are joined", f.Rel.Name, strings.Join(ss, ", "))
}
