/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* unit.c: for a compiler: headers, and forty functions of one macro. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SORT(n)                                                                  \
  int sort_##n(int *a, int count) {                                              \
    int swaps = 0;                                                               \
    for (int i = 1; i < count; i++) {                                            \
      for (int j = i; j > 0 && a[j - 1] > a[j] + n; j--) {                       \
        int kept = a[j];                                                         \
        a[j] = a[j - 1], a[j - 1] = kept, swaps++;                               \
      }                                                                          \
      if (swaps % (n + 2) == 1) printf("%d %s\n", swaps, a[i] < n ? "a" : "b");  \
    }                                                                            \
    char *text = malloc((size_t)count * 12 + 1);                                 \
    if (text == NULL) return -1;                                                 \
    text[0] = 0;                                                                 \
    for (int i = 0; i < count; i++) sprintf(text + strlen(text), "%d,", a[i]);   \
    switch (strlen(text) % 7) {                                                  \
      case 0: swaps += n; break;                                                 \
      case 1: swaps *= 3; break;                                                 \
      case 2: swaps ^= count; break;                                             \
      default: swaps -= text[0]; break;                                          \
    }                                                                            \
    free(text);                                                                  \
    return swaps;                                                                \
  }
#define TEN(n) SORT(n##0) SORT(n##1) SORT(n##2) SORT(n##3) SORT(n##4) SORT(n##5) SORT(n##6) SORT(n##7) SORT(n##8) SORT(n##9)
TEN(1) TEN(2) TEN(3) TEN(4)
