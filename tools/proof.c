/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* proof.c: maps and fills the record of proof.h.
 *
 * what      Part of libhakprobe.so and of libhakident.so.
 * owner     The process; see proof.h.
 * locks     None; runs once, before the process has a second thread or under the probe's start lock.
 * orders    As in proof.h.
 * hot path  None.
 * failure   A private record that no reader sees; the program runs on.
 * not here  Counting. No function here calls malloc: only kernel calls, dlsym, dladdr and snprintf of short numbers.
 */
#define _GNU_SOURCE
#include "proof.h"
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static struct proof private_record;
static struct proof *record = &private_record;

static bool in_this_library(void *address)
{
  Dl_info there;
  Dl_info here;
  return dladdr(address, &there) != 0 && dladdr(&private_record, &here) != 0 && there.dli_fbase == here.dli_fbase;
}

#ifdef __GLIBC__
static const ElfW(Sym) *symbol_at(void *address)
{
  Dl_info info;
  void *symbol = NULL;
  return dladdr1(address, &info, &symbol, RTLD_DL_SYMENT) != 0 ? symbol : NULL;
}
#else /* musl tells no symbol's entry: there a stub counts as the program's own malloc */
static const ElfW(Sym) *symbol_at(void *address) { return (void)address, NULL; }
#endif

/* A program that takes malloc's address may define a stub of that name, which leads to the next definition. */
static bool only_a_stub(void *address)
{
  const ElfW(Sym) *symbol = symbol_at(address);
  return symbol != NULL && symbol->st_shndx == SHN_UNDEF;
}

void *proof_serving(const char *name)
{
  void *seen = dlsym(RTLD_DEFAULT, name);
  if (seen == NULL || in_this_library(seen) || only_a_stub(seen))
    return dlsym(RTLD_NEXT, name);
  return seen;
}

static void note_path_of(const char *name, char *path)
{
  Dl_info info;
  void *address = proof_serving(name);
  if (address != NULL && dladdr(address, &info) != 0 && info.dli_fname != NULL)
    strncpy(path, info.dli_fname, proof_path_bytes - 1);
}

static void note_exe(char *path)
{
  if (readlink("/proc/self/exe", path, proof_path_bytes - 1) < 0)
    path[0] = '\0';
}

/* Beyond ulimit -f the kernel sends SIGXFSZ, which would end the program. */
static bool may_end_at(off_t end)
{
  struct rlimit limit;
  return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || (rlim_t)end <= limit.rlim_cur;
}

/* Grows the file by one record and returns the record's offset; -1 on failure. The used part is allocated on the disk:
 * a full disk must show here, not as SIGBUS in the program. */
static off_t append_record(int file)
{
  struct stat now;
  if (fstat(file, &now) != 0 || !may_end_at(now.st_size + proof_record_bytes))
    return -1;
  if (ftruncate(file, now.st_size + proof_record_bytes) != 0)
    return -1;
  return posix_fallocate(file, now.st_size, proof_used_bytes) == 0 ? now.st_size : -1;
}

static struct proof *map_record(const char *path)
{
  int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0)
    return &private_record;
  off_t at = append_record(file);
  void *mapped = at < 0 ? MAP_FAILED : mmap(NULL, proof_used_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, at);
  close(file);
  return mapped == MAP_FAILED ? &private_record : mapped;
}

static struct proof *own_record(void)
{
  char path[4096];
  const char *stem = getenv("HAKPROBE_FILE");
  if (stem == NULL || stem[0] == '\0')
    return &private_record;
  int length = snprintf(path, sizeof path, "%s.%d", stem, (int)getpid());
  return length > 0 && (size_t)length < sizeof path ? map_record(path) : &private_record;
}

static void note_forked_child(void)
{
  uint64_t before = __atomic_fetch_add(&record->forks, 1, __ATOMIC_RELAXED);
  if (before < proof_forks_listed)
    record->forked_pid[before] = (uint32_t)getpid();
}

struct proof *proof_open(enum proof_mode mode)
{
  record = own_record();
  record->record_bytes = proof_record_bytes;
  record->mode = (uint32_t)mode;
  record->pid = (uint64_t)getpid();
  note_exe(record->exe);
  note_path_of("malloc", record->malloc_path);
  note_path_of("free", record->free_path);
  memcpy(record->magic, "HAKPRF01", sizeof record->magic);
  pthread_atfork(NULL, NULL, note_forked_child);
  return record;
}
