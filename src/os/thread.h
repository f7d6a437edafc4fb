/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* thread.h: a thread of HAKMEM's own; sleeping and waking.
 *
 * what      Makes a thread that libc does not know, and lets threads wait for a word to change. A thread that libc does
 *           not count keeps no process from ending, never runs the program's exit handlers, and can be made where
 *           libc's own way cannot: inside free, with any lock of libc's or the loader's held by the caller.
 *
 *               hak_os_wait(&word, seen, ms)   sleeps while word == seen
 *               word changes, hak_os_wake(&word) ---> all waiting threads go on
 *
 * owner     The caller owns the record and the words. A fork leaves the thread behind in the parent.
 * locks     None. One thread at a time starts or forgets a record; many may join a record. Waiting and waking are
 *           signal-safe.
 * orders    The word is the caller's: store with release before waking, load with acquire after waiting.
 * failure   False if no thread can be made; errno is not changed.
 * not here  The thread's work and start: reclaim/background_thread.c.
 */
#ifndef HAK_OS_THREAD_H
#define HAK_OS_THREAD_H

#include <stdbool.h>
#include <stdint.h>

struct hak_os_thread {
  uint32_t id;  /* the kernel's number of the thread; the kernel stores 0 when the thread has left its stack */
  uint32_t was; /* number of the last thread */
  char *memory; /* stack and thread-local storage, kept for the next thread; NULL: none yet */
};

/* Starts `run` in a new thread, which ends when `run` returns. The thread is named "hakmem" and has every signal
 * blocked; unless the process is filtered, the thread has no real-time policy and may run on any processor.
 * `thread->id` must be 0. `run` may use errno and this library's thread-local variables, which begin as zero whatever
 * their initialisers. `run` calls no function of another library: an interposer's function of that name may need a
 * thread made by libc. False also if the user may have few threads: the program may count on all of them. */
bool hak_os_thread_start(struct hak_os_thread *thread, void (*run)(void));

/* hak_os_find_filter finds, once, by reading a file of /proc, whether a seccomp filter came with the process.
 * hak_os_is_filtered: true if a filter came, and also if unknown. A service manager's filter may end the process for
 * setting a policy or an affinity. */
void hak_os_find_filter(void);
bool hak_os_is_filtered(void);

/* True once a thread that called hak_os_look_for_filter had a filter set after hak_os_find_filter, by a bare kernel
 * call that HAKMEM was not told of. From then on true for every thread, and HAKMEM makes only kernel calls that malloc
 * needs. hak_os_look_for_filter reads the file of /proc again. */
bool hak_os_look_for_filter(void);
bool hak_os_filter_came(void);

/* Number of threads of the process, HAKMEM's own included, when the file was last read; 0: never, or not readable. */
uint32_t hak_os_threads_seen(void);

/* Blocks every signal in the calling thread and returns the mask before; hak_os_unblock_signals restores that mask. */
uint64_t hak_os_block_signals(void);
void hak_os_unblock_signals(uint64_t before);

/* Waits until the running thread, if any, has left its stack. A new thread may have been started by then. */
void hak_os_thread_join(struct hak_os_thread *thread);

/* Waits until the kernel no longer counts the last thread, which was joined. Asks by the thread's number, which a new
 * thread may have by now: gives up after 0.2 s, and does not ask about that number again. */
void hak_os_thread_vanish(struct hak_os_thread *thread);

/* In a fork's child: forgets the thread, which exists only in the parent. */
void hak_os_thread_forget(struct hak_os_thread *thread);

/* Sleeps for 50 microseconds, so that threads of any policy run. */
void hak_os_rest(void);

/* Sleeps while *word == seen, at most `ms` [ms] (UINT64_MAX: without limit). May return early for no reason. */
void hak_os_wait(const uint32_t *word, uint32_t seen, uint64_t ms);

/* Wakes all threads that wait on this word. */
void hak_os_wake(const uint32_t *word);

#endif
