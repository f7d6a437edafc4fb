/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* fake_os.c: a kernel layer that fails on demand.
 *
 * what      See fake_os.h.
 * owner     fake_os.
 * locks     None: one thread at a time.
 * failure   As ordered.
 */
#include "fake_os.h"

#include <errno.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "os/costs.h"
#include "os/os.h"

struct fake_os fake_os;

void fake_os_reset(void) {
  fake_os = (struct fake_os){.now_ms = 1000,
                             .mapped_bytes = fake_os.mapped_bytes,
                             .randoms = fake_os.randoms,
                             .page_bytes = fake_os.page_bytes};
}

void fake_os_refuse(enum fake_os_call call) { fake_os.fail_from[call] = fake_os.calls[call] + 1; }
void fake_os_refuse_once(enum fake_os_call call, uint64_t n) { fake_os.fail_only[call] = fake_os.calls[call] + n; }
void fake_os_permit(enum fake_os_call call) { fake_os.fail_only[call] = fake_os.fail_from[call] = 0; }

static bool refused(enum fake_os_call call) {
  uint64_t n = ++fake_os.calls[call], from = fake_os.fail_from[call];
  return n == fake_os.fail_only[call] || (from != 0 && n >= from);
}

/* What begins inside one of the machine's pages, where pages are said to be shorter, continues a mapping that was made
 * before: that part is there. Mapped are whole pages of the machine: the kernel maps no less, and qemu-user answers
 * advice with 0 and does nothing where the length of a mapping ends inside a page. */
static void *from_kernel(void *where, size_t bytes, int flags) {
  const size_t page = getauxval(AT_PAGESZ);
  size_t inside = -(uintptr_t)where % page, there = inside < bytes ? inside : bytes;
  size_t whole = (bytes - there + page - 1) / page * page;
  char *at = (char *)where + (where == NULL ? 0 : there), *p = at;
  int kind = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags;
  if (there < bytes) p = mmap(where == NULL ? NULL : at, whole, PROT_READ | PROT_WRITE, kind, -1, 0);
  if (p == MAP_FAILED) return NULL;
  fake_os.mapped_bytes += bytes;
  return where == NULL ? p : p - there;
}

size_t hak_os_page_bytes(void) { return fake_os.page_bytes != 0 ? fake_os.page_bytes : getauxval(AT_PAGESZ); }

bool hak_os_is_strict(void) { return false; }

void *hak_os_map(size_t bytes) { return refused(FAKE_MAP) ? NULL : from_kernel(NULL, bytes, 0); }

bool hak_os_map_at(void *where, size_t bytes, bool *taken) {
  *taken = false;
  if (refused(FAKE_MAP_AT)) return false;
  errno = 0;
  void *p = from_kernel(where, bytes, fake_os.stray ? 0 : MAP_FIXED_NOREPLACE);
  if (p == where) return true;
  *taken = p != NULL || errno == EEXIST;
  if (p != NULL) hak_os_unmap(p, bytes);
  return false;
}

bool hak_os_extend(void *end, size_t bytes) {
  (void)end, (void)bytes;
  return false;
}

bool hak_os_unmap(void *p, size_t bytes) {
  if (refused(FAKE_UNMAP) || munmap(p, bytes) != 0) return false;
  fake_os.last_unmapped = p;
  fake_os.last_unmapped_bytes = bytes;
  fake_os.mapped_bytes -= bytes;
  return true;
}

bool hak_os_populate(void *p, size_t bytes, bool write) {
  if (fake_os.populates && write) memset(p, 0, bytes);
  return fake_os.populates;
}

/* Parts of the machine's pages are cleared. */
static bool purge(void *p, size_t bytes) {
  if ((((uintptr_t)p | bytes) & (getauxval(AT_PAGESZ) - 1)) == 0) return madvise(p, bytes, MADV_DONTNEED) == 0;
  memset(p, 0, bytes);
  return true;
}

bool hak_os_purge(void *p, size_t bytes) {
  fake_os.last_purged = p;
  fake_os.last_purged_bytes = bytes;
  if (refused(FAKE_PURGE)) return false;
  if (fake_os.on_purge != NULL) fake_os.on_purge(p, bytes);
  return purge(p, bytes);
}

uint64_t hak_os_purge_many(const struct hak_extent *extents, size_t n) {
  uint64_t done = 0;
  fake_os.purge_batches++;
  for (size_t i = 0; i < n; i++) done |= (uint64_t)hak_os_purge(extents[i].address, extents[i].bytes) << i;
  return done;
}

static bool advise(void *p, size_t bytes, enum fake_advice advice) {
  if (refused(FAKE_ADVISE)) return false;
  if (fake_os.on_advice != NULL) fake_os.on_advice(p, bytes, advice);
  return true;
}

bool hak_os_advise_huge(void *p, size_t bytes, bool on) { return advise(p, bytes, on ? FAKE_HUGE : FAKE_NO_HUGE); }
void hak_os_look_at_huge(bool none) { (void)none; }
void hak_os_unadvise_huge(void *p, size_t bytes) { fake_os.unadvised++, advise(p, bytes, FAKE_NO_HUGE); }
bool hak_os_advise_dump(void *p, size_t bytes, bool dump) { return advise(p, bytes, dump ? FAKE_DUMP : FAKE_NO_DUMP); }
struct hak_huge_modes g_huge_modes;
bool hak_os_huge_is_by_advice(void) { return true; }
bool hak_os_split_huge(void *part, size_t bytes) { return advise(part, bytes, FAKE_SPLIT); }
size_t hak_os_huge_bytes(void) { return fake_os.huge_bytes; }
uint32_t hak_os_processors(void) { return FAKE_PROCESSORS; }
void hak_os_run_anywhere(void) {}

static void *move_pages(void *p, size_t old_bytes, size_t new_bytes) {
  void *q = from_kernel(NULL, new_bytes, 0);
  if (q == NULL) return NULL;
  memcpy(q, p, old_bytes < new_bytes ? old_bytes : new_bytes);
  munmap(p, old_bytes);
  fake_os.mapped_bytes -= old_bytes;
  return q;
}

bool hak_os_is_guarded(void *page) { return page == fake_os.guarded; }

void *hak_os_remap(void *p, size_t old_bytes, size_t new_bytes) {
  if (refused(FAKE_REMAP)) return NULL;
  if (fake_os.remap_moves) return move_pages(p, old_bytes, new_bytes);
  void *q = mremap(p, old_bytes, new_bytes, MREMAP_MAYMOVE);
  if (q == MAP_FAILED) return fake_os.refused_moves++, NULL;
  fake_os.mapped_bytes += new_bytes - old_bytes;
  return q;
}

/* As hak_os requires; a newer kernel would move several mappings at once. */
static bool is_one_mapping(char *p, size_t bytes) {
  return mremap(p, bytes, (size_t)(uintptr_t)p, 0) != MAP_FAILED || errno != EFAULT;
}

bool hak_os_is_plain(void *p, size_t bytes) { return is_one_mapping(p, bytes) && !hak_os_is_guarded(p); }

/* A second thread maps in time. */
static enum hak_os_moved tear(void *at, size_t bytes) {
  munmap(at, bytes);
  fake_os.mapped_bytes -= bytes;
  memset(from_kernel(at, bytes, MAP_FIXED_NOREPLACE), FAKE_TORN_BYTE, bytes);
  fake_os.torn = at;
  fake_os.torn_bytes = bytes;
  return HAK_OS_TORN;
}

enum hak_os_moved hak_os_move(void *from, size_t bytes, void *to) {
  if (refused(FAKE_MOVE)) return fake_os.tears ? tear(to, bytes) : HAK_OS_STAYED;
  if (!is_one_mapping(from, bytes) || mremap(from, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, to) == MAP_FAILED) {
    fake_os.refused_moves++;
    return HAK_OS_STAYED;
  }
  fake_os.mapped_bytes -= bytes; /* the former mapping there is gone */
  return HAK_OS_MOVED;
}

bool hak_os_measure(struct hak_os_costs *out) {
  fake_os.measurements++;
  *out = (struct hak_os_costs){fake_os.call_ns, fake_os.page_ns, fake_os.move_ns};
  return fake_os.page_ns != 0;
}

uint64_t hak_os_now_ms(void) { return fake_os.now_ms; }
uint64_t hak_os_now_ns(void) { return fake_os.now_ms * 1000000 + (fake_os.looked_ns += fake_os.look_ns); }
uint64_t hak_os_process_id(void) { return (uint64_t)getpid(); }
uint64_t hak_os_thread_id(void) { return (uint64_t)gettid(); }
uint64_t hak_os_random(void) { return (0x123456789abcdefu + fake_os.randoms++ * 0x1000003u) * (uint64_t)getpid(); }
void hak_os_write_err(const char *text, size_t bytes) { (void)!write(STDERR_FILENO, text, bytes); }
void hak_os_tally_shown(uint64_t *first) { (void)first; }
void hak_os_tally(enum hak_os_call call) { (void)call; }
uint64_t hak_os_tallied(enum hak_os_call call) { return (void)call, 0; }
