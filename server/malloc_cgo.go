//go:build cgo && linux

package server

/*
#include <stddef.h>

// They are glibc's; other C libraries have neither, and give back what is free by themselves.
extern int mallopt(int param, int value) __attribute__((weak));
extern int malloc_trim(size_t pad) __attribute__((weak));

static void fewArenas(void) {
	if (mallopt) {
		mallopt(-8, 1);         // M_ARENA_MAX
		mallopt(-3, 128 << 10); // M_MMAP_THRESHOLD: what is larger goes back to the system when it is freed
	}
}

static void trim(void) {
	if (malloc_trim) {
		malloc_trim(0);
	}
}
*/
import "C"

// fewArenas makes the C library's allocator, which the storage engine's cache and memtables come from, use one arena. By default
// it has one for nearly every thread, each with holes of its own: several times what is in use. It is to be called before the storage engine is opened.
func fewArenas() { C.fewArenas() }

// trimC gives memory that the C library's allocator has free back to the system.
func trimC() { C.trim() }
