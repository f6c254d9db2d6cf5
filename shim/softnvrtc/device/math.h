// Replaces the C library's header: the numeric functions are defined without it, and the library's would be different
// functions of the same names.
//
// Thread safety: empty.
#pragma once
