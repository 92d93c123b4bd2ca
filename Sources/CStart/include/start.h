// What `waystation serve` does before its main begins, and before its libraries do anything: it holds
// back SIGHUP, SIGTERM and SIGINT, which would end it then. They wait until it listens for them.
//
// Nothing is to be called: it stands where the loader looks (`.preinit_array`). What comes earlier,
// while the loader is at work, cannot be helped from inside.
#ifndef CSTART_H
#define CSTART_H
#endif
