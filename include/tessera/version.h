/* The version number.
 * Thread safety: declarations only. */
#ifndef TESSERA_VERSION_H
#define TESSERA_VERSION_H

#define TESSERA_VERSION_MAJOR 0
#define TESSERA_VERSION_MINOR 2
#define TESSERA_VERSION_PATCH 0
#define TESSERA_VERSION_STRING "0.2.0"

#endif
