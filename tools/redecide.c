/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* redecide.c: hak_redecide, which repeats a process's decisions from its learner's journal.
 *
 *    hak_redecide FILE > ring                        FILE: of the setting lab_learn_log
 *    hak_redecide --curve FILE > csv
 *
 * what      Feeds the rows of the journal (src/learn/journal.h) to a keeper in order: the library's own code. The
 *           output is the same bytes as the beginning of the process's file of decisions, on every machine. With
 *           --curve the output is the course of the learning instead, as sums from the beginning, in at most a
 *           thousand lines:
 *
 *              when [ns], waits noted, cost paid by the learnt arms and by break-even [pages fetched, or rent worth as
 *              much], blocks taken without time left for the learner, and blocks taken by each arm
 * failure   A line on stderr; exit status 2: not a single file, 1: no journal, a damaged or full journal, or the
 *           ring cannot be written.
 * not here  Text and figures for people: `hakmem decisions --replay`, `--plot`.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "learn/keeper.h"

enum { no_journal = 1, bad_usage = 2 };

static int fail(const char *file, const char *why)
{
  fprintf(stderr, "hak_redecide: %s: %s\n", file, why);
  return no_journal;
}

/* ---- one row ---- */

static bool is_bin(uint32_t bin)
{
  return bin < HAK_LEADER_BINS;
}

static bool is_sound(const struct hak_told *told)
{
  bool restored = told->kind == HAK_TOLD_RESTORED;
  if (told->kind == 0 || told->kind >= HAK_TOLD_KINDS || told->arm >= HAK_ARMS) return false;
  if (told->kind == HAK_TOLD_PAID || told->kind == HAK_TOLD_DROPPED) return true;
  bool whole = is_bin(told->bin) || (restored && told->bin == HAK_ANY && told->site == HAK_ANY);
  return whole && (told->site < HAK_LEADER_SITES || told->site == HAK_ANY);
}

static struct hak_asker asker_of(const struct hak_told *told)
{
  return (struct hak_asker){
      .now = told->now, .break_even = told->break_even, .label = told->label,
      .site = told->site, .bin = told->bin, .depth = told->depth};
}

/* Sums since the beginning. */
static struct {
  struct hak_score score;
  uint64_t when, taken[HAK_ARMS], passed;
} sums;

static void tell(struct hak_keeper *keeper, const struct hak_told *told, struct hak_leader *restored)
{
  struct hak_asker asker = asker_of(told);
  restored->weight = told->weight;
  switch (told->kind) {
    case HAK_TOLD_TAKEN: sums.taken[hak_keeper_taken(keeper, &asker, &sums.score)]++; break;
    case HAK_TOLD_FREED: hak_keeper_freed(keeper, &asker, told->arm, &sums.score); break;
    case HAK_TOLD_UNNOTED: sums.passed++, hak_keeper_taken_unnoted(keeper, told->bin); break;
    case HAK_TOLD_ASKED: hak_keeper_arm(keeper, &asker); break;
    case HAK_TOLD_DROPPED: hak_keeper_drop_waits(keeper); break;
    case HAK_TOLD_PAID: memcpy(restored->paid, told->paid, sizeof restored->paid); break;
    default: hak_keeper_restore(keeper, told->site, told->bin, told->arm, restored);
  }
}

/* ---- the curve ---- */

enum { LINES = 1000 };
static bool draws;

static double pages(uint64_t cost)
{
  return (double)cost / (1 << 16);
}

static void print_head(void)
{
  printf("when,waits,paid,break_even,passed");
  for (unsigned arm = 0; arm < HAK_ARMS; arm++)
    printf(",arm_%u", arm);
  putchar('\n');
}

static void print_sums(void)
{
  printf("%" PRIu64 ",%" PRIu32 ",%.3f,%.3f,%" PRIu64, sums.when, sums.score.waits, pages(sums.score.paid),
         pages(sums.score.baseline), sums.passed);
  for (unsigned arm = 0; arm < HAK_ARMS; arm++)
    printf(",%" PRIu64, sums.taken[arm]);
  putchar('\n');
}

/* Only rows of takes, frees and questions have a time. */
static void draw(const struct hak_told *told, uint64_t number, uint64_t count)
{
  bool timed = told->kind == HAK_TOLD_TAKEN || told->kind == HAK_TOLD_FREED || told->kind == HAK_TOLD_ASKED;
  if (timed) sums.when = told->now;
  uint64_t step = (count + LINES - 1) / LINES;
  if (number % step == 0 || number == count) print_sums();
}

/* ---- the file ---- */

static struct hak_keeper keeper;
static struct hak_decisions ring;

static int tell_all(const char *name, FILE *file, uint64_t count)
{
  struct hak_leader restored = {0};
  struct hak_told told;
  if (draws) print_head();
  for (uint64_t i = 0; i < count; i++) {
    if (fread(&told, sizeof told, 1, file) != 1) return fail(name, ferror(file) ? strerror(errno) : "it is cut short");
    if (is_sound(&told)) {
      tell(&keeper, &told, &restored);
      if (draws) draw(&told, i + 1, count);
      continue;
    }
    fprintf(stderr, "hak_redecide: %s: row %" PRIu64 " is not as it was written\n", name, i + 1);
    return no_journal;
  }
  return EXIT_SUCCESS;
}

static int redecide(const char *name, FILE *file)
{
  struct hak_journal head;
  size_t had = fread(&head, 1, sizeof head, file);
  if (ferror(file)) return fail(name, strerror(errno));
  if (had != sizeof head || memcmp(head.magic, "HAKTLD01", sizeof head.magic) != 0) return fail(name, "not a learn_log");
  if (head.row_bytes != sizeof(struct hak_told)) return fail(name, "a learn_log of another version");
  if (head.count > head.room) return fail(name, "it was full, and its end is missing");
  hak_keeper_write_into(&keeper, &ring);
  int status = tell_all(name, file, head.count);
  if (status != EXIT_SUCCESS) return status;
  bool written = (draws || fwrite(&ring, sizeof ring, 1, stdout) == 1) && fflush(stdout) == 0 && !ferror(stdout);
  return written ? EXIT_SUCCESS : fail("standard output", strerror(errno));
}

int main(int count, char **arguments)
{
  draws = count == 3 && strcmp(arguments[1], "--curve") == 0;
  if (count != 2 + draws) {
    fputs("usage: hak_redecide [--curve] FILE > ring\n", stderr);
    return bad_usage;
  }
  const char *name = arguments[1 + draws];
  FILE *file = fopen(name, "rb");
  if (file == NULL) return fail(name, strerror(errno));
  int status = redecide(name, file);
  fclose(file);
  return status;
}
