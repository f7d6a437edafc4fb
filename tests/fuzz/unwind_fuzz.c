/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* unwind_fuzz.c: any bytes are a module's .eh_frame_hdr and .eh_frame; see tests/README.md.
 *
 * what      record/unwind_table.c itself, on a segment that ends with the input's bytes. A header that linkers do not
 *           write, or with more rows than fit, is refused as by unwind_modules.c.
 *
 *               4 bytes: four distances of instructions [16 bytes]     the rest: the segment, the header at its begin
 */
#include <stdlib.h>

#include "record/unwind_table.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds) {
  if (!holds) abort();
}

static void check_rule(const struct hak_unwind_table *table, uint64_t pc) {
  struct hak_unwind_rule rule, again;
  memset(&rule, 0, sizeof rule);
  memset(&again, 0, sizeof again);
  hak_unwind_rule_at(table, pc, &rule);
  hak_unwind_rule_at(table, pc, &again);
  must(rule.cfa <= HAK_CFA_END && rule.cfa != HAK_CFA_CHAIN);
  must(rule.cfa == again.cfa && rule.at == again.at && rule.fp == again.fp && rule.other == again.other);
  must(rule.at <= INT32_MAX / 8 && rule.at >= INT32_MIN / 8);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  enum { DISTANCES = 4 };
  if (size < DISTANCES + HAK_UNWIND_HEADER_BYTES) return 0;
  size_t bytes = size - DISTANCES;
  uint8_t *segment = malloc(bytes);
  memcpy(segment, data + DISTANCES, bytes);
  struct hak_unwind_table table = {(uintptr_t)segment, (uintptr_t)segment, (uintptr_t)segment + bytes, 0};
  bool usual = hak_unwind_takes_header(segment, &table.count);
  if (usual && table.count <= (bytes - HAK_UNWIND_HEADER_BYTES) / 8) {
    for (unsigned n = 0; n < DISTANCES; n++) check_rule(&table, table.header + (uint64_t)(int8_t)data[n] * 16);
    check_rule(&table, 0);
    check_rule(&table, UINT64_MAX);
  }
  free(segment);
  return 0;
}
