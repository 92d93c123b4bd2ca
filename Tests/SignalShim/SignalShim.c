#include "SignalShim.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

__attribute__((constructor)) static void send_early_signal(void) {
  const char *number = getenv("WAYSTATION_EARLY_SIGNAL");
  if (number) kill(getpid(), atoi(number));
}
