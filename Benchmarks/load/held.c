/* Holds connections in the ways that attackers and bad networks do, until its input ends.

   usage: held PORT CONNECTIONS [PATH]
   A third of them send nothing, a third send half a head, a third ask for PATH again and again
   and read nothing of the answers. Prints how many are open, then waits. What the relay closes is
   not opened again. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static void fail(const char *what) {
  perror(what);
  exit(1);
}

int main(int argc, char **argv) {
  if (argc < 3) return 2;
  int count = atoi(argv[2]);
  struct rlimit files;
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(argv[1]))};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  char asking[16384] = "", one[256];
  snprintf(one, sizeof one, "GET %s HTTP/1.1\r\nHost: relay\r\n\r\n", argc > 3 ? argv[3] : "/status");
  while (strlen(asking) + strlen(one) < sizeof asking) strcat(asking, one);
  int opened = 0;
  for (int index = 0; index < count; index++) {
    int number = socket(AF_INET, SOCK_STREAM, 0);
    if (number < 0) fail("socket");
    int small = 4096;
    if (index % 3 == 2) setsockopt(number, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    if (connect(number, (struct sockaddr *)&address, sizeof address) < 0) fail("connect");
    const char *half = "POST /v1/envelopes HTTP/1.1\r\nHost: rel";
    if (index % 3 == 1 && send(number, half, strlen(half), MSG_NOSIGNAL) < 0) fail("send");
    if (index % 3 == 2 && send(number, asking, strlen(asking), MSG_NOSIGNAL | MSG_DONTWAIT) < 0 &&
        errno != EAGAIN)
      fail("send");
    opened++;
  }
  printf("%d\n", opened);
  fflush(stdout);
  char byte;
  while (read(0, &byte, 1) > 0) continue;
  return 0;
}
