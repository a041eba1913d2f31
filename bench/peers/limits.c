/* What the machine can do at most: copying, reading and multiply-adding, by 1 and by N threads. Prints one JSON line. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef float v8 __attribute__((vector_size(32)));
enum { COUNT = 1 << 24, ROUNDS = 7, CHAINS = 10, STEPS = 400000 };
static float *from, *to;
static int threads;
static pthread_barrier_t start, done;
static void (*work)(int);
static volatile float sink;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + t.tv_nsec * 1e-9;
}

static void copy(int k) {
  size_t part = COUNT / threads;
  memcpy(to + k * part, from + k * part, part * sizeof(float));
}

static void read_all(int k) {
  size_t part = COUNT / threads;
  const v8 *p = (const v8 *)(from + k * part);
  v8 a = {0}, b = {0}, c = {0}, d = {0};
  for (size_t i = 0; i + 4 <= part / 8; i += 4) a += p[i], b += p[i + 1], c += p[i + 2], d += p[i + 3];
  a += b + c + d;
  sink = a[0] + a[5];
}

/* Ten independent chains, in registers: the asm says that each value is used, so nothing is left out or reordered. */
#define EACH(DO) DO(x0) DO(x1) DO(x2) DO(x3) DO(x4) DO(x5) DO(x6) DO(x7) DO(x8) DO(x9)
#define START(x) v8 x = m;
#define STEP(x) x = x * m + c; __asm__ volatile("" : "+x"(x));
#define ADD(x) m += x;
static void multiply_add(int k) {
  v8 m, c;
  for (int i = 0; i < 8; i++) m[i] = 0.999f, c[i] = 0.001f * k;
  EACH(START)
  for (int i = 0; i < STEPS; i++) {
    EACH(STEP)
  }
  EACH(ADD)
  sink = m[0];
}

static void *loop(void *arg) {
  for (;;) {
    pthread_barrier_wait(&start);
    if (work == NULL) return NULL;
    work((int)(long)arg);
    pthread_barrier_wait(&done);
  }
}

static double best(void (*fn)(int)) {
  double least = 1e9;
  work = fn;
  for (int r = 0; r < ROUNDS; r++) {
    double t = now();
    pthread_barrier_wait(&start);
    fn(0);
    pthread_barrier_wait(&done);
    t = now() - t;
    if (r > 0 && t < least) least = t;
  }
  return least;
}

static void measure(int n, const char *name, int last) {
  pthread_t ids[256];
  threads = n;
  pthread_barrier_init(&start, NULL, n);
  pthread_barrier_init(&done, NULL, n);
  for (long k = 1; k < n; k++) pthread_create(&ids[k], NULL, loop, (void *)k);
  double c = best(copy), r = best(read_all), f = best(multiply_add);
  work = NULL;
  pthread_barrier_wait(&start);
  for (int k = 1; k < n; k++) pthread_join(ids[k], NULL);
  double bytes = COUNT * sizeof(float);
  printf("\"%s\":{\"copy\":%.3f,\"read\":%.3f,\"multiplyAdd\":%.3f}%s", name, 2 * bytes / c / 1e9, bytes / r / 1e9,
         2.0 * 8 * CHAINS * (double)STEPS * n / f / 1e9, last ? "" : ",");
}

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 2;
  from = aligned_alloc(64, COUNT * sizeof(float));
  to = aligned_alloc(64, COUNT * sizeof(float));
  for (int i = 0; i < COUNT; i++) from[i] = i & 1023, to[i] = 0;
  printf("{");
  measure(1, "one", 0);
  measure(n, "all", 1);
  printf("}\n");
  return 0;
}
