package syscat

import (
	"strings"
	"sync"

	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// impl computes one call.
type impl func(c *call) (types.Datum, error)

// implTable collects implementations by function ID.
type implTable map[string]impl

// impls are the implementations of catalogFuncs.
var impls = sync.OnceValue(func() implTable {
	t := implTable{}
	t.names()
	t.definitions()
	t.sequences()
	t.privileges()
	t.session()
	t.advisory()
	t.sizes()
	return t
})

// set enters an implementation under several IDs.
func (t implTable) set(f impl, ids ...string) {
	for _, id := range ids {
		t[id] = f
	}
}

// always gives the same value for all of ids.
func (t implTable) always(d types.Datum, ids ...string) {
	t.set(func(*call) (types.Datum, error) { return d, nil }, ids...)
}

// textOrNull is a text, or NULL if there is none.
func textOrNull(s string) types.Datum {
	if s == "" {
		return types.Null
	}
	return types.DStr(s)
}

// names: to_reg*, *_is_visible.
func (t implTable) names() {
	for _, k := range []types.Kind{types.Regclass, types.Regtype, types.Regproc, types.Regnamespace, types.Regrole} {
		t.set(func(c *call) (types.Datum, error) {
			oid, err := c.ObjectOID(k, c.text(0))
			if err != nil {
				return types.Null, nil // that is what these functions are for
			}
			return types.DInt(int64(oid)), nil
		}, "to_"+k.Name()+"(text)")
	}
	t.set(func(c *call) (types.Datum, error) {
		x := c.object(c.oid(0))
		if x == nil {
			return types.Null, nil
		}
		return types.DBool(c.visible(x)), nil
	}, "pg_table_is_visible(oid)")
	t.set(func(c *call) (types.Datum, error) {
		if visible, ok := c.userTypeVisible(c.oid(0)); ok {
			return types.DBool(visible), nil
		}
		if _, ok := types.TypeByOID(uint32(c.oid(0)), -1); !ok {
			return types.Null, nil
		}
		return types.DBool(true), nil
	}, "pg_type_is_visible(oid)")
	t.set(func(c *call) (types.Datum, error) {
		if f := c.sqlFunc(c.oid(0)); f != nil {
			return types.DBool(c.functionVisible(f)), nil
		}
		if procs().byOID[c.oid(0)] == nil {
			return types.Null, nil
		}
		return types.DBool(true), nil
	}, "pg_function_is_visible(oid)", "pg_operator_is_visible(oid)")
	// Everything of these kinds is in pg_catalog, which is in every search path.
	t.always(types.DBool(true), "pg_opclass_is_visible(oid)", "pg_opfamily_is_visible(oid)", "pg_collation_is_visible(oid)")
	// There is nothing of these kinds.
	t.always(types.Null, "pg_conversion_is_visible(oid)", "pg_statistics_obj_is_visible(oid)", "pg_ts_config_is_visible(oid)",
		"pg_ts_dict_is_visible(oid)", "pg_ts_parser_is_visible(oid)", "pg_ts_template_is_visible(oid)")
	t.always(types.DBool(false), "pg_is_other_temp_schema(oid)")
	t.always(types.DInt(0), "pg_my_temp_schema()")
}

// parseIdent takes a qualified name apart.
func parseIdent(args []types.Datum) (types.Datum, error) {
	s := args[0].S
	bad := func(detail string, a ...any) (types.Datum, error) {
		err := sqlerr.Newf(sqlerr.InvalidParameterValue, "string is not a valid identifier: \"%s\"", s)
		if detail != "" {
			err = err.WithDetail(detail, a...)
		}
		return types.Null, err
	}
	strict := len(args) < 2 || args[1].Bool()
	var ds []types.Datum
	rest := strings.TrimLeft(s, blanks)
	afterDot := false
	for {
		end := identEnd(rest)
		switch {
		case end < 0:
			return bad("String has unclosed double quotes.")
		case strings.HasPrefix(rest, `""`) && end == 2:
			return bad("Quoted identifier must not be empty.")
		case end == 0 && afterDot:
			return bad("No valid identifier after \".\".")
		case end == 0 && strings.HasPrefix(rest, "."):
			return bad("No valid identifier before \".\".")
		case end == 0:
			return bad("")
		}
		part := rest[:end]
		if part[0] == '"' {
			part = strings.ReplaceAll(part[1:len(part)-1], `""`, `"`)
		} else {
			part = strings.ToLower(part)
		}
		ds = append(ds, types.DStr(part))
		rest = strings.TrimLeft(rest[end:], blanks)
		if !strings.HasPrefix(rest, ".") {
			break
		}
		rest = strings.TrimLeft(rest[1:], blanks)
		afterDot = true
	}
	if rest != "" && strict {
		return bad("")
	}
	return types.DStr(types.MakeArray(types.Text, ds)), nil
}

// blanks are what may stand around the parts of a name.
const blanks = " \t\n\r\f"

// identEnd is where the identifier at the beginning of s ends: 0 if there is none, -1 if its quotes do not end.
func identEnd(s string) int {
	if strings.HasPrefix(s, `"`) {
		for i := 1; i < len(s); i++ {
			if s[i] != '"' {
				continue
			}
			if i+1 < len(s) && s[i+1] == '"' && i > 1 {
				i++
				continue
			}
			return i + 1
		}
		return -1
	}
	for i := range len(s) {
		c := s[i]
		letter := c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' || c >= 0x80
		if !letter && (i == 0 || c != '$' && (c < '0' || c > '9')) {
			return i
		}
	}
	return len(s)
}

// session: settings, encodings, identity of the server and the session.
func (t implTable) session() {
	t.set(func(c *call) (types.Datum, error) { return c.setting(c.text(0), false) }, "current_setting(text)")
	t.set(func(c *call) (types.Datum, error) { return c.setting(c.text(0), c.args[1].Bool()) }, "current_setting(text,bool)")
	t.set(func(c *call) (types.Datum, error) {
		if !c.args[0].Valid {
			return types.Null, sqlerr.Newf(sqlerr.NullValueNotAllowed, "SET requires parameter name")
		}
		if c.SetSetting == nil {
			return types.Null, sqlerr.Newf(sqlerr.FeatureNotSupported, "set_config is not supported here")
		}
		v, err := c.SetSetting(c.text(0), c.text(1), c.args[2].Bool())
		return types.DStr(v), err
	}, "set_config(text,text,bool)")
	t.set(func(c *call) (types.Datum, error) {
		if c.AdvanceClock == nil {
			return types.Null, sqlerr.Newf(sqlerr.FeatureNotSupported, "weir_advance_clock is not supported here")
		}
		v, err := c.AdvanceClock(c.args[0].Span)
		return types.DInt(v), err
	}, "weir_advance_clock(interval)")
	t.set(func(c *call) (types.Datum, error) {
		if c.Notify == nil {
			return types.Null, sqlerr.Newf(sqlerr.FeatureNotSupported, "pg_notify is not supported here")
		}
		var channel, payload string // NULL is as empty
		if c.args[0].Valid {
			channel = c.text(0)
		}
		if c.args[1].Valid {
			payload = c.text(1)
		}
		return types.DStr(""), c.Notify(channel, payload)
	}, "pg_notify(text,text)")
	t.set(func(c *call) (types.Datum, error) { return types.DInt(int64(c.PID)), nil }, "pg_backend_pid()")
	t.always(types.DBool(false), "pg_is_in_recovery()", "pg_is_in_backup()")
	t.set(func(c *call) (types.Datum, error) {
		if c.Started.IsZero() {
			return types.Null, nil
		}
		return types.DInt(types.FromGoTime(c.Started)), nil
	}, "pg_postmaster_start_time()", "pg_conf_load_time()")
	t.set(func(c *call) (types.Datum, error) { return types.DInt(c.TxID), nil }, "txid_current()")
	t.set(func(c *call) (types.Datum, error) {
		if c.TxID == 0 {
			return types.Null, nil
		}
		return types.DInt(c.TxID), nil
	}, "txid_current_if_assigned()")
	t.always(types.DStr("UTF8"), "getdatabaseencoding()")
	t.set(func(c *call) (types.Datum, error) { return c.setting("client_encoding", true) }, "pg_client_encoding()")
	t.set(func(c *call) (types.Datum, error) {
		switch c.args[0].I {
		case utf8Encoding:
			return types.DStr("UTF8"), nil
		case 0:
			return types.DStr("SQL_ASCII"), nil
		}
		return types.DStr(""), nil
	}, "pg_encoding_to_char(int4)")
	t.set(func(c *call) (types.Datum, error) {
		switch strings.NewReplacer("-", "", "_", "").Replace(strings.ToLower(c.text(0))) {
		case "utf8", "unicode":
			return types.DInt(utf8Encoding), nil
		case "sqlascii":
			return types.DInt(0), nil
		}
		return types.DInt(-1), nil
	}, "pg_char_to_encoding(name)")
	t.set(func(c *call) (types.Datum, error) {
		if c.args[0].I == utf8Encoding {
			return types.DInt(4), nil
		}
		return types.DInt(1), nil
	}, "pg_encoding_max_length(int4)")
	t.always(types.Null, "inet_server_addr()", "inet_server_port()", "inet_client_addr()", "inet_client_port()")
}

// utf8Encoding is PostgreSQL's number of the only encoding.
const utf8Encoding = 6

// setting is a setting's value; one that does not exist is an error unless missingOK.
func (e *Env) setting(name string, missingOK bool) (types.Datum, error) {
	v := ""
	if e.Settings != nil {
		v = e.Settings(strings.ToLower(name))
	}
	if v != "" || e.hasSetting(name) {
		return types.DStr(v), nil
	}
	if missingOK {
		return types.Null, nil
	}
	return types.Null, sqlerr.Newf(sqlerr.UndefinedObject, "unrecognized configuration parameter \"%s\"", name)
}

func (e *Env) hasSetting(name string) bool {
	if e.AllSettings == nil {
		return false
	}
	for _, s := range e.AllSettings() {
		if strings.EqualFold(s.Name, name) {
			return true
		}
	}
	return false
}

// sizes: pg_*_size, pg_stat_get_*, properties of relations and indexes.
func (t implTable) sizes() {
	t.set(func(c *call) (types.Datum, error) {
		x := c.object(c.oid(0))
		if x == nil {
			return types.Null, nil
		}
		return types.DInt(c.size(x)), nil
	}, "pg_relation_size(regclass)", "pg_relation_size(regclass,text)", "pg_table_size(regclass)", "pg_total_relation_size(regclass)")
	t.always(types.DInt(0), "pg_indexes_size(regclass)")
	t.set(func(c *call) (types.Datum, error) {
		var n int64
		for _, x := range c.objects().list {
			n += c.size(x)
		}
		return types.DInt(n), nil
	}, "pg_database_size(name)", "pg_database_size(oid)", "pg_tablespace_size(oid)", "pg_tablespace_size(name)")
	t.always(types.DStr(""), "pg_tablespace_location(oid)")
	t.set(func(c *call) (types.Datum, error) {
		if c.object(c.oid(0)) == nil {
			return types.Null, nil
		}
		return c.args[0], nil
	}, "pg_relation_filenode(regclass)")
	t.always(types.DBool(false), "pg_relation_is_publishable(regclass)")
	// The bits are 4 for UPDATE, 8 for INSERT, 16 for DELETE.
	t.set(func(c *call) (types.Datum, error) {
		if x := c.object(c.oid(0)); x != nil && x.writable() {
			return types.DInt(4 | 8 | 16), nil
		}
		return types.DInt(0), nil
	}, "pg_relation_is_updatable(regclass,bool)")
	t.set(func(c *call) (types.Datum, error) {
		x := c.object(c.oid(0))
		return types.DBool(x != nil && x.writable() && c.args[1].I > 0), nil
	}, "pg_column_is_updatable(regclass,int2,bool)")
	t.set(func(c *call) (types.Datum, error) {
		x := c.object(c.oid(0))
		n := int(c.args[1].I) - 1
		if x == nil || x.index == nil || n < 0 || n >= len(x.index.key) {
			return types.Null, nil
		}
		switch strings.ToLower(c.text(2)) {
		case "asc":
			return types.DBool(!x.index.desc[n]), nil
		case "desc":
			return types.DBool(x.index.desc[n]), nil
		case "nulls_first":
			return types.DBool(x.index.nullsFirst[n]), nil
		case "nulls_last":
			return types.DBool(!x.index.nullsFirst[n]), nil
		case "orderable", "returnable", "search_nulls", "search_array":
			return types.DBool(true), nil
		case "distance_orderable":
			return types.DBool(false), nil
		}
		return types.Null, nil
	}, "pg_index_column_has_property(regclass,int4,text)")
	t.set(func(c *call) (types.Datum, error) {
		if c.oid(0) != btreeID {
			return types.Null, nil
		}
		switch strings.ToLower(c.text(1)) {
		case "can_order", "can_unique", "can_multi_col":
			return types.DBool(true), nil
		case "can_exclude", "can_include":
			return types.DBool(false), nil
		}
		return types.Null, nil
	}, "pg_indexam_has_property(oid,text)")
	t.set(func(c *call) (types.Datum, error) {
		x := c.object(c.oid(0))
		if x == nil || x.index == nil {
			return types.Null, nil
		}
		switch strings.ToLower(c.text(1)) {
		case "clusterable":
			return types.DBool(false), nil
		case "index_scan", "bitmap_scan", "backward_scan":
			return types.DBool(true), nil
		}
		return types.Null, nil
	}, "pg_index_has_property(regclass,text)")
	t.set(func(c *call) (types.Datum, error) {
		if c.Tuples == nil {
			return types.DInt(0), nil
		}
		return types.DInt(max(c.Tuples(c.oid(0)), 0)), nil
	}, "pg_stat_get_live_tuples(oid)")
	for _, n := range []string{"dead_tuples", "numscans", "tuples_returned", "tuples_fetched", "tuples_inserted", "tuples_updated", "tuples_deleted"} {
		t.always(types.DInt(0), "pg_stat_get_"+n+"(oid)")
	}
}

// writable tells whether INSERT, UPDATE and DELETE work on x.
func (x *object) writable() bool {
	return x.kind == kindTable && x.rel.Kind == catalog.Table && !x.rel.HasConnector()
}

// size is how many bytes x takes.
func (e *Env) size(x *object) int64 {
	if e.Size == nil || x.rel.ID != x.oid {
		return 0
	}
	return max(e.Size(x.oid), 0)
}
