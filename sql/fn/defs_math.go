package fn

import "strings"

// comparisonOps: manual, section 9.2. Types without operators of their own (varchar, reg*) are
// compared after a cast.
var comparisonOps = func() string {
	const sets = `
[bool int2 int4 int8 float4 float8 numeric text bpchar bytea date time timestamp timestamptz interval uuid jsonb oid name char anyarray record anyenum] ?(@,@) bool
[int4 int8] ?(int2,@) bool
[int2 int8] ?(int4,@) bool
[int2 int4] ?(int8,@) bool
?(float4,float8) bool
?(float8,float4) bool
?(name,text) bool
?(text,name) bool
?(date,timestamp) bool
?(timestamp,date) bool
[date timestamp] ?(@,timestamptz) bool stable
[date timestamp] ?(timestamptz,@) bool stable
`
	var b strings.Builder
	for _, op := range []string{"=", "<>", "<", "<=", ">", ">="} {
		b.WriteString(strings.ReplaceAll(sets, "?", op))
	}
	return b.String()
}()

// mathOps: manual, section 9.3.
const mathOps = `
[int2 int4 int8] +(@,@) @ fail
[int2 int4 int8] -(@,@) @ fail
[int2 int4 int8] *(@,@) @ fail
[int2 int4 int8] /(@,@) @ fail
[int2 int4 int8] %(@,@) @ fail
[+ - * /] @(int2,int4) int4 fail
[+ - * /] @(int4,int2) int4 fail
[+ - * /] @(int2,int8) int8 fail
[+ - * /] @(int4,int8) int8 fail
[+ - * /] @(int8,int2) int8 fail
[+ - * /] @(int8,int4) int8 fail
[+ - * /] @(float4,float4) float4 fail
[+ - * /] @(float8,float8) float8 fail
[+ - * /] @(float4,float8) float8 fail
[+ - * /] @(float8,float4) float8 fail
[+ - * / %] @(numeric,numeric) numeric fail
[int2 int4 int8 float4 float8 numeric] +(@) @
[int2 int4 int8] -(@) @ fail
[float4 float8 numeric] -(@) @
[int2 int4 int8] &(@,@) @
[int2 int4 int8] |(@,@) @
[int2 int4 int8] #(@,@) @
[int2 int4 int8] ~(@) @
[int2 int4 int8] <<(@,int4) @
[int2 int4 int8] >>(@,int4) @
^(float8,float8) float8 fail
^(numeric,numeric) numeric fail
|/(float8) float8 fail
||/(float8) float8
`

// absOps stand apart because @ is an operator here.
const absOps = `
@(int2) int2 fail
@(int4) int4 fail
@(int8) int8 fail
@(float4) float4
@(float8) float8
@(numeric) numeric
`

// mathFuncs: manual, section 9.3, tables 9.5 to 9.8.
const mathFuncs = `
[int2 int4 int8] abs(@) @ fail
[float4 float8 numeric] abs(@) @
[float8 numeric] ceil(@) @
[float8 numeric] ceiling(@) @
[float8 numeric] floor(@) @
[float8 numeric] sign(@) @
[float8 numeric] round(@) @
[float8 numeric] trunc(@) @
round(numeric,int4) numeric fail
trunc(numeric,int4) numeric fail
[float8 numeric] sqrt(@) @ fail
[float8 numeric] exp(@) @ fail
[float8 numeric] ln(@) @ fail
[float8 numeric] log(@) @ fail
[float8 numeric] log10(@) @ fail
log(numeric,numeric) numeric fail
[float8 numeric] power(@,@) @ fail
[float8 numeric] pow(@,@) @ fail
cbrt(float8) float8
degrees(float8) float8 fail
radians(float8) float8 fail
div(numeric,numeric) numeric fail
factorial(int8) numeric fail
[int2 int4 int8 numeric] mod(@,@) @ fail
[int4 int8 numeric] gcd(@,@) @ fail
[int4 int8 numeric] lcm(@,@) @ fail
scale(numeric) int4
min_scale(numeric) int4
trim_scale(numeric) numeric
width_bucket(float8,float8,float8,int4) int4 fail
width_bucket(numeric,numeric,numeric,int4) int4 fail
width_bucket(anyelement,anyarray) int4 fail compat
pi() float8
random() float8 volatile
[sin cos tan cot] @(float8) float8 fail
[sind cosd tand cotd] @(float8) float8 fail
[asin acos asind acosd] @(float8) float8 fail
[atan atand] @(float8) float8
[sinh tanh asinh] @(float8) float8
[cosh] @(float8) float8
[acosh atanh] @(float8) float8 fail
[atan2 atan2d] @(float8,float8) float8
`
