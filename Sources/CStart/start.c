#include "start.h"

#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

// Other commands are to be ended by these signals, and so is whatever else this is linked into, such as
// a program with tests.
static const char command[] = "serve";

// No function of a library is called: a sanitizer's would not be ready yet.
__attribute__((no_sanitize("address", "thread", "undefined")))
static void hold_signals(int count, char **arguments, char **environment) {
  (void)environment;
  if (count < 2) return;
  for (size_t place = 0; place < sizeof command; place++) {
    if (arguments[1][place] != command[place]) return;
  }
  uint64_t signals = 1ull << (SIGHUP - 1) | 1ull << (SIGTERM - 1) | 1ull << (SIGINT - 1);
  syscall(SYS_rt_sigprocmask, SIG_BLOCK, &signals, NULL, sizeof signals);
}

__attribute__((section(".preinit_array"), used))
static void (*hold_signals_first)(int, char **, char **) = hold_signals;
