package expr

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// arrayFunc wraps a function of a decoded first argument.
func arrayFunc(f func(x *genCall, arr types.ArrayValue, a []types.Datum) (types.Datum, error)) factory {
	return datums(func(x *genCall, a []types.Datum) (types.Datum, error) {
		arr, err := types.DecodeArray(a[0].S)
		if err != nil {
			return types.Null, err
		}
		return f(x, arr, a)
	})
}

// dimOf gives dimension n (from 1).
func dimOf(arr types.ArrayValue, n int64) (types.Dim, bool) {
	if n < 1 || n > int64(len(arr.Dims)) {
		return types.Dim{}, false
	}
	return arr.Dims[n-1], true
}

func encodeArray(a types.ArrayValue) (types.Datum, error) { return types.DStr(a.Encode()), nil }

// oneDim makes an array of one dimension with a lower bound, or an empty one.
func oneDim(elem types.Kind, elems []types.Datum, lower int) types.ArrayValue {
	a := types.ArrayValue{Elem: elem, Elems: elems}
	if len(elems) > 0 {
		a.Dims = []types.Dim{{Len: len(elems), Lower: lower}}
	}
	return a
}

var errIncompatibleArrays = sqlerr.Newf(sqlerr.ArraySubscriptError, "cannot concatenate incompatible arrays")

// concatArrays is array || array: of equal dimensions, or one of them an element of the other.
func concatArrays(elem types.Kind, x, y types.Datum) (types.Datum, error) {
	if !x.Valid {
		return y, nil
	}
	if !y.Valid {
		return x, nil
	}
	a, err := types.DecodeArray(x.S)
	if err != nil {
		return types.Null, err
	}
	b, err := types.DecodeArray(y.S)
	if err != nil {
		return types.Null, err
	}
	switch {
	case len(a.Dims) == 0:
		return y, nil
	case len(b.Dims) == 0:
		return x, nil
	}
	out := types.ArrayValue{Elem: elem, Elems: append(slices.Clone(a.Elems), b.Elems...)}
	sameInner := func(p, q []types.Dim) bool {
		return slices.EqualFunc(p, q, func(d, e types.Dim) bool { return d.Len == e.Len })
	}
	detail := "Arrays with differing element dimensions are not compatible for concatenation."
	switch len(a.Dims) - len(b.Dims) {
	case 0:
		out.Dims = slices.Clone(a.Dims)
		out.Dims[0].Len += b.Dims[0].Len
		if !sameInner(a.Dims[1:], b.Dims[1:]) {
			return types.Null, errWithDetail(errIncompatibleArrays, detail)
		}
	case 1:
		out.Dims = slices.Clone(a.Dims)
		out.Dims[0].Len++
		if !sameInner(a.Dims[1:], b.Dims) {
			return types.Null, errWithDetail(errIncompatibleArrays, detail)
		}
	case -1:
		out.Dims = slices.Clone(b.Dims)
		out.Dims[0].Len++
		if !sameInner(a.Dims, b.Dims[1:]) {
			return types.Null, errWithDetail(errIncompatibleArrays, detail)
		}
	default:
		return types.Null, errWithDetail(errIncompatibleArrays,
			"Arrays of "+strconv.Itoa(len(a.Dims))+" and "+strconv.Itoa(len(b.Dims))+" dimensions are not compatible for concatenation.")
	}
	return encodeArray(out)
}

func errWithDetail(e *sqlerr.Error, detail string) error {
	c := *e
	c.Detail = detail
	return &c
}

// addElem is array || element, or with front element || array.
func addElem(front bool) factory {
	return datums(func(x *genCall, a []types.Datum) (types.Datum, error) {
		av, ev := a[0], a[1]
		if front {
			av, ev = a[1], a[0]
		}
		arr := types.ArrayValue{Elem: x.ret.Elem}
		if av.Valid {
			var err error
			if arr, err = types.DecodeArray(av.S); err != nil {
				return types.Null, err
			}
		}
		lower := 1
		switch {
		case len(arr.Dims) > 1:
			return types.Null, sqlerr.Newf(sqlerr.DataException, "argument must be empty or one-dimensional array")
		case len(arr.Dims) == 1:
			lower = arr.Dims[0].Lower
		}
		if front {
			return encodeArray(oneDim(x.ret.Elem, append([]types.Datum{ev}, arr.Elems...), lower))
		}
		return encodeArray(oneDim(x.ret.Elem, append(slices.Clone(arr.Elems), ev), lower))
	})
}

// sameElem tells whether two elements are not distinct.
func sameElem(t types.Type, a, b types.Datum) bool {
	if !a.Valid || !b.Valid {
		return a.Valid == b.Valid
	}
	return types.Compare(t, a, b) == 0
}

// containsArray tells whether every element of b is in a; NULLs never are.
func containsArray(a, b types.ArrayValue) bool {
	t := types.T(a.Elem)
	for _, e := range b.Elems {
		if !e.Valid || !slices.ContainsFunc(a.Elems, func(d types.Datum) bool { return d.Valid && types.Compare(t, d, e) == 0 }) {
			return false
		}
	}
	return true
}

func arrayPair(f func(a, b types.ArrayValue) bool) factory {
	return binaryErr(func(x, y string) (bool, error) {
		a, err := types.DecodeArray(x)
		if err != nil {
			return false, err
		}
		b, err := types.DecodeArray(y)
		return f(a, b), err
	})
}

// arrayToString joins the elements; NULLs are left out, or null stands in their place.
func arrayToString(x *genCall, arr types.ArrayValue, sep string, null *string) types.Datum {
	var parts []string
	for _, d := range arr.Elems {
		switch {
		case d.Valid:
			parts = append(parts, types.Format(types.T(arr.Elem), d, x.st.tenv()))
		case null != nil:
			parts = append(parts, *null)
		}
	}
	return types.DStr(strings.Join(parts, sep))
}

// stringToArray splits; a NULL separator gives the characters. null is the text that becomes NULL.
func stringToArray(s string, sep, null types.Datum) []types.Datum {
	var parts []string
	switch {
	case s == "":
		return nil
	case !sep.Valid:
		parts = strings.Split(s, "")
	case sep.S == "":
		parts = []string{s}
	default:
		parts = strings.Split(s, sep.S)
	}
	out := make([]types.Datum, len(parts))
	for i, p := range parts {
		if !null.Valid || p != null.S {
			out[i] = types.DStr(p)
		}
	}
	return out
}

func arrayDims(arr types.ArrayValue) string {
	var b strings.Builder
	for _, d := range arr.Dims {
		b.WriteString("[" + strconv.Itoa(d.Lower) + ":" + strconv.Itoa(d.Lower+d.Len-1) + "]")
	}
	return b.String()
}

// arrayFill makes an array of copies of a value.
func arrayFill(x *genCall, a []types.Datum) (types.Datum, error) {
	null := func(what string) error {
		return sqlerr.Newf(sqlerr.NullValueNotAllowed, "%s", what)
	}
	if !a[1].Valid || len(a) > 2 && !a[2].Valid {
		return types.Null, null("dimension array or low bound array cannot be null")
	}
	dims, err := types.DecodeArray(a[1].S)
	if err != nil {
		return types.Null, err
	}
	lower := types.ArrayValue{}
	if len(a) > 2 {
		if lower, err = types.DecodeArray(a[2].S); err != nil {
			return types.Null, err
		}
		if len(lower.Elems) != len(dims.Elems) {
			return types.Null, errWithDetail(sqlerr.Newf(sqlerr.ArraySubscriptError, "wrong number of array subscripts"),
				"Low bound array has different size than dimensions array.")
		}
	}
	if len(dims.Elems) > types.MaxDims {
		return types.Null, sqlerr.Newf(sqlerr.ProgramLimitExceeded, "number of array dimensions (%d) exceeds the maximum allowed (%d)",
			len(dims.Elems), types.MaxDims)
	}
	out := types.ArrayValue{Elem: x.ret.Elem}
	n := int64(1)
	for i, d := range dims.Elems {
		if !d.Valid || len(a) > 2 && !lower.Elems[i].Valid {
			return types.Null, null("dimension values cannot be null")
		}
		low := 1
		if len(a) > 2 {
			low = int(lower.Elems[i].I)
		}
		out.Dims = append(out.Dims, types.Dim{Len: int(d.I), Lower: low})
		if d.I < 0 || d.I > 0 && n > (1<<27)/d.I {
			return types.Null, sqlerr.Newf(sqlerr.ProgramLimitExceeded, "array size exceeds the maximum allowed (%d)", 1<<27-1)
		}
		n *= d.I
	}
	if n == 0 || len(dims.Elems) == 0 {
		return encodeArray(types.ArrayValue{Elem: x.ret.Elem})
	}
	out.Elems = make([]types.Datum, n)
	for i := range out.Elems {
		out.Elems[i] = a[0]
	}
	return encodeArray(out)
}

func errMultiDimSearch() error {
	return sqlerr.Newf(sqlerr.FeatureNotSupported, "searching for elements in multidimensional arrays is not supported")
}

func arrayPosition(_ *genCall, a []types.Datum) (types.Datum, error) {
	if !a[0].Valid {
		return types.Null, nil
	}
	arr, err := types.DecodeArray(a[0].S)
	if err != nil {
		return types.Null, err
	}
	if len(arr.Dims) > 1 {
		return types.Null, errMultiDimSearch()
	}
	if len(arr.Dims) == 0 {
		return types.Null, nil
	}
	if !a[1].Valid && !slices.ContainsFunc(arr.Elems, func(d types.Datum) bool { return !d.Valid }) {
		return types.Null, nil
	}
	if len(a) > 2 && !a[2].Valid {
		return types.Null, sqlerr.Newf(sqlerr.NullValueNotAllowed, "initial position must not be null")
	}
	from := intAt(a, 2, math.MinInt32)
	for i, d := range arr.Elems {
		at := int64(arr.Dims[0].Lower + i)
		if at >= from && sameElem(types.T(arr.Elem), d, a[1]) {
			return types.DInt(at), nil
		}
	}
	return types.Null, nil
}

func arrayPositions(_ *genCall, a []types.Datum) (types.Datum, error) {
	if !a[0].Valid {
		return types.Null, nil
	}
	arr, err := types.DecodeArray(a[0].S)
	if err != nil {
		return types.Null, err
	}
	if len(arr.Dims) > 1 {
		return types.Null, errMultiDimSearch()
	}
	var out []types.Datum
	for i, d := range arr.Elems {
		if sameElem(types.T(arr.Elem), d, a[1]) {
			out = append(out, types.DInt(int64(arr.Dims[0].Lower+i)))
		}
	}
	return types.DStr(types.MakeArray(types.Int4, out)), nil
}

// arrayReplace replaces elements, or removes them if there is no replacement.
func arrayReplace(x *genCall, a []types.Datum) (types.Datum, error) {
	if !a[0].Valid {
		return types.Null, nil
	}
	arr, err := types.DecodeArray(a[0].S)
	if err != nil {
		return types.Null, err
	}
	t := types.T(arr.Elem)
	if len(a) == 3 {
		for i, d := range arr.Elems {
			if sameElem(t, d, a[1]) {
				arr.Elems[i] = a[2]
			}
		}
		return encodeArray(arr)
	}
	if len(arr.Dims) > 1 {
		return types.Null, sqlerr.Newf(sqlerr.FeatureNotSupported, "removing elements from multidimensional arrays is not supported")
	}
	if len(arr.Dims) == 0 {
		return a[0], nil
	}
	kept := slices.DeleteFunc(arr.Elems, func(d types.Datum) bool { return sameElem(t, d, a[1]) })
	return encodeArray(oneDim(arr.Elem, kept, arr.Dims[0].Lower))
}

// arraySlice is x[lo:hi][lo:hi]...; of the dimensions that have no bounds all is taken.
func arraySlice(_ *genCall, arr types.ArrayValue, a []types.Datum) (types.Datum, error) {
	bounds := a[1:]
	if len(bounds)%2 != 0 || len(arr.Dims) < len(bounds)/2 {
		return encodeArray(types.ArrayValue{Elem: arr.Elem})
	}
	out := types.ArrayValue{Elem: arr.Elem}
	froms := make([]int, len(arr.Dims))
	for i, d := range arr.Dims {
		lo, hi := int64(d.Lower), int64(d.Lower)+int64(d.Len)-1
		if 2*i < len(bounds) {
			lo, hi = max(lo, bounds[2*i].I), min(hi, bounds[2*i+1].I)
		}
		if lo > hi {
			return encodeArray(out)
		}
		froms[i] = int(lo - int64(d.Lower))
		out.Dims = append(out.Dims, types.Dim{Len: int(hi-lo) + 1, Lower: 1})
	}
	// take appends what is chosen of elems, which are those from dimension i on.
	var take func(i int, elems []types.Datum)
	take = func(i int, elems []types.Datum) {
		inner, n := len(elems)/arr.Dims[i].Len, out.Dims[i].Len
		elems = elems[froms[i]*inner : (froms[i]+n)*inner]
		if 2*(i+1) >= len(bounds) {
			out.Elems = append(out.Elems, elems...)
			return
		}
		for k := range n {
			take(i+1, elems[k*inner:(k+1)*inner])
		}
	}
	take(0, arr.Elems)
	return encodeArray(out)
}

func trimArray(_ *genCall, arr types.ArrayValue, a []types.Datum) (types.Datum, error) {
	size, ok := 0, false
	if len(arr.Dims) > 0 {
		size, ok = arr.Dims[0].Len, true
	}
	if a[1].I < 0 || a[1].I > int64(size) {
		return types.Null, sqlerr.Newf(sqlerr.ArraySubscriptError, "number of elements to trim must be between 0 and %d", size)
	}
	if !ok {
		return a[0], nil
	}
	keep := size - int(a[1].I)
	inner := len(arr.Elems) / size
	arr.Elems = arr.Elems[:keep*inner]
	for i := range arr.Dims {
		arr.Dims[i].Lower = 1
	}
	arr.Dims[0].Len = keep
	if keep == 0 {
		arr.Dims = nil
	}
	return encodeArray(arr)
}

// widthBucketArray is the number of thresholds that are not above the value.
func widthBucketArray(x *genCall, a []types.Datum) (types.Datum, error) {
	arr, err := types.DecodeArray(a[1].S)
	if err != nil {
		return types.Null, err
	}
	if len(arr.Dims) > 1 {
		return types.Null, sqlerr.Newf(sqlerr.ArraySubscriptError, "thresholds must be one-dimensional array")
	}
	if slices.ContainsFunc(arr.Elems, func(d types.Datum) bool { return !d.Valid }) {
		return types.Null, sqlerr.Newf(sqlerr.NullValueNotAllowed, "thresholds array must not contain NULLs")
	}
	lo, hi := 0, len(arr.Elems)
	for lo < hi {
		mid := (lo + hi) / 2
		if types.Compare(types.T(arr.Elem), a[0], arr.Elems[mid]) < 0 {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	return types.DInt(int64(lo)), nil
}

func addArrayKernels(t table) {
	concat := datums(func(x *genCall, a []types.Datum) (types.Datum, error) { return concatArrays(x.ret.Elem, a[0], a[1]) })
	t.add("||(anyarray,anyarray)", concat)
	t.add("array_cat(anyarray,anyarray)", concat)
	t.add("||(anyarray,anyelement)", addElem(false))
	t.add("array_append(anyarray,anyelement)", addElem(false))
	t.add("||(anyelement,anyarray)", addElem(true))
	t.add("array_prepend(anyelement,anyarray)", addElem(true))
	t.add("@>(anyarray,anyarray)", arrayPair(containsArray))
	t.add("<@(anyarray,anyarray)", arrayPair(func(a, b types.ArrayValue) bool { return containsArray(b, a) }))
	t.add("&&(anyarray,anyarray)", arrayPair(func(a, b types.ArrayValue) bool {
		return slices.ContainsFunc(a.Elems, func(d types.Datum) bool {
			return d.Valid && slices.ContainsFunc(b.Elems, func(e types.Datum) bool { return e.Valid && types.Compare(types.T(a.Elem), d, e) == 0 })
		})
	}))
	t.add("array_dims(anyarray)", arrayFunc(func(_ *genCall, arr types.ArrayValue, _ []types.Datum) (types.Datum, error) {
		if len(arr.Dims) == 0 {
			return types.Null, nil
		}
		return types.DStr(arrayDims(arr)), nil
	}))
	t.add("array_ndims(anyarray)", arrayFunc(func(_ *genCall, arr types.ArrayValue, _ []types.Datum) (types.Datum, error) {
		if len(arr.Dims) == 0 {
			return types.Null, nil
		}
		return types.DInt(int64(len(arr.Dims))), nil
	}))
	t.add("cardinality(anyarray)", arrayFunc(func(_ *genCall, arr types.ArrayValue, _ []types.Datum) (types.Datum, error) {
		return types.DInt(int64(len(arr.Elems))), nil
	}))
	bound := func(name string, f func(d types.Dim) int) {
		t.add(name+"(anyarray,int4)", arrayFunc(func(_ *genCall, arr types.ArrayValue, a []types.Datum) (types.Datum, error) {
			d, ok := dimOf(arr, a[1].I)
			if !ok {
				return types.Null, nil
			}
			return types.DInt(int64(f(d))), nil
		}))
	}
	bound("array_length", func(d types.Dim) int { return d.Len })
	bound("array_lower", func(d types.Dim) int { return d.Lower })
	bound("array_upper", func(d types.Dim) int { return d.Lower + d.Len - 1 })
	t.add("array_fill(anyelement,int4[])", datums(arrayFill))
	t.add("array_fill(anyelement,int4[],int4[])", datums(arrayFill))
	t.add("array_position(anyarray,anyelement)", datums(arrayPosition))
	t.add("array_position(anyarray,anyelement,int4)", datums(arrayPosition))
	t.add("array_positions(anyarray,anyelement)", datums(arrayPositions))
	t.add("array_remove(anyarray,anyelement)", datums(arrayReplace))
	t.add("array_replace(anyarray,anyelement,anyelement)", datums(arrayReplace))
	t.add("array_subscript(anyarray,int4)", regexGroups(arrayFunc(func(_ *genCall, arr types.ArrayValue, a []types.Datum) (types.Datum, error) {
		i, ok := arr.Index([]int{int(a[1].I)})
		if !ok {
			return types.Null, nil
		}
		return arr.Elems[i], nil
	})))
	t.add("array_subscripts(anyarray,variadic int4[])", arrayFunc(func(_ *genCall, arr types.ArrayValue, a []types.Datum) (types.Datum, error) {
		subs := make([]int, 0, len(a)-1)
		for _, d := range a[1:] {
			subs = append(subs, int(d.I))
		}
		i, ok := arr.Index(subs)
		if !ok {
			return types.Null, nil
		}
		return arr.Elems[i], nil
	}))
	t.add("array_slice(anyarray,variadic int4[])", arrayFunc(arraySlice))
	t.add("array_to_string(anyarray,text)", arrayFunc(func(x *genCall, arr types.ArrayValue, a []types.Datum) (types.Datum, error) {
		return arrayToString(x, arr, a[1].S, nil), nil
	}))
	t.add("array_to_string(anyarray,text,text)", datums(func(x *genCall, a []types.Datum) (types.Datum, error) {
		if !a[0].Valid || !a[1].Valid {
			return types.Null, nil
		}
		arr, err := types.DecodeArray(a[0].S)
		if err != nil {
			return types.Null, err
		}
		var null *string
		if a[2].Valid {
			null = &a[2].S
		}
		return arrayToString(x, arr, a[1].S, null), nil
	}))
	split := datums(func(_ *genCall, a []types.Datum) (types.Datum, error) {
		if !a[0].Valid {
			return types.Null, nil
		}
		null := types.Null
		if len(a) > 2 {
			null = a[2]
		}
		return types.DStr(types.MakeArray(types.Text, stringToArray(a[0].S, a[1], null))), nil
	})
	t.add("string_to_array(text,text)", split)
	t.add("string_to_array(text,text,text)", split)
	t.add("trim_array(anyarray,int4)", arrayFunc(trimArray))
	t.add("width_bucket(anyelement,anyarray)", datums(widthBucketArray))
}
