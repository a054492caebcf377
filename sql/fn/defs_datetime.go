package fn

// dateOps: manual, section 9.9.
const dateOps = `
+(date,int4) date fail
+(int4,date) date fail
-(date,int4) date fail
-(date,date) int4 fail
+(date,time) timestamp fail
+(time,date) timestamp fail
+(date,interval) timestamp fail
+(interval,date) timestamp fail
-(date,interval) timestamp fail
+(timestamp,interval) timestamp fail
+(interval,timestamp) timestamp fail
-(timestamp,interval) timestamp fail
-(timestamp,timestamp) interval fail
+(timestamptz,interval) timestamptz stable fail
+(interval,timestamptz) timestamptz stable fail
-(timestamptz,interval) timestamptz stable fail
-(timestamptz,timestamptz) interval fail
+(time,interval) time fail
+(interval,time) time fail
-(time,interval) time fail
-(time,time) interval
+(interval,interval) interval fail
-(interval,interval) interval fail
-(interval) interval fail
*(interval,float8) interval fail
*(float8,interval) interval fail
/(interval,float8) interval fail
`

// dateFuncs: manual, section 9.9. The keywords without parentheses (current_date) are calls of the
// functions of that name.
const dateFuncs = `
age(timestamp,timestamp) interval fail
age(timestamptz,timestamptz) interval stable fail
age(timestamp) interval stable fail
age(timestamptz) interval stable fail
clock_timestamp() timestamptz volatile
statement_timestamp() timestamptz stable
transaction_timestamp() timestamptz stable
now() timestamptz stable
proctime() timestamptz volatile
timeofday() text volatile
current_date() date stable
current_timestamp() timestamptz stable
current_timestamp(int4) timestamptz stable fail
localtime() time stable
localtime(int4) time stable fail
localtimestamp() timestamp stable
localtimestamp(int4) timestamp stable fail
[date time timestamp interval] date_part(text,@) float8 fail
date_part(text,timestamptz) float8 stable fail
[date time timestamp interval] extract(text,@) numeric fail
extract(text,timestamptz) numeric stable fail
date_trunc(text,timestamp) timestamp fail
date_trunc(text,timestamptz) timestamptz stable fail
date_trunc(text,timestamptz,text) timestamptz stable fail
date_trunc(text,interval) interval fail
[timestamp timestamptz] date_bin(interval,@,@) @ fail
[date timestamp timestamptz interval] isfinite(@) bool
justify_days(interval) interval fail
justify_hours(interval) interval fail
justify_interval(interval) interval fail
make_date(year int4, month int4, day int4) date fail
make_interval(years int4 = 0, months int4 = 0, weeks int4 = 0, days int4 = 0, hours int4 = 0, mins int4 = 0, secs float8 = 0.0) interval fail
make_time(hour int4, min int4, sec float8) time fail
make_timestamp(year int4, month int4, mday int4, hour int4, min int4, sec float8) timestamp fail
make_timestamptz(year int4, month int4, mday int4, hour int4, min int4, sec float8) timestamptz stable fail
make_timestamptz(year int4, month int4, mday int4, hour int4, min int4, sec float8, timezone text) timestamptz stable fail
[text interval] timezone(@,timestamp) timestamptz fail
[text interval] timezone(@,timestamptz) timestamp fail
timestamp(date,time) timestamp fail
timestamptz(date,time) timestamptz stable fail
overlaps(time,time,time,time) bool null
overlaps(time,time,time,interval) bool null
overlaps(time,interval,time,time) bool null
overlaps(time,interval,time,interval) bool null
[timestamp timestamptz] overlaps(@,@,@,@) bool null
overlaps(timestamp,timestamp,timestamp,interval) bool null fail
overlaps(timestamp,interval,timestamp,timestamp) bool null fail
overlaps(timestamp,interval,timestamp,interval) bool null fail
overlaps(timestamptz,timestamptz,timestamptz,interval) bool stable null fail
overlaps(timestamptz,interval,timestamptz,timestamptz) bool stable null fail
overlaps(timestamptz,interval,timestamptz,interval) bool stable null fail
`
