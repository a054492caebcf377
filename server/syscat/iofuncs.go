package syscat

// ioFuncs are the input and output functions of types, and the handlers of access methods, with PostgreSQL's
// oids. They cannot be called; clients tell types apart by them.
const ioFuncs = `
any_in 2294; any_out 2295; anyarray_in 2296
anyarray_out 2297; anyarray_recv 2502; anyarray_send 2503
anyelement_in 2312; anyelement_out 2313; array_in 750
array_out 751; array_recv 2400; array_send 2401
array_subscript_handler 6179; int2vectorin 40; int2vectorout 41; int2vectorrecv 2410;
int2vectorsend 2411; oidvectorin 54; oidvectorout 55; oidvectorrecv 2420; oidvectorsend 2421; anyenum_in 3504; anyenum_out 3505; enum_in 3506; enum_out 3507; enum_recv 3532; enum_send 3533; domain_in 2597; domain_recv 2598; bthandler 330; heap_tableam_handler 3; array_typanalyze 3816; boolin 1242
boolout 1243; boolrecv 2436; boolsend 2437
bpcharin 1044; bpcharout 1045; bpcharrecv 2430
bpcharsend 2431; bpchartypmodin 2913; bpchartypmodout 2914
byteain 1244; byteaout 31; bytearecv 2412
byteasend 2413; charin 1245; charout 33
charrecv 2434; charsend 2435; date_in 1084
date_out 1085; date_recv 2468; date_send 2469
float4in 200; float4out 201; float4recv 2424
float4send 2425; float8in 214; float8out 215
float8recv 2426; float8send 2427; int2in 38
int2out 39; int2recv 2404; int2send 2405
int4in 42; int4out 43; int4recv 2406
int4send 2407; int8in 460; int8out 461
int8recv 2408; int8send 2409; interval_in 1160
json_in 321; json_out 322; json_recv 323; json_send 324; jsonpath_in 4001; jsonpath_recv 4002; jsonpath_out 4003; jsonpath_send 4004
interval_out 1161; interval_recv 2478; interval_send 2479
intervaltypmodin 2903; intervaltypmodout 2904; jsonb_in 3806
jsonb_out 3804; jsonb_recv 3805; jsonb_send 3803
jsonb_subscript_handler 6098; namein 34; nameout 35
namerecv 2422; namesend 2423; numeric_in 1701
numeric_out 1702; numeric_recv 2460; numeric_send 2461
numerictypmodin 2917; numerictypmodout 2918; oidin 1798
oidout 1799; oidrecv 2418; oidsend 2419
raw_array_subscript_handler 6180; record_in 2290; record_out 2291
record_recv 2402; record_send 2403; regclassin 2218
regclassout 2219; regclassrecv 2452; regclasssend 2453
regnamespacein 4084; regnamespaceout 4085; regnamespacerecv 4087
regnamespacesend 4088; regprocin 44; regprocout 45
regprocrecv 2444; regprocsend 2445; regtypein 2220
regtypeout 2221; regtyperecv 2454; regtypesend 2455
textin 46; textout 47; textrecv 2414
textsend 2415; time_in 1143; time_out 1144
time_recv 2470; time_send 2471; timestamp_in 1312
timestamp_out 1313; timestamp_recv 2474; timestamp_send 2475
timestamptypmodin 2905; timestamptypmodout 2906; timestamptz_in 1150
timestamptz_out 1151; timestamptz_recv 2476; timestamptz_send 2477
timestamptztypmodin 2907; timestamptztypmodout 2908; timetypmodin 2909
timetypmodout 2910; unknownin 109; unknownout 110
unknownrecv 2416; unknownsend 2417; uuid_in 2952
uuid_out 2953; uuid_recv 2961; uuid_send 2962
varcharin 1046; varcharout 1047; varcharrecv 2432
varcharsend 2433; varchartypmodin 2915; varchartypmodout 2916
void_in 2298; void_out 2299; void_recv 3120
void_send 3121
`
