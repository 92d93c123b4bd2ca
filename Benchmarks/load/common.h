/* What the programs beside this file and the ceilings share: the time, the way out, where a message
   ends, and the median of many times. */
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

/* How often something took how long, by microsecond; what took longer than all steps counts as the
   last. */
enum { timing_us_max = 1000000 };
struct timing {
  unsigned *counts;
  unsigned long total;
};

static inline struct timing start_timing(void) {
  return (struct timing){.counts = calloc(timing_us_max + 1, sizeof(unsigned))};
}

static inline void note_time(struct timing *timing, double took) {
  double us = took * 1e6;
  timing->counts[us < timing_us_max ? (int)us : timing_us_max]++;
  timing->total++;
}

/* The median in milliseconds. */
static inline double median_ms(const struct timing *timing) {
  unsigned long seen = 0;
  for (int us = 0; us <= timing_us_max; us++)
    if (2 * (seen += timing->counts[us]) >= timing->total) return us / 1000.0;
  return 0;
}
