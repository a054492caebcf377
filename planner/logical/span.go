package logical

import "github.com/weirdb/weir/sql/types"

// SpanText writes an interval.
func SpanText(s types.Span) string {
	return types.Format(types.T(types.Interval), types.DSpan(s), nil)
}
