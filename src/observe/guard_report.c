/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* guard_report.c: the report of an error at a guarded block, on stderr.
 *
 * what      See guard_report.h.
 */
#include "observe/guard_report.h"

#include "base/fmt.h"
#include "observe/crash.h"
#include "os/os.h"
#include "record/profile_images.h"

struct error {
  const char *kind;  /* "use after free" */
  const char *event; /* "write to" */
  uintptr_t address;
  const struct hak_guarded *slot; /* NULL: no block was near */
  const char *now_is; /* what the stack `now` did */
  const struct hak_guarded_stack *now;
};

/* ---- lines ---- */

static void begin_said(struct hak_line *line) {
  hak_line_start(line);
  hak_line_text(line, "hakmem: guard: ");
}

static void end_said(struct hak_line *line) {
  hak_line_text(line, "\n");
  hak_os_write_err(line->text, line->used);
}

static bool is_freed(const struct hak_guarded *slot) { return slot->freed.depth != 0; }

/* ", 8 B into a freed block of 24 B" */
static void say_distance(struct hak_line *line, const struct error *error) {
  uintptr_t p = error->address, from = error->slot->address, end = from + error->slot->bytes;
  hak_line_text(line, ", ");
  hak_line_dec(line, p < from ? from - p : p < end ? p - from : p - end);
  hak_line_text(line, p < from ? " B before a " : p < end ? " B into a " : " B after a ");
  hak_line_text(line, is_freed(error->slot) ? "freed block of " : "block of ");
  hak_line_dec(line, error->slot->bytes);
  hak_line_text(line, " B");
}

static void say_error(const struct error *error) {
  struct hak_line line;
  begin_said(&line);
  hak_line_text(&line, error->kind);
  hak_line_text(&line, ": ");
  hak_line_text(&line, error->event);
  hak_line_hex(&line, error->address);
  if (error->slot != NULL) say_distance(&line, error);
  end_said(&line);
}

/* Stacks of more than eight frames take further lines with the same words. */
static void say_stack(const char *what, const struct hak_guarded_stack *stack) {
  enum { A_LINE = 8 };
  for (uint32_t n = 0; n < hak_min(stack->depth, HAK_GUARDED_FRAMES); n += A_LINE) {
    struct hak_line line;
    begin_said(&line);
    hak_line_text(&line, what);
    hak_line_text(&line, ", thread ");
    hak_line_dec(&line, stack->thread);
    hak_line_text(&line, ":");
    for (uint32_t i = n; i < hak_min(stack->depth, n + A_LINE); i++) {
      hak_line_text(&line, " ");
      hak_line_hex(&line, stack->frame[i]);
    }
    end_said(&line);
  }
}

/* ---- images ---- */

static bool lies_in(const struct hak_image *image, const struct hak_guarded_stack *stack) {
  for (uint32_t i = 0; i < hak_min(stack->depth, HAK_GUARDED_FRAMES); i++) {
    if (image->first <= stack->frame[i] && stack->frame[i] < image->end) return true;
  }
  return false;
}

static void say_image(const struct hak_image *image) {
  enum { PATH_SHOWN = 250 };
  struct hak_line line;
  begin_said(&line);
  hak_line_text(&line, "image ");
  hak_line_hex(&line, image->first);
  hak_line_text(&line, " to ");
  hak_line_hex(&line, image->end);
  hak_line_text(&line, " offset ");
  hak_line_hex(&line, image->offset);
  hak_line_text(&line, " id ");
  hak_line_hex_bytes(&line, image->id, image->id_bytes);
  hak_line_text(&line, ", ");
  hak_line_clipped(&line, image->path, PATH_SHOWN);
  end_said(&line);
}

static void say_image_of(const struct hak_image *image, void *to) {
  const struct error *error = to;
  bool holds = lies_in(image, error->now);
  if (error->slot != NULL) holds |= lies_in(image, &error->slot->taken) || lies_in(image, &error->slot->freed);
  if (holds && image->path[0] != '\0') say_image(image);
}

/* ---- the report ---- */

static void say_all(struct error *error, bool images) {
  say_error(error);
  say_stack(error->now_is, error->now);
  if (error->slot != NULL) {
    say_stack("taken", &error->slot->taken);
    say_stack("freed", &error->slot->freed);
  }
  if (images) hak_images_visit(say_image_of, error);
}

static const char *kind_of_fault(const struct hak_guarded *slot, uintptr_t p) {
  if (slot == NULL) return "wild access";
  if (is_freed(slot)) return "use after free";
  return p < slot->address ? "underflow" : "overflow";
}

void hak_guard_report_fault(const struct hak_os_crash *crash, bool images) {
  struct hak_guarded_stack now = {.thread = hak_guarded_thread(), .depth = 1, .frame = {crash->instruction}};
  const char *event = crash->writes ? "write to " : crash->reads ? "read of " : "access to ";
  struct error error = {NULL, event, (uintptr_t)crash->address, hak_guarded_near(crash->address), "faulted", &now};
  error.kind = kind_of_fault(error.slot, error.address);
  say_all(&error, images);
}

void hak_guard_report_free(enum hak_error error, const void *p, const struct hak_guarded_stack *now) {
  struct error found = {"wrong free", "free of ", (uintptr_t)p, hak_guarded_near(p), "called free", now};
  if (error == HAK_ERROR_double_free) found.kind = "double free";
  if (error == HAK_ERROR_overrun) {
    found.address = hak_guarded_overrun(found.slot);
    found.kind = found.address < found.slot->address ? "underflow" : "overflow";
    found.event = "found at the block's free, write to ";
  }
  say_all(&found, !hak_crash_is_in_sandbox());
}
