// Package sqlerr is the one error type that may reach a user: a PostgreSQL SQLSTATE, a message,
// and where it helps a position in the statement, a detail and a hint.
//
// Codes and messages follow PostgreSQL 15 (manual, appendix A "PostgreSQL Error Codes").
package sqlerr

import (
	"errors"
	"fmt"
	"strings"
)

// Code is a five-character SQLSTATE.
type Code string

// The SQLSTATEs that Weir raises, under PostgreSQL's condition names.
const (
	SuccessfulCompletion         Code = "00000"
	Warning                      Code = "01000"
	ConnectionException          Code = "08000"
	ProtocolViolation            Code = "08P01"
	FeatureNotSupported          Code = "0A000"
	CardinalityViolation         Code = "21000"
	DataException                Code = "22000"
	StringDataRightTruncation    Code = "22001"
	NumericValueOutOfRange       Code = "22003"
	NullValueNotAllowed          Code = "22004"
	InvalidDatetimeFormat        Code = "22007"
	DatetimeFieldOverflow        Code = "22008"
	SubstringError               Code = "22011"
	InvalidFrameOffset           Code = "22013"
	InvalidNtileArgument         Code = "22014"
	InvalidNthValueArgument      Code = "22016"
	DivisionByZero               Code = "22012"
	IntervalFieldOverflow        Code = "22015"
	InvalidCharacterValueForCast Code = "22018"
	InvalidEscapeCharacter       Code = "22019"
	CharacterNotInRepertoire     Code = "22021"
	ArraySubscriptError          Code = "2202E"
	InvalidParameterValue        Code = "22023"
	InvalidEscapeSequence        Code = "22025"
	InvalidLogArgument           Code = "2201E"
	InvalidPowerArgument         Code = "2201F"
	InvalidUseOfEscapeCharacter  Code = "2200C"
	InvalidWidthBucketArgument   Code = "2201G"
	InvalidRowCountInLimit       Code = "2201W"
	InvalidRowCountInOffset      Code = "2201X"
	InvalidRegularExpression     Code = "2201B"
	InvalidTextRepresentation    Code = "22P02"
	InvalidBinaryRepresentation  Code = "22P03"
	BadCopyFileFormat            Code = "22P04"
	UntranslatableCharacter      Code = "22P05"
	InvalidJSONText              Code = "22032"
	NotNullViolation             Code = "23502"
	ForeignKeyViolation          Code = "23503"
	UniqueViolation              Code = "23505"
	CheckViolation               Code = "23514"
	InvalidCursorState           Code = "24000"
	ActiveSQLTransaction         Code = "25001"
	ReadOnlySQLTransaction       Code = "25006"
	NoActiveSQLTransaction       Code = "25P01"
	InFailedSQLTransaction       Code = "25P02"
	InvalidSQLStatementName      Code = "26000"
	InvalidAuthorization         Code = "28000"
	InvalidGrantOperation        Code = "0LP01"
	InvalidPassword              Code = "28P01"
	DependentObjectsStillExist   Code = "2BP01"
	InvalidCursorName            Code = "34000"
	InvalidCatalogName           Code = "3D000"
	InvalidSchemaName            Code = "3F000"
	SerializationFailure         Code = "40001"
	DeadlockDetected             Code = "40P01"
	SyntaxError                  Code = "42601"
	InsufficientPrivilege        Code = "42501"
	CannotCoerce                 Code = "42846"
	GroupingError                Code = "42803"
	WindowingError               Code = "42P20"
	InvalidRecursion             Code = "42P19"
	InvalidForeignKey            Code = "42830"
	InvalidName                  Code = "42602"
	NameTooLong                  Code = "42622"
	DatatypeMismatch             Code = "42804"
	IndeterminateDatatype        Code = "42P18"
	CollationMismatch            Code = "42P21"
	WrongObjectType              Code = "42809"
	UndefinedColumn              Code = "42703"
	UndefinedFunction            Code = "42883"
	UndefinedTable               Code = "42P01"
	UndefinedParameter           Code = "42P02"
	UndefinedObject              Code = "42704"
	DuplicateColumn              Code = "42701"
	DuplicateCursor              Code = "42P03"
	InvalidCursorDefinition      Code = "42P11"
	DuplicateDatabase            Code = "42P04"
	DuplicateFunction            Code = "42723"
	InvalidFunctionDefinition    Code = "42P13"
	DuplicatePreparedStatement   Code = "42P05"
	DuplicateSchema              Code = "42P06"
	DuplicateTable               Code = "42P07"
	DuplicateAlias               Code = "42712"
	DuplicateObject              Code = "42710"
	AmbiguousColumn              Code = "42702"
	AmbiguousFunction            Code = "42725"
	AmbiguousParameter           Code = "42P08"
	InvalidColumnReference       Code = "42P10"
	InvalidColumnDefinition      Code = "42611"
	InvalidTableDefinition       Code = "42P16"
	InvalidObjectDefinition      Code = "42P17"
	ReservedName                 Code = "42939"
	DiskFull                     Code = "53100"
	OutOfMemory                  Code = "53200"
	TooManyConnections           Code = "53300"
	ConfigurationLimitExceeded   Code = "53400"
	ProgramLimitExceeded         Code = "54000"
	StatementTooComplex          Code = "54001"
	TooManyColumns               Code = "54011"
	TooManyArguments             Code = "54023"
	ObjectNotInPrerequisiteState Code = "55000"
	ObjectInUse                  Code = "55006"
	CantChangeRuntimeParam       Code = "55P02"
	LockNotAvailable             Code = "55P03"
	QueryCanceled                Code = "57014"
	AdminShutdown                Code = "57P01"
	CannotConnectNow             Code = "57P03"
	IOError                      Code = "58030"
	UndefinedFile                Code = "58P01"
	DuplicateFile                Code = "58P02"
	InternalError                Code = "XX000"
	DataCorrupted                Code = "XX001"
)

// NoPos is the position of an error that belongs to no place in the statement.
const NoPos = -1

// Error is an error with what PostgreSQL's ErrorResponse can carry.
type Error struct {
	Code    Code
	Message string
	Detail  string
	Hint    string
	// Where says in what the error happened, one line each: "COPY t, line 3, column a".
	Where string
	// Pos is the byte offset in the statement's text, counted from 0, or NoPos.
	Pos int
	// Query is the text in which InternalPos is an offset, where that is not the statement: one that a DO block made. "" for none.
	Query       string
	InternalPos int
	// Schema, Table, Column and Constraint name the objects of an integrity error.
	Schema, Table, Column, Constraint string
	// Cause is what the error wraps, or nil.
	Cause error
}

// Error gives the message with its SQLSTATE.
func (e *Error) Error() string {
	// A message for users may have to name the cause itself.
	if e.Cause != nil && !strings.HasSuffix(e.Message, e.Cause.Error()) {
		return fmt.Sprintf("%s (SQLSTATE %s): %v", e.Message, e.Code, e.Cause)
	}
	return fmt.Sprintf("%s (SQLSTATE %s)", e.Message, e.Code)
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Cause }

// New makes an error at byte offset pos (or NoPos) of the statement.
func New(code Code, pos int, format string, args ...any) *Error {
	return &Error{Code: code, Pos: pos, Message: fmt.Sprintf(format, args...)}
}

// Newf makes an error that has no position.
func Newf(code Code, format string, args ...any) *Error {
	return New(code, NoPos, format, args...)
}

// WithHint sets the hint and gives the error back.
func (e *Error) WithHint(format string, args ...any) *Error {
	e.Hint = fmt.Sprintf(format, args...)
	return e
}

// WithDetail sets the detail and gives the error back.
func (e *Error) WithDetail(format string, args ...any) *Error {
	e.Detail = fmt.Sprintf(format, args...)
	return e
}

// At gives err a position if it is an *Error that has none yet; other errors pass unchanged.
// The *Error is copied, so that shared errors stay as they are.
func At(err error, pos int) error {
	var e *Error
	if errors.As(err, &e) && e.Pos == NoPos && pos != NoPos {
		c := *e
		c.Pos = pos
		return &c
	}
	return err
}

// From gives the *Error inside err, or wraps err as an internal error (XX000).
func From(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return &Error{Code: InternalError, Message: err.Error(), Pos: NoPos, Cause: nil}
}
