// Stands for the C library's header: the functions on numbers are there without it, and those of the library
// would be others of the same names.
//
// Thread safety: empty.
#pragma once
