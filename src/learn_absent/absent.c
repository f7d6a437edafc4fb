/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* absent.c: the interface of learning in a library built without learning (HAKMEM_LEARN=OFF).
 *
 * what      See learn/learn.h. A line on stderr for each setting that asks for learning; the mode becomes baseline.
 *           g_learning (tables/learning.h) stays NULL.
 */
#include <errno.h>

#include "base/atomic.h"
#include "base/fmt.h"
#include "learn/learn.h"
#include "os/complain.h"

static void complain_of(const char *setting) {
  struct hak_line line;
  hak_line_start(&line);
  hak_line_text(&line, "hakmem: ");
  hak_line_text(&line, setting);
  hak_line_text(&line, ": this library was built without learning (HAKMEM_LEARN=OFF); ignored\n");
  hak_os_complain(&line);
}

static bool leave_learning_mode(void) {
  bool learns = hak_setting(mode) > HAK_MODE_BASELINE;
  if (learns) hak_setting_put(mode, HAK_MODE_BASELINE);
  return learns;
}

void hak_learn_start(void) {
  if (leave_learning_mode() && g_settings.policy_file == NULL) complain_of("mode"); /* a policy asks for one */
  if (g_settings.decisions_file != NULL) complain_of("decisions_file");
  if (g_settings.learn_log != NULL) complain_of("lab_learn_log");
  if (g_settings.policy_file != NULL) complain_of("policy_file");
}

int hak_learn_heed(void) { return leave_learning_mode() ? ENOTSUP : 0; }

void hak_learn_passed(size_t n) { (void)n; }
void hak_learn_start_policy(void) {}
void hak_learn_finish_policy(void) {}

int hak_learn_save_policy(const char *path) {
  (void)path;
  return ENOTSUP;
}

int hak_learn_load_policy(const char *path) {
  (void)path;
  return ENOTSUP;
}
