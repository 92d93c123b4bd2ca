/* The ceiling of the disk: the same bytes appended to a file, with one fdatasync for each batch.

   usage: disk-append FILE BATCH BYTES SECONDS
   Appends BATCH pieces of BYTES with one write and one fdatasync, again and again for a number of
   seconds. Prints one line of JSON: pieces a second, and the 50th percentile of the time that a
   batch took. The file begins anew once it is large, and is removed at the end. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <unistd.h>

#include "../load/common.h"

static const long file_bytes_max = 4L << 30;

int main(int argc, char **argv) {
  if (argc != 5) return 2;
  long batch = atol(argv[2]), piece = atol(argv[3]);
  double duration = atof(argv[4]);
  if (batch < 1 || piece < 1 || batch > file_bytes_max / piece) return 2;
  size_t length = (size_t)(batch * piece);
  char *bytes = malloc(length);
  memset(bytes, 'x', length);
  int file = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (file < 0) fail(argv[1]);
  struct timing timing = start_timing();
  long written = 0, size = 0;
  double start = seconds(), now = start;
  while (now - start < duration) {
    if (size + (long)length > file_bytes_max) {
      if (ftruncate(file, 0) < 0 || lseek(file, 0, SEEK_SET) < 0) fail("ftruncate");
      size = 0;
    }
    for (size_t done = 0; done < length;) {
      ssize_t count = write(file, bytes + done, length - done);
      if (count <= 0) fail("write");
      done += (size_t)count;
    }
    if (fdatasync(file) < 0) fail("fdatasync");
    size += (long)length;
    written += batch;
    double then = now;
    now = seconds();
    note_time(&timing, now - then);
  }
  printf("{\"rate\": %.1f, \"p50Ms\": %.3f}\n", (double)written / (now - start),
         median_ms(&timing));
  unlink(argv[1]);
  return 0;
}
