/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* unwind_table.c: the frame at an instruction, by the tables that compilers write for exceptions.
 *
 * what      See unwind_table.h.
 */
#include "record/unwind_table.h"

#include <string.h>

#include "arch/arch.h"
#include "base/bits.h"

/* ---- bytes ---- */

/* Reads beyond the end give zeros. */
struct cursor {
  const uint8_t *at, *end;
};

static bool has_more(const struct cursor *from) { return from->at < from->end; }

static bool skips(struct cursor *from, size_t n) {
  bool has = (size_t)(from->end - from->at) >= n;
  from->at = has ? from->at + n : from->end;
  return has;
}

#define TAKE_WORD(name, type)                       \
  static type name(struct cursor *from) {           \
    type value;                                     \
    if (!skips(from, sizeof value)) return 0;       \
    memcpy(&value, from->at - sizeof value, sizeof value); \
    return value;                                   \
  }
TAKE_WORD(take_byte, uint8_t)
TAKE_WORD(take_2, uint16_t)
TAKE_WORD(take_4, uint32_t)
TAKE_WORD(take_8, uint64_t)

static uint64_t take_leb(struct cursor *from, unsigned *bits) {
  uint64_t byte = take_byte(from), value = byte & 0x7f;
  for (*bits = 7; byte >= 0x80 && *bits < 63; *bits += 7) {
    byte = take_byte(from);
    value |= (byte & 0x7f) << *bits;
  }
  return value;
}

static uint64_t take_uleb(struct cursor *from) {
  unsigned bits;
  return take_leb(from, &bits);
}

static int64_t take_sleb(struct cursor *from) {
  unsigned bits;
  uint64_t value = take_leb(from, &bits);
  bool negative = (value >> (bits - 1) & 1) != 0;
  return (int64_t)(negative ? value | ~(uint64_t)0 << bits : value);
}

/* An address in one of the forms that the CIE may choose (DW_EH_PE_): its size, its sign, what it is relative to. */
enum { ABSOLUTE = 0x00, RELATIVE = 0x10, FORM = 0x0f, OMITTED = 0xff };

static uint64_t take_form(struct cursor *from, unsigned form) {
  switch (form & FORM) {
    case 0x00: case 0x04: case 0x0c: return take_8(from);
    case 0x01: return take_uleb(from);
    case 0x02: return take_2(from);
    case 0x03: return take_4(from);
    case 0x09: return (uint64_t)take_sleb(from);
    case 0x0a: return (uint64_t)(int16_t)take_2(from);
    case 0x0b: return (uint64_t)(int32_t)take_4(from);
    default: return 0;
  }
}

static uint64_t take_pointer(struct cursor *from, unsigned form) {
  uint64_t at = (uintptr_t)from->at, value = take_form(from, form);
  return (form & 0x70) == RELATIVE ? at + value : value;
}

/* ---- the state of a program ---- */

enum kind { AS_IT_IS, SAVED_AT_CFA, SAVED_AT_FP, LOST, UNDEFINED };
struct saved {
  int32_t at; /* [bytes] */
  uint8_t kind;
};
enum { FP, OTHER, RETURN, REGISTERS };
struct state {
  uint8_t cfa; /* enum hak_cfa; CFA_SP by register while the program runs */
  uint8_t base; /* the register's number */
  int32_t at;   /* [bytes] */
  struct saved saved[REGISTERS];
};

enum { NESTED = 3 };
struct program {
  uint64_t pc, reached;
  uint64_t code_align;
  int64_t data_align;
  bool broken, signal;
  unsigned depth;
  struct state now, first, kept[NESTED];
};

/* NULL: a register that finds no frame. */
static struct saved *saved_of(struct state *state, uint64_t number) {
  if (number == HAK_ARCH_DWARF_FP) return &state->saved[FP];
  if (number == HAK_ARCH_DWARF_OTHER) return &state->saved[OTHER];
  return number == HAK_ARCH_DWARF_RETURN ? &state->saved[RETURN] : NULL;
}

static void save_register(struct program *program, uint64_t number, enum kind kind, int64_t at) {
  struct saved *saved = saved_of(&program->now, number);
  if (saved != NULL) *saved = (struct saved){(int32_t)at, (uint8_t)kind};
}

static void restore_register(struct program *program, uint64_t number) {
  struct saved *saved = saved_of(&program->now, number);
  if (saved != NULL) *saved = *saved_of(&program->first, number);
}

static void define_cfa(struct program *program, uint64_t number, int64_t at) {
  program->now.cfa = HAK_CFA_SP;
  program->now.base = (uint8_t)hak_min(number, UINT8_MAX);
  program->now.at = (int32_t)at;
}

/* ---- expressions ---- */

enum { DEREF = 0x06, BREG = 0x70 };

/* The CFA of a stub of the procedure linkage table: 8 bytes higher behind its push, at byte n of 16.
 * breg7 8; breg16 0; lit15; and; litN; ge; lit3; shl; plus */
static bool is_stub(struct cursor from, unsigned *n) {
  static const uint8_t stub[] HAK_RARE_CONSTANT = {0x77, 8, 0x80, 0, 0x3f, 0x1a, 0, 0x2a, 0x33, 0x24, 0x22};
  if ((size_t)(from.end - from.at) != sizeof stub) return false;
  for (unsigned i = 0; i < sizeof stub; i++) {
    if (i != 6 && from.at[i] != stub[i]) return false;
  }
  *n = from.at[6] - 0x30u;
  return true;
}

/* Of those that compilers write: the word at fp + n, of a function that aligns its stack, and that of stubs. */
static void define_cfa_by(struct program *program, struct cursor from) {
  unsigned n;
  if (is_stub(from, &n)) {
    define_cfa(program, HAK_ARCH_DWARF_SP, (program->pc & 15) >= n ? 16 : 8);
    return;
  }
  uint8_t op = take_byte(&from);
  program->now.at = (int32_t)take_sleb(&from);
  bool is_word = take_byte(&from) == DEREF && !has_more(&from);
  program->now.cfa = op == BREG + HAK_ARCH_DWARF_FP && is_word ? HAK_CFA_AT_FP : HAK_CFA_NONE;
}

static void save_by(struct program *program, uint64_t number, struct cursor from) {
  uint8_t op = take_byte(&from);
  int64_t at = take_sleb(&from);
  bool known = op == BREG + HAK_ARCH_DWARF_FP && !has_more(&from);
  save_register(program, number, known ? SAVED_AT_FP : LOST, at);
}

static struct cursor take_counted(struct cursor *from) {
  uint64_t bytes = take_uleb(from);
  struct cursor block = {from->at, from->at};
  skips(from, bytes);
  block.end = from->at;
  return block;
}

/* ---- operations ---- */

enum {
  ADVANCE = 1, OFFSET = 2, RESTORE = 3, /* in the two upper bits */
  SET_LOC = 0x01, ADVANCE_1, ADVANCE_2, ADVANCE_4, OFFSET_EXTENDED, RESTORE_EXTENDED, GONE, SAME, MOVED, REMEMBER,
  RECALL, DEF_CFA, DEF_CFA_REGISTER, DEF_CFA_OFFSET, DEF_CFA_BY, SAVE_BY, OFFSET_SIGNED, DEF_CFA_SIGNED,
  DEF_CFA_OFFSET_SIGNED, VALUE_OFFSET, VALUE_OFFSET_SIGNED, VALUE_BY, SIGNED_RETURN = 0x2d, ARGUMENTS = 0x2e
};

static void remember_state(struct program *program) {
  program->broken |= program->depth == NESTED;
  if (!program->broken) program->kept[program->depth++] = program->now;
}

static void recall_state(struct program *program) {
  program->broken |= program->depth == 0;
  if (!program->broken) program->now = program->kept[--program->depth];
}

static int64_t scaled(const struct program *program, uint64_t n) {
  return (int64_t)(n * (uint64_t)program->data_align);
}

static void define_frame(struct program *program, uint8_t op, struct cursor *from) {
  bool names_register = op == DEF_CFA || op == DEF_CFA_SIGNED || op == DEF_CFA_REGISTER;
  uint64_t number = names_register ? take_uleb(from) : program->now.base;
  int64_t at = program->now.at;
  if (op == DEF_CFA || op == DEF_CFA_OFFSET) at = (int64_t)take_uleb(from);
  if (op == DEF_CFA_SIGNED || op == DEF_CFA_OFFSET_SIGNED) at = scaled(program, (uint64_t)take_sleb(from));
  define_cfa(program, number, at);
}

static void save_one(struct program *program, uint8_t op, struct cursor *from) {
  uint64_t number = take_uleb(from);
  switch (op) {
    case OFFSET_EXTENDED: save_register(program, number, SAVED_AT_CFA, scaled(program, take_uleb(from))); break;
    case OFFSET_SIGNED: save_register(program, number, SAVED_AT_CFA, scaled(program, (uint64_t)take_sleb(from))); break;
    case RESTORE_EXTENDED: restore_register(program, number); break;
    case GONE: save_register(program, number, UNDEFINED, 0); break;
    case SAME: save_register(program, number, AS_IT_IS, 0); break;
    case SAVE_BY: save_by(program, number, take_counted(from)); break;
    case VALUE_BY: take_counted(from), save_register(program, number, LOST, 0); break;
    default: take_uleb(from), save_register(program, number, LOST, 0); break; /* MOVED, VALUE_OFFSET */
  }
}

/* False: the operation moves on. */
static bool changes_frame(struct program *program, uint8_t op, struct cursor *from) {
  switch (op) {
    case DEF_CFA: case DEF_CFA_REGISTER: case DEF_CFA_OFFSET: case DEF_CFA_SIGNED: case DEF_CFA_OFFSET_SIGNED:
      return define_frame(program, op, from), true;
    case DEF_CFA_BY: define_cfa_by(program, take_counted(from)); return true;
    case OFFSET_EXTENDED: case RESTORE_EXTENDED: case GONE: case SAME: case MOVED: case SAVE_BY: case OFFSET_SIGNED:
    case VALUE_OFFSET: case VALUE_OFFSET_SIGNED: case VALUE_BY: save_one(program, op, from); return true;
    case REMEMBER: remember_state(program); return true;
    case RECALL: recall_state(program); return true;
    default: return false;
  }
}

static void run_other(struct program *program, uint8_t op, struct cursor *from) {
  switch (op) {
    case 0: case SIGNED_RETURN: break;
    case ADVANCE_1: program->reached += take_byte(from) * program->code_align; break;
    case ADVANCE_2: program->reached += take_2(from) * program->code_align; break;
    case ADVANCE_4: program->reached += take_4(from) * program->code_align; break;
    case ARGUMENTS: take_uleb(from); break;
    default: program->broken = true; break; /* SET_LOC, and what came later */
  }
}

static void run_operation(struct program *program, struct cursor *from) {
  uint8_t op = take_byte(from), low = op & 0x3f;
  switch (op >> 6) {
    case ADVANCE: program->reached += low * program->code_align; break;
    case OFFSET: save_register(program, low, SAVED_AT_CFA, scaled(program, take_uleb(from))); break;
    case RESTORE: restore_register(program, low); break;
    default:
      if (!changes_frame(program, op, from)) run_other(program, op, from);
      break;
  }
}

/* Up to the instruction, of which the change just behind the last row that it reached is no part. */
static void run_program(struct program *program, struct cursor *from) {
  while (has_more(from) && program->reached <= program->pc && !program->broken) run_operation(program, from);
}

/* ---- records ---- */

/* The record that begins at `at`; empty: none, or of the form for more than 4 GiB. */
static struct cursor record_at(const struct hak_unwind_table *table, uint64_t at) {
  struct cursor none = {NULL, NULL};
  uint32_t bytes;
  if (at < table->first || at >= table->end || table->end - at < sizeof bytes) return none;
  const uint8_t *p = (const uint8_t *)(uintptr_t)at;
  memcpy(&bytes, p, sizeof bytes);
  if (bytes > table->end - at - sizeof bytes) return none;
  return (struct cursor){p + sizeof bytes, p + sizeof bytes + bytes};
}

/* What all functions of a CIE have in common. */
struct common {
  uint8_t pointer; /* form of addresses */
  bool has_data;   /* each function has bytes of its language */
};

/* The letters behind the 'z', each with its data in `data`. */
static void take_letters(struct common *common, struct program *program, const uint8_t *letter, struct cursor data) {
  for (; *letter != 0; letter++) {
    if (*letter == 'R') common->pointer = take_byte(&data);
    if (*letter == 'L') take_byte(&data);
    if (*letter == 'P') take_form(&data, take_byte(&data));
    program->signal |= *letter == 'S';
  }
}

/* Runs the CIE's own program. False: a CIE of no form that compilers write. */
static bool take_common(struct common *common, struct program *program, struct cursor from) {
  enum { OLD = 1, NEW = 3 };
  *common = (struct common){.pointer = ABSOLUTE};
  uint32_t id = take_4(&from);
  uint8_t version = take_byte(&from);
  if (id != 0 || (version != OLD && version != NEW)) return false;
  const uint8_t *letters = from.at;
  while (take_byte(&from) != 0) {
  }
  if (!has_more(&from) || (letters[0] != 0 && letters[0] != 'z')) return false;
  common->has_data = letters[0] == 'z';
  program->code_align = take_uleb(&from);
  program->data_align = take_sleb(&from);
  uint64_t column = version == OLD ? take_byte(&from) : take_uleb(&from);
  if (common->has_data) take_letters(common, program, letters + 1, take_counted(&from));
  program->pc = UINT64_MAX; /* it has no rows */
  run_program(program, &from);
  return column == HAK_ARCH_DWARF_RETURN;
}

/* Runs the program of the function at `record` up to pc. False: pc lies beyond the function, or tables are broken. */
static bool run_function(const struct hak_unwind_table *table, uint64_t record, uint64_t pc, struct program *program) {
  struct common common;
  struct cursor from = record_at(table, record);
  if (!has_more(&from)) return false;
  uint64_t here = (uintptr_t)from.at, back = take_4(&from);
  if (back == 0 || !take_common(&common, program, record_at(table, here - back))) return false;
  uint64_t first = take_pointer(&from, common.pointer), bytes = take_form(&from, common.pointer);
  if (pc - first >= bytes) return false;
  if (common.has_data) take_counted(&from);
  program->first = program->now;
  program->pc = pc;
  program->reached = first;
  run_program(program, &from);
  return !program->broken;
}

/* ---- the rule ---- */

/* Into words; false: not at a multiple. */
static bool to_words(int32_t bytes, int32_t *words) {
  *words = bytes / 8;
  return bytes % 8 == 0;
}

static void take_saved(const struct state *state, const struct saved *saved, int32_t *words, bool *lost) {
  enum kind relative = state->cfa == HAK_CFA_AT_FP ? SAVED_AT_FP : SAVED_AT_CFA;
  *words = 0;
  *lost = saved->kind != AS_IT_IS;
  if (saved->kind != relative) return;
  *lost = !to_words(saved->at, words);
  if (*lost) *words = 0;
}

static uint8_t cfa_of(const struct state *state) {
  if (state->cfa != HAK_CFA_SP) return state->cfa;
  if (state->base == HAK_ARCH_DWARF_SP) return HAK_CFA_SP;
  if (state->base == HAK_ARCH_DWARF_FP) return HAK_CFA_FP;
  return HAK_ARCH_CALL_PUSHES && state->base == HAK_ARCH_DWARF_OTHER ? HAK_CFA_OTHER : HAK_CFA_NONE;
}

/* True if the return address lies where calls write it. */
static bool returns_usually(const struct state *state) {
  const struct saved *saved = &state->saved[RETURN];
  return !HAK_ARCH_CALL_PUSHES || (saved->kind == SAVED_AT_CFA && saved->at == -8);
}

static void make_rule(const struct program *program, struct hak_unwind_rule *rule) {
  const struct state *state = &program->now;
  rule->cfa = cfa_of(state);
  take_saved(state, &state->saved[FP], &rule->fp, &rule->fp_lost);
  take_saved(state, &state->saved[OTHER], &rule->other, &rule->other_lost);
  if (rule->cfa == HAK_CFA_NONE || !to_words(state->at, &rule->at) || !returns_usually(state)) rule->cfa = HAK_CFA_END;
  if (state->saved[HAK_ARCH_CALL_PUSHES ? RETURN : OTHER].kind == UNDEFINED) rule->cfa = HAK_CFA_END;
  if (program->signal) rule->cfa = HAK_CFA_SIGNAL;
}

/* ---- the header ---- */

bool hak_unwind_takes_header(const uint8_t header[HAK_UNWIND_HEADER_BYTES], uint32_t *count) {
  enum { VERSION = 1, FOUR_BYTES = 0x03, TO_HEADER = 0x3b };
  bool is_usual = header[0] == VERSION && (header[1] & 0x07) == FOUR_BYTES && header[2] == FOUR_BYTES;
  memcpy(count, header + 8, sizeof *count);
  return is_usual && header[3] == TO_HEADER;
}

struct row {
  int32_t function, record; /* from the header */
};

/* Address of the record of the last function that begins at pc or below; 0: none. */
static uint64_t find_record(const struct hak_unwind_table *table, uint64_t pc) {
  const struct row *row = (const struct row *)(uintptr_t)(table->header + HAK_UNWIND_HEADER_BYTES);
  int64_t at = (int64_t)(pc - table->header);
  size_t low = 0, high = table->count;
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (row[middle].function <= at) low = middle + 1; else high = middle;
  }
  return low != 0 ? table->header + (uint64_t)(int64_t)row[low - 1].record : 0;
}

void hak_unwind_rule_at(const struct hak_unwind_table *table, uint64_t pc, struct hak_unwind_rule *rule) {
  struct program program;
  program.depth = 0;
  program.broken = program.signal = false;
  program.reached = 0;
  memset(&program.now, 0, sizeof program.now);
  *rule = (struct hak_unwind_rule){.cfa = HAK_CFA_NONE};
  uint64_t record = table->header != 0 ? find_record(table, pc) : 0;
  if (record != 0 && run_function(table, record, pc, &program)) make_rule(&program, rule);
}
