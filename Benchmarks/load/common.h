/* What the programs of this folder share: the time, the way out, and where a message ends. */
#pragma once
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Seconds of a clock that nobody sets. */
static inline double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Says what failed, and why, and ends the program. */
static inline void fail(const char *what) {
  perror(what);
  exit(1);
}

/* The length of the message at the start of a buffer, by its Content-Length; 0 if it is not whole
   yet. Writes a zero behind what was received, for which there has to be room. */
static inline int message_length(char *buffer, int received) {
  buffer[received] = 0;
  char *end = strstr(buffer, "\r\n\r\n");
  if (!end) return 0;
  char *field = strcasestr(buffer, "\r\ncontent-length:");
  int length = field && field < end ? atoi(field + 17) : 0;
  int whole = (int)(end - buffer) + 4 + length;
  return received >= whole ? whole : 0;
}
