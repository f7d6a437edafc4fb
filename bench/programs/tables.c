/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* tables.c: the benchmark's source for gcc: 32 hash tables and sorts, made by macros.
 *
 * The benchmark only compiles this file, but the program would run.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TABLE(n, key_type, value_type)                                                                \
    struct entry_##n {                                                                                \
        key_type key;                                                                                 \
        value_type value;                                                                             \
        struct entry_##n *next;                                                                       \
    };                                                                                                \
    struct table_##n {                                                                                \
        struct entry_##n **bucket;                                                                    \
        size_t buckets, entries;                                                                      \
    };                                                                                                \
    static size_t place_##n(const struct table_##n *t, key_type key)                                  \
    {                                                                                                 \
        uint64_t hash = 14695981039346656037u;                                                        \
        for (unsigned i = 0; i < sizeof key; i++)                                                     \
            hash = (hash ^ ((uint64_t)key >> (8 * i) & 255)) * 1099511628211u;                        \
        return (size_t)(hash % t->buckets);                                                           \
    }                                                                                                 \
    static void grow_##n(struct table_##n *t)                                                         \
    {                                                                                                 \
        struct table_##n wide = {calloc(2 * t->buckets + 7, sizeof *t->bucket), 2 * t->buckets + 7, 0}; \
        for (size_t i = 0; i < t->buckets; i++) {                                                     \
            while (t->bucket[i] != NULL) {                                                            \
                struct entry_##n *one = t->bucket[i];                                                 \
                t->bucket[i] = one->next;                                                             \
                size_t at = place_##n(&wide, one->key);                                               \
                one->next = wide.bucket[at];                                                          \
                wide.bucket[at] = one;                                                                \
                wide.entries++;                                                                       \
            }                                                                                         \
        }                                                                                             \
        free(t->bucket);                                                                              \
        *t = wide;                                                                                    \
    }                                                                                                 \
    static value_type *find_##n(struct table_##n *t, key_type key)                                    \
    {                                                                                                 \
        if (t->entries >= t->buckets)                                                                 \
            grow_##n(t);                                                                              \
        size_t at = place_##n(t, key);                                                                \
        for (struct entry_##n *one = t->bucket[at]; one != NULL; one = one->next)                     \
            if (one->key == key)                                                                      \
                return &one->value;                                                                   \
        struct entry_##n *fresh = malloc(sizeof *fresh);                                              \
        *fresh = (struct entry_##n){key, (value_type)0, t->bucket[at]};                               \
        t->bucket[at] = fresh;                                                                        \
        t->entries++;                                                                                 \
        return &fresh->value;                                                                         \
    }                                                                                                 \
    static void sort_##n(value_type *v, size_t count)                                                 \
    {                                                                                                 \
        for (size_t gap = count / 2; gap > 0; gap /= 2) {                                             \
            for (size_t i = gap; i < count; i++) {                                                    \
                value_type kept = v[i];                                                               \
                size_t j = i;                                                                         \
                for (; j >= gap && v[j - gap] > kept; j -= gap)                                       \
                    v[j] = v[j - gap];                                                                \
                v[j] = kept;                                                                          \
            }                                                                                         \
        }                                                                                             \
    }                                                                                                 \
    static double total_##n(void)                                                                     \
    {                                                                                                 \
        struct table_##n t = {NULL, 0, 0};                                                            \
        value_type all[100];                                                                          \
        double sum = 0;                                                                               \
        for (unsigned i = 0; i < 1000; i++)                                                           \
            *find_##n(&t, (key_type)(i * i % 100 + n)) += (value_type)i;                              \
        for (unsigned i = 0; i < 100; i++)                                                            \
            all[i] = *find_##n(&t, (key_type)(i + n));                                                \
        sort_##n(all, 100);                                                                           \
        for (unsigned i = 0; i < 100; i++)                                                            \
            sum += (double)all[i] * i;                                                                \
        return sum;                                                                                   \
    }

#define FOUR(a, b, c, d)         \
    TABLE(a, uint16_t, double)   \
    TABLE(b, int32_t, int64_t)   \
    TABLE(c, uint64_t, float)    \
    TABLE(d, unsigned char, int)

FOUR(10, 11, 12, 13)
FOUR(20, 21, 22, 23)
FOUR(30, 31, 32, 33)
FOUR(40, 41, 42, 43)
FOUR(50, 51, 52, 53)
FOUR(60, 61, 62, 63)
FOUR(70, 71, 72, 73)
FOUR(80, 81, 82, 83)

#define SUM(d) (total_##d##0() + total_##d##1() + total_##d##2() + total_##d##3())

int main(void)
{
    printf("%g\n", SUM(1) + SUM(2) + SUM(3) + SUM(4) + SUM(5) + SUM(6) + SUM(7) + SUM(8));
    return 0;
}
