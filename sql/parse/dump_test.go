package parse

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/weirdb/weir/sql/ast"
)

// dump prints a tree as indented text: every node with its type, its position behind @ and its
// fields that are not zero. Small nodes go on one line.
func dump(v any) string { return dumper{positions: true}.value(reflect.ValueOf(v), "") }

// shape is dump without the positions.
func shape(v any) string { return dumper{}.value(reflect.ValueOf(v), "") }

type dumper struct{ positions bool }

func (d dumper) at(pos int) string {
	if !d.positions {
		return ""
	}
	return fmt.Sprintf("@%d", pos)
}

func (d dumper) value(v reflect.Value, indent string) string {
	switch v.Kind() {
	case reflect.Interface, reflect.Pointer:
		if v.IsNil() {
			return "nil"
		}
		if v.Kind() == reflect.Pointer && v.Elem().Kind() != reflect.Struct {
			return "&" + d.value(v.Elem(), indent)
		}
		return d.value(v.Elem(), indent)
	case reflect.Struct:
		return d.structure(v, indent)
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.String {
			return fmt.Sprintf("%q", v.Interface())
		}
		return d.list(v, indent)
	case reflect.String:
		return fmt.Sprintf("%q", v.String())
	}
	return fmt.Sprint(v.Interface())
}

func (d dumper) list(v reflect.Value, indent string) string {
	if v.Len() == 0 {
		return "[]"
	}
	var items []string
	for i := range v.Len() {
		items = append(items, d.value(v.Index(i), indent+"  "))
	}
	one := "[" + strings.Join(items, ", ") + "]"
	if len(one)+len(indent) < 100 && !strings.Contains(one, "\n") {
		return one
	}
	return "[\n" + indent + "  " + strings.Join(items, "\n"+indent+"  ") + "\n" + indent + "]"
}

func (d dumper) structure(v reflect.Value, indent string) string {
	if n, ok := v.Interface().(ast.Name); ok {
		return strings.Join(n.Parts, ".") + d.at(n.Pos)
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
			fields = append(fields, f.Name+": "+d.value(v.Field(i), indent+"  "))
		}
	}
	if pos >= 0 {
		name += d.at(pos)
	}
	one := name + "{" + strings.Join(fields, ", ") + "}"
	if len(one)+len(indent) < 100 && !strings.Contains(one, "\n") {
		return one
	}
	return name + "{\n" + indent + "  " + strings.Join(fields, "\n"+indent+"  ") + "\n" + indent + "}"
}
