/* Marks what libtessera.so shows to the world; everything else is hidden.
 * Thread safety: no code. */
#ifndef TESSERA_EXPORT_H
#define TESSERA_EXPORT_H

#define TESSERA_API __attribute__((visibility("default")))

#endif
