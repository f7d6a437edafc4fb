/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* lines.c: a tool for valgrind that counts what threads cost one another.
 *
 * what      Of the calls of malloc and free that a program marks by client requests (turns.c), in all code that they run,
 *           an allocator's, libc's, a linker's stub: how many instructions there are, how many of them are locked, how
 *           often a lock is taken, and how many loads and stores meet a line of cache that another thread wrote last;
 *           and the most instructions for which a lock is held.
 *
 *               store by thread 2 to a line that thread 1 wrote last    counts; now thread 2 has the line
 *               load by thread 2 of a line that thread 1 wrote last     counts, once until the next store
 *               a word changed from 0 by a locked instruction,          a lock was taken
 *               and 0 again at the end of the call, or when the
 *               next locked instruction of the call changes it
 *
 *           Loads and stores of all code move lines; only those of a marked call count. An instruction that loads and
 *           stores, as a locked addition does, counts in both. Valgrind runs one thread at a time, so the counts
 *           depend on the order of the threads alone, which turns.c sets. Of the instructions, those of the
 *           allocator's library (--object=FILE, or FILE,FILE) are told apart, as a proof that it served.
 * owner     A record per line that was ever stored to.
 * failure   A store that crosses two lines counts as one of the first. Of more than 16 locks in a call the rest are lost.
 * not here  Times, misses by size, and the kernel's own work.
 */
#include "pub_tool_basics.h"
#include "pub_tool_debuginfo.h"
#include "pub_tool_hashtable.h"
#include "pub_tool_libcassert.h"
#include "pub_tool_libcbase.h"
#include "pub_tool_libcprint.h"
#include "pub_tool_machine.h"
#include "pub_tool_mallocfree.h"
#include "pub_tool_options.h"
#include "pub_tool_threadstate.h"
#include "pub_tool_tooliface.h"

#include "requests.h"

enum { LINE_SHIFT = 6, THREAD_BITS = 64, LOCKS = 16 };

struct line {
  struct line *next; /* of the hash table, as the key */
  UWord key;
  ThreadId writer;
  ULong seen; /* a bit for each thread that has the line as it is now */
};

static const HChar *option_object = "";
static VgHashTable *g_lines;
static Bool g_measuring;
static UWord g_inside; /* 1: within a call that counts */
static struct {
  ULong instructions, own, locked, locks, stores, loads;
} g_sum;
static ULong g_request; /* instructions of an empty call: those of the requests around it */

/* Words that were 0 until a locked instruction of this call changed them. */
static struct lock {
  Addr at;
  UWord bytes;
  ULong taken, before, dropped; /* instructions until then; the last two: until the last stores to the word */
} g_lock[LOCKS];
static UInt g_locks;
static ULong g_longest; /* instructions for which a lock was held */

static struct line *line_of(Addr a) {
  UWord key = a >> LINE_SHIFT;
  struct line *line = VG_(HT_lookup)(g_lines, key);
  if (line != NULL) return line;
  line = VG_(malloc)("line", sizeof *line);
  *line = (struct line){.key = key};
  VG_(HT_add_node)(g_lines, line);
  return line;
}

static ULong bit_of(ThreadId t) { return (ULong)1 << t % THREAD_BITS; }

static VG_REGPARM(1) void note_store(Addr a) {
  ThreadId t = VG_(get_running_tid)();
  for (UInt i = 0; i < g_locks; i++) {
    if (g_lock[i].at != a) continue;
    g_lock[i].before = g_lock[i].dropped;
    g_lock[i].dropped = g_sum.instructions;
  }
  struct line *line = line_of(a);
  if (g_inside && line->writer != 0 && line->writer != t) g_sum.stores++;
  line->writer = t;
  line->seen = bit_of(t);
}

static VG_REGPARM(1) void note_load(Addr a) {
  struct line *line = VG_(HT_lookup)(g_lines, a >> LINE_SHIFT);
  if (line == NULL) return; /* no store so far */
  ULong mine = bit_of(VG_(get_running_tid)());
  if (line->seen & mine) return;
  g_sum.loads += g_inside;
  line->seen |= mine;
}

static void note_fence(void) { g_sum.locked += g_inside; }

/* ---- locks ---- */

static Bool is_zero(Addr at, UWord bytes) {
  UWord word = 0;
  VG_(memcpy)(&word, (const void *)at, bytes);
  return word == 0;
}

static void note_held(const struct lock *lock, ULong dropped) {
  g_sum.locks++;
  if (dropped - lock->taken > g_longest) g_longest = dropped - lock->taken;
}

/* The lock at this address, or room for one more; NULL: there is none. */
static struct lock *lock_at(Addr at) {
  UInt i = 0;
  while (i < g_locks && g_lock[i].at != at) i++;
  return i < LOCKS ? &g_lock[i] : NULL;
}

/* After a locked instruction, which found `old` in the word. The last store to the word before was its drop, if it was
 * taken before in this call. */
static VG_REGPARM(3) void note_locked(Addr at, UWord bytes, UWord old) {
  g_sum.locked += g_inside;
  if (!g_inside || old != 0 || is_zero(at, bytes)) return;
  struct lock *lock = lock_at(at);
  if (lock == NULL) return;
  if (lock < g_lock + g_locks) note_held(lock, lock->before);
  else g_locks++;
  *lock = (struct lock){at, bytes, g_sum.instructions, g_sum.instructions, g_sum.instructions};
}

static void end_locks(void) {
  for (UInt i = 0; i < g_locks; i++) {
    if (is_zero(g_lock[i].at, g_lock[i].bytes)) note_held(&g_lock[i], g_lock[i].dropped);
  }
  g_locks = 0;
}

/* ---- instrumentation ---- */

static void call(IRSB *out, const HChar *name, void *helper, IRExpr *address) {
  addStmtToIRSB(out, IRStmt_Dirty(unsafeIRDirty_0_N(1, name, VG_(fnptr_to_fnentry)(helper), mkIRExprVec_1(address))));
}

static void call_fence(IRSB *out) {
  addStmtToIRSB(out, IRStmt_Dirty(unsafeIRDirty_0_N(0, "fence", VG_(fnptr_to_fnentry)(note_fence), mkIRExprVec_0())));
}

static IRExpr *widened(IRSB *out, IRTemp value) {
  IRType type = typeOfIRTemp(out->tyenv, value);
  IROp op = type == Ity_I8 ? Iop_8Uto64 : type == Ity_I16 ? Iop_16Uto64 : Iop_32Uto64;
  if (type == Ity_I64) return IRExpr_RdTmp(value);
  IRTemp wide = newIRTemp(out->tyenv, Ity_I64);
  addStmtToIRSB(out, IRStmt_WrTmp(wide, IRExpr_Unop(op, IRExpr_RdTmp(value))));
  return IRExpr_RdTmp(wide);
}

/* Of a pair of words the first may be a lock. */
static void call_locked(IRSB *out, const IRCAS *cas) {
  UWord bytes = (UWord)sizeofIRType(typeOfIRTemp(out->tyenv, cas->oldLo));
  IRExpr **arguments = mkIRExprVec_3(cas->addr, mkIRExpr_HWord(bytes), widened(out, cas->oldLo));
  addStmtToIRSB(out, IRStmt_Dirty(unsafeIRDirty_0_N(3, "locked", VG_(fnptr_to_fnentry)(note_locked), arguments)));
}

/* Adds g_inside to a sum. */
static void count_instruction(IRSB *out, ULong *sum) {
  IRTemp before = newIRTemp(out->tyenv, Ity_I64), after = newIRTemp(out->tyenv, Ity_I64);
  IRTemp more = newIRTemp(out->tyenv, Ity_I64);
  IRExpr *at = mkIRExpr_HWord((HWord)sum);
  addStmtToIRSB(out, IRStmt_WrTmp(before, IRExpr_Load(Iend_LE, Ity_I64, at)));
  addStmtToIRSB(out, IRStmt_WrTmp(more, IRExpr_Load(Iend_LE, Ity_I64, mkIRExpr_HWord((HWord)&g_inside))));
  addStmtToIRSB(out, IRStmt_WrTmp(after, IRExpr_Binop(Iop_Add64, IRExpr_RdTmp(before), IRExpr_RdTmp(more))));
  addStmtToIRSB(out, IRStmt_Store(Iend_LE, at, IRExpr_RdTmp(after)));
}

/* True if the name is among those of the option. */
static Bool is_asked_for(const HChar *name) {
  SizeT length = VG_(strlen)(name);
  for (const HChar *at = option_object; (at = VG_(strstr)(at, name)) != NULL; at += length) {
    Bool begins = at == option_object || at[-1] == ',', ends = at[length] == 0 || at[length] == ',';
    if (begins && ends) return True;
  }
  return False;
}

static Bool is_in_object(Addr a) {
  const HChar *name;
  if (!VG_(get_objname)(VG_(current_DiEpoch)(), a, &name)) return False;
  const HChar *slash = VG_(strrchr)(name, '/');
  return is_asked_for(slash != NULL ? slash + 1 : name);
}

static void instrument_before(IRSB *out, IRStmt *s) {
  switch (s->tag) {
    case Ist_WrTmp:
      if (s->Ist.WrTmp.data->tag == Iex_Load) call(out, "load", note_load, s->Ist.WrTmp.data->Iex.Load.addr);
      break;
    case Ist_LoadG: call(out, "load", note_load, s->Ist.LoadG.details->addr); break;
    case Ist_Store: call(out, "store", note_store, s->Ist.Store.addr); break;
    case Ist_StoreG: call(out, "store", note_store, s->Ist.StoreG.details->addr); break;
    case Ist_CAS: call(out, "store", note_store, s->Ist.CAS.details->addr); break;
    case Ist_MBE:
      if (s->Ist.MBE.event == Imbe_Fence) call_fence(out);
      break;
    default: break;
  }
}

static void instrument_after(IRSB *out, IRStmt *s) {
  if (s->tag == Ist_CAS) call_locked(out, s->Ist.CAS.details);
  if (s->tag != Ist_IMark) return;
  count_instruction(out, &g_sum.instructions);
  if (is_in_object(s->Ist.IMark.addr)) count_instruction(out, &g_sum.own);
}

static IRSB *instrument(VgCallbackClosure *closure, IRSB *in, const VexGuestLayout *layout,
                        const VexGuestExtents *extents, const VexArchInfo *host, IRType word, IRType host_word) {
  (void)closure, (void)layout, (void)extents, (void)host, (void)word, (void)host_word;
  IRSB *out = deepCopyIRSBExceptStmts(in);
  for (Int i = 0; i < in->stmts_used; i++) {
    IRStmt *s = in->stmts[i];
    if (s == NULL || s->tag == Ist_NoOp) continue;
    instrument_before(out, s);
    addStmtToIRSB(out, s);
    instrument_after(out, s);
  }
  return out;
}

/* ---- the tool ---- */

static void end_call(void) {
  g_inside = 0;
  g_sum.instructions -= g_request;
  end_locks();
}

/* The call between the first two requests is empty. */
static void measure_request(void) {
  g_request = g_sum.instructions;
  g_sum.instructions = 0;
}

static Bool take_request(ThreadId tid, UWord *arguments, UWord *answer) {
  (void)tid;
  if (!VG_IS_TOOL_USERREQ('H', 'L', arguments[0])) return False;
  *answer = 1;
  switch (arguments[0]) {
    case LINES_BEGIN: g_measuring = True; break;
    case LINES_END: g_measuring = False; break;
    case LINES_CALL: g_inside = g_measuring || g_request == 0; break;
    case LINES_RETURN:
      if (g_inside) end_call();
      if (g_request == 0) measure_request();
      break;
    default: return False;
  }
  return True;
}

static Bool take_option(const HChar *argument) {
  if VG_STR_CLO (argument, "--object", option_object) return True;
  return False;
}

static void print_usage(void) { VG_(printf)("    --object=FILE,...         the allocator's libraries\n"); }
static void print_debug_usage(void) {}
static void begin(void) {}

static void finish(Int status) {
  (void)status;
  VG_(umsg)("own=%llu instructions=%llu locked=%llu locks=%llu stores=%llu loads=%llu longest=%llu\n", g_sum.own,
            g_sum.instructions, g_sum.locked, g_sum.locks, g_sum.stores, g_sum.loads, g_longest);
}

static void prepare(void) {
  VG_(details_name)("lines");
  VG_(details_version)(NULL);
  VG_(details_description)("lines of cache that threads take from one another");
  VG_(details_copyright_author)("The authors of HAKMEM");
  VG_(details_bug_reports_to)("the project's issues");
  VG_(basic_tool_funcs)(begin, instrument, finish);
  VG_(needs_command_line_options)(take_option, print_usage, print_debug_usage);
  VG_(needs_client_requests)(take_request);
  g_lines = VG_(HT_construct)("lines");
}

VG_DETERMINE_INTERFACE_VERSION(prepare)
