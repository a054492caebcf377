package plan

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// Note is something that is known of a node besides its plan, as what it did when it ran.
type Note struct {
	Name string
	// Value is a number or a string.
	Value any
}

// Notes gives what is known of a node; nil: nothing.
type Notes func(Node) []Note

// Outline is a plan as a tree of texts.
type Outline struct {
	// Kind is what the node does, in one line.
	Kind    string
	Details []string
	Notes   []Note
	Inputs  []*Outline
}

// Outline gives a batch plan as a tree.
func (b *Batch) Outline(notes Notes) []*Outline {
	w := explainer{notes: notes}
	if b.Point != nil {
		w.point(b.Point)
		lines := strings.Split(strings.TrimRight(w.String(), "\n"), "\n")
		o := &Outline{Kind: lines[0], Notes: w.note(nil)}
		for _, l := range lines[1:] {
			o.Details = append(o.Details, strings.TrimSpace(l))
		}
		return []*Outline{o}
	}
	return []*Outline{w.outline(b.Root)}
}

// Outline gives a stream plan as trees: one for each fragment, the last fragment first.
func (s *Stream) Outline(notes Notes) []*Outline {
	w := explainer{stream: true, notes: notes}
	var out []*Outline
	for i := len(s.Fragments) - 1; i >= 0; i-- {
		f := s.Fragments[i]
		o := w.outline(f.Root)
		if len(s.Fragments) > 1 {
			o = &Outline{Kind: fragmentLine(f), Inputs: []*Outline{o}}
		}
		out = append(out, o)
	}
	return out
}

func (w *explainer) outline(n Node) *Outline {
	o := &Outline{Notes: w.note(n)}
	o.Kind, o.Details = w.describe(n)
	if w.stream && n.Properties().AppendOnly {
		o.Details = append(o.Details, "append-only")
	}
	for _, in := range n.Inputs() {
		o.Inputs = append(o.Inputs, w.outline(in))
	}
	return o
}

func (w *explainer) note(n Node) []Note {
	if w.notes == nil {
		return nil
	}
	return w.notes(n)
}

// noteText is how notes are written behind the line of a node.
func noteText(ns []Note) string {
	if len(ns) == 0 {
		return ""
	}
	ss := make([]string, len(ns))
	for i, n := range ns {
		ss[i] = n.Name + "=" + n.text()
	}
	return "  (" + strings.Join(ss, " ") + ")"
}

func (n Note) text() string {
	if f, ok := n.Value.(float64); ok {
		return strconv.FormatFloat(f, 'f', 3, 64)
	}
	return fmt.Sprint(n.Value)
}

// ExplainNoted is Explain with what is known of each node.
func (b *Batch) ExplainNoted(notes Notes) string {
	w := explainer{notes: notes}
	b.write(&w)
	return w.String()
}

// ExplainNoted is Explain with what is known of each node.
func (s *Stream) ExplainNoted(notes Notes) string {
	w := explainer{stream: true, notes: notes}
	s.write(&w)
	return w.String()
}

// OutlineJSON writes trees as PostgreSQL writes plans: [{"Plan": {...}}, ...]. more are properties beside the plan.
func OutlineJSON(os []*Outline, more ...Note) (string, error) {
	list := outlineObjects(os, more)
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(list); err != nil {
		return "", fmt.Errorf("plan as JSON: %w", err)
	}
	return b.String(), nil
}

func (o *Outline) object() map[string]any {
	m := map[string]any{"Node Type": o.Kind}
	var rest []string
	for _, d := range o.Details {
		if name, text, ok := strings.Cut(d, ": "); ok && m[name] == nil {
			m[name] = text
		} else {
			rest = append(rest, d)
		}
	}
	if rest != nil {
		m["Details"] = rest
	}
	for _, n := range o.Notes {
		m[n.Name] = n.Value
	}
	var in []any
	for _, x := range o.Inputs {
		in = append(in, x.object())
	}
	if in != nil {
		m["Plans"] = in
	}
	return m
}

// OutlineDOT writes trees as a graph for Graphviz; rows flow along the arrows.
func OutlineDOT(os []*Outline) string {
	var b strings.Builder
	b.WriteString("digraph plan {\n  rankdir=BT;\n  node [shape=box, fontname=\"monospace\"];\n")
	n := 0
	var node func(o *Outline) int
	node = func(o *Outline) int {
		n++
		id := n
		lines := append([]string{o.Kind}, o.Details...)
		if t := noteText(o.Notes); t != "" {
			lines = append(lines, strings.TrimSpace(t))
		}
		for i := range lines {
			lines[i] = strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(lines[i])
		}
		fmt.Fprintf(&b, "  n%d [label=\"%s\\l\"];\n", id, strings.Join(lines, `\l`))
		for _, in := range o.Inputs {
			fmt.Fprintf(&b, "  n%d -> n%d;\n", node(in), id)
		}
		return id
	}
	for _, o := range os {
		node(o)
	}
	b.WriteString("}\n")
	return b.String()
}
