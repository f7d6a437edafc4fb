/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* profile_backtrace.c: return addresses of a call of malloc.
 *
 * what      See profile_backtrace.h. libgcc's unwinder is not linked, as then each process would load libgcc. The
 *           first profile opens libgcc_s.so.1, or gets the copy that the program has loaded.
 * owner     g_unwinder.
 */
#include "record/profile_backtrace.h"

#include <dlfcn.h>
#include <stddef.h>
#include <unwind.h>

#include "base/atomic.h"
#include "base/bits.h"
#include "os/catch.h"
#include "os/lookup.h"

typedef _Unwind_Reason_Code (*unwind_function)(_Unwind_Trace_Fn, void *);
typedef _Unwind_Ptr (*address_function)(struct _Unwind_Context *);
typedef void *(*open_function)(const char *, int);

static HAK_RARE struct {
  unwind_function unwind; /* NULL: no unwinder */
  address_function address;
  bool own; /* opened here, and so never closed */
} g_unwinder;

/* Room for HAKMEM's own frames, which precede the program's. */
enum { OWN_MOST = 24 };
struct walk {
  unsigned depth;
  uint64_t frame[HAK_BACKTRACE_MOST + OWN_MOST];
};

static _Unwind_Reason_Code note_frame(struct _Unwind_Context *context, void *to) {
  struct walk *walk = to;
  uint64_t address = g_unwinder.address(context);
  if (address == 0 || walk->depth == HAK_BACKTRACE_MOST + OWN_MOST) return _URC_END_OF_STACK;
  walk->frame[walk->depth++] = address;
  return _URC_NO_REASON;
}

void hak_backtrace_prepare(void) {
  hak_lookup_function *lookup = hak_load(&g_unwinder.own) ? NULL : hak_lookup();
  if (lookup == NULL) return;
  void *opener = lookup(RTLD_DEFAULT, "dlopen"); /* by lookup: the linker warns of the name dlopen */
  void *library = opener != NULL ? ((open_function)opener)("libgcc_s.so.1", RTLD_NOW | RTLD_LOCAL) : NULL;
  if (library == NULL) return;
  struct walk walk = {.depth = 0};
  void *address = lookup(library, "_Unwind_GetIP"), *unwind = lookup(library, "_Unwind_Backtrace");
  if (address == NULL || unwind == NULL) return;
  hak_store(&g_unwinder.address, (address_function)address);
  ((unwind_function)unwind)(note_frame, &walk);
  hak_store(&g_unwinder.own, true);
  hak_store_release(&g_unwinder.unwind, (unwind_function)unwind);
}

void hak_backtrace_take_unwinder(uintptr_t unwind, uintptr_t address) {
  if (hak_load(&g_unwinder.own)) return;
  if (address != 0) hak_store(&g_unwinder.address, (address_function)address);
  hak_store_release(&g_unwinder.unwind, (unwind_function)unwind);
}

static unsigned copy(uint64_t *frames, const uint64_t *from, unsigned n) {
  unsigned depth = (unsigned)hak_min(n, HAK_BACKTRACE_MOST);
  __builtin_memcpy(frames, from, depth * sizeof *frames);
  return depth;
}

static unsigned by_unwinding(uint64_t *frames, unwind_function unwind, uint64_t site) {
  struct walk walk;
  walk.depth = 0;
  unwind(note_frame, &walk);
  for (unsigned n = 0; n < walk.depth; n++) {
    if (walk.frame[n] == site) return copy(frames, walk.frame + n, walk.depth - n);
  }
  return 0;
}

/* The unwinder asks for memory under its lock, to sort the tables that a program registers (__register_frame): it must
 * not be entered again. What it consists of lies within some KiB (gcc 12: 7). */
static bool is_in_unwinder(const void *site, unwind_function unwind) {
  enum { NEAR = 16 << 10 };
  return (uintptr_t)site - (uintptr_t)unwind + NEAR < 2 * NEAR;
}

enum { PAGE_SHIFT = 12, STRIDE_MOST = 1 << 20 };

/* True if both words of a frame can be read. A page that was readable is not checked again. */
static bool can_read(const uint64_t *frame, uintptr_t *page) {
  uintptr_t last = (uintptr_t)(frame + 1) >> PAGE_SHIFT;
  if (last == *page && (uintptr_t)frame >> PAGE_SHIFT == last) return true;
  *page = last;
  return hak_os_is_readable(frame) && hak_os_is_readable(frame + 1);
}

static bool is_above(uint64_t next, const uint64_t *frame) {
  uint64_t at = (uint64_t)(uintptr_t)frame;
  return next > at && next - at < STRIDE_MOST && next % sizeof(uint64_t) == 0;
}

static unsigned by_frame_pointers(uint64_t *frames, const void *first) {
  const uint64_t *frame = first;
  unsigned depth = 1;
  for (uintptr_t page = 0; depth < HAK_BACKTRACE_MOST && is_above(*frame, frame);) {
    frame = (const uint64_t *)(uintptr_t)*frame;
    if (!can_read(frame, &page) || frame[1] == 0) break;
    bool own = depth == 1 && frame[1] == frames[0]; /* the program's call ended in a frame of HAKMEM */
    if (!own) frames[depth++] = frame[1];
  }
  return depth;
}

unsigned hak_backtrace_take(uint64_t frames[HAK_BACKTRACE_MOST], const void *site, const void *frame, bool by_frames) {
  unwind_function unwind = hak_load_acquire(&g_unwinder.unwind);
  unsigned depth = 0;
  bool unwinds = !by_frames && unwind != NULL && !is_in_unwinder(site, unwind);
  if (unwinds) depth = by_unwinding(frames, unwind, (uintptr_t)site);
  if (depth != 0) return depth;
  frames[0] = (uintptr_t)site;
  return by_frames && frame != NULL ? by_frame_pointers(frames, frame) : 1;
}
