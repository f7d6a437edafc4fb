/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* policy_fuzz.c: any bytes are read as a policy; started by run.py.
 *
 * what      learn/policy_read.c itself, with the checksum of the first bytes corrected if the input says so, so that
 *           the code behind the checksum is reached. Every accepted row must be allowed by leader.h.
 */
#include <stdlib.h>
#include <string.h>

#include "learn/policy_read.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct hak_policy g_policy;

static const uint8_t *g_data;
static size_t g_left;
static char g_sealed[1 << 16];

static void must(bool holds) {
  if (!holds) abort();
}

void hak_big_restore(const struct hak_learnt *learnt) {
  must(learnt->arm < HAK_ARMS && learnt->row.weight != 0 && learnt->row.weight <= HAK_LEADER_WEIGHT_MOST);
  must(learnt->bin < HAK_LEADER_BINS || (learnt->bin == HAK_ANY && learnt->address == 0));
  for (unsigned arm = 0; arm < HAK_ARMS; arm++) must(learnt->row.paid[arm] <= HAK_LEADER_PAID_MOST);
}

static struct hak_site sites[HAK_SITES];
struct hak_site *g_site_table = sites;
unsigned hak_site_end(void) { return 2; }

bool hak_big_has_learnt(const struct hak_learnt *learnt) { return learnt->bin % 2 == 0; }

void hak_big_join(const struct hak_learnt *learnt) { hak_big_restore(learnt); }

/* Of learn/rows.c a row of the most numbers, and a row of the widest. */
#define PAID {0, HAK_LEADER_PAID_MOST}
static const struct hak_row_bound level[] = {{0, 9}, {0, 7}, {1, 32768}, PAID, PAID, PAID, PAID, PAID, PAID, PAID, PAID};
static const struct hak_row_bound wide[] = {{16, 1ull << 40}, {0, UINT64_MAX}};
static const struct hak_row_kind kinds[] = {{"level runs", 0, 0, 1, 11, level, NULL, NULL}, {"class", 0, 1, 1, 2, wide, NULL, NULL}};
const struct hak_row_kind *hak_row_kind(unsigned n) { return n < 2 ? &kinds[n] : NULL; }

uint32_t hak_rows_counting(void) { return 3; }
void hak_tune_forget_file(void) {}

bool hak_row_in(const struct hak_row_kind *kind, const uint64_t *number, enum hak_row_use use) {
  must(use <= HAK_ROW_JOIN);
  for (unsigned i = 0; i < kind->numbers; i++)
    must(number[i] >= kind->bound[i].least && number[i] <= kind->bound[i].most);
  return number[0] % 2 == 0;
}

/* Kept lines of other processes' sites would be read again. */
static void keep(void *to, const char *line, size_t bytes) {
  (void)to;
  must(bytes < HAK_POLICY_LINE && memchr(line, '\n', bytes) == NULL);
  must(memcmp(line, "site ", 5) == 0 || memcmp(line, "bin ", 4) == 0 || memcmp(line, "process ", 8) == 0 ||
       memcmp(line, "module ", 7) == 0 || memcmp(line, "level runs ", 11) == 0 || memcmp(line, "class ", 6) == 0);
}

long hak_trusted_open(const char *path, const char **why) {
  *why = NULL;
  must(path != NULL);
  return 3;
}

/* As a pipe delivers: some bytes at a time. */
long hak_text_read(long descriptor, char *text, size_t bytes) {
  size_t n = g_left < bytes ? g_left : bytes;
  must(descriptor == 3);
  if (n > 100) n = 100;
  if (n != 0) memcpy(text, g_data, n);
  g_data += n;
  g_left -= n;
  return (long)n;
}

void hak_text_close(long descriptor) { must(descriptor == 3); }

static void read_all(const uint8_t *data, size_t size) {
  for (enum hak_row_use use = HAK_ROW_HAS; use <= HAK_ROW_JOIN; use++) {
    g_data = data;
    g_left = size;
    struct hak_policy_read result = *read_file("policy", use);
    must(result.error == 0 || (result.error == EINVAL && result.line != 0) ||
         (result.error == EPROTONOSUPPORT && result.line == 1 && result.why != NULL));
    must(result.foreign + result.stale <= result.sites && result.sites <= result.rows);
  }
  g_data = data;
  g_left = size;
  memset(&g_policy.reader, 0, sizeof g_policy.reader);
  g_policy.reader.visit = keep;
  read_whole("policy");
}

static size_t seal(const uint8_t *data, size_t size) {
  unsigned lines = 0;
  char sum[17];
  if (size > sizeof g_sealed - 64) return 0;
  memcpy(g_sealed, data, size);
  for (size_t i = 0; i < size; i++) lines += data[i] == '\n';
  uint64_t value = hak_sum(HAK_SUM_FIRST, g_sealed, size);
  for (int i = 0; i < 16; i++) sum[i] = "0123456789abcdef"[value >> (60 - 4 * i) & 15];
  sum[16] = '\0';
  char *at = g_sealed + size, digits[11];
  unsigned n = 0;
  memcpy(at, "end ", 4), at += 4;
  do digits[n++] = (char)('0' + lines % 10);
  while ((lines /= 10) != 0);
  while (n != 0) *at++ = digits[--n];
  *at++ = ' ';
  memcpy(at, sum, 16), at += 16;
  *at++ = '\n';
  return (size_t)(at - g_sealed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  g_policy.modules = 1;
  memcpy(g_policy.module[0].name, "prog", 5);
  g_policy.module[0].id_bytes = 2;
  g_policy.module[0].id[0] = g_policy.module[0].id[1] = 0xab;
  read_all(data, size);
  size_t sealed = seal(data, size);
  if (sealed != 0) read_all((const uint8_t *)g_sealed, sealed);
  return 0;
}
