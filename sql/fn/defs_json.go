package fn

// jsonOps: manual, section 9.16.
const jsonOps = `
->(jsonb,text) jsonb
->(jsonb,int4) jsonb
->>(jsonb,text) text
->>(jsonb,int4) text
#>(jsonb,text[]) jsonb
#>>(jsonb,text[]) text
@>(jsonb,jsonb) bool
<@(jsonb,jsonb) bool
?(jsonb,text) bool
?|(jsonb,text[]) bool
?&(jsonb,text[]) bool
||(jsonb,jsonb) jsonb fail
-(jsonb,text) jsonb fail
-(jsonb,int4) jsonb fail
-(jsonb,text[]) jsonb fail
#-(jsonb,text[]) jsonb fail
->(json,text) json fail
->(json,int4) json
->>(json,text) text fail
->>(json,int4) text fail
#>(json,text[]) json fail
#>>(json,text[]) text fail
@?(jsonb,jsonpath) bool fail
@@(jsonb,jsonpath) bool fail
`

// jsonFuncs: manual, section 9.16.
const jsonFuncs = `
to_jsonb(anyelement) jsonb stable fail
jsonb_build_array() jsonb stable null
jsonb_build_array(variadic any) jsonb stable null fail
jsonb_build_object() jsonb stable null
jsonb_build_object(variadic any) jsonb stable null fail
jsonb_object(text[]) jsonb fail
jsonb_object(text[],text[]) jsonb fail
jsonb_array_length(jsonb) int4 fail
jsonb_extract_path(from_json jsonb, variadic path_elems text[]) jsonb
jsonb_extract_path_text(from_json jsonb, variadic path_elems text[]) text
jsonb_set(jsonb_in jsonb, path text[], replacement jsonb, create_if_missing bool = true) jsonb fail
jsonb_insert(jsonb_in jsonb, path text[], replacement jsonb, insert_after bool = false) jsonb fail
jsonb_pretty(jsonb) text
jsonb_strip_nulls(jsonb) jsonb
jsonb_typeof(jsonb) text
jsonb_set_lax(jsonb_in jsonb, path text[], replacement jsonb, create_if_missing bool = true, null_value_treatment text = use_json_null) jsonb null fail
to_json(anyelement) json stable fail
array_to_json(anyarray) json stable fail
array_to_json(anyarray,bool) json stable fail
row_to_json(record) json stable fail
row_to_json(record,bool) json stable fail
json_build_array() json stable null
json_build_array(variadic any) json stable null fail
json_build_object() json stable null
json_build_object(variadic any) json stable null fail
json_object(text[]) json fail
json_object(text[],text[]) json fail
json_array_length(json) int4 fail
json_extract_path(from_json json, variadic path_elems text[]) json fail
json_extract_path_text(from_json json, variadic path_elems text[]) text fail
json_strip_nulls(json) json fail
json_typeof(json) text
json_named_row(text[], bool, variadic any) json stable null fail  # a row with the names of its columns, not a function of Postgres
jsonb_named_row(text[], variadic any) jsonb stable null fail
[jsonb_path_exists jsonb_path_match] @(target jsonb, path jsonpath, vars jsonb = {}, silent bool = false) bool fail
[jsonb_path_query_array jsonb_path_query_first] @(target jsonb, path jsonpath, vars jsonb = {}, silent bool = false) jsonb fail
[jsonb_path_exists_tz jsonb_path_match_tz] @(target jsonb, path jsonpath, vars jsonb = {}, silent bool = false) bool stable fail
[jsonb_path_query_array_tz jsonb_path_query_first_tz] @(target jsonb, path jsonpath, vars jsonb = {}, silent bool = false) jsonb stable fail
`

// arrayOps: manual, section 9.19.
const arrayOps = `
||(anyarray,anyarray) anyarray null compat fail
||(anyarray,anyelement) anyarray null compat fail
||(anyelement,anyarray) anyarray null compat fail
@>(anyarray,anyarray) bool
<@(anyarray,anyarray) bool
&&(anyarray,anyarray) bool
`

// arrayFuncs: manual, section 9.19.
const arrayFuncs = `
array_append(anyarray,anyelement) anyarray null compat fail
array_cat(anyarray,anyarray) anyarray null compat fail
array_prepend(anyelement,anyarray) anyarray null compat fail
array_dims(anyarray) text
array_fill(anyelement,int4[]) anyarray null fail
array_fill(anyelement,int4[],int4[]) anyarray null fail
array_length(anyarray,int4) int4
array_lower(anyarray,int4) int4
array_ndims(anyarray) int4
array_position(anyarray,anyelement) int4 null compat fail
array_position(anyarray,anyelement,int4) int4 null compat fail
array_positions(anyarray,anyelement) int4[] null compat fail
array_remove(anyarray,anyelement) anyarray null compat fail
array_replace(anyarray,anyelement,anyelement) anyarray null compat fail
array_subscript(anyarray,int4) anyelement  # x[i], not a function of Postgres
array_subscripts(anyarray,variadic int4[]) anyelement  # x[i][j]
array_slice(anyarray,variadic int4[]) anyarray  # x[lo:hi][lo:hi]...
array_to_string(anyarray,text) text stable
array_to_string(anyarray,text,text) text stable null
array_upper(anyarray,int4) int4
cardinality(anyarray) int4
string_to_array(text,text) text[] null
string_to_array(text,text,text) text[] null
trim_array(anyarray,int4) anyarray fail
`

// enumFuncs: manual, section 9.10.
const enumFuncs = `
enum_first(anyenum) anyenum stable null
enum_last(anyenum) anyenum stable null
enum_range(anyenum) anyarray stable null
enum_range(anyenum,anyenum) anyarray stable null
domain_check(anyelement,bool,text,text) anyelement null fail  # a cast to a domain
record_field(record,int4) any  # (x).a
`
