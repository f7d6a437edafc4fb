/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* retune.c: hak_retune, which repeats the controller's decisions from a program's windows of slow paths.
 *
 *    hak_retune FILE
 *    hak_retune --series FILE > csv
 *
 * what      Feeds the records of <lab_learn_log>.<pid>.windows to the library's own controller (src/learn), and writes
 *           a line for each change: number, time [ns], window, decision, event, the arms from and to, and the costs
 *           [ns per slow path] of the arm and of the incumbents. These are the program's own decisions, as the
 *           controller depends on the records alone; a program that forked or changed its mode in between began anew
 *           there.
 *           With --series a line for each window, or each n-th window for about 2,000 lines, and for each window that
 *           begins a phase:
 *
 *              window, time [ns], cost [ns per slow path], phase, the threshold's arm during the window, the
 *              incumbent, the retired arms (a bit each), and each arm's rating
 * failure   A line on stderr; exit status 2: no such file, not a log, or bad usage; 1: the lines cannot be written.
 * not here  Changes written by the process itself: the command `hakmem decisions`.
 */
#include "learn/controller.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { bad_input = 2, cannot_write = 1 };

static const char *const decisions[HAK_TUNED + 1] = {"threshold", "slack", "place", "all"};
static const char *const kinds[HAK_CHANGES] = {"dropped", "candidate", "promoted", "rolled_back", "frozen", "alarm"};

static _Noreturn __attribute__((format(printf, 2, 3))) void refuse(int status, const char *format, ...)
{
  va_list values;
  va_start(values, format);
  fputs("hak_retune: ", stderr);
  vfprintf(stderr, format, values);
  fputc('\n', stderr);
  va_end(values);
  exit(status);
}

struct head {
  char magic[8];
  uint32_t row_bytes, zero;
  uint64_t count;
  char zeros[sizeof(struct hak_window) - 24];
};

static struct head head_of(FILE *file, const char *name)
{
  struct head head;
  if (fread(&head, sizeof head, 1, file) != 1 || memcmp(head.magic, "HAKWIN02", sizeof head.magic) != 0)
    refuse(bad_input, "%s: not a log of windows", name);
  if (head.row_bytes != sizeof(struct hak_window))
    refuse(bad_input, "%s: a log of another version (rows of %u bytes)", name, head.row_bytes);
  return head;
}

static void print(const struct hak_change *change)
{
  printf("%llu %llu %llu %s %s %u %u %u %u\n", (unsigned long long)change->number, (unsigned long long)change->when,
         (unsigned long long)change->window, decisions[change->what], kinds[change->kind], change->from, change->to,
         change->cost, change->before);
}

static void print_since(const struct hak_changes *ring, uint64_t before)
{
  for (uint64_t n = before; n < ring->count; n++)
    print(&ring->row[n % HAK_CHANGE_ROWS]);
}

/* ---- the series ---- */

enum { LINES = 2000 };
static bool draws;

/* frozen: no arm is left to try, and the controller waits for a change of the load. */
static const char *phase_of(const struct hak_controller *c)
{
  bool settled = (c->last.tries & ~(uint64_t)c->settled) == 0;
  if (c->waits) return "candidate";
  return settled && c->life.phase == HAK_LIFE_WATCH ? "frozen" : "learn";
}

static void print_head(void)
{
  printf("window,when,cost,phase,arm,incumbent,retired");
  for (unsigned arm = 0; arm < HAK_ELO_ARMS; arm++)
    printf(",rating_%u", arm);
  putchar('\n');
}

static void print_window(const struct hak_controller *c, unsigned held, uint64_t cost)
{
  printf("%llu,%llu,%llu,%s,%u,%u,%u", (unsigned long long)c->windows, (unsigned long long)c->last.now_ns,
         (unsigned long long)cost, phase_of(c), held, c->arm[HAK_TUNED_THRESHOLD], c->elo.retired);
  for (unsigned arm = 0; arm < HAK_ELO_ARMS; arm++)
    printf(",%.1f", HAK_ELO_START + (double)c->elo.rating[arm] / HAK_ELO_POINT);
  putchar('\n');
}

static void draw(struct hak_controller *c, const struct hak_window *window, uint64_t count)
{
  static const char *phase = "";
  unsigned held = c->now[HAK_TUNED_THRESHOLD];
  uint64_t cost = 0;
  if (!hak_window_cost(&c->last, window, &cost) || c->windows == 0) cost = 0;
  hak_controller_window(c, window);
  bool begins = strcmp(phase, phase_of(c)) != 0;
  phase = phase_of(c);
  if (begins || c->windows % (count / LINES + 1) == 0 || c->windows == count) print_window(c, held, cost);
}

/* ---- the file ---- */

static void replay(FILE *file, const char *name)
{
  static struct hak_controller controller;
  static struct hak_changes ring;
  struct hak_window window;
  uint64_t count = head_of(file, name).count;
  hak_changes_start(&ring);
  hak_controller_begin(&controller, &ring);
  if (draws) print_head();
  for (uint64_t n = 0; n < count; n++) {
    uint64_t before = ring.count;
    if (fread(&window, sizeof window, 1, file) != 1)
      refuse(bad_input, "%s: cut short: %llu windows of %llu", name, (unsigned long long)n, (unsigned long long)count);
    if (draws) {
      draw(&controller, &window, count);
      continue;
    }
    hak_controller_window(&controller, &window);
    print_since(&ring, before);
  }
}

int main(int argc, char **argv)
{
  draws = argc == 3 && strcmp(argv[1], "--series") == 0;
  const char *name = argv[argc - 1];
  if (argc != 2 + draws || *name == '-')
    refuse(bad_input, "usage: hak_retune [--series] FILE");
  FILE *file = fopen(name, "rb");
  if (file == NULL)
    refuse(bad_input, "%s: cannot be opened", name);
  replay(file, name);
  fclose(file);
  if (fflush(stdout) != 0 || ferror(stdout))
    refuse(cannot_write, "the lines cannot be written");
  return 0;
}
