// Package checkpointpb has the messages of the checkpoint protocol as they travel between processes. The types are
// generated from checkpoint.proto (make proto); the field docs are in package checkpoint, whose messages
// have the same names.
package checkpointpb
