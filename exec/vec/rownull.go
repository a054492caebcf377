package vec

// EncodedNull tells whether column col of a row in the row codec is NULL, without decoding it.
func EncodedNull(row []byte, col int) bool {
	return col>>3 < len(row) && row[col>>3]&(1<<(col&7)) != 0
}
