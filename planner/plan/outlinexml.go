package plan

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// properties are those of an outline's object in the order in which they are written: what the node does, then the others by
// name, then its inputs.
func properties(m map[string]any) []string {
	names := make([]string, 0, len(m))
	for n := range m {
		names = append(names, n)
	}
	rank := func(n string) int {
		switch n {
		case "Node Type", "Plan":
			return 0
		case "Plans":
			return 2
		}
		return 1
	}
	slices.SortFunc(names, func(a, b string) int {
		if d := rank(a) - rank(b); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	return names
}

// outlineObjects are the trees with what is beside the first of them.
func outlineObjects(os []*Outline, more []Note) []map[string]any {
	var list []map[string]any
	for i, o := range os {
		m := map[string]any{"Plan": o.object()}
		for _, n := range more {
			if i == 0 {
				m[n.Name] = n.Value
			}
		}
		list = append(list, m)
	}
	return list
}

var xmlText = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "\r", "&#x0d;")

// xmlName makes an element's name of a property's.
func xmlName(s string) string {
	b := []byte(s)
	for i, c := range b {
		if c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' && i > 0 || c == '_' || c == '.' && i > 0 {
			continue
		}
		b[i] = '-'
	}
	return string(b)
}

// OutlineXML writes trees as PostgreSQL writes plans in XML. more are properties beside the plan.
func OutlineXML(os []*Outline, more ...Note) string {
	var b strings.Builder
	b.WriteString("<explain xmlns=\"http://www.postgresql.org/2009/explain\">\n")
	var object func(m map[string]any, depth int)
	object = func(m map[string]any, depth int) {
		pad := strings.Repeat("  ", depth)
		for _, name := range properties(m) {
			el := xmlName(name)
			switch v := m[name].(type) {
			case map[string]any:
				fmt.Fprintf(&b, "%s<%s>\n", pad, el)
				object(v, depth+1)
				fmt.Fprintf(&b, "%s</%s>\n", pad, el)
			case []any:
				fmt.Fprintf(&b, "%s<%s>\n", pad, el)
				for _, x := range v {
					fmt.Fprintf(&b, "%s  <Plan>\n", pad)
					object(x.(map[string]any), depth+2)
					fmt.Fprintf(&b, "%s  </Plan>\n", pad)
				}
				fmt.Fprintf(&b, "%s</%s>\n", pad, el)
			case []string:
				fmt.Fprintf(&b, "%s<%s>\n", pad, el)
				for _, x := range v {
					fmt.Fprintf(&b, "%s  <Item>%s</Item>\n", pad, xmlText.Replace(x))
				}
				fmt.Fprintf(&b, "%s</%s>\n", pad, el)
			default:
				fmt.Fprintf(&b, "%s<%s>%s</%s>\n", pad, el, xmlText.Replace(Note{Value: v}.text()), el)
			}
		}
	}
	for _, m := range outlineObjects(os, more) {
		b.WriteString("  <Query>\n")
		object(m, 2)
		b.WriteString("  </Query>\n")
	}
	b.WriteString("</explain>")
	return b.String()
}

// OutlineYAML writes trees as PostgreSQL writes plans in YAML. more are properties beside the plan.
func OutlineYAML(os []*Outline, more ...Note) string {
	var b strings.Builder
	// lead is what stands before the first property: the line of a list's item has begun.
	var object func(m map[string]any, depth int, lead string)
	object = func(m map[string]any, depth int, lead string) {
		pad := strings.Repeat("  ", depth)
		for i, name := range properties(m) {
			at := pad
			if i == 0 {
				at = lead
			}
			switch v := m[name].(type) {
			case map[string]any:
				fmt.Fprintf(&b, "%s%s: \n", at, name)
				object(v, depth+1, pad+"  ")
			case []any:
				fmt.Fprintf(&b, "%s%s: \n", at, name)
				for _, x := range v {
					object(x.(map[string]any), depth+2, pad+"  - ")
				}
			case []string:
				fmt.Fprintf(&b, "%s%s: \n", at, name)
				for _, x := range v {
					fmt.Fprintf(&b, "%s  - %s\n", pad, strconv.Quote(x))
				}
			case string:
				fmt.Fprintf(&b, "%s%s: %s\n", at, name, strconv.Quote(v))
			default:
				fmt.Fprintf(&b, "%s%s: %s\n", at, name, Note{Value: v}.text())
			}
		}
	}
	for _, m := range outlineObjects(os, more) {
		object(m, 1, "- ")
	}
	return strings.TrimRight(b.String(), "\n")
}
