package session

import (
	"slices"
	"strings"

	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/sqlerr"
)

// alterSettings runs ALTER ROLE and ALTER DATABASE with SET and RESET: settings that sessions begin with.
func (d *definer) alterSettings(st *ast.AlterSettings) error {
	if st.Database != "" && st.Database != Database {
		return sqlerr.Newf(sqlerr.InvalidCatalogName, "database \"%s\" does not exist", st.Database)
	}
	name, super := "", d.s.trusted(d.cat, d.s.user())
	switch {
	case st.Role != "":
		var err error
		if name, err = d.resolve(st.Role); err != nil {
			return err
		}
		r, _ := d.cat.Role(name)
		if err := d.mayChangeRoles(r, "alter"); err != nil && name != d.s.user() {
			return err
		}
	case !super && st.Database != "":
		return sqlerr.Newf(sqlerr.InsufficientPrivilege, "must be owner of database %s", Database)
	case !super:
		return sqlerr.Newf(sqlerr.InsufficientPrivilege, "must be superuser to alter settings globally")
	}
	change := func(old []catalog.Option) []catalog.Option { return nil } // RESET ALL
	if st.Set != nil && st.Set.Values != nil {
		// A value that is wrong is refused now, and shown as the setting would show it.
		v := newVars()
		if err := v.assign(st.Set.Name, st.Set.Values); err != nil {
			return err
		}
		key := strings.ToLower(st.Set.Name)
		o := catalog.Option{Name: key, Value: v.get(key)}
		if s := settings[key]; s != nil {
			o.Name = s.name
		}
		change = func(old []catalog.Option) []catalog.Option { return append(without(old, key), o) }
	} else if one := st.Setting(); one != "all" {
		if _, _, err := lookupSetting(one); err != nil {
			return err
		}
		change = func(old []catalog.Option) []catalog.Option { return without(old, one) }
	}
	if name == "" {
		return d.to().Change(d.ctx, func(c *catalog.Catalog) {
			if st.Database != "" {
				c.DatabaseSettings = change(c.DatabaseSettings)
			} else {
				c.Settings = change(c.Settings)
			}
		})
	}
	return d.changeRoles(func(roles map[string]catalog.Role) {
		r, ok := roles[name]
		if !ok {
			return
		}
		if st.Database != "" {
			r.DatabaseSettings = change(r.DatabaseSettings)
		} else {
			r.Settings = change(r.Settings)
		}
		roles[name] = r
	})
}

func without(old []catalog.Option, name string) []catalog.Option {
	return slices.DeleteFunc(slices.Clone(old), func(o catalog.Option) bool { return strings.EqualFold(o.Name, name) })
}

// beginSettings gives a new session the settings that were made for it; later ones win. What is not valid any more is left out, with a
// warning.
func (s *session) beginSettings(cat *catalog.Catalog) {
	r, _ := cat.Role(s.login)
	for _, list := range [][]catalog.Option{cat.Settings, cat.DatabaseSettings, r.Settings, r.DatabaseSettings} {
		for _, o := range list {
			if err := s.vars.assign(o.Name, []string{o.Value}); err != nil {
				s.warn(sqlerr.Warning, sqlerr.From(err).Message, "")
			}
		}
	}
}
