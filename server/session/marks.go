package session

import (
	"github.com/weirdb/weir/pgwire"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// known are the types of users, for texts that name them; nil before there is a catalog.
func (s *session) known() types.UserTypes {
	if s.tx != nil && s.tx.inc != nil {
		return s.sysEnv(s.tx)
	}
	return nil
}

// resolved puts names where a text has marks for users' types.
func (s *session) resolved(text string) string { return types.ResolveMarks(text, lazyTypes{s}) }

// ErrorText completes the texts of an error: where it was found nobody knew what the types of users are called.
func (s *session) ErrorText(e *sqlerr.Error) *sqlerr.Error {
	m, d, h := s.resolved(e.Message), s.resolved(e.Detail), s.resolved(e.Hint)
	if m == e.Message && d == e.Detail && h == e.Hint {
		return e
	}
	c := *e
	c.Message, c.Detail, c.Hint = m, d, h
	return &c
}

func (s *session) noticeText(n *pgwire.Notice) *pgwire.Notice {
	c := *n
	c.Message, c.Detail, c.Hint = s.resolved(n.Message), s.resolved(n.Detail), s.resolved(n.Hint)
	return &c
}

// lazyTypes asks for the catalog only if a text has a mark.
type lazyTypes struct{ s *session }

// UserType describes a type.
func (l lazyTypes) UserType(k types.Kind) *types.UserType {
	if t := l.s.known(); t != nil {
		return t.UserType(k)
	}
	return nil
}

// UserTypeByOID finds a type by its oid.
func (l lazyTypes) UserTypeByOID(oid uint32) *types.UserType {
	if t := l.s.known(); t != nil {
		return t.UserTypeByOID(oid)
	}
	return nil
}

// UserTypeName is the name of a type.
func (l lazyTypes) UserTypeName(k types.Kind) string {
	if t := l.s.known(); t != nil {
		return t.UserTypeName(k)
	}
	return "???"
}
