/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* meter.c: see meter.h.
 *
 * what      Reads files of /proc into buffers on the stack. The sampler is the only thread started.
 */
#define _GNU_SOURCE
#include "meter.h"
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { text_bytes = 4096, sample_ns = 1000000 };

static uint64_t clock_ns(clockid_t clock)
{
  struct timespec t;
  clock_gettime(clock, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t meter_now_ns(void)
{
  return clock_ns(CLOCK_MONOTONIC);
}

uint64_t meter_thread_ns(void)
{
  return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

static uint64_t faults(void)
{
  struct rusage used;
  getrusage(RUSAGE_SELF, &used);
  return (uint64_t)used.ru_minflt;
}

/* The number after `name` in a file of /proc; 0: none. */
static uint64_t number_in(const char *path, const char *name)
{
  char text[text_bytes];
  int file = open(path, O_RDONLY | O_CLOEXEC);
  ssize_t bytes = file < 0 ? 0 : read(file, text, sizeof text - 1);
  if (file >= 0)
    close(file);
  text[bytes < 0 ? 0 : bytes] = '\0';
  const char *found = strstr(text, name);
  return found == NULL ? 0 : strtoull(found + strlen(name), NULL, 10);
}

uint64_t meter_available_kib(void)
{
  return number_in("/proc/meminfo", "MemAvailable:");
}

static uint64_t resident_kib(void)
{
  return number_in("/proc/self/status", "VmRSS:");
}

/* Resets the high-water mark. */
static bool forget_peak(void)
{
  int file = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
  bool done = file >= 0 && write(file, "5", 1) == 1;
  if (file >= 0)
    close(file);
  return done;
}

/* ---- sampling, where the reset is not allowed ---- */

static struct {
  pthread_t thread;
  atomic_bool stop;
  uint64_t most_kib;
} sampler;

static void *sample(void *unused)
{
  (void)unused;
  while (!atomic_load(&sampler.stop)) {
    uint64_t now = resident_kib();
    if (now > sampler.most_kib)
      sampler.most_kib = now;
    nanosleep(&(struct timespec){0, sample_ns}, NULL);
  }
  return NULL;
}

static void start_sampler(void)
{
  atomic_store(&sampler.stop, false);
  sampler.most_kib = 0;
  if (pthread_create(&sampler.thread, NULL, sample, NULL) != 0)
    abort();
}

static uint64_t stop_sampler(void)
{
  uint64_t last = resident_kib();
  atomic_store(&sampler.stop, true);
  pthread_join(sampler.thread, NULL);
  return last > sampler.most_kib ? last : sampler.most_kib;
}

/* ---- measurement ---- */

void meter_start(struct meter *meter)
{
  *meter = (struct meter){.sampled = !forget_peak()};
  if (meter->sampled)
    start_sampler();
  meter->before_kib = resident_kib();
  meter->minflt = faults();
  meter->cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
  meter->wall_ns = meter_now_ns();
}

void meter_stop(struct meter *meter)
{
  meter->wall_ns = meter_now_ns() - meter->wall_ns;
  meter->cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - meter->cpu_ns;
  meter->minflt = faults() - meter->minflt;
  uint64_t most = meter->sampled ? stop_sampler() : number_in("/proc/self/status", "VmHWM:");
  meter->peak_kib = most > meter->before_kib ? most - meter->before_kib : 0;
}
