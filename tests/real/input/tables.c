/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A C file with enough code to keep a compiler's allocator busy: macro-made functions, nested loops, switches.
 * cases/gcc.py compiles, links and runs the file. -DWRONG makes the compilation fail with messages. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TABLE(name, type, mix)                                                                                   \
  struct name {                                                                                                  \
    type *keys;                                                                                                  \
    uint32_t used, size;                                                                                         \
  };                                                                                                             \
  static uint32_t name##_slot(const struct name *t, type key) {                                                  \
    uint32_t at = (uint32_t)(mix) & (t->size - 1);                                                               \
    while (t->keys[at] && t->keys[at] != key) at = (at + 1) & (t->size - 1);                                     \
    return at;                                                                                                   \
  }                                                                                                              \
  static void name##_grow(struct name *t) {                                                                      \
    struct name bigger = {calloc((size_t)t->size * 2, sizeof(type)), 0, t->size * 2};                            \
    for (uint32_t i = 0; i < t->size; i++)                                                                       \
      if (t->keys[i]) bigger.keys[name##_slot(&bigger, t->keys[i])] = t->keys[i], bigger.used++;                 \
    free(t->keys);                                                                                               \
    *t = bigger;                                                                                                 \
  }                                                                                                              \
  static int name##_add(struct name *t, type key) {                                                              \
    if (t->used * 2 >= t->size) name##_grow(t);                                                                  \
    uint32_t at = name##_slot(t, key);                                                                           \
    if (t->keys[at]) return 0;                                                                                   \
    t->keys[at] = key;                                                                                           \
    t->used++;                                                                                                   \
    return 1;                                                                                                    \
  }                                                                                                              \
  static uint64_t name##_run(uint32_t n) {                                                                       \
    struct name t = {calloc(8, sizeof(type)), 0, 8};                                                             \
    uint64_t sum = 0;                                                                                            \
    for (uint32_t i = 1; i <= n; i++) sum += (uint64_t)name##_add(&t, (type)(i * 2654435761u | 1u)) * i;         \
    for (uint32_t i = 0; i < t.size; i++) sum = sum * 31 + (uint64_t)t.keys[i];                                  \
    free(t.keys);                                                                                                \
    return sum;                                                                                                  \
  }

TABLE(u8, uint8_t, key * 7u)
TABLE(u16, uint16_t, key * 40503u)
TABLE(u32, uint32_t, key * 2654435761u >> 7)
TABLE(u64, uint64_t, key * 11400714819323198485ull >> 40)
TABLE(s16, int16_t, (uint16_t)key * 193u)
TABLE(s32, int32_t, (uint32_t)key ^ (uint32_t)key >> 15)
TABLE(s64, int64_t, (uint64_t)key ^ (uint64_t)key >> 31)

static double matrix_trace(int n) {
  double a[24][24], b[24][24], c[24][24];
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) a[i][j] = i + j * 0.5, b[i][j] = i * 0.25 - j;
  memset(c, 0, sizeof c);
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      for (int k = 0; k < n; k++) c[i][j] += a[i][k] * b[k][j];
  double trace = 0;
  for (int i = 0; i < n; i++) trace += c[i][i];
  return trace;
}

static int machine(const char *code) {
  int stack[64], top = 0;
  for (; *code; code++) switch (*code) {
    case '+': top--, stack[top - 1] += stack[top]; break;
    case '-': top--, stack[top - 1] -= stack[top]; break;
    case '*': top--, stack[top - 1] *= stack[top]; break;
    case '%': top--, stack[top - 1] %= stack[top]; break;
    case 'd': stack[top] = stack[top - 1], top++; break;
    case 's': { int t = stack[top - 1]; stack[top - 1] = stack[top - 2], stack[top - 2] = t; } break;
    default: stack[top++] = *code - '0';
    }
  return stack[0];
}

#ifdef WRONG
static int unused_and_wrong(unsigned x) {
  int y;
  if (x < 0) return y;
  return missing_function(x) + undeclared;
}
#endif

int main(void) {
  printf("%llu\n", (unsigned long long)(u8_run(100) ^ u16_run(9000) ^ u32_run(50000) ^ u64_run(50000)));
  printf("%llu\n", (unsigned long long)(s16_run(9000) ^ s32_run(50000) ^ s64_run(50000)));
  printf("%.3f %d\n", matrix_trace(24), machine("12+d*34*-5%"));
  return 0;
}
