/* How fast memory can be read: the sum of all words, by so many threads. ./read <MiB> <threads> <rounds> → GB/s */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static uint64_t *data;
static size_t words, threads;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

static void *sum(void *argument) {
  size_t me = (size_t)argument, from = words / threads * me, to = words / threads * (me + 1);
  uint64_t a = 0, b = 0, c = 0, d = 0;
  for (size_t i = from; i < to; i += 4) a += data[i], b += data[i + 1], c += data[i + 2], d += data[i + 3];
  return (void *)(uintptr_t)(a + b + c + d);
}

static int ascending(const void *x, const void *y) {
  double a = *(const double *)x, b = *(const double *)y;
  return a < b ? -1 : a > b;
}

int main(int argc, char **argv) {
  size_t bytes = (argc > 1 ? strtoull(argv[1], 0, 10) : 64) << 20;
  threads = argc > 2 ? strtoull(argv[2], 0, 10) : 1;
  int rounds = argc > 3 ? atoi(argv[3]) : 15;
  words = bytes / 8;
  data = aligned_alloc(64, bytes);
  double *times = malloc(rounds * sizeof(double));
  for (size_t i = 0; i < words; i++) data[i] = i;
  uintptr_t all = 0;
  for (int r = 0; r < rounds; r++) {
    pthread_t ids[64];
    double start = now();
    for (size_t t = 1; t < threads; t++) pthread_create(&ids[t], 0, sum, (void *)t);
    all += (uintptr_t)sum(0);
    for (size_t t = 1; t < threads; t++) {
      void *part;
      pthread_join(ids[t], &part);
      all += (uintptr_t)part;
    }
    times[r] = now() - start;
  }
  qsort(times, rounds, sizeof(double), ascending);
  printf("%.3f\n", bytes / times[rounds / 2] / 1e6);
  return all == 1;
}
