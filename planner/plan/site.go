package plan

import "fmt"

// Site describes an expression of a node, by the number under which the node's operator reports that it fails, and names
// the columns of the row that it fails on; those that nobody asked for have no name.
func Site(n Node, site int) (operator, expression string, columns []string) {
	w := &explainer{}
	operator, _ = w.describe(n)
	var in *Props
	if len(n.Inputs()) > 0 {
		in = n.Inputs()[0].Properties()
	}
	of := func(p *Props, cols []int) []string {
		var out []string
		for i := range p.Cols {
			if cols == nil {
				out = append(out, siteColumn(p, i))
			}
		}
		for _, i := range cols {
			out = append(out, siteColumn(p, i))
		}
		return out
	}
	keys := func(p *Props, cols []int) []string {
		if len(cols) == 0 {
			return nil
		}
		return of(p, cols)
	}
	switch n := n.(type) {
	case *Filter:
		return operator, exprText(n.Pred, in), of(in, nil)
	case *Project:
		if site < len(n.Exprs) {
			expression = exprText(n.Exprs[site], in)
		}
		return operator, expression, of(in, nil)
	case *TemporalFilter:
		return operator, exprText(n.Value, in), of(in, nil)
	case *ProjectSet:
		// The calls, and then their arguments.
		if site == 0 {
			for i, f := range n.Funcs {
				if i > 0 {
					expression += ", "
				}
				expression += f.Fn.Name + "(" + exprList(f.Args, in) + ")"
			}
		}
		for _, f := range n.Funcs {
			for _, a := range f.Args {
				if site--; site == 0 {
					expression = exprText(a, in)
				}
			}
		}
		return operator, expression, of(in, nil)
	case *HashJoin:
		both := concat(n.L.Properties(), n.R.Properties())
		if n.Residual != nil {
			expression = exprText(n.Residual, both)
		}
		return operator, expression, of(both, nil)
	case *Lookup:
		if site < len(n.Keys) {
			return operator, exprText(n.Keys[site], in), of(in, nil)
		}
		both := concat(n.In.Properties(), &n.R.Props)
		if n.Residual != nil {
			expression = exprText(n.Residual, both)
		}
		return operator, expression, of(both, nil)
	case *HashAgg:
		if site < len(n.Aggs) {
			expression = aggText(n.Aggs[site], in)
		}
		return operator, expression, keys(in, n.Keys)
	case *HopAgg:
		if site < len(n.Aggs) {
			expression = aggText(n.Aggs[site], in)
		}
		return operator, expression, append(keys(in, n.Keys), "window_start")
	case *Window:
		if site < len(n.Calls) {
			expression = callText(&n.Calls[site], in)
		}
		return operator, expression, of(in, nil)
	case *Values:
		if width := len(n.Cols); width > 0 && site < width*len(n.Rows) {
			expression = exprText(n.Rows[site/width][site%width], &n.Props)
		}
		return operator, expression, nil
	case *Max1Row:
		return operator, "subquery", keys(in, n.GroupBy)
	}
	return operator, fmt.Sprintf("expression %d", site+1), nil
}

func siteColumn(p *Props, i int) string {
	if p.Cols[i].Hidden || p.Cols[i].Name == "_row_id" {
		return ""
	}
	return colName(i, p)
}
