/* Marks the exported symbols of libtessera.so; all others are hidden.
 * Thread safety: declarations only. */
#ifndef TESSERA_EXPORT_H
#define TESSERA_EXPORT_H

#define TESSERA_API __attribute__((visibility("default")))

#endif
