package parse

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/weirdb/weir/sql/ast"
)

// dump prints a tree as indented text: every node with its type, its position behind @ and its
// fields that are not zero. Small nodes go on one line.
func dump(v any) string {
	return dumpValue(reflect.ValueOf(v), "")
}

func dumpValue(v reflect.Value, indent string) string {
	switch v.Kind() {
	case reflect.Interface, reflect.Pointer:
		if v.IsNil() {
			return "nil"
		}
		if v.Kind() == reflect.Pointer && v.Elem().Kind() != reflect.Struct {
			return "&" + dumpValue(v.Elem(), indent)
		}
		return dumpValue(v.Elem(), indent)
	case reflect.Struct:
		return dumpStruct(v, indent)
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.String {
			return fmt.Sprintf("%q", v.Interface())
		}
		return dumpList(v, indent)
	case reflect.String:
		return fmt.Sprintf("%q", v.String())
	}
	return fmt.Sprint(v.Interface())
}

func dumpList(v reflect.Value, indent string) string {
	if v.Len() == 0 {
		return "[]"
	}
	var items []string
	for i := range v.Len() {
		items = append(items, dumpValue(v.Index(i), indent+"  "))
	}
	one := "[" + strings.Join(items, ", ") + "]"
	if len(one)+len(indent) < 100 && !strings.Contains(one, "\n") {
		return one
	}
	return "[\n" + indent + "  " + strings.Join(items, "\n"+indent+"  ") + "\n" + indent + "]"
}

func dumpStruct(v reflect.Value, indent string) string {
	if n, ok := v.Interface().(ast.Name); ok {
		return fmt.Sprintf("%s@%d", strings.Join(n.Parts, "."), n.Pos)
	}
	name := v.Type().Name()
	pos := -1
	var fields []string
	for i := range v.NumField() {
		f := v.Type().Field(i)
		switch {
		case f.Name == "P":
			pos = v.Field(i).Interface().(ast.P).Pos
		case f.Name == "Pos":
			pos = int(v.Field(i).Int())
		case !v.Field(i).IsZero() || f.Name == "Value":
			fields = append(fields, f.Name+": "+dumpValue(v.Field(i), indent+"  "))
		}
	}
	if pos >= 0 {
		name += fmt.Sprintf("@%d", pos)
	}
	one := name + "{" + strings.Join(fields, ", ") + "}"
	if len(one)+len(indent) < 100 && !strings.Contains(one, "\n") {
		return one
	}
	return name + "{\n" + indent + "  " + strings.Join(fields, "\n"+indent+"  ") + "\n" + indent + "}"
}

// withoutPositions removes the positions from a dump, and the line breaks that depend on their
// length.
func withoutPositions(s string) string {
	var b strings.Builder
	inString := false
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '"' && (i == 0 || s[i-1] != '\\'):
			inString = !inString
			b.WriteByte('"')
		case !inString && s[i] == '@':
			for i+1 < len(s) && s[i+1] >= '0' && s[i+1] <= '9' {
				i++
			}
		case !inString && (s[i] == ' ' || s[i] == '\n' || s[i] == ','):
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String()
}
