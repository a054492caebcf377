package plpgsql

// Walk calls f for every expression and statement of SQL in a block, in the order in which they are written, until it fails.
func Walk(b *Block, f func(e Expr, statement bool) error) error { return walker(f).stmt(b) }

type walker func(e Expr, statement bool) error

func (w walker) exprs(es ...Expr) error {
	for _, e := range es {
		if err := w(e, false); err != nil {
			return err
		}
	}
	return nil
}

func (w walker) maybe(e *Expr) error {
	if e == nil {
		return nil
	}
	return w(*e, false)
}

func (w walker) query(q Query) error {
	if err := w(q.SQL, !q.Dynamic); err != nil {
		return err
	}
	return w.exprs(q.Using...)
}

func (w walker) stmts(list []Stmt) error {
	for _, s := range list {
		if err := w.stmt(s); err != nil {
			return err
		}
	}
	return nil
}

func (w walker) arms(list []Arm) error {
	for _, a := range list {
		if err := first(w.exprs(a.Conds...), w.stmts(a.Body)); err != nil {
			return err
		}
	}
	return nil
}

// first gives the first error.
func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func (w walker) stmt(s Stmt) error {
	switch s := s.(type) {
	case *Block:
		for _, d := range s.Decls {
			if err := w.maybe(d.Default); err != nil {
				return err
			}
		}
		if err := w.stmts(s.Body); err != nil {
			return err
		}
		for _, h := range s.Handlers {
			if err := w.stmts(h.Body); err != nil {
				return err
			}
		}
	case *Assign:
		return w.exprs(s.Value)
	case *If:
		return first(w.arms(s.Arms), w.stmts(s.Else))
	case *Case:
		return first(w.maybe(s.Operand), w.arms(s.Arms), w.stmts(s.Else))
	case *Loop:
		return first(w.maybe(s.While), w.stmts(s.Body))
	case *ForInt:
		return first(w.exprs(s.From, s.To), w.maybe(s.By), w.stmts(s.Body))
	case *ForQuery:
		return first(w.query(s.Query), w.stmts(s.Body))
	case *Exit:
		return w.maybe(s.When)
	case *Raise:
		if err := w.exprs(s.Args...); err != nil {
			return err
		}
		for _, o := range s.Options {
			if err := w.exprs(o.Value); err != nil {
				return err
			}
		}
	case *Assert:
		return first(w.exprs(s.Cond), w.maybe(s.Message))
	case *Perform:
		return w(s.SQL, true)
	case *SQL:
		return w.query(s.Query)
	}
	return nil
}
