package types

import "testing"

// TestVectors: the catalogs' vectors have names, oids and a text of their own.
func TestVectors(t *testing.T) {
	for _, c := range []struct {
		elem Kind
		name string
		oid  uint32
	}{{Int2, "int2vector", 22}, {Oid, "oidvector", 30}} {
		v := VectorOf(c.elem)
		byName, err := FromName(c.name, nil, "", 0)
		if err != nil || byName != v || v.Name() != c.name || v.String() != c.name {
			t.Errorf("%s: name %s, %v %v", c.name, v.Name(), byName, err)
		}
		if byOID, ok := TypeByOID(c.oid, -1); !ok || byOID != v || v.OID() != c.oid {
			t.Errorf("%s: oid %d, %v", c.name, v.OID(), byOID)
		}
		if _, err := FromName(c.name, nil, "", 1); err == nil {
			t.Errorf("%s[] exists", c.name)
		}
		for _, text := range []string{"", "1", "1 2 30"} {
			d, err := ParseText(v, text, nil)
			if err != nil || Format(v, d, nil) != text {
				t.Errorf("%s: %q became %q, %v", c.name, text, Format(v, d, nil), err)
			}
			b, err := ParseBinary(v, AppendBinary(nil, v, d))
			if err != nil || b.S != d.S {
				t.Errorf("%s: %q in binary: %v", c.name, text, err)
			}
		}
		if _, err := ParseText(v, "1 x", nil); err == nil {
			t.Errorf("%s: no error", c.name)
		}
		// As the plain array it counts from 0.
		d, _ := ParseText(v, "7 8", nil)
		if got := Format(v.WithoutMod(), d, nil); got != "[0:1]={7,8}" {
			t.Errorf("%s as array: %s", c.name, got)
		}
	}
}
