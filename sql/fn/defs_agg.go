package fn

// aggregates: manual, section 9.21. Package exec/op has the implementations.
const aggregates = `
count() int8 null
count(any) int8 null
[int2 int4] sum(@) int8 null fail
[int8 numeric] sum(@) numeric null fail
[float4 float8 interval] sum(@) @ null fail
[int2 int4 int8 numeric] avg(@) numeric null fail
[float4 float8] avg(@) float8 null fail
avg(interval) interval null fail
[int2 int4 int8 float4 float8 numeric text bpchar date time timestamp timestamptz interval oid anyarray anyenum] min(@) @ null
[int2 int4 int8 float4 float8 numeric text bpchar date time timestamp timestamptz interval oid anyarray anyenum] max(@) @ null
[bool_and bool_or every] @(bool) bool null
[int2 int4 int8] bit_and(@) @ null
[int2 int4 int8] bit_or(@) @ null
[int2 int4 int8] bit_xor(@) @ null
[text bytea] string_agg(@,@) @ null
array_agg(anyelement) anyarray null nonarray
array_agg(anyarray) anyarray null fail
jsonb_agg(anyelement) jsonb stable null fail
jsonb_object_agg(any,any) jsonb stable null fail
json_agg(anyelement) json stable null fail
json_rows_agg(json) json stable null fail  # json_agg of rows with names, not a function of Postgres
json_object_agg(any,any) json stable null fail
[int2 int4 int8 numeric] stddev(@) numeric null fail
[int2 int4 int8 numeric] stddev_samp(@) numeric null fail
[int2 int4 int8 numeric] stddev_pop(@) numeric null fail
[int2 int4 int8 numeric] variance(@) numeric null fail
[int2 int4 int8 numeric] var_samp(@) numeric null fail
[int2 int4 int8 numeric] var_pop(@) numeric null fail
[float4 float8] stddev(@) float8 null fail
[float4 float8] stddev_samp(@) float8 null fail
[float4 float8] stddev_pop(@) float8 null fail
[float4 float8] variance(@) float8 null fail
[float4 float8] var_samp(@) float8 null fail
[float4 float8] var_pop(@) float8 null fail
[corr covar_pop covar_samp regr_avgx regr_avgy regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy] @(float8,float8) float8 null fail
regr_count(float8,float8) int8 null
mode(anyelement) anyelement null direct=0
[rank dense_rank] @(variadic any) int8 null hypothetical
[percent_rank cume_dist] @(variadic any) float8 null hypothetical
percentile_cont(float8,float8) float8 null fail direct=1
percentile_cont(float8,interval) interval null fail direct=1
percentile_cont(float8[],float8) float8[] null fail direct=1
percentile_cont(float8[],interval) interval[] null fail direct=1
percentile_disc(float8,anyelement) anyelement null fail direct=1
percentile_disc(float8[],anyelement) anyarray null fail direct=1
approx_percentile(float8,float8) float8 null fail direct=1  # these are not Postgres's: the second is the relative error
approx_percentile(float8,float8,float8) float8 null fail direct=2
approx_count_distinct(any) int8 null
any_value(anyelement) anyelement null
[min_by arg_min max_by arg_max] @(anyelement,any) anyelement null
`

// pickAggs are aggregates that share their names with window functions: they are meant where there is no
// OVER.
const pickAggs = `
first_value(anyelement) anyelement null
last_value(anyelement) anyelement null
`

// windowFuncs: manual, section 9.22.
const windowFuncs = `
row_number() int8 null
rank() int8 null
dense_rank() int8 null
percent_rank() float8 null
cume_dist() float8 null
ntile(int4) int4
lag(anyelement) anyelement
lag(anyelement,int4) anyelement
lag(anyelement,int4,anyelement) anyelement compat
lead(anyelement) anyelement
lead(anyelement,int4) anyelement
lead(anyelement,int4,anyelement) anyelement compat
first_value(anyelement) anyelement
last_value(anyelement) anyelement
nth_value(anyelement,int4) anyelement fail
`

// tableFuncs: manual, section 9.25 and the set-returning functions of other sections.
const tableFuncs = `
[int4 int8 numeric] generate_series(@,@) @ fail
[int4 int8 numeric] generate_series(@,@,@) @ fail
generate_series(timestamp,timestamp,interval) timestamp fail
generate_series(timestamptz,timestamptz,interval) timestamptz stable fail
generate_subscripts(anyarray,int4) int4
generate_subscripts(anyarray,int4,bool) int4
unnest(anyarray) anyelement
jsonb_array_elements(from_json jsonb) (value jsonb) fail
jsonb_array_elements_text(from_json jsonb) (value text) fail
jsonb_each(from_json jsonb) (key text, value jsonb) fail
jsonb_each_text(from_json jsonb) (key text, value text) fail
jsonb_object_keys(jsonb) text fail
json_array_elements(from_json json) (value json) fail
json_array_elements_text(from_json json) (value text) fail
json_each(from_json json) (key text, value json) fail
json_each_text(from_json json) (key text, value text) fail
json_object_keys(json) text fail
[json jsonb] @_to_record(@) record fail
[json jsonb] @_to_recordset(@) record fail
jsonb_path_query(target jsonb, path jsonpath, vars jsonb = {}, silent bool = false) jsonb fail
jsonb_path_query_tz(target jsonb, path jsonpath, vars jsonb = {}, silent bool = false) jsonb stable fail
regexp_matches(text,text) text[] fail
regexp_matches(text,text,text) text[] fail
regexp_split_to_table(text,text) text fail
regexp_split_to_table(text,text,text) text fail
string_to_table(text,text) text null
string_to_table(text,text,text) text null
`
