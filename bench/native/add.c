/* The loops of the elementwise benchmark in C, for a limit to measure against: ./add <floats> <rounds> */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

__attribute__((noinline)) static void add(float *restrict out, const float *a, const float *b, size_t n) {
  for (size_t i = 0; i < n; i++) out[i] = a[i] + b[i];
}

static int ascending(const void *x, const void *y) {
  double a = *(const double *)x, b = *(const double *)y;
  return a < b ? -1 : a > b;
}

int main(int argc, char **argv) {
  size_t n = argc > 1 ? strtoull(argv[1], 0, 10) : 1 << 24;
  int rounds = argc > 2 ? atoi(argv[2]) : 15;
  size_t repeats = n < (1 << 20) ? (1 << 22) / n : 1;
  float *a = aligned_alloc(64, n * 4), *b = aligned_alloc(64, n * 4), *out = aligned_alloc(64, n * 4);
  double *times = malloc(rounds * sizeof(double));
  for (size_t i = 0; i < n; i++) a[i] = i % 1000, b[i] = 1, out[i] = 0;
  add(out, a, b, n);
  for (int r = 0; r < rounds; r++) {
    double start = now();
    for (size_t k = 0; k < repeats; k++) add(out, a, b, n);
    times[r] = (now() - start) / repeats;
  }
  qsort(times, rounds, sizeof(double), ascending);
  printf("%.6f\n", times[rounds / 2]);
  return out[n / 2] == 0;
}
