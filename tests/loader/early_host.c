/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* early_host.c: a program that is linked with early.c's library. */
void early_is_there(void);

int main(void) {
  early_is_there();
  return 0;
}
