package fn

// comparisonOps: manual, section 9.2. Types without operators of their own (varchar, reg*) are
// compared after a cast.
const comparisonOps = `
[bool int2 int4 int8 float4 float8 numeric text bpchar bytea date time timestamp timestamptz interval uuid jsonb oid name char] =(@,@) bool
`

// mathOps: manual, section 9.3.
const mathOps = `
[int2 int4 int8] +(@,@) @ fail
`
