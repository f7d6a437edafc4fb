/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* main.h: command line, repetitions and output of a benchmark program.
 *
 * what      PROGRAM list
 *           PROGRAM [ROW] [NUMBER...] [NAME=NUMBER...] [--seconds S] [--repetitions N] [--proof]
 *           Without ROW the first row runs. Numbers set the program's parameters in order, NAME=NUMBER sets the named
 *           parameter.
 *
 *               set up, warm up |--repetition--| |--repetition--| |--repetition--| ...   until S seconds are over
 *               printed         ns: the median repetition / its operations; ns_best: the shortest repetition
 *
 *           A row is warm when a repetition takes about as long as the repetition before, after four repetitions at the
 *           earliest. At least five repetitions are timed: on a busy machine the first alone may take S seconds.
 *           Warming up and timing each end after max(10 S, 2 s). --repetitions N: 1 repetition warms up, N are timed;
 *           --seconds 0: 1 and 1.
 *
 *           Every line of the output is NAME=VALUE: row, ns, ns_best, warm_ups, repetitions, operations, threads, the
 *           effective parameters, rss_kib (after the last repetition), the row's reports, the proof.
 * owner     A row per process.
 * hot path  timed_repetition is a separate function: callgrind collects inside this function only.
 * failure   One line on stderr and exit status 1; 2 for a wrong command line.
 * not here  Choosing allocators, runs, the table and the verdicts: `hakmem-lab bench`.
 */
#ifndef HAKMEM_BENCH_MAIN_H
#define HAKMEM_BENCH_MAIN_H

#include "base.h"
#include "proof.h"
#include "row.h"
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

enum { MOST_REPETITIONS = 1 << 16, LEAST_REPETITIONS = 5, LEAST_WARM_UPS = 4, MOST_WARM_UPS = 64, GIVE_UP = 10,
       LEAST_PATIENCE = 2 }; /* s */

struct program {
    const struct row *rows;
    unsigned row_count;
    const struct parameter *parameters;
    unsigned parameter_count;
};

struct order {
    double seconds;
    uint64_t repetitions; /* 0: as many as fit into the seconds */
    bool proof;
    unsigned numbers; /* set by position so far */
};

static double g_hop_ns; /* crew.h: the shortest hop of a cache line between two cores [ns], 0 if not measured */

_Noreturn static void usage(const char *wrong, const char *word)
{
    fprintf(stderr, "bench: %s%s; usage: list | [ROW] [NUMBER...] [NAME=NUMBER...] [--seconds S] [--repetitions N]"
            " [--proof]\n", wrong, word);
    exit(2);
}

/* ---- reading the command line ---- */

static uint64_t whole_number(const char *text, uint64_t least, uint64_t most)
{
    char *end;
    errno = 0;
    uint64_t value = strtoull(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || text[0] == '-' || value < least || value > most)
        usage("not a number in range: ", text);
    return value;
}

static double seconds_of(const char *text)
{
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end != '\0' || !(value >= 0 && value <= 86400))
        usage("not a number of seconds: ", text);
    return value;
}

static void set_parameter(const struct program *p, const char *word, const char *equals)
{
    size_t length = (size_t)(equals - word);
    for (const struct parameter *one = p->parameters; one < p->parameters + p->parameter_count; one++) {
        if (strlen(one->name) == length && strncmp(one->name, word, length) == 0) {
            *one->value = whole_number(equals + 1, one->least, one->most);
            return;
        }
    }
    usage("no such parameter: ", word);
}

static void set_next_parameter(const struct program *p, const char *word, struct order *order)
{
    if (order->numbers == p->parameter_count)
        usage("one word too many: ", word);
    const struct parameter *one = &p->parameters[order->numbers++];
    *one->value = whole_number(word, one->least, one->most);
}

/* Reads one option with its value, or one parameter; returns the number of words read. */
static int take_word(const struct program *p, char **word, struct order *order)
{
    const char *equals = strchr(word[0], '=');
    if (strcmp(word[0], "--proof") == 0) {
        order->proof = true;
        return 1;
    }
    if (strcmp(word[0], "--seconds") == 0 && word[1] != NULL) {
        order->seconds = seconds_of(word[1]);
        return 2;
    }
    if (strcmp(word[0], "--repetitions") == 0 && word[1] != NULL) {
        order->repetitions = whole_number(word[1], 1, MOST_REPETITIONS);
        return 2;
    }
    if (equals != NULL)
        set_parameter(p, word[0], equals);
    else
        set_next_parameter(p, word[0], order);
    return 1;
}

static const struct row *find_row(const struct program *p, const char *name)
{
    for (const struct row *row = p->rows; row < p->rows + p->row_count; row++)
        if (strcmp(row->name, name) == 0)
            return row;
    return NULL;
}

static bool looks_like_a_name(const char *word)
{
    return ((word[0] >= 'a' && word[0] <= 'z') || (word[0] >= 'A' && word[0] <= 'Z')) && strchr(word, '=') == NULL;
}

static struct order read_order(const struct program *p, char **word)
{
    struct order order = {.seconds = 0.2};
    g_row = p->rows;
    if (*word != NULL && looks_like_a_name(*word)) {
        g_row = find_row(p, *word);
        if (g_row == NULL)
            usage("no such row: ", *word);
        word++;
    }
    if (g_row->preset != NULL)
        g_row->preset();
    while (*word != NULL)
        word += take_word(p, word, &order);
    return order;
}

/* ---- the repetitions ---- */

__attribute__((noinline)) static uint64_t timed_repetition(void)
{
    return g_row->repeat();
}

static int by_value(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* Called after all timing, as qsort may call malloc. */
static void print_times(double *ns, uint64_t count)
{
    qsort(ns, count, sizeof *ns, by_value);
    printf("ns=%.4f\nns_best=%.4f\nrepetitions=%llu\noperations=%llu\n", ns[count / 2], ns[0],
           (unsigned long long)count, (unsigned long long)g_operations);
}

static uint64_t after(double seconds)
{
    return now_ns() + (uint64_t)(seconds * 1e9);
}

/* Latest end of a phase [ns]: then the repetitions made so far count. */
static uint64_t last_moment(double seconds)
{
    return after(seconds > 0 && GIVE_UP * seconds < LEAST_PATIENCE ? LEAST_PATIENCE : GIVE_UP * seconds);
}

static bool much_faster(uint64_t spent, uint64_t before)
{
    return spent < before - before / 8;
}

/* Faults in fresh memory and brings free lists to a steady order. */
static uint64_t warm_up(const struct order *order)
{
    uint64_t most = g_row->once ? 0 : order->repetitions > 0 ? 1 : MOST_WARM_UPS;
    uint64_t count = 0, before, spent = 0, end = last_moment(order->seconds);
    while (count < most) {
        before = spent;
        spent = g_row->repeat();
        count++;
        if (now_ns() >= end || (count >= LEAST_WARM_UPS && !much_faster(spent, before)))
            break;
    }
    return count;
}

static uint64_t repeat_all(const struct order *order, double *ns)
{
    uint64_t count = 0, most = g_row->once ? 1 : order->repetitions > 0 ? order->repetitions : MOST_REPETITIONS;
    bool counted = order->repetitions > 0 || g_row->once;
    uint64_t end = counted ? UINT64_MAX : after(order->seconds), last = counted ? 0 : last_moment(order->seconds);
    do {
        uint64_t spent = timed_repetition();
        ns[count++] = (double)spent / (double)g_operations;
    } while (count < most && (now_ns() < end || (count < LEAST_REPETITIONS && now_ns() < last)));
    return count;
}

/* Pages that are resident, in KiB, of the process whose statm this is; read without malloc. */
static long resident_kib_of(int statm)
{
    char text[128] = "";
    ssize_t got = pread(statm, text, sizeof text - 1, 0);
    const char *space = strchr(text, ' ');
    return got <= 0 || space == NULL ? 0 : strtol(space, NULL, 10) * (sysconf(_SC_PAGESIZE) / 1024);
}

static long resident_kib(void)
{
    int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    long kib = resident_kib_of(file);
    close(file);
    return kib;
}

static inline long newlines_in(const char *text, ssize_t length)
{
    long found = 0;
    for (ssize_t i = 0; i < length; i++)
        found += text[i] == '\n';
    return found;
}

/* Counts the mappings of this process: the lines of /proc/self/maps, read without malloc. */
static inline long mapping_count(void)
{
    char text[4096];
    long found = 0;
    int file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    for (ssize_t got; file >= 0 && (got = read(file, text, sizeof text)) > 0;)
        found += newlines_in(text, got);
    close(file);
    return found;
}

static void print_parameters(const struct program *p)
{
    for (const struct parameter *one = p->parameters; one < p->parameters + p->parameter_count; one++)
        printf("parameter_%s=%llu\n", one->name, (unsigned long long)*one->value);
}

/* The value of the parameter `threads`, if the program has this parameter. */
static uint64_t effective_threads(const struct program *p)
{
    for (const struct parameter *one = p->parameters; one < p->parameters + p->parameter_count; one++)
        if (strcmp(one->name, "threads") == 0)
            return *one->value;
    return g_row->threads;
}

static void measure(const struct program *p, const struct order *order)
{
    double *ns = pages(MOST_REPETITIONS * sizeof *ns);
    g_operations = g_row->operations;
    if (g_row->setup != NULL)
        g_row->setup();
    uint64_t warm_ups = warm_up(order);
    pass_start();
    uint64_t count = repeat_all(order, ns);
    long resident = resident_kib();
    printf("row=%s\nthreads=%llu\nrss_kib=%ld\n", g_row->name, (unsigned long long)effective_threads(p), resident);
    printf("warm_ups=%llu\n", (unsigned long long)warm_ups);
    print_times(ns, count);
    print_parameters(p);
    if (g_hop_ns > 0)
        printf("hop_ns=%.0f\n", g_hop_ns);
    if (g_row->finish != NULL)
        g_row->finish();
    pass_print();
}

static int list_rows(const struct program *p)
{
    for (const struct row *row = p->rows; row < p->rows + p->row_count; row++)
        printf("%s\t%u\t%s\t%s\n", row->name, row->threads, row->once ? "once" : "repeated", row->operation);
    return 0;
}

static int program_main(const struct program *p, char **word)
{
    if (word[1] != NULL && strcmp(word[1], "list") == 0)
        return list_rows(p);
    struct order order = read_order(p, word + 1);
    measure(p, &order);
    if (order.proof)
        print_proof();
    return fflush(stdout) == 0 ? 0 : 1;
}

#define BENCH_COUNT(array) (sizeof(array) / sizeof *(array))
#define BENCH_PROGRAM(rows, parameters, parameter_count)                                              \
    int main(int count, char **word)                                                                  \
    {                                                                                                 \
        static const struct program program = {rows, BENCH_COUNT(rows), parameters, parameter_count}; \
        (void)count;                                                                                  \
        return program_main(&program, word);                                                          \
    }

#endif
