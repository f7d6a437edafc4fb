/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* lines.c: a tool for valgrind that counts what threads cost one another.
 *
 * what      Of the instructions of an allocator's library (--object=FILE, or FILE,FILE), between two client requests
 *           (turns.c): how many there are, how many of them are locked, and how many loads and stores meet a line of
 *           cache that another thread wrote last.
 *
 *               store by thread 2 to a line that thread 1 wrote last    counts; now thread 2 has the line
 *               load by thread 2 of a line that thread 1 wrote last     counts, once until the next store
 *
 *           Loads and stores of all code move lines; only those of the object count. An instruction that loads and
 *           stores, as a locked addition does, counts in both. Valgrind runs one thread at a time,
 *           so what is counted depends on the order of the threads alone, which turns.c sets.
 * owner     A record per line that was ever stored to.
 * failure   A store that crosses two lines counts as one of the first.
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

enum { LINE_SHIFT = 6, THREAD_BITS = 64 };

struct line {
  struct line *next; /* of the hash table, as the key */
  UWord key;
  ThreadId writer;
  ULong seen; /* a bit for each thread that has the line as it is now */
};

static const HChar *option_object = "";
static VgHashTable *g_lines;
static Bool g_measuring;
static struct {
  ULong instructions, locked, stores, loads;
} g_sum;
static ULong g_instructions; /* of the object, measured or not */
static ULong g_begun;

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

static VG_REGPARM(2) void note_store(Addr a, UWord counts) {
  ThreadId t = VG_(get_running_tid)();
  struct line *line = line_of(a);
  if (counts && g_measuring && line->writer != 0 && line->writer != t) g_sum.stores++;
  line->writer = t;
  line->seen = bit_of(t);
}

static VG_REGPARM(2) void note_load(Addr a, UWord counts) {
  struct line *line = VG_(HT_lookup)(g_lines, a >> LINE_SHIFT);
  if (line == NULL) return; /* no store so far */
  ULong mine = bit_of(VG_(get_running_tid)());
  if (line->seen & mine) return;
  if (counts && g_measuring) g_sum.loads++;
  line->seen |= mine;
}

static void note_locked(void) { g_sum.locked += g_measuring; }

/* ---- instrumentation ---- */

static void call(IRSB *out, const HChar *name, void *helper, IRExpr *address, Bool counts) {
  IRExpr **arguments = mkIRExprVec_2(address, mkIRExpr_HWord(counts));
  addStmtToIRSB(out, IRStmt_Dirty(unsafeIRDirty_0_N(2, name, VG_(fnptr_to_fnentry)(helper), arguments)));
}

static void call_locked(IRSB *out) {
  addStmtToIRSB(out, IRStmt_Dirty(unsafeIRDirty_0_N(0, "locked", VG_(fnptr_to_fnentry)(note_locked), mkIRExprVec_0())));
}

/* Adds one to g_instructions. */
static void count_instruction(IRSB *out) {
  IRTemp before = newIRTemp(out->tyenv, Ity_I64), after = newIRTemp(out->tyenv, Ity_I64);
  IRExpr *at = mkIRExpr_HWord((HWord)&g_instructions);
  addStmtToIRSB(out, IRStmt_WrTmp(before, IRExpr_Load(Iend_LE, Ity_I64, at)));
  IRExpr *sum = IRExpr_Binop(Iop_Add64, IRExpr_RdTmp(before), IRExpr_Const(IRConst_U64(1)));
  addStmtToIRSB(out, IRStmt_WrTmp(after, sum));
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

static void instrument_statement(IRSB *out, IRStmt *s, Bool counts) {
  switch (s->tag) {
    case Ist_WrTmp:
      if (s->Ist.WrTmp.data->tag == Iex_Load) call(out, "load", note_load, s->Ist.WrTmp.data->Iex.Load.addr, counts);
      break;
    case Ist_LoadG: call(out, "load", note_load, s->Ist.LoadG.details->addr, counts); break;
    case Ist_Store: call(out, "store", note_store, s->Ist.Store.addr, counts); break;
    case Ist_StoreG: call(out, "store", note_store, s->Ist.StoreG.details->addr, counts); break;
    case Ist_CAS:
      call(out, "store", note_store, s->Ist.CAS.details->addr, counts);
      if (counts) call_locked(out);
      break;
    case Ist_MBE:
      if (counts && s->Ist.MBE.event == Imbe_Fence) call_locked(out);
      break;
    default: break;
  }
}

static IRSB *instrument(VgCallbackClosure *closure, IRSB *in, const VexGuestLayout *layout,
                        const VexGuestExtents *extents, const VexArchInfo *host, IRType word, IRType host_word) {
  (void)closure, (void)layout, (void)extents, (void)host, (void)word, (void)host_word;
  IRSB *out = deepCopyIRSBExceptStmts(in);
  Bool counts = False;
  for (Int i = 0; i < in->stmts_used; i++) {
    IRStmt *s = in->stmts[i];
    if (s == NULL || s->tag == Ist_NoOp) continue;
    if (s->tag == Ist_IMark) {
      counts = is_in_object(s->Ist.IMark.addr);
      addStmtToIRSB(out, s);
      if (counts) count_instruction(out);
      continue;
    }
    instrument_statement(out, s, counts);
    addStmtToIRSB(out, s);
  }
  return out;
}

/* ---- the tool ---- */

static Bool take_request(ThreadId tid, UWord *arguments, UWord *answer) {
  (void)tid;
  if (!VG_IS_TOOL_USERREQ('H', 'L', arguments[0])) return False;
  if (arguments[0] == LINES_BEGIN) g_begun = g_instructions;
  else g_sum.instructions += g_instructions - g_begun;
  g_measuring = arguments[0] == LINES_BEGIN;
  *answer = 1;
  return True;
}

static Bool take_option(const HChar *argument) {
  if VG_STR_CLO (argument, "--object", option_object) return True;
  return False;
}

static void print_usage(void) { VG_(printf)("    --object=FILE,...         count instructions of these libraries\n"); }
static void print_debug_usage(void) {}
static void begin(void) {}

static void finish(Int status) {
  (void)status;
  VG_(umsg)("instructions=%llu locked=%llu stores=%llu loads=%llu\n", g_sum.instructions, g_sum.locked, g_sum.stores,
            g_sum.loads);
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
