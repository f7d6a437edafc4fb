/* pause.h: a thread of HAKMEM's own, and how it sleeps.
 *
 * what      Starts one thread that no one joins, and lets it wait for a word to change.
 *
 *               hak_os_wait(&word, seen, ms)   sleeps while word == seen
 *               word changes, hak_os_wake(&word) ---> all that wait go on
 *
 * owner     The caller owns the word; the thread owns itself. A fork leaves it behind in the parent.
 * locks     None. Waiting and waking are signal-safe, starting is not.
 * orders    The word is the caller's: store it with release before waking, load it with acquire after waiting.
 * hot path  No.
 * failure   False when no thread can be made; errno is always left as it was.
 * not here  What the thread does, and when it is started: front.
 */
#ifndef HAK_OS_PAUSE_H
#define HAK_OS_PAUSE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* As pthread_create is, which the library itself may stand in for: the caller knows the real one. */
typedef int hak_os_create_fn(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *own);

/* A thread that runs `run` and is gone when it returns: detached, of a small stack, named "hakmem", and with every
 * signal blocked that others could send to it. */
bool hak_os_thread_start(hak_os_create_fn *create, void (*run)(void));

/* Sleeps while *word == seen, at most `ms` (UINT64_MAX: without limit). May come back early for no reason. */
void hak_os_wait(const uint32_t *word, uint32_t seen, uint64_t ms);

/* Wakes everyone who waits on this word. */
void hak_os_wake(const uint32_t *word);

#endif
