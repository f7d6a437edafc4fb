/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* registered.c: a program that registers unwind tables, as a compiler at run time does, while its calls are sampled. libgcc
 * sorts new tables at the next unwinding, in memory that it asks for while it holds its lock: a sample of that call must
 * not need libgcc. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unwind.h>

#include "observe.h"

extern void __register_frame(void *);

enum { TABLES = 400, FUNCTIONS = 500, FUNCTION_BYTES = 64, RECORD_BYTES = 32 };

struct common { /* what all functions of a table share: DWARF's CIE, version 1 */
  uint32_t bytes, id;
  uint8_t version, augmentation, code_align, data_align, return_column, rules[11];
};
struct function { /* DWARF's FDE */
  uint32_t bytes, common_offset;
  uint64_t address, length;
  uint8_t padding[RECORD_BYTES - 24];
};
struct table {
  struct common common;
  struct function function[FUNCTIONS];
  uint32_t end;
};
_Static_assert(sizeof(struct common) == 24 && sizeof(struct function) == RECORD_BYTES, "DWARF");

static struct table *new_table(uint64_t code) {
  static const uint8_t rules[] = {0x0c, 7, 8}; /* the frame is at rsp + 8; then nothing */
  struct table *table = calloc(1, sizeof *table);
  work_expect(table != NULL, "no memory");
  table->common = (struct common){.bytes = sizeof table->common - 4, .version = 1, .code_align = 1, .data_align = 0x78,
                                  .return_column = 16};
  memcpy(table->common.rules, rules, sizeof rules);
  for (int n = 0; n < FUNCTIONS; n++) {
    struct function *function = &table->function[n];
    function->bytes = sizeof *function - 4;
    function->common_offset = (uint32_t)((char *)&function->common_offset - (char *)table);
    function->address = code + (uint64_t)n * FUNCTION_BYTES;
    function->length = FUNCTION_BYTES;
  }
  return table;
}

static _Unwind_Reason_Code pass(struct _Unwind_Context *context, void *to) {
  (void)context, (void)to;
  return _URC_NO_REASON;
}

int main(void) {
  const size_t bytes = (size_t)TABLES * FUNCTIONS * FUNCTION_BYTES;
  char *code = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  work_expect(code != MAP_FAILED, "mmap");
  for (int n = 0; n < TABLES; n++) {
    __register_frame(new_table((uint64_t)(uintptr_t)code + (uint64_t)n * FUNCTIONS * FUNCTION_BYTES));
    _Unwind_Backtrace(pass, NULL);
  }
  puts("done");
  return 0;
}
