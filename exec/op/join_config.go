package op

import (
	"errors"
	"fmt"
	"slices"

	"github.com/weirdb/weir/exec/expr"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/scalar"
	"github.com/weirdb/weir/sql/types"
)

// JoinKind is the kind of a join.
type JoinKind uint8

// The join kinds.
const (
	Inner JoinKind = iota
	Left
	Right
	Full
	Semi
	Anti
)

// HashJoinConfig configures HashJoin.
type HashJoinConfig struct {
	Kind        JoinKind
	Left, Right []types.Type
	// LeftKeys and RightKeys are pairs of columns that must be equal, of equal types. None: one
	// bucket for all rows.
	LeftKeys, RightKeys []int
	// NullSafe says for each pair whether NULL equals NULL; nil: none.
	NullSafe []bool
	// Residual is a further condition over left ++ right, or nil.
	Residual scalar.Expr
	// LeftRowKey and RightRowKey identify a row within its side; nil: rows are a multiset.
	LeftRowKey, RightRowKey         []int
	LeftAppendOnly, RightAppendOnly bool
	// LeftUnique and RightUnique promise that no two rows of a side have the same key.
	LeftUnique, RightUnique bool
	// LeftDist and RightDist are the columns by which the inputs are distributed: among the keys.
	LeftDist, RightDist []int
	// Output lists columns of left ++ right (semi, anti: of left) that are emitted.
	Output []int
	// Interval bounds how far apart matching rows are in time: it follows from Residual. With watermarks on both columns rows
	// are forgotten that nothing can match any more.
	Interval *JoinInterval
	// LeftShared and RightShared say that the rows of a side are those of a relation, which is read instead of
	// keeping them; nil: they are kept.
	LeftShared, RightShared *SharedSide
	// BuildRight promises that the whole right input arrives before the left one, that nothing is
	// taken back, and that there is one epoch: batch plans. Then left rows are not kept, nothing is
	// emitted that would have to be taken back, and right rows without a match come at the barrier.
	BuildRight bool
}

// JoinInterval says that of a pair that passes left is at least right + Lo, and at most right + Hi. The columns are those
// of left and of right.
type JoinInterval struct {
	LeftCol, RightCol int
	HasLo, HasHi      bool
	Lo, Hi            int64
}

// NewHashJoin checks the configuration.
func NewHashJoin(cfg HashJoinConfig) (*HashJoin, error) {
	j := &HashJoin{cfg: cfg}
	nl, nr := len(cfg.Left), len(cfg.Right)
	if len(cfg.LeftKeys) != len(cfg.RightKeys) || cfg.NullSafe != nil && len(cfg.NullSafe) != len(cfg.LeftKeys) {
		return nil, fmt.Errorf("HashJoin: %d left keys, %d right keys, %d NullSafe", len(cfg.LeftKeys), len(cfg.RightKeys), len(cfg.NullSafe))
	}
	width := nl + nr
	if cfg.Kind == Semi || cfg.Kind == Anti {
		width = nl
	}
	err := errors.Join(checkCols("HashJoin.LeftKeys", cfg.LeftKeys, nl), checkCols("HashJoin.RightKeys", cfg.RightKeys, nr),
		checkCols("HashJoin.LeftRowKey", cfg.LeftRowKey, nl), checkCols("HashJoin.RightRowKey", cfg.RightRowKey, nr),
		checkCols("HashJoin.Output", cfg.Output, width))
	if err != nil {
		return nil, err
	}
	for i, l := range cfg.LeftKeys {
		if lt, rt := cfg.Left[l], cfg.Right[cfg.RightKeys[i]]; lt.Kind != rt.Kind && (lt.Phys() != rt.Phys() || inexactType(lt) || inexactType(rt)) {
			return nil, fmt.Errorf("HashJoin: key %d has types %v and %v", i, lt.Kind, rt.Kind)
		}
	}
	all := append(append([]types.Type{}, cfg.Left...), cfg.Right...)
	if cfg.Residual != nil {
		var ok bool
		if j.resCols, ok = exprColumns(cfg.Residual); !ok {
			j.resCols = nil
			for i := range all {
				j.resCols = append(j.resCols, i)
			}
		}
		if j.residual, err = expr.Compile(cfg.Residual, nil); err != nil {
			return nil, err
		}
		j.pairs = vec.NewChunk(all, 0)
	}
	var need [2][]int
	for _, c := range append(append([]int{}, cfg.Output...), j.resCols...) {
		if c < nl {
			need[0] = append(need[0], c)
		} else {
			need[1] = append(need[1], c-nl)
		}
	}
	for _, c := range cfg.Output {
		j.schema = append(j.schema, all[c])
		if c < nl {
			j.outCols = append(j.outCols, joinCol{0, c})
		} else {
			j.outCols = append(j.outCols, joinCol{1, c - nl})
		}
	}
	if (cfg.LeftShared != nil || cfg.RightShared != nil) && (cfg.Interval != nil || cfg.BuildRight) {
		return nil, errors.New("HashJoin: a shared side of a join that forgets rows")
	}
	// Rows that are to be forgotten one by one must be found one by one, and so must those that are read again.
	j.sides[0] = newJoinSide(cfg.Left, cfg.LeftKeys, cfg.LeftRowKey, need[0], cfg.LeftAppendOnly && cfg.Interval == nil && cfg.LeftShared == nil)
	j.sides[1] = newJoinSide(cfg.Right, cfg.RightKeys, cfg.RightRowKey, need[1], cfg.RightAppendOnly && cfg.Interval == nil && cfg.RightShared == nil)
	for p, sh := range []*SharedSide{cfg.LeftShared, cfg.RightShared} {
		if sh == nil {
			continue
		}
		s, err := newSharedRows(sh, [][]types.Type{cfg.Left, cfg.Right}[p], len(cfg.LeftKeys))
		if err != nil {
			return nil, err
		}
		j.sides[p].shared = s
		j.shared = append(j.shared, s)
		j.batch.least = aheadLeast
	}
	j.sides[0].outer = slices.Contains([]JoinKind{Left, Full, Semi, Anti}, cfg.Kind)
	j.sides[1].outer = cfg.Kind == Right || cfg.Kind == Full
	unique := [2]bool{cfg.LeftUnique && cfg.LeftAppendOnly, cfg.RightUnique && cfg.RightAppendOnly}
	for p, s := range j.sides {
		s.brief = s.numbered && unique[1-p] && len(cfg.LeftKeys) > 0 && !cfg.BuildRight &&
			(cfg.Kind == Inner || cfg.Kind == Left && p == 0 || cfg.Kind == Right && p == 1)
	}
	j.once = (cfg.Kind == Semi || cfg.Kind == Anti) && cfg.RightAppendOnly && cfg.Residual == nil && j.shared == nil
	for p, dist := range [][]int{cfg.LeftDist, cfg.RightDist} {
		s := j.sides[p]
		s.useDeg = s.outer && j.residual != nil
		if s.distKeys, err = distPositions("HashJoin", dist, s.keys); err != nil {
			return nil, err
		}
	}
	keyTypes := pickTypes(cfg.Left, cfg.LeftKeys)
	j.keyStore = newRowStore(keyTypes)
	j.idx = newKeyIndex(j.keyStore, len(keyTypes))
	j.keyBuf = vec.NewChunk(keyTypes, 0)
	j.outc = vec.NewChunk(j.schema, 0)
	return j, nil
}
