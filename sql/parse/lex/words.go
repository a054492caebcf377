package lex

import (
	"maps"
	"slices"
)

// Words lists all keywords, sorted.
func Words() []string { return slices.Sorted(maps.Keys(keywords)) }
