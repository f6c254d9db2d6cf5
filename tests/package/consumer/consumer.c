#include <stdio.h>
#include <tessera/tessera.h>

int main(void) {
  puts(tessera_version());
  return 0;
}
