package op

import "github.com/weirdb/weir/sql/types"

func newBitAgg(string, types.Type) aggregator                    { return nil }
func newVariance(string, types.Type) (aggregator, int, error)    { return nil, 0, nil }
func newOrdered(Agg, int, []types.Type) (aggregator, int, error) { return nil, 0, nil }
