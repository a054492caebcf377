package weir_test

import (
	"bufio"
	"bytes"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"
)

// The rules of the tree. Where a rule has exceptions, they stand here with their reasons.

const (
	module       = "github.com/weirdb/weir"
	architecture = "docs/ARCHITECTURE.md"
	// maxLines is where a file has grown too long to be read in one go.
	maxLines = 900
)

// longFiles may have more than maxLines lines.
var longFiles = map[string]string{}

// sleepers may call time.Sleep.
var sleepers = map[string]string{
	"test/crash/crash_test.go":  "kills a process at random moments: the passing of time is what it tests",
	"test/crash/damage_test.go": "as crash_test.go",
	"test/crash/sink_test.go":   "as crash_test.go",
	"pgwire/conn_test.go":       "sleeps inside a synctest bubble, whose clock does not take time",
}

// badNames say nothing about what is in a package.
var badNames = []string{"util", "utils", "common", "helper", "helpers", "misc", "shared"}

// goFile is a parsed Go file of the tree.
type goFile struct {
	path string // from the root, with slashes
	dir  string // the package's folder, "." for the root
	test bool
	// generated: a program wrote it, and its looks are that program's affair.
	generated bool
	src       []byte
	ast       *ast.File
}

func (f *goFile) imports() []string {
	var out []string
	for _, s := range f.ast.Imports {
		p, err := strconv.Unquote(s.Path.Value)
		if err == nil {
			out = append(out, p)
		}
	}
	return out
}

// tree has all Go files of the module and all files under testdata.
type tree struct {
	fset     *token.FileSet
	files    []*goFile
	testdata []string
}

// load reads the tree. Folders that begin with "." or hold another module are left out, and so is what
// builds and servers write.
func load(t *testing.T) *tree {
	t.Helper()
	tr := &tree{fset: token.NewFileSet()}
	err := filepath.WalkDir(".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		p = filepath.ToSlash(p)
		if d.IsDir() {
			if p == "." {
				return nil
			}
			if strings.HasPrefix(d.Name(), ".") || p == "bin" || p == "weir-data" {
				return filepath.SkipDir
			}
			if _, err := os.Stat(filepath.Join(p, "go.mod")); err == nil {
				return filepath.SkipDir
			}
			return nil
		}
		if strings.Contains(p, "/testdata/") {
			tr.testdata = append(tr.testdata, p)
			return nil
		}
		if !strings.HasSuffix(p, ".go") {
			return nil
		}
		src, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		f, err := parser.ParseFile(tr.fset, p, src, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		tr.files = append(tr.files, &goFile{
			path: p, dir: path.Dir(p), test: strings.HasSuffix(p, "_test.go"), generated: ast.IsGenerated(f), src: src, ast: f,
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(tr.files) < 100 {
		t.Fatalf("only %d Go files: is this the root of the module?", len(tr.files))
	}
	return tr
}

// packages gives the files of each folder.
func (tr *tree) packages() map[string][]*goFile {
	m := map[string][]*goFile{}
	for _, f := range tr.files {
		m[f.dir] = append(m[f.dir], f)
	}
	return m
}

// block gives the lines of a fenced block of the architecture document, by the word behind the fence.
func block(t *testing.T, name string) []string {
	t.Helper()
	b, err := os.ReadFile(architecture)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	in, found := false, false
	sc := bufio.NewScanner(bytes.NewReader(b))
	for sc.Scan() {
		line := strings.TrimSpace(sc.Text())
		switch {
		case !in && line == "```"+name:
			in, found = true, true
		case in && line == "```":
			in = false
		case in && line != "" && !strings.HasPrefix(line, "#"):
			lines = append(lines, line)
		}
	}
	if !found {
		t.Fatalf("%s has no block ```%s", architecture, name)
	}
	return lines
}

// rule is what a package may import of the project.
type rule struct {
	may []string
	// tests are bound too.
	tests bool
}

// importRules reads the table of imports: a line "package: allowed allowed ..." each, "package!: ..." if
// it holds for test files as well, where "x/..." allows x and all below it.
func importRules(t *testing.T) map[string]rule {
	t.Helper()
	rules := map[string]rule{}
	for _, line := range block(t, "imports") {
		name, list, ok := strings.Cut(line, ":")
		if !ok {
			t.Fatalf("%s: %q is no rule", architecture, line)
		}
		name, tests := strings.CutSuffix(strings.TrimSpace(name), "!")
		if _, dup := rules[name]; dup {
			t.Errorf("%s: two rules for %s", architecture, name)
		}
		rules[name] = rule{strings.Fields(list), tests}
	}
	return rules
}

func matches(pattern, pkg string) bool {
	if root, ok := strings.CutSuffix(pattern, "/..."); ok {
		return pkg == root || strings.HasPrefix(pkg, root+"/")
	}
	return pattern == pkg
}

func matchesAny(patterns []string, pkg string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return matches(p, pkg) })
}

// ruleFor finds the rule of a package: its own, or that of a folder above it, "folder/...".
func ruleFor(rules map[string]rule, pkg string) (rule, bool) {
	if r, ok := rules[pkg]; ok {
		return r, true
	}
	for d := path.Dir(pkg); d != "."; d = path.Dir(d) {
		if r, ok := rules[d+"/..."]; ok {
			return r, true
		}
	}
	return rule{}, false
}

func TestImports(t *testing.T) {
	tr := load(t)
	rules := importRules(t)
	exists := map[string]bool{}
	for _, f := range tr.files {
		exists[f.dir] = true
		if f.dir == "." {
			continue
		}
		r, ok := ruleFor(rules, f.dir)
		if !ok {
			t.Errorf("package %s is not in the table of imports in %s", f.dir, architecture)
			rules[f.dir] = rule{may: []string{"."}}
			continue
		}
		if f.test && !r.tests {
			continue
		}
		for _, imp := range f.imports() {
			pkg, ok := strings.CutPrefix(imp, module+"/")
			if ok && pkg != f.dir && !matchesAny(r.may, pkg) {
				t.Errorf("%s imports %s; the table of imports in %s does not allow %s to", f.path, pkg, architecture, f.dir)
			}
		}
	}
	for name, r := range rules {
		if !exists[name] && !strings.HasSuffix(name, "/...") {
			t.Errorf("%s has a rule for package %s, which does not exist", architecture, name)
		}
		for _, m := range r.may {
			if m != "." && !exists[strings.TrimSuffix(m, "/...")] {
				t.Errorf("%s lets package %s import %s, which does not exist", architecture, name, m)
			}
		}
	}
}

// TestForeignImports keeps other people's modules where the design puts them. Lines of the block: the
// beginning of an import path, and the packages that may use it. Test files are free.
func TestForeignImports(t *testing.T) {
	tr := load(t)
	for _, line := range block(t, "foreign") {
		prefix, list, ok := strings.Cut(line, ":")
		if !ok {
			t.Fatalf("%s: %q is no rule", architecture, line)
		}
		may := strings.Fields(list)
		for _, f := range tr.files {
			if f.test {
				continue
			}
			for _, imp := range f.imports() {
				if (imp == prefix || strings.HasPrefix(imp, prefix+"/")) && !matchesAny(may, f.dir) {
					t.Errorf("%s imports %s, which only %s may", f.path, imp, list)
				}
			}
		}
	}
}

func TestPackageComments(t *testing.T) {
	for dir, files := range load(t).packages() {
		if slices.Contains(badNames, files[0].ast.Name.Name) || slices.Contains(badNames, path.Base(dir)) {
			t.Errorf("package %s: the name says nothing", dir)
		}
		var docs []string
		for _, f := range files {
			if d := f.ast.Doc.Text(); d != "" && !strings.HasSuffix(f.ast.Name.Name, "_test") {
				docs = append(docs, d)
			}
		}
		name := files[0].ast.Name.Name
		want := "Package " + strings.TrimSuffix(name, "_test") + " "
		if name == "main" {
			want = "Command " + path.Base(dir) + " "
		}
		if !slices.ContainsFunc(docs, func(d string) bool { return strings.HasPrefix(d, want) && len(d) > len(want)+20 }) {
			t.Errorf("package %s has no comment that begins with %q and says what the package is", dir, want)
		}
		if len(docs) > 1 {
			t.Errorf("package %s has %d package comments", dir, len(docs))
		}
	}
}

// TestDocComments checks that what a package exports says what it is. A group of constants, variables
// or types may have one comment, and what an interface promises need not be said again.
func TestDocComments(t *testing.T) {
	tr := load(t)
	for _, f := range tr.files {
		if f.test || f.generated || f.ast.Name.Name == "main" {
			continue
		}
		for _, d := range f.ast.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Name.IsExported() && d.Doc.Text() == "" && d.Recv == nil {
					t.Errorf("%s: func %s has no comment", tr.fset.Position(d.Pos()), d.Name.Name)
				}
			case *ast.GenDecl:
				if d.Doc.Text() != "" {
					continue
				}
				for _, s := range d.Specs {
					if s, ok := s.(*ast.TypeSpec); ok && s.Name.IsExported() && s.Doc.Text() == "" && s.Comment.Text() == "" {
						t.Errorf("%s: type %s has no comment", tr.fset.Position(s.Pos()), s.Name.Name)
					}
				}
			}
		}
	}
}

func TestFormatted(t *testing.T) {
	for _, f := range load(t).files {
		out, err := format.Source(f.src)
		if err != nil {
			t.Errorf("%s: %v", f.path, err)
		} else if !bytes.Equal(out, f.src) {
			t.Errorf("%s: not formatted; run make fmt", f.path)
		}
	}
}

func TestFileSize(t *testing.T) {
	long := map[string]bool{}
	for _, f := range load(t).files {
		n := bytes.Count(f.src, []byte("\n"))
		if n <= maxLines || f.generated {
			continue
		}
		long[f.path] = true
		if longFiles[f.path] == "" {
			t.Errorf("%s has %d lines, more than %d: split it by subject", f.path, n, maxLines)
		}
	}
	for p := range longFiles {
		if !long[p] {
			t.Errorf("%s is not long any more: take it off the list", p)
		}
	}
}

// unfinished are words that stand for work that was put off.
var unfinished = regexp.MustCompile(`\b(TODO|FIXME|XXX|HACK)\b`)

func TestNothingUnfinished(t *testing.T) {
	tr := load(t)
	sleeps := map[string]bool{}
	for _, f := range tr.files {
		if f.path == "tidy_test.go" {
			continue
		}
		for _, g := range f.ast.Comments {
			for _, c := range g.List {
				if w := unfinished.FindString(c.Text); w != "" {
					t.Errorf("%s: %s: do it, or file an issue", tr.fset.Position(c.Pos()), w)
				}
			}
		}
		if !f.test {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			sel, ok := call.Fun.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			x, ok := sel.X.(*ast.Ident)
			if !ok {
				return true
			}
			pos := tr.fset.Position(call.Pos())
			switch {
			case x.Name == "time" && sel.Sel.Name == "Sleep":
				sleeps[f.path] = true
				if sleepers[f.path] == "" {
					t.Errorf("%s: a test that sleeps is slow or wrong: wait for what it waits for", pos)
				}
			case slices.Contains([]string{"t", "b", "f", "tb"}, x.Name) && strings.HasPrefix(sel.Sel.Name, "Skip"):
				t.Errorf("%s: a test that is skipped tests nothing", pos)
			}
			return true
		})
	}
	for p := range sleepers {
		if !sleeps[p] {
			t.Errorf("%s does not sleep any more: take it off the list", p)
		}
	}
}

// TestTestdataIsUsed finds files under testdata that no test reads. A file counts as read if a test of its
// package (or of the folder above testdata) has its path, a pattern that matches it, or a folder that it
// is in, as a string; if its name stands alone as a string; or if it belongs to a fuzz target.
func TestTestdataIsUsed(t *testing.T) {
	tr := load(t)
	type pkg struct {
		strings []string
		fuzz    map[string]bool
	}
	pkgs := map[string]*pkg{}
	for _, f := range tr.files {
		if !f.test {
			continue
		}
		p := pkgs[f.dir]
		if p == nil {
			p = &pkg{fuzz: map[string]bool{}}
			pkgs[f.dir] = p
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if strings.HasPrefix(n.Name.Name, "Fuzz") {
					p.fuzz[n.Name.Name] = true
				}
			case *ast.CallExpr:
				// filepath.Join("testdata", name) names a folder, but does not read all of it.
				if sel, ok := n.Fun.(*ast.SelectorExpr); ok && sel.Sel.Name == "Join" {
					for _, a := range n.Args {
						if l, ok := a.(*ast.BasicLit); ok && l.Kind == token.STRING && l.Value != `"testdata"` {
							if s, err := strconv.Unquote(l.Value); err == nil {
								p.strings = append(p.strings, s)
							}
						}
					}
					return false
				}
			case *ast.BasicLit:
				if n.Kind == token.STRING {
					if s, err := strconv.Unquote(n.Value); err == nil {
						p.strings = append(p.strings, s)
					}
				}
			}
			return true
		})
	}
	for _, f := range tr.testdata {
		dir, rel, _ := strings.Cut(f, "/testdata/")
		p := pkgs[dir]
		if p == nil {
			t.Errorf("%s: there are no tests in %s", f, dir)
			continue
		}
		if rest, ok := strings.CutPrefix(rel, "fuzz/"); ok {
			if name, _, _ := strings.Cut(rest, "/"); !p.fuzz[name] {
				t.Errorf("%s: there is no fuzz target %s", f, name)
			}
			continue
		}
		full := "testdata/" + rel
		used := slices.ContainsFunc(p.strings, func(s string) bool {
			if s == "" {
				return false
			}
			if s == full || s == path.Base(full) || strings.HasPrefix(full, strings.TrimSuffix(s, "/")+"/") && strings.HasPrefix(s, "testdata") {
				return true
			}
			ok, err := path.Match(s, full)
			return err == nil && ok && strings.HasPrefix(s, "testdata")
		})
		if !used {
			t.Errorf("%s: no test reads it", f)
		}
	}
}

// TestDocsNameWhatExists checks that files which the documents name are there.
func TestDocsNameWhatExists(t *testing.T) {
	docs, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	docs = append(docs, "README.md", "CONTRIBUTING.md", "examples/README.md")
	name := regexp.MustCompile("`((?:cmd|server|pgwire|sql|planner|exec|checkpoint|storage|connector|bench|test|examples|docs)/[a-zA-Z0-9_/.-]+)`")
	link := regexp.MustCompile(`\]\(([^)#:]+)(?:#[^)]*)?\)`)
	var missing []string
	for _, doc := range docs {
		b, err := os.ReadFile(doc)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range name.FindAllSubmatch(b, -1) {
			if _, err := os.Stat(strings.TrimSuffix(string(m[1]), "/...")); err != nil {
				missing = append(missing, fmt.Sprintf("%s names %s, which does not exist", doc, m[1]))
			}
		}
		for _, m := range link.FindAllSubmatch(b, -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(doc), string(m[1]))); err != nil {
				missing = append(missing, fmt.Sprintf("%s links to %s, which does not exist", doc, m[1]))
			}
		}
	}
	sort.Strings(missing)
	for _, m := range missing {
		t.Error(m)
	}
}
