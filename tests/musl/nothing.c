/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* nothing.c: a program that does nothing, for tests that start one of musl. */
int main(void) { return 0; }
