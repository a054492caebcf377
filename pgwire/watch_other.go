//go:build !unix

package pgwire

import "net"

// gone cannot be found out here without reading; a write will tell.
func gone(net.Conn) bool { return false }
