package fn

import (
	"slices"
	"strings"

	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// Resolution is the overload that a call means and how its arguments must be prepared.
type Resolution struct {
	// Fn is the overload; nil if CastTo.
	Fn *Func
	// Args are the types that the arguments must have, polymorphic types resolved, spread
	// variadic arguments included. Where the argument already has another type, cast it
	// implicitly (ResolveCast), or parse the literal. An entry of kind Unknown means: leave the
	// literal as it is.
	Args []types.Type
	// Ret is the type of the result.
	Ret types.Type
	// Order says which argument as written becomes argument i; -1 stands for Fn.Defaults[i],
	// to be parsed as Args[i]. Nil means: as written.
	Order []int
	// CastTo: the call is a cast in functional notation, text(x): Ret is its target, the cast
	// is explicit, and there is no Fn.
	CastTo bool
}

// CallOptions is how a function call was written, besides its name and arguments.
type CallOptions struct {
	Variadic bool // VARIADIC before the last argument
	Star     bool // f(*)
	// ArgNames has the name of each argument that was written name => value, else "". Nil if
	// none has one.
	ArgNames []string
	// More are overloads besides those of the registry, which win where the parameters are the same. Only: no others count.
	More []*Func
	Only bool
}

// ResolveFunc chooses the function that name(args) means. Aggregates, window functions and
// set-returning functions are found as well: the caller looks at Fn.Kind. The arguments of
// WITHIN GROUP follow the direct ones. Errors are 42883 and 42725 with Postgres's hints; they
// carry no position.
func (r *Registry) ResolveFunc(name string, args []types.Type, opt CallOptions) (Resolution, error) {
	args = bases(args)
	if opt.Star {
		return r.resolveStar(name)
	}
	cands := r.funcCandidates(name, args, opt)
	for _, c := range cands {
		if c.exact(args) {
			return r.finish(c, args)
		}
	}
	if len(args) == 1 && !opt.Variadic && opt.ArgNames == nil && !opt.Only {
		if to, ok := r.castNotation(name, args[0]); ok {
			return Resolution{Args: []types.Type{to}, Ret: to, CastTo: true}, nil
		}
	}
	c, ambiguous := r.choose(cands, args)
	if c != nil {
		return r.finish(c, args)
	}
	if opt.Variadic && slices.ContainsFunc(cands, func(c *candidate) bool { return isSpread(c.fn) }) {
		return Resolution{}, sqlerr.Newf(sqlerr.DatatypeMismatch, "VARIADIC argument must be an array")
	}
	sig := funcSignature(name, args, opt)
	if ambiguous {
		return Resolution{}, sqlerr.Newf(sqlerr.AmbiguousFunction, "function %s is not unique", sig).
			WithHint("Could not choose a best candidate function. You might need to add explicit type casts.")
	}
	return Resolution{}, sqlerr.Newf(sqlerr.UndefinedFunction, "function %s does not exist", sig).
		WithHint("No function matches the given name and argument types. You might need to add explicit type casts.")
}

// ResolveOperator chooses the operator that "left name right" means.
func (r *Registry) ResolveOperator(name string, left, right types.Type) (Resolution, error) {
	args := []types.Type{base(left), base(right)}
	// A literal of unknown type is first tried as the type of the other side.
	exact := slices.Clone(args)
	if isUnknown(args[0]) {
		exact[0] = args[1]
	} else if isUnknown(args[1]) {
		exact[1] = args[0]
	}
	return r.resolveOp(name, args, exact)
}

// ResolvePrefix chooses the operator that "name arg" means.
func (r *Registry) ResolvePrefix(name string, arg types.Type) (Resolution, error) {
	args := []types.Type{base(arg)}
	return r.resolveOp(name, args, args)
}

func (r *Registry) resolveOp(name string, args, exact []types.Type) (Resolution, error) {
	if name == "!=" {
		name = "<>"
	}
	var cands []*candidate
	for _, f := range r.ops[name] {
		if len(f.Args) == len(args) {
			cands = append(cands, &candidate{fn: f, args: f.Args})
		}
	}
	for _, c := range cands {
		if c.exact(exact) {
			return r.finish(c, args)
		}
	}
	c, ambiguous := r.choose(cands, args)
	if c != nil {
		return r.finish(c, args)
	}
	sig := name + " " + typeName(args[0])
	if len(args) == 2 {
		sig = typeName(args[0]) + " " + name + " " + typeName(args[1])
	}
	if ambiguous {
		return Resolution{}, sqlerr.Newf(sqlerr.AmbiguousFunction, "operator is not unique: %s", sig).
			WithHint("Could not choose a best candidate operator. You might need to add explicit type casts.")
	}
	hint := "No operator matches the given name and argument types. You might need to add explicit type casts."
	if len(args) == 1 {
		hint = "No operator matches the given name and argument type. You might need to add an explicit type cast."
	}
	return Resolution{}, sqlerr.Newf(sqlerr.UndefinedFunction, "operator does not exist: %s", sig).WithHint("%s", hint)
}

// isSpread tells whether f is the form of a function of variadic "any" that takes an array.
func isSpread(f *Func) bool { return strings.HasSuffix(f.ID, "variadic anyarray)") }

// resolveStar is f(*): only an aggregate without arguments may be called so.
func (r *Registry) resolveStar(name string) (Resolution, error) {
	for _, f := range r.funcs[name] {
		if len(f.Args) != 0 {
			continue
		}
		if f.Kind != Aggregate && f.Kind != Window {
			return Resolution{}, sqlerr.Newf(sqlerr.WrongObjectType, "%s(*) specified, but %s is not an aggregate function", name, name)
		}
		return Resolution{Fn: f, Ret: f.Ret}, nil
	}
	return Resolution{}, sqlerr.Newf(sqlerr.UndefinedFunction, "function %s() does not exist", name).
		WithHint("No function matches the given name and argument types. You might need to add explicit type casts.")
}

// castNotation tells whether name(arg) is a cast: name is a type and the cast is possible.
func (r *Registry) castNotation(name string, arg types.Type) (types.Type, bool) {
	k, ok := byTypname[name]
	if !ok || k == types.Unknown || k == types.Array || k.Category() == catPseudo {
		return types.Type{}, false
	}
	to := types.T(k)
	if arg.Kind == types.Record && categoryOf(to) == catString {
		return types.Type{}, false
	}
	return to, isUnknown(arg) || r.CanCast(arg, to, Explicit)
}

// candidate is an overload with the parameter types that a call of this many arguments sees.
type candidate struct {
	fn    *Func
	args  []types.Type
	order []int
	// spread: the variadic parameter was expanded; filled: defaults were used.
	spread, filled bool
}

func (c *candidate) exact(args []types.Type) bool {
	return !c.filled && slices.Equal(c.args, args)
}

// funcCandidates lists the overloads that can take that number of arguments. Of two with the same
// parameters, the one without variadic expansion wins.
func (r *Registry) funcCandidates(name string, args []types.Type, opt CallOptions) []*candidate {
	var cands []*candidate
	all := r.funcs[name]
	switch {
	case opt.Only:
		all = opt.More
	case len(opt.More) > 0:
		all = slices.Concat(all, opt.More)
	}
	for _, f := range all {
		c := f.candidate(len(args), opt)
		if c == nil {
			continue
		}
		same := slices.IndexFunc(cands, func(o *candidate) bool { return slices.Equal(o.args, c.args) })
		switch {
		case same < 0:
			cands = append(cands, c)
		case cands[same].spread && !c.spread:
			cands[same] = c
		}
	}
	return cands
}

// candidate gives f as seen by a call with n arguments, or nil if it cannot be called so.
func (f *Func) candidate(n int, opt CallOptions) *candidate {
	if opt.ArgNames != nil {
		return f.namedCandidate(n, opt)
	}
	switch {
	case f.Variadic && opt.Variadic:
		switch {
		case n != len(f.Args):
		case f.Spread != nil:
			return &candidate{fn: f.Spread, args: f.Spread.Args}
		default:
			return &candidate{fn: f, args: f.Args}
		}
	case opt.Variadic:
	case f.Variadic && n >= len(f.Args):
		last := f.Args[len(f.Args)-1]
		switch last.Kind {
		case types.Array:
			last = types.T(last.Elem)
		case types.AnyArray:
			last = types.T(types.AnyElement)
		}
		c := &candidate{fn: f, args: slices.Clone(f.Args[:len(f.Args)-1]), spread: true}
		for len(c.args) < n {
			c.args = append(c.args, last)
		}
		return c
	case f.Variadic && !(n < len(f.Args) && f.Defaults != nil):
	case n == len(f.Args):
		return &candidate{fn: f, args: f.Args}
	case n < len(f.Args) && f.Defaults != nil && f.Defaults[n] != NoDefault:
		c := &candidate{fn: f, args: f.Args[:n], filled: true}
		for i := range f.Args {
			if i < n {
				c.order = append(c.order, i)
			} else {
				c.order = append(c.order, -1)
			}
		}
		return c
	}
	return nil
}

// namedCandidate matches named notation: positional arguments first, then names in any order.
// The candidate's args are in the order of the call, as choose needs them.
func (f *Func) namedCandidate(n int, opt CallOptions) *candidate {
	// Elements of a variadic parameter have no names; its array has one.
	if f.ArgNames == nil || f.Variadic && (!opt.Variadic || f.Spread != nil) || opt.Variadic && !f.Variadic || n > len(f.Args) {
		return nil
	}
	order := make([]int, len(f.Args))
	for i := range order {
		order[i] = -1
	}
	args := make([]types.Type, n)
	for i, name := range opt.ArgNames {
		p := i
		if name != "" {
			p = slices.Index(f.ArgNames, name)
		}
		if p < 0 || order[p] >= 0 {
			return nil
		}
		order[p], args[i] = i, f.Args[p]
	}
	filled := false
	for p, a := range order {
		if a < 0 {
			if f.Defaults == nil || f.Defaults[p] == NoDefault {
				return nil
			}
			filled = true
		}
	}
	return &candidate{fn: f, args: args, order: order, filled: filled}
}

// choose picks the best of the candidates that the arguments can be cast to implicitly.
func (r *Registry) choose(cands []*candidate, args []types.Type) (best *candidate, ambiguous bool) {
	var fit []*candidate
	for _, c := range cands {
		if r.accepts(c, args) {
			fit = append(fit, c)
		}
	}
	switch len(fit) {
	case 0:
		return nil, false
	case 1:
		return fit[0], false
	}
	// Steps 3.c to 3.f of the manual's section 10.2 (10.3 for functions).
	fit = mostMatches(fit, args, func(want, have types.Type) bool { return want == have })
	if len(fit) == 1 {
		return fit[0], false
	}
	fit = mostMatches(fit, args, func(want, have types.Type) bool {
		return want == have || categoryOf(want) == categoryOf(have) && isPreferred(want)
	})
	if len(fit) == 1 {
		return fit[0], false
	}
	if !slices.ContainsFunc(args, isUnknown) {
		return nil, true
	}
	fit = byUnknownCategory(fit, args)
	if len(fit) == 1 {
		return fit[0], false
	}
	if c := r.bySameType(fit, args); c != nil {
		return c, false
	}
	return nil, true
}

// mostMatches keeps the candidates with the most arguments of known type for which ok holds.
func mostMatches(cands []*candidate, args []types.Type, ok func(want, have types.Type) bool) []*candidate {
	best := -1
	var kept []*candidate
	for _, c := range cands {
		n := 0
		for i, have := range args {
			if !isUnknown(have) && ok(c.args[i], have) {
				n++
			}
		}
		if n > best {
			best, kept = n, kept[:0]
		}
		if n == best {
			kept = append(kept, c)
		}
	}
	return kept
}

// byUnknownCategory decides the literals by the categories that the candidates accept: string if any
// does, else the one that all agree on; then by the preferred type of that category. If that
// decides nothing, the candidates are returned as they were.
func byUnknownCategory(cands []*candidate, args []types.Type) []*candidate {
	cats := make([]byte, len(args))
	pref := make([]bool, len(args))
	for i, a := range args {
		if !isUnknown(a) {
			continue
		}
		conflict := false
		for _, c := range cands {
			cat, p := categoryOf(c.args[i]), isPreferred(c.args[i])
			switch {
			case cats[i] == catInvalid:
				cats[i], pref[i] = cat, p
			case cat == cats[i]:
				pref[i] = pref[i] || p
			case cat == catString:
				cats[i], pref[i] = cat, p
			default:
				conflict = true
			}
		}
		if conflict && cats[i] != catString {
			return cands
		}
	}
	var kept []*candidate
	for _, c := range cands {
		ok := true
		for i, a := range args {
			if isUnknown(a) && (categoryOf(c.args[i]) != cats[i] || pref[i] && !isPreferred(c.args[i])) {
				ok = false
			}
		}
		if ok {
			kept = append(kept, c)
		}
	}
	if len(kept) == 0 {
		return cands
	}
	return kept
}

// bySameType is the last resort: if all known arguments have one type, literals are taken to have
// it too, and the only candidate that accepts that is it.
func (r *Registry) bySameType(cands []*candidate, args []types.Type) *candidate {
	known := types.T(types.Unknown)
	for _, a := range args {
		if isUnknown(a) {
			continue
		}
		if isUnknown(known) {
			known = a
		} else if known != a {
			return nil
		}
	}
	if isUnknown(known) {
		return nil
	}
	all := make([]types.Type, len(args))
	for i := range all {
		all[i] = known
	}
	var found *candidate
	for _, c := range cands {
		if r.accepts(c, all) {
			if found != nil {
				return nil
			}
			found = c
		}
	}
	return found
}

// accepts tells whether every argument can be cast implicitly to what c wants.
func (r *Registry) accepts(c *candidate, args []types.Type) bool {
	poly := false
	for i, have := range args {
		want := c.args[i]
		switch {
		case isPoly(want):
			poly = true
		case want.Kind == types.Any || isUnknown(have) || want == have:
		case !r.CanCast(have, want, Implicit):
			return false
		}
	}
	if poly {
		_, err := r.bindPoly(c, args, false)
		return err == nil
	}
	return true
}

// finish resolves the polymorphic types of the chosen candidate.
func (r *Registry) finish(c *candidate, args []types.Type) (Resolution, error) {
	elem, err := r.bindPoly(c, args, true)
	if err != nil {
		return Resolution{}, err
	}
	res := Resolution{Fn: c.fn, Order: c.order, Ret: substitute(c.fn.Ret, elem)}
	at := func(i int) types.Type {
		switch want := c.args[i]; want.Kind {
		case types.Any:
			return args[i]
		default:
			return substitute(want, elem)
		}
	}
	if c.order == nil {
		for i := range args {
			res.Args = append(res.Args, at(i))
		}
		return res, nil
	}
	for p, i := range c.order {
		if i >= 0 {
			res.Args = append(res.Args, at(i))
		} else {
			res.Args = append(res.Args, c.fn.Args[p])
		}
	}
	return res, nil
}

func bases(ts []types.Type) []types.Type {
	out := make([]types.Type, len(ts))
	for i, t := range ts {
		out[i] = base(t)
	}
	return out
}

func funcSignature(name string, args []types.Type, opt CallOptions) string {
	var b strings.Builder
	b.WriteString(name)
	b.WriteByte('(')
	for i, a := range args {
		if i > 0 {
			b.WriteString(", ")
		}
		if opt.Variadic && i == len(args)-1 {
			b.WriteString("VARIADIC ")
		}
		if opt.ArgNames != nil && opt.ArgNames[i] != "" {
			b.WriteString(opt.ArgNames[i] + " => ")
		}
		b.WriteString(typeName(a))
	}
	b.WriteByte(')')
	return b.String()
}

// Signature is a call as messages name it: "rank(integer, text)".
func Signature(name string, args []types.Type) string {
	return funcSignature(name, args, CallOptions{})
}
