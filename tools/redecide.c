/* redecide.c: hak_redecide, which decides anew what a process decided, from what its learner was told.
 *
 *     hak_redecide FILE > ring                        FILE: of the setting learn_log
 *
 * what      The rows of the journal (src/learn/journal.h), told to a keeper one after the other: the library's own
 *           code. What it writes are the bytes with which the process's file of decisions begins, on every machine.
 * failure   One line on stderr; 2: not one argument, 1: no journal, one that is damaged or was full, or the ring cannot
 *           be written.
 * not here  Text for people: `hakmem decisions --replay`.
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

static void tell(struct hak_keeper *keeper, const struct hak_told *told, struct hak_leader *restored)
{
  struct hak_score score = {0};
  struct hak_asker asker = asker_of(told);
  restored->weight = told->weight;
  switch (told->kind) {
    case HAK_TOLD_TAKEN: hak_keeper_taken(keeper, &asker, &score); break;
    case HAK_TOLD_FREED: hak_keeper_freed(keeper, &asker, told->arm, &score); break;
    case HAK_TOLD_UNNOTED: hak_keeper_taken_unnoted(keeper, told->bin); break;
    case HAK_TOLD_ASKED: hak_keeper_arm(keeper, &asker); break;
    case HAK_TOLD_DROPPED: hak_keeper_drop_waits(keeper); break;
    case HAK_TOLD_PAID: memcpy(restored->paid, told->paid, sizeof restored->paid); break;
    default: hak_keeper_restore(keeper, told->site, told->bin, told->arm, restored);
  }
}

/* ---- the file ---- */

static struct hak_keeper keeper;
static struct hak_decisions ring;

static int tell_all(const char *name, FILE *file, uint64_t count)
{
  struct hak_leader restored = {0};
  struct hak_told told;
  for (uint64_t i = 0; i < count; i++) {
    if (fread(&told, sizeof told, 1, file) != 1) return fail(name, ferror(file) ? strerror(errno) : "it is cut short");
    if (is_sound(&told)) {
      tell(&keeper, &told, &restored);
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
  hak_decisions_start(&ring);
  keeper.ring = &ring;
  int status = tell_all(name, file, head.count);
  if (status != EXIT_SUCCESS) return status;
  bool written = fwrite(&ring, sizeof ring, 1, stdout) == 1 && fflush(stdout) == 0;
  return written ? EXIT_SUCCESS : fail("standard output", strerror(errno));
}

int main(int count, char **arguments)
{
  if (count != 2) {
    fputs("usage: hak_redecide FILE > ring\n", stderr);
    return bad_usage;
  }
  FILE *file = fopen(arguments[1], "rb");
  if (file == NULL) return fail(arguments[1], strerror(errno));
  int status = redecide(arguments[1], file);
  fclose(file);
  return status;
}
