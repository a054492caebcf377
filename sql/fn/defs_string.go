package fn

// stringOps: manual, sections 9.4, 9.5 and 9.7.
const stringOps = `
||(text,text) text
||(text,anyelement) text stable nonarray
||(anyelement,text) text stable nonarray
||(bytea,bytea) bytea
^@(text,text) bool
[text bpchar name] ~~(@,text) bool fail
[text bpchar name] !~~(@,text) bool fail
[text bpchar name] ~~*(@,text) bool fail
[text bpchar name] !~~*(@,text) bool fail
~~(bytea,bytea) bool fail
!~~(bytea,bytea) bool fail
[text bpchar name] ~(@,text) bool fail
[text bpchar name] !~(@,text) bool fail
[text bpchar name] ~*(@,text) bool fail
[text bpchar name] !~*(@,text) bool fail
[text bpchar] ~<~(@,@) bool
[text bpchar] ~<=~(@,@) bool
[text bpchar] ~>~(@,@) bool
[text bpchar] ~>=~(@,@) bool
`

// stringFuncs: manual, sections 9.4 and 9.5.
const stringFuncs = `
ascii(text) int4
[text bytea] bit_length(@) int4
bit_count(bytea) int8
btrim(text) text
btrim(text,text) text
btrim(bytea,bytea) bytea
[text bpchar] char_length(@) int4
[text bpchar] character_length(@) int4
chr(int4) text fail
concat(variadic any) text stable null
concat_ws(text, variadic any) text stable null
convert(bytea,name,name) bytea fail
length(bytea,name) int4 fail
convert_from(bytea,name) text fail
convert_to(text,name) bytea fail
decode(text,text) bytea fail
encode(bytea,text) text fail
format(text) text stable null fail
format(text, variadic any) text stable null fail
get_bit(bytea,int8) int4 fail
get_byte(bytea,int4) int4 fail
initcap(text) text
left(text,int4) text
[text bpchar bytea] length(@) int4
lower(text) text
lpad(text,int4) text fail
lpad(text,int4,text) text fail
ltrim(text) text
ltrim(text,text) text
ltrim(bytea,bytea) bytea
[text bytea] md5(@) text
normalize(text,text = NFC) text fail
is_normalized(text,text = NFC) bool fail
[text bpchar bytea] octet_length(@) int4
overlay(text,text,int4) text fail
overlay(text,text,int4,int4) text fail
overlay(bytea,bytea,int4) bytea fail
overlay(bytea,bytea,int4,int4) bytea fail
[text bytea] position(@,@) int4
quote_ident(text) text
quote_literal(text) text
quote_literal(anyelement) text stable
quote_nullable(text) text null
quote_nullable(anyelement) text stable null
repeat(text,int4) text fail
replace(text,text,text) text
reverse(text) text
right(text,int4) text
rpad(text,int4) text fail
rpad(text,int4,text) text fail
rtrim(text) text
rtrim(text,text) text
rtrim(bytea,bytea) bytea
set_bit(bytea,int8,int4) bytea fail
set_byte(bytea,int4,int4) bytea fail
[sha224 sha256 sha384 sha512] @(bytea) bytea
split_part(text,text,int4) text fail
starts_with(text,text) bool
strpos(text,text) int4
[text bytea] substr(@,int4) @
[text bytea] substr(@,int4,int4) @ fail
[text bytea] substring(@,int4) @
[text bytea] substring(@,int4,int4) @ fail
substring(text,text) text fail
substring(text,text,text) text fail
to_hex(int4) text
to_hex(int8) text
translate(text,text,text) text
unistr(text) text fail
upper(text) text
`

// patternFuncs: manual, section 9.7.
const patternFuncs = `
regexp_count(text,text) int4 fail
regexp_count(text,text,int4) int4 fail
regexp_count(text,text,int4,text) int4 fail
regexp_instr(text,text) int4 fail
regexp_instr(text,text,int4) int4 fail
regexp_instr(text,text,int4,int4) int4 fail
regexp_instr(text,text,int4,int4,int4) int4 fail
regexp_instr(text,text,int4,int4,int4,text) int4 fail
regexp_instr(text,text,int4,int4,int4,text,int4) int4 fail
regexp_like(text,text) bool fail
regexp_like(text,text,text) bool fail
regexp_match(text,text) text[] fail
regexp_match(text,text,text) text[] fail
regexp_replace(text,text,text) text fail
regexp_replace(text,text,text,text) text fail
regexp_replace(text,text,text,int4) text fail
regexp_replace(text,text,text,int4,int4) text fail
regexp_replace(text,text,text,int4,int4,text) text fail
regexp_split_to_array(text,text) text[] fail
regexp_split_to_array(text,text,text) text[] fail
regexp_substr(text,text) text fail
regexp_substr(text,text,int4) text fail
regexp_substr(text,text,int4,int4) text fail
regexp_substr(text,text,int4,int4,text) text fail
regexp_substr(text,text,int4,int4,text,int4) text fail
like(text,text) bool fail
like(bytea,bytea) bool fail
notlike(text,text) bool fail
notlike(bytea,bytea) bool fail
[text bytea] like_escape(@,@) @ fail
similar_escape(text,text) text null fail
similar_to_escape(text) text fail
similar_to_escape(text,text) text fail
`

// formatFuncs: manual, section 9.8.
const formatFuncs = `
[int4 int8 float4 float8 numeric timestamp timestamptz interval] to_char(@,text) text stable fail
to_date(text,text) date stable fail
to_number(text,text) numeric stable fail
to_timestamp(text,text) timestamptz stable fail
to_timestamp(float8) timestamptz fail
`
