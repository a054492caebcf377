package session

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/weirdb/weir/pgwire"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// setting is a run-time setting that a session can have.
type setting struct {
	name, def, help string
	// report: changes are reported to the client (ParameterStatus).
	report bool
	// fixed: cannot be changed.
	fixed bool
	// check validates and normalises a value; nil accepts any.
	check func(v string) (string, bool)
}

// Version is the version of PostgreSQL whose behaviour is Weir's, as clients see it.
const Version = "15.0"

func boolean(v string) (string, bool) {
	switch s := strings.ToLower(v); s {
	case "on", "true", "yes", "1", "t", "y":
		return "on", true
	case "off", "false", "no", "0", "f", "n":
		return "off", true
	}
	return "", false
}

func autoOrBoolean(v string) (string, bool) {
	if strings.EqualFold(v, "auto") {
		return "auto", true
	}
	return boolean(v)
}

func oneOf(vs ...string) func(string) (string, bool) {
	return func(v string) (string, bool) {
		for _, w := range vs {
			if strings.EqualFold(v, w) {
				return w, true
			}
		}
		return "", false
	}
}

func integer(lo, hi int64) func(string) (string, bool) {
	return func(v string) (string, bool) {
		n, err := strconv.ParseInt(strings.TrimSpace(v), 10, 64)
		return strconv.FormatInt(n, 10), err == nil && n >= lo && n <= hi
	}
}

// cost accepts a number that is not negative.
func cost(v string) (string, bool) {
	f, err := strconv.ParseFloat(strings.TrimSpace(v), 64)
	return strconv.FormatFloat(f, 'g', -1, 64), err == nil && f >= 0
}

// timeout accepts milliseconds or a number with a unit.
func timeout(v string) (string, bool) {
	_, err := parseTimeout(v)
	return strings.TrimSpace(v), err == nil
}

func parseTimeout(v string) (time.Duration, error) {
	v = strings.TrimSpace(v)
	i := len(v)
	for i > 0 && (v[i-1] < '0' || v[i-1] > '9') {
		i--
	}
	n, err := strconv.ParseInt(v[:i], 10, 64)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("invalid duration %q", v)
	}
	unit := map[string]time.Duration{
		"": time.Millisecond, "us": time.Microsecond, "ms": time.Millisecond, "s": time.Second,
		"min": time.Minute, "h": time.Hour, "d": 24 * time.Hour,
	}
	u, ok := unit[strings.TrimSpace(v[i:])]
	if !ok {
		return 0, fmt.Errorf("invalid unit in %q", v)
	}
	return time.Duration(n) * u, nil
}

// timezone accepts the zones of the IANA database, and offsets.
func timezone(v string) (string, bool) {
	_, name, err := parseZone(v)
	return name, err == nil
}

func parseZone(v string) (*time.Location, string, error) {
	switch strings.ToLower(v) {
	case "utc", "gmt", "z", "default", "local":
		return time.UTC, "UTC", nil
	}
	if h, err := strconv.ParseFloat(v, 64); err == nil && h >= -24 && h <= 24 {
		secs := int(h * 3600)
		return time.FixedZone(v, secs), v, nil
	}
	if m := offsetZone.FindStringSubmatch(v); m != nil {
		// An interval, as in SET TIME ZONE INTERVAL '+01:30' HOUR TO MINUTE: hours to the east. The name has
		// them twice, the second time as POSIX counts them.
		h, _ := strconv.Atoi(m[2])
		mins := "0"
		if m[3] != "" {
			mins = m[3]
		}
		n, _ := strconv.Atoi(mins)
		secs := h*3600 + n*60
		digits := m[2]
		if n != 0 {
			digits += ":" + m[3]
		}
		other := "-"
		if m[1] == "-" {
			secs, other = -secs, "+"
		}
		name := "<" + m[1] + digits + ">" + other + digits
		return time.FixedZone(name, secs), name, nil
	}
	if m := posixZone.FindStringSubmatch(v); m != nil {
		return parseZone(m[1])
	}
	loc, err := time.LoadLocation(v)
	if err != nil {
		return nil, "", err
	}
	return loc, loc.String(), nil
}

var (
	offsetZone = regexp.MustCompile(`^([+-])(\d\d)(?::(\d\d))?(?::00)?$`)
	posixZone  = regexp.MustCompile(`^<([+-]\d\d(?::\d\d)?)>[+-]\d\d(?::\d\d)?$`)
)

// memorySize accepts kilobytes or a number with a unit.
func memorySize(v string) (string, bool) {
	t := strings.TrimSpace(v)
	n := strings.TrimRight(t, "kMGTB ")
	if _, err := strconv.ParseInt(n, 10, 64); err != nil {
		return "", false
	}
	switch strings.TrimSpace(t[len(n):]) {
	case "":
		return n + "kB", true
	case "B", "kB", "MB", "GB", "TB":
		return n + strings.TrimSpace(t[len(n):]), true
	}
	return "", false
}

// dateStyleSetting and intervalStyleSetting are how dates and intervals are read and written.
const (
	dateStyleSetting     = "datestyle"
	intervalStyleSetting = "intervalstyle"
)

// styles are those of the session.
func (v *vars) styles() (types.DateStyle, types.DateOrder, types.IntervalStyle) {
	interval := types.IntervalPostgres
	if i := slices.Index(types.IntervalStyleNames, v.get(intervalStyleSetting)); i > 0 {
		interval = types.IntervalStyle(i)
	}
	date := v.get(dateStyleSetting)
	if date == defaultDateStyle {
		return types.DateISO, types.MDY, interval
	}
	style, order, _ := types.ParseDateStyle(date, types.DateISO, types.MDY)
	return style, order, interval
}

// styleText is what tells one pair of styles from another, "" for the usual ones.
func (v *vars) styleText() string {
	date, interval := v.get(dateStyleSetting), v.get(intervalStyleSetting)
	if date == defaultDateStyle && interval == types.IntervalStyleNames[0] {
		return ""
	}
	return date + ", " + interval
}

// ambiguousDate is a string literal that may be a date which depends on the order of DateStyle.
var ambiguousDate = regexp.MustCompile(`'[^']*\b\d{1,2}[-/. ]\d{1,2}[-/. ]\d{1,4}\b[^']*'`)

// plainDates refuses such dates in definitions unless the order is the usual one: they are kept as text, and read again without the
// session.
func (s *session) plainDates(text string) error {
	if _, order, _ := s.vars.styles(); order == types.MDY {
		return nil
	}
	if at := ambiguousDate.FindStringIndex(text); at != nil {
		return sqlerr.New(sqlerr.FeatureNotSupported, at[0], "a date that depends on DateStyle is not supported in a definition").
			WithHint("Write dates as YYYY-MM-DD.")
	}
	return nil
}

// defaultDateStyle is the value of DateStyle that nobody has set.
const defaultDateStyle = "ISO, MDY"

// dateStyle completes a value of DateStyle by what is set.
func (v *vars) dateStyle(val string) (text, problem string) {
	style, order, _ := v.styles()
	style, order, problem = types.ParseDateStyle(val, style, order)
	return types.DateStyleText(style, order), problem
}

// shareSetting tells whether the joins of a new view or sink read relations by key.
const shareSetting = "share_arrangements"

// commonSetting tells whether equal parts of the query of a new view or sink run once.
const commonSetting = "share_subplans"

// viewsSetting tells whether a new view or sink takes the rows of views whose query is a part of its own.
const viewsSetting = "share_views"

// planAs writes into a relation that is kept up to date how the session wants it to be planned.
func (v *vars) planAs(r *catalog.Relation) {
	share := v.get(shareSetting)
	r.Shares, r.SharesCheap = share == "on", share == "auto"
	r.Common = v.get(commonSetting) == "on"
}

// settings are all that exist, by name in lower case. Those that only exist so that clients can set them
// are at the end of the list.
var settings = makeSettings()

func makeSettings() map[string]*setting {
	list := []setting{
		{name: "server_version", def: Version, report: true, fixed: true, help: "Shows the server version."},
		{name: "server_version_num", def: "150000", fixed: true, help: "Shows the server version as an integer."},
		{name: "server_encoding", def: "UTF8", report: true, fixed: true, help: "Shows the server character set encoding."},
		{name: "client_encoding", def: "UTF8", report: true, check: clientEncoding, help: "Sets the client's character set encoding."},
		{name: "DateStyle", def: defaultDateStyle, report: true, help: "Sets the display format for date and time values."},
		{name: "IntervalStyle", def: "postgres", report: true, check: oneOf(types.IntervalStyleNames...), help: "Sets the display format for interval values."},
		{name: "TimeZone", def: "UTC", report: true, check: timezone, help: "Sets the time zone for displaying and interpreting time stamps."},
		{name: "integer_datetimes", def: "on", report: true, fixed: true, help: "Shows whether datetimes are integer based."},
		{name: "standard_conforming_strings", def: "on", report: true, check: oneOf("on"), help: "Causes '...' strings to treat backslashes literally."},
		{name: "is_superuser", def: "on", report: true, fixed: true, help: "Shows whether the current user is a superuser."},
		{name: "session_authorization", def: "", report: true, fixed: true, help: "Sets the session user name."},
		{name: "role", def: "none", fixed: true, help: "Sets the current role."},
		{name: "application_name", def: "", report: true, help: "Sets the application name to be reported in statistics and logs."},
		{name: "in_hot_standby", def: "off", report: true, fixed: true, help: "Shows whether hot standby is currently active."},
		{name: "default_transaction_read_only", def: "off", report: true, check: boolean, help: "Sets the default read-only status of new transactions."},
		{name: "transaction_read_only", def: "off", check: boolean, help: "Sets the current transaction's read-only status."},
		{name: "default_transaction_isolation", def: "read committed", check: oneOf("read committed", "repeatable read", "serializable", "read uncommitted"), help: "Sets the transaction isolation level of each new transaction."},
		{name: "transaction_isolation", def: "read committed", check: oneOf("read committed", "repeatable read", "serializable", "read uncommitted"), help: "Sets the current transaction's isolation level."},
		{name: "search_path", def: `"$user", public`, help: "Sets the schema search order for names that are not schema-qualified."},
		{name: "statement_timeout", def: "0", check: timeout, help: "Sets the maximum allowed duration of any statement."},
		{name: "idle_in_transaction_session_timeout", def: "0", check: timeout, help: "Sets the maximum allowed idle time between queries, when in a transaction."},
		{name: "idle_session_timeout", def: "0", check: timeout, help: "Sets the maximum allowed idle time between queries, when not in a transaction."},
		{name: clockSetting, def: systemClock, fixed: true, help: "Sets the server's clock: that of the machine (system), or a time at which it stands still."},
		{name: "synchronous_commit", def: "on", check: oneOf("on", "off", "local", "remote_write", "remote_apply"), help: "Sets the current transaction's synchronization level."},
		{name: "read_freshness", def: "strict", check: oneOf("strict", "available"), help: "Chooses between reads that see every acknowledged write and reads that do not wait."},
		{name: shareSetting, def: "off", check: autoOrBoolean, help: "Lets joins of new materialized views read relations by key instead of keeping copies of their rows: where that costs little (auto), wherever it can be done (on), or never (off)."},
		{name: viewsSetting, def: "on", check: boolean, help: "Lets a new materialized view take the rows of others for equal parts of its query."},
		{name: commonSetting, def: "on", check: boolean, help: "Lets equal parts of the query of a new materialized view run once."},
		{name: lookupCostSetting, def: "4", check: cost, help: "Sets the planner's estimate of the cost of a nonsequentially fetched disk page."},
		{name: "extra_float_digits", def: "1", check: integer(1, 3), help: "Sets the number of digits displayed for floating-point values."},
		{name: "client_min_messages", def: "notice", check: oneOf("debug5", "debug4", "debug3", "debug2", "debug1", "log", "notice", "warning", "error"), help: "Sets the message levels that are sent to the client."},
		{name: "bytea_output", def: "hex", check: oneOf("hex"), help: "Sets the output format for bytea."},
		{name: "max_identifier_length", def: "63", fixed: true, help: "Shows the maximum identifier length."},
		{name: "lc_collate", def: "C", fixed: true, help: "Shows the collation order locale."},
		{name: "lc_ctype", def: "C", fixed: true, help: "Shows the character classification and case conversion locale."},
		// What follows is accepted because clients set it; it changes nothing, because Weir has
		// nothing that it could change.
		{name: "lock_timeout", def: "0", check: timeout, help: "Sets the maximum allowed duration of any wait for a lock."},
		{name: "synchronize_seqscans", def: "on", check: boolean, help: "Accepted for compatibility."},
		{name: "row_security", def: "on", check: boolean, help: "Accepted for compatibility."},
		{name: "check_function_bodies", def: "on", check: boolean, help: "Accepted for compatibility."},
		{name: "xmloption", def: "content", check: oneOf("content", "document"), help: "Accepted for compatibility."},
		{name: "default_tablespace", def: "", help: "Accepted for compatibility."},
		{name: "default_table_access_method", def: "heap", help: "Accepted for compatibility."},
		{name: "jit", def: "off", check: boolean, help: "Accepted for compatibility."},
		{name: "enable_seqscan", def: "on", check: boolean, help: "Accepted for compatibility."},
		{name: "work_mem", def: "4MB", check: memorySize, help: "Accepted for compatibility."},
		{name: "maintenance_work_mem", def: "64MB", check: memorySize, help: "Accepted for compatibility."},
		{name: "temp_buffers", def: "8MB", check: memorySize, help: "Accepted for compatibility."},
		{name: "effective_cache_size", def: "4GB", check: memorySize, help: "Accepted for compatibility."},
		{name: "synchronize_seqscans", def: "on", check: boolean, help: "Accepted for compatibility."},
		{name: "default_transaction_deferrable", def: "off", check: boolean, help: "Sets the default deferrable status of new transactions."},
		{name: "transaction_deferrable", def: "off", check: boolean, help: "Sets the current transaction's deferrable status."},
		{name: "password_encryption", def: "scram-sha-256", check: oneOf("scram-sha-256"), help: "Chooses the algorithm for encrypting passwords."},
		{name: "default_toast_compression", def: "pglz", check: oneOf("pglz", "lz4"), help: "Accepted for compatibility."},
		{name: "default_statistics_target", def: "100", check: integer(1, 10000), help: "Accepted for compatibility."},
		{name: "enable_nestloop", def: "on", check: boolean, help: "Accepted for compatibility."},
		{name: "enable_hashjoin", def: "on", check: boolean, help: "Accepted for compatibility."},
		{name: "enable_mergejoin", def: "on", check: boolean, help: "Accepted for compatibility."},
		{name: "enable_indexscan", def: "on", check: boolean, help: "Accepted for compatibility."},
		{name: "enable_bitmapscan", def: "on", check: boolean, help: "Accepted for compatibility."},
		{name: "geqo", def: "on", check: boolean, help: "Accepted for compatibility."},
		{name: "plan_cache_mode", def: "auto", check: oneOf("auto", "force_generic_plan", "force_custom_plan"), help: "Accepted for compatibility."},
		{name: "constraint_exclusion", def: "partition", check: oneOf("on", "off", "partition"), help: "Accepted for compatibility."},
		{name: "cursor_tuple_fraction", def: "0.1", help: "Accepted for compatibility."},
		{name: "max_parallel_workers_per_gather", def: "2", check: integer(0, 1024), help: "Accepted for compatibility."},
		{name: "deadlock_timeout", def: "1s", check: timeout, help: "Accepted for compatibility."},
		{name: "tcp_keepalives_idle", def: "0", check: integer(0, math.MaxInt32), help: "Accepted for compatibility."},
		{name: "tcp_keepalives_interval", def: "0", check: integer(0, math.MaxInt32), help: "Accepted for compatibility."},
		{name: "tcp_keepalives_count", def: "0", check: integer(0, math.MaxInt32), help: "Accepted for compatibility."},
		{name: "tcp_user_timeout", def: "0", check: timeout, help: "Accepted for compatibility."},
		{name: "client_connection_check_interval", def: "0", check: timeout, help: "Accepted for compatibility."},
		{name: "session_replication_role", def: "origin", check: oneOf("origin", "replica", "local"), help: "Accepted for compatibility."},
		{name: "gin_pending_list_limit", def: "4MB", check: memorySize, help: "Accepted for compatibility."},
		{name: "array_nulls", def: "on", check: oneOf("on"), help: "Enable input of NULL elements in arrays."},
		{name: "backslash_quote", def: "safe_encoding", check: oneOf("safe_encoding"), help: "Sets whether \"\\'\" is allowed in string literals."},
		{name: "escape_string_warning", def: "on", check: boolean, help: "Accepted for compatibility."},
		{name: "quote_all_identifiers", def: "off", check: oneOf("off"), help: "When generating SQL fragments, quote all identifiers."},
		{name: "transform_null_equals", def: "off", check: oneOf("off"), help: "Treats \"expr=NULL\" as \"expr IS NULL\"."},
		{name: "lc_messages", def: "C", check: oneOf("C", "C.UTF-8", "en_US.UTF-8", "POSIX"), help: "Accepted for compatibility."},
		{name: "lc_monetary", def: "C", check: oneOf("C", "C.UTF-8", "en_US.UTF-8", "POSIX"), help: "Accepted for compatibility."},
		{name: "lc_numeric", def: "C", check: oneOf("C", "C.UTF-8", "en_US.UTF-8", "POSIX"), help: "Accepted for compatibility."},
		{name: "lc_time", def: "C", check: oneOf("C", "C.UTF-8", "en_US.UTF-8", "POSIX"), help: "Accepted for compatibility."},
		// Facts that clients ask for.
		{name: "block_size", def: "8192", fixed: true, help: "Shows the size of a disk block."},
		{name: "data_checksums", def: "on", fixed: true, help: "Shows whether data checksums are turned on."},
		{name: "data_directory_mode", def: "0700", fixed: true, help: "Shows the mode of the data directory."},
		{name: "wal_segment_size", def: "16MB", fixed: true, help: "Shows the size of write ahead log segments."},
		{name: "max_connections", def: "5000", fixed: true, help: "Sets the maximum number of concurrent connections."},
		{name: "max_index_keys", def: "32", fixed: true, help: "Shows the maximum number of index keys."},
		{name: "max_function_args", def: "100", fixed: true, help: "Shows the maximum number of function arguments."},
		{name: "max_prepared_transactions", def: "0", fixed: true, help: "Sets the maximum number of simultaneously prepared transactions."},
		{name: "max_locks_per_transaction", def: "64", fixed: true, help: "Sets the maximum number of locks per transaction."},
		{name: "superuser_reserved_connections", def: "3", fixed: true, help: "Sets the number of connection slots reserved for superusers."},
		{name: "segment_size", def: "1GB", fixed: true, help: "Shows the number of pages per disk file."},
		{name: "ssl", def: "off", fixed: true, help: "Enables SSL connections."},
		{name: "port", def: "9347", fixed: true, help: "Sets the TCP port the server listens on."},
		{name: "fsync", def: "on", fixed: true, help: "Forces synchronization of updates to disk."},
		{name: "full_page_writes", def: "on", fixed: true, help: "Writes full pages to the log."},
		{name: "autovacuum", def: "on", fixed: true, help: "Starts the autovacuum subprocess."},
		{name: "track_activities", def: "on", fixed: true, help: "Collects information about executing commands."},
		{name: "track_counts", def: "on", fixed: true, help: "Collects statistics on database activity."},
		{name: "wal_level", def: "replica", fixed: true, help: "Sets the level of information written to the log."},
		{name: "hot_standby", def: "on", fixed: true, help: "Allows connections and queries during recovery."},
		{name: "listen_addresses", def: "localhost", fixed: true, help: "Sets the host name or IP address(es) to listen to."},
	}
	m := make(map[string]*setting, len(list))
	for i := range list {
		m[strings.ToLower(list[i].name)] = &list[i]
	}
	return m
}

func clientEncoding(v string) (string, bool) {
	if e := pgwire.FindEncoding(v); e != nil {
		return e.Name, true
	}
	return "", false
}

// vars are a session's settings: what differs from the defaults.
type vars struct {
	set map[string]string
	// initial is what RESET goes back to: the start-up parameters.
	initial map[string]string
	// changed lists settings whose change the client has not heard of.
	changed []string
	// temp is the schema of the session's temporary relations, "" if it has none.
	temp string
}

func newVars() *vars { return &vars{set: map[string]string{}, initial: map[string]string{}} }

func (v *vars) get(name string) string {
	if s, ok := v.set[name]; ok {
		return s
	}
	if s, ok := v.initial[name]; ok {
		return s
	}
	if s := settings[name]; s != nil {
		return s.def
	}
	return ""
}

func lookupSetting(name string) (*setting, string, error) {
	key := strings.ToLower(name)
	if s := settings[key]; s != nil {
		return s, key, nil
	}
	if strings.Contains(key, ".") {
		// A two-part name is a custom setting, which anybody may define.
		return &setting{name: key}, key, nil
	}
	return nil, "", sqlerr.Newf(sqlerr.UndefinedObject, "unrecognized configuration parameter %q", name)
}

// assign changes a setting; nil values mean DEFAULT.
func (v *vars) assign(name string, values []string) error {
	s, key, err := lookupSetting(name)
	if err != nil {
		return err
	}
	if s.fixed {
		return sqlerr.Newf(sqlerr.CantChangeRuntimeParam, "parameter %q cannot be changed", s.name)
	}
	if values == nil {
		v.reset(key)
		return nil
	}
	val := strings.Join(values, ", ")
	if key == dateStyleSetting {
		n, problem := v.dateStyle(val)
		if problem != "" {
			return sqlerr.Newf(sqlerr.InvalidParameterValue, "invalid value for parameter %q: %q", s.name, val).WithDetail("%s", problem)
		}
		val = n
	}
	if s.check != nil {
		n, ok := s.check(val)
		if !ok {
			return sqlerr.Newf(sqlerr.InvalidParameterValue, "invalid value for parameter %q: %q", s.name, val)
		}
		val = n
	}
	v.set[key] = val
	v.touch(s, key)
	return nil
}

// put sets a setting that only the server sets.
func (v *vars) put(key, val string) {
	v.set[key] = val
	v.touch(settings[key], key)
}

func (v *vars) touch(s *setting, key string) {
	if s.report {
		v.changed = append(v.changed, key)
	}
}

func (v *vars) reset(key string) {
	delete(v.set, key)
	if s := settings[key]; s != nil {
		v.touch(s, key)
	}
}

func (v *vars) resetAll() {
	for k := range v.set {
		if k == settingRole || k == settingAuth || k == "is_superuser" {
			continue
		}
		v.reset(k)
	}
}

// snapshot and restore serve transactions: SET is undone by ROLLBACK.
func (v *vars) snapshot() map[string]string {
	m := make(map[string]string, len(v.set))
	for k, s := range v.set {
		m[k] = s
	}
	return m
}

func (v *vars) restore(m map[string]string) {
	for k := range v.set {
		if m[k] != v.set[k] {
			if s := settings[k]; s != nil {
				v.touch(s, k)
			}
		}
	}
	v.set = make(map[string]string, len(m))
	for k, s := range m {
		v.set[k] = s
	}
}

// reported lists the settings that clients are told of at the start.
func (v *vars) reported() []pgwire.ParameterStatus {
	var ps []pgwire.ParameterStatus
	for k, s := range settings {
		if s.report {
			ps = append(ps, pgwire.ParameterStatus{Name: s.name, Value: v.get(k)})
		}
	}
	sort.Slice(ps, func(i, j int) bool { return ps[i].Name < ps[j].Name })
	return ps
}

// takeChanged gives the reported settings that have changed since the last call.
func (v *vars) takeChanged() []pgwire.ParameterStatus {
	if len(v.changed) == 0 {
		return nil
	}
	var ps []pgwire.ParameterStatus
	for _, k := range v.changed {
		ps = append(ps, pgwire.ParameterStatus{Name: settings[k].name, Value: v.get(k)})
	}
	v.changed = v.changed[:0]
	return ps
}

// searchPath lists the schemas in which unqualified names are looked up.
func (v *vars) searchPath(user string) []string {
	out := v.permanentPath(user)
	if v.temp == "" {
		return slices.DeleteFunc(out, func(n string) bool { return n == catalog.TempAlias })
	}
	if k := slices.Index(out, catalog.TempAlias); k >= 0 {
		out[k] = v.temp
		return out
	}
	return append([]string{v.temp}, out...)
}

// permanentPath is searchPath without the schema of temporary relations, as what is stored resolves names.
func (v *vars) permanentPath(user string) []string {
	var out []string
	for _, p := range strings.Split(v.get("search_path"), ",") {
		p = strings.TrimSpace(p)
		if len(p) >= 2 && p[0] == '"' && p[len(p)-1] == '"' {
			p = strings.ReplaceAll(p[1:len(p)-1], `""`, `"`)
		} else {
			p = strings.ToLower(p)
		}
		if p == "$user" {
			p = user
		}
		if p != "" && p != "pg_catalog" {
			out = append(out, p)
		}
	}
	return out
}
