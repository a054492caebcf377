// Package weir is the root of the Weir module and holds no code. The server is cmd/weir; docs/ARCHITECTURE.md
// says where everything is. The tests here keep the tree as the documentation says that it is.
package weir
