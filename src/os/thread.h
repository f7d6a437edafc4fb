/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* thread.h: a thread of HAKMEM's own, and how it sleeps.
 *
 * what      Makes a thread that libc does not know, and lets it wait for a word to change. As libc does not count it,
 *           it keeps no process from ending, never runs the program's exit handlers, and can be made where libc's own
 *           way cannot: inside free, with any lock of libc's or the loader's held by the caller.
 *
 *               hak_os_wait(&word, seen, ms)   sleeps while word == seen
 *               word changes, hak_os_wake(&word) ---> all that wait go on
 *
 * owner     The caller owns the record and the words. A fork leaves the thread behind in the parent.
 * locks     None. One thread at a time starts or forgets one record; many may join it. Waiting and waking are
 *           signal-safe.
 * orders    The word is the caller's: store it with release before waking, load it with acquire after waiting.
 * failure   False when no thread can be made; errno is always left as it was.
 * not here  What the thread does, and when it is started: front.
 */
#ifndef HAK_OS_THREAD_H
#define HAK_OS_THREAD_H

#include <stdbool.h>
#include <stdint.h>

struct hak_os_thread {
  uint32_t id;  /* the kernel's number of it; the kernel stores 0 when it has left its stack */
  uint32_t was; /* the number of the last one */
  char *memory; /* stack and thread-local storage, kept for the next one; NULL: none yet */
};

/* Starts `run` in a new thread that ends when it returns: named "hakmem", of no real-time policy, on any processor (but
 * where the process is filtered), and with every signal blocked. `thread->id` must be 0. `run` may use this
 * library's thread-local variables (which begin as zero, whatever they are initialised with), and errno. It calls
 * nothing of another library: an interposer of that name may need a thread that libc made. False where the user may
 * have few threads: the program may count on all of them. */
bool hak_os_thread_start(struct hak_os_thread *thread, void (*run)(void));

/* Did a seccomp filter come with the process? A service manager's may end it for setting a policy or an affinity. Yes,
 * where nobody could find out, or none has; asked once, by opening a file of /proc. */
void hak_os_find_filter(void);
bool hak_os_is_filtered(void);

/* Has the calling thread got a filter since that was asked, by a bare kernel call that HAKMEM was not told of? Then yes
 * from now on, for every thread: what malloc does not need is not asked for any more. The first opens that file. */
bool hak_os_look_for_filter(void);
bool hak_os_filter_came(void);

/* Blocks every signal in the calling thread, and lets those through again that were not blocked. */
uint64_t hak_os_block_signals(void);
void hak_os_unblock_signals(uint64_t before);

/* Waits until the thread that runs now, if any, has left its stack; another may have been started by then. */
void hak_os_thread_join(struct hak_os_thread *thread);

/* Waits until the kernel does not count the last thread any more, which was joined. Asks by its number, which another
 * thread may have by now: gives up after a fifth of a second, and does not ask about that number again. */
void hak_os_thread_vanish(struct hak_os_thread *thread);

/* In a fork's child: it was left behind. */
void hak_os_thread_forget(struct hak_os_thread *thread);

/* Sleeps for a moment, so that other threads run, of whatever policy. */
void hak_os_rest(void);

/* Sleeps while *word == seen, at most `ms` (UINT64_MAX: without limit). May come back early for no reason. */
void hak_os_wait(const uint32_t *word, uint32_t seen, uint64_t ms);

/* Wakes everyone who waits on this word. */
void hak_os_wake(const uint32_t *word);

#endif
