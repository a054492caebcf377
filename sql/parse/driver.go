package parse

import (
	"fmt"
	"io"
	"sync"

	tidb "github.com/pingcap/tidb/pkg/parser"
	tast "github.com/pingcap/tidb/pkg/parser/ast"
	"github.com/pingcap/tidb/pkg/parser/format"
	"github.com/pingcap/tidb/pkg/parser/mysql"
)

// The TiDB parser makes literals through hooks. Ours keep what was written: numbers that are not
// small integers never reach it (they are cells), booleans stay booleans.
func init() {
	tast.NewValueExpr = func(value any, _, _ string) tast.ValueExpr { return &valueExpr{value: value} }
	tast.NewParamMarkerExpr = func(int) tast.ParamMarkerExpr { return &paramMarker{} }
	text := func(s string) (any, error) { return s, nil }
	tast.NewDecimal = text
	tast.NewHexLiteral = text
	tast.NewBitLiteral = text
}

// valueExpr is a literal: its value is nil, an int64, a bool or a string.
type valueExpr struct {
	tast.TexprNode
	value      any
	projection int
}

func (v *valueExpr) SetValue(value any)          { v.value = value }
func (v *valueExpr) GetValue() any               { return v.value }
func (v *valueExpr) GetDatumString() string      { return v.GetString() }
func (v *valueExpr) GetString() string           { return fmt.Sprint(v.value) }
func (v *valueExpr) GetProjectionOffset() int    { return v.projection }
func (v *valueExpr) SetProjectionOffset(off int) { v.projection = off }

// Restore and Format are of TiDB's printer, which Weir does not use.
func (v *valueExpr) Restore(ctx *format.RestoreCtx) error {
	ctx.WritePlain(v.GetString())
	return nil
}

// Format writes the value.
func (v *valueExpr) Format(w io.Writer) { _, _ = io.WriteString(w, v.GetString()) }

// Accept lets a visitor pass.
func (v *valueExpr) Accept(visitor tast.Visitor) (tast.Node, bool) {
	n, _ := visitor.Enter(v)
	return visitor.Leave(n)
}

// paramMarker is MySQL's "?", which no text sent to TiDB has.
type paramMarker struct {
	valueExpr
}

// SetOrder does nothing.
func (*paramMarker) SetOrder(int) {}

// Accept lets a visitor pass.
func (m *paramMarker) Accept(visitor tast.Visitor) (tast.Node, bool) {
	n, _ := visitor.Enter(m)
	return visitor.Leave(n)
}

// sqlMode is what makes TiDB's lexer read identifiers and strings literally.
const sqlMode = mysql.ModeANSIQuotes | mysql.ModePipesAsConcat | mysql.ModeNoBackslashEscapes

// tidbParsers holds parsers for reuse: one is large, and must not be shared by goroutines.
var tidbParsers = sync.Pool{New: func() any {
	p := tidb.New()
	p.SetSQLMode(sqlMode)
	return p
}}
