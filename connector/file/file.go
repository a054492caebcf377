// Package file is the source that reads rows from a file: JSON lines or CSV.
//
//	CREATE SOURCE flights (id int, delay int, origin text)
//	  WITH (connector = 'file', path = 'flights.jsonl', follow = 'true') FORMAT PLAIN ENCODE JSON
//
// Without follow the source ends with the file, and a last line without newline counts. With
// follow, lines that are appended later are read as they come, and a last line waits for its
// newline; the reader sleeps until the system reports a change.
//
// The file must only grow. An offset remembers which file it belongs to (its inode) and a checksum
// of the bytes before it, so that a file that was replaced, shortened or rewritten is an error that
// names it, both while it is followed and after a restart.
//
// # JSON
//
// Each line that is not blank is one JSON object. A column takes the member of its name (exactly as
// written); absent and null are NULL, other members are ignored, but checked for syntax. A string,
// number or boolean goes through the text input of the column's type, so "12" fits an integer and 1.5
// does not. Text columns take any value, objects and arrays as the text that stands in the file;
// jsonb columns take any value. A number in a date or timestamp column is milliseconds since 1970.
//
// # CSV
//
// The rules of PostgreSQL's COPY ... CSV, with its options header, delimiter, quote, escape and null.
// Fields belong to columns by position. Lines may end in LF or CRLF.
package file

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/weirdb/weir/connector"
	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/sql/sqlerr"
)

// inDir gives the file of a path as a statement has it; without a directory that is the path.
func inDir(dir, path string) string {
	if dir == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// parseEncoding checks FORMAT and ENCODE, which are the same for sources and sinks; nil options stand for JSON.
func parseEncoding(cfg connector.Config) (*csvOptions, error) {
	if cfg.Format != "" && cfg.Format != "plain" {
		return nil, sqlerr.New(sqlerr.FeatureNotSupported, cfg.FormatPos, "connector \"file\" does not support FORMAT %s", cfg.Format).
			WithHint("Use FORMAT PLAIN.")
	}
	switch cfg.Encode {
	case "json":
		return nil, connector.Parse("ENCODE JSON", cfg.EncodeOptions).Done()
	case "csv":
		return parseCSVOptions(cfg.EncodeOptions)
	case "":
		return nil, sqlerr.Newf(sqlerr.SyntaxError, "connector \"file\" requires an encoding").
			WithHint("Add FORMAT PLAIN ENCODE JSON or FORMAT PLAIN ENCODE CSV (header = 'true').")
	}
	return nil, sqlerr.New(sqlerr.FeatureNotSupported, cfg.FormatPos, "connector \"file\" does not support ENCODE %s", cfg.Encode).
		WithHint("Use ENCODE JSON or ENCODE CSV.")
}

// NewSource makes a source of one file. Options: path (required), follow (default false). ENCODE JSON
// has no options, ENCODE CSV those of COPY.
func NewSource(cfg connector.Config) (exec.Source, error) {
	p := connector.Parse(`connector "file"`, cfg.Options)
	s := &source{path: p.Required("path"), follow: p.Bool("follow", false), clock: cfg.ClockOrWall(), readSize: readSize}
	if err := p.Done(); err != nil {
		return nil, err
	}
	s.file = inDir(cfg.Dir, s.path)
	var err error
	if s.csv, err = parseEncoding(cfg); err != nil {
		return nil, err
	}
	if len(cfg.Columns) == 0 {
		return nil, sqlerr.Newf(sqlerr.InvalidObjectDefinition, "connector \"file\" requires a column list")
	}
	s.cols = cfg.Columns
	if !cfg.Restored {
		f, err := s.openFile()
		if err != nil {
			return nil, err
		}
		if err := f.Close(); err != nil {
			return nil, s.ioError("close", err)
		}
	}
	return s, nil
}

type source struct {
	// path is the file as the user wrote it, for messages; file is where it is.
	path, file string
	follow     bool
	cols       []exec.Column
	csv        *csvOptions // nil for JSON
	clock      connector.Clock
	// readSize is how many bytes are read at once, at least 1.
	readSize int
}

func (s *source) Columns() []exec.Column { return s.cols }
func (s *source) Splits() int            { return 1 }
func (s *source) Replayable() bool       { return true }

// Open makes a reader.
func (s *source) Open(_ context.Context, _ int, offset []byte, cols []int) (exec.Reader, error) {
	return openReader(s, offset, cols)
}

// openFile opens the file and refuses what is not a regular file.
func (s *source) openFile() (*os.File, error) {
	// A named pipe would block until someone writes, so look before.
	st, err := os.Stat(s.file)
	if err != nil {
		return nil, s.ioError("open", err)
	}
	switch {
	case st.IsDir():
		return nil, sqlerr.Newf(sqlerr.WrongObjectType, "%q is a directory", s.path)
	case !st.Mode().IsRegular():
		return nil, sqlerr.Newf(sqlerr.WrongObjectType, "%q is not a regular file", s.path)
	}
	f, err := os.Open(s.file)
	if err != nil {
		return nil, s.ioError("open", err)
	}
	return f, nil
}

// ioError turns an error of the system into one that names the file as the user does.
func (s *source) ioError(doing string, err error) error {
	code, what := sqlerr.IOError, err.Error()
	var pe *fs.PathError
	if errors.As(err, &pe) {
		what = pe.Err.Error()
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		code, what = sqlerr.UndefinedFile, "No such file or directory"
	case errors.Is(err, fs.ErrPermission):
		code, what = sqlerr.InsufficientPrivilege, "Permission denied"
	}
	if doing == "open" {
		doing = "open file"
	} else {
		doing += " file"
	}
	e := sqlerr.Newf(code, "could not %s %q: %s", doing, s.path, what)
	if doing == "open file" {
		e = sqlerr.Newf(code, "could not open file %q for reading: %s", s.path, what)
	}
	e.Cause = err
	return e
}
