package fn

// sessionFuncs: manual, section 9.26, what needs no catalog, and other odds.
const sessionFuncs = `
current_catalog() name stable
current_database() name stable
current_role() name stable
current_schema() name stable
current_schemas(bool) name[] stable
current_user() name stable
session_user() name stable
user() name stable
version() text stable
pg_typeof(any) regtype stable null
gen_random_uuid() uuid volatile
num_nulls(variadic any) int4 null
num_nonnulls(variadic any) int4 null
pg_size_pretty(int8) text
pg_size_pretty(numeric) text
pg_size_bytes(text) int8 fail
pg_sleep(float8) void volatile fail
pg_sleep_for(interval) void volatile fail
pg_sleep_until(timestamptz) void volatile fail
pg_trigger_depth() int4
pg_jit_available() bool
pg_notification_queue_usage() float8 volatile
`
