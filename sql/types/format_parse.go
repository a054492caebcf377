package types

import (
	"sort"
	"strings"
	"unicode/utf8"
)

// Templates of to_char, to_date, to_timestamp and to_number are cut into nodes: patterns with
// their modifiers, and literal text one character a node, because reading input treats letters,
// separators and blanks differently.

type nodeKind uint8

const (
	nodePattern nodeKind = iota
	nodeChar
	nodeSeparator
	nodeSpace
)

// fmtNode is a pattern or a literal character of a template.
type fmtNode struct {
	kind nodeKind
	// text is the character, or the pattern as the template spells it.
	text string
	// key is the pattern in capitals, for most patterns.
	key string
	// fill is FM before the pattern; th is "TH" or "th" after it.
	fill bool
	th   string
}

// datePatterns has every pattern for dates. Patterns that are names come in three spellings with
// different results; the others are the same in capitals and small letters.
var datePatterns = patternList(
	"A.D.", "A.M.", "AD", "AM", "B.C.", "BC", "CC", "DAY", "DDD", "DD", "DY", "Day", "Dy", "D",
	"FF1", "FF2", "FF3", "FF4", "FF5", "FF6", "FX", "HH24", "HH12", "HH", "IDDD", "ID", "IW",
	"IYYY", "IYY", "IY", "I", "J", "MI", "MM", "MONTH", "MON", "MS", "Month", "Mon", "OF",
	"P.M.", "PM", "Q", "RM", "SSSSS", "SSSS", "SS", "TZH", "TZM", "TZ", "US", "WW", "W",
	"Y,YYY", "YYYY", "YYY", "YY", "Y")

// numberPatterns has every pattern for numbers.
var numberPatterns = patternList(
	",", ".", "0", "9", "B", "C", "D", "EEEE", "FM", "G", "L", "MI", "PL", "PR", "RN", "SG", "SP",
	"S", "TH", "V")

// patternList adds the spellings in small letters and sorts by length, so that the longest
// pattern is found first.
func patternList(upper ...string) []string {
	all := append([]string(nil), upper...)
	for _, p := range upper {
		l := strings.ToLower(p)
		seen := false
		for _, q := range all {
			seen = seen || q == l
		}
		if !seen {
			all = append(all, l)
		}
	}
	sort.SliceStable(all, func(i, j int) bool { return len(all[i]) > len(all[j]) })
	return all
}

func findPattern(s string, patterns []string) string {
	for _, p := range patterns {
		if strings.HasPrefix(s, p) {
			return p
		}
	}
	return ""
}

func isSeparator(c byte) bool {
	return c > ' ' && c < 0x7f && !isAlpha(c) && !isDigit(c)
}

// parseTemplate cuts a template into nodes.
func parseTemplate(s string, patterns []string, dates bool) []fmtNode {
	var nodes []fmtNode
	literal := func(quoted bool) {
		_, n := utf8.DecodeRuneInString(s)
		k := nodeChar
		switch {
		case quoted:
		case dates && isSeparator(s[0]):
			k = nodeSeparator
		case isSpace(s[0]):
			k = nodeSpace
		}
		nodes = append(nodes, fmtNode{kind: k, text: s[:n]})
		s = s[n:]
	}
	for s != "" {
		fill := false
		if dates {
			switch {
			case strings.HasPrefix(s, "FM") || strings.HasPrefix(s, "fm"):
				fill = true
				s = s[2:]
			case strings.HasPrefix(s, "TM") || strings.HasPrefix(s, "tm"):
				// Localised names: there is one locale.
				fill = true
				s = s[2:]
			}
		}
		if p := findPattern(s, patterns); p != "" {
			n := fmtNode{kind: nodePattern, text: p, key: strings.ToUpper(p), fill: fill}
			s = s[len(p):]
			if dates {
				for _, suffix := range []string{"TH", "th", "SP", "sp"} {
					if strings.HasPrefix(s, suffix) {
						if suffix[1]|0x20 == 'h' {
							n.th = suffix
						}
						s = s[2:]
						break
					}
				}
			}
			nodes = append(nodes, n)
			continue
		}
		if s == "" {
			break
		}
		if s[0] == '"' {
			s = s[1:]
			for s != "" && s[0] != '"' {
				if s[0] == '\\' && len(s) > 1 {
					s = s[1:]
				}
				literal(true)
			}
			if s != "" {
				s = s[1:]
			}
			continue
		}
		if s[0] == '\\' && len(s) > 1 && s[1] == '"' {
			s = s[1:]
		}
		literal(false)
	}
	return nodes
}

// ordinal gives the ending of an ordinal number.
func ordinal(digits, style string) string {
	last := digits[len(digits)-1]
	if len(digits) > 1 && digits[len(digits)-2] == '1' {
		last = '0'
	}
	end := "TH"
	switch last {
	case '1':
		end = "ST"
	case '2':
		end = "ND"
	case '3':
		end = "RD"
	}
	if style == "th" {
		return strings.ToLower(end)
	}
	return end
}
