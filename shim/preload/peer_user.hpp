// Identifies the user at the other end of a socket.
//
// Thread safety: pure function of the socket.
#pragma once

#include <sys/socket.h>
#include <unistd.h>

namespace tessera::preload {

// Whether the process that connected is one of this user's.
inline bool is_same_user(int peer) {
  ucred user{};
  socklen_t size = sizeof(user);
  return ::getsockopt(peer, SOL_SOCKET, SO_PEERCRED, &user, &size) == 0 && user.uid == ::geteuid();
}

}  // namespace tessera::preload
