/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* tls_hog.c: a library with 256 bytes of static TLS, of the little that is left for libraries opened late. */
__attribute__((tls_model("initial-exec"))) __thread char tls_hog[256];

char *tls_hog_address(void) { return tls_hog; }
