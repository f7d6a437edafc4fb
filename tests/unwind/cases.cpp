/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* cases.cpp: programs whose stacks are hard to walk, for beside.c and for profiles.
 *
 * what      The first argument names the program. Each calls malloc in many frames; the words of `corrupt` are none.
 * failure   Exit status 1 or a signal.
 */
#include <alloca.h>
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

extern "C" {
/* f(), called with words on the stack that are no frames. */
void call_on_words(void (*f)(void), const uintptr_t *words, size_t count);
/* f(), from a function whose frame is found by rbx or x29, and from one that no table has. */
void call_by_other(void (*f)(void));
void call_without_table(void (*f)(void));
}

#if defined(__x86_64__)
__asm__(
    ".text\n.globl call_on_words\n.type call_on_words, @function\ncall_on_words:\n.cfi_startproc\n"
    "push %rbp\n.cfi_def_cfa_offset 16\n.cfi_offset %rbp, -16\nmov %rsp, %rbp\n.cfi_def_cfa_register %rbp\n"
    "1: test %rdx, %rdx\njz 2f\npush -8(%rsi,%rdx,8)\ndec %rdx\njmp 1b\n"
    "2: .cfi_def_cfa %rsp, 8\ncall *%rdi\n.cfi_def_cfa %rbp, 16\nmov %rbp, %rsp\npop %rbp\n.cfi_def_cfa %rsp, 8\nret\n"
    ".cfi_endproc\n.size call_on_words, . - call_on_words\n"
    ".globl call_by_other\n.type call_by_other, @function\ncall_by_other:\n.cfi_startproc\n"
    "push %rbx\n.cfi_def_cfa_offset 16\n.cfi_offset %rbx, -16\nmov %rsp, %rbx\n.cfi_def_cfa_register %rbx\n"
    "and $-64, %rsp\nsub $192, %rsp\ncall *%rdi\nmov %rbx, %rsp\n.cfi_def_cfa_register %rsp\npop %rbx\n"
    ".cfi_def_cfa_offset 8\nret\n.cfi_endproc\n.size call_by_other, . - call_by_other\n"
    ".globl call_without_table\n.type call_without_table, @function\ncall_without_table:\n"
    "push %rbp\nmov %rsp, %rbp\ncall *%rdi\npop %rbp\nret\n.size call_without_table, . - call_without_table\n");
#else
__asm__(
    ".text\n.globl call_on_words\n.type call_on_words, @function\ncall_on_words:\n.cfi_startproc\n"
    "stp x29, x30, [sp, #-16]!\n.cfi_def_cfa_offset 16\n.cfi_offset x29, -16\n.cfi_offset x30, -8\n"
    "mov x29, sp\n.cfi_def_cfa_register x29\n"
    "1: cbz x2, 2f\nsub x2, x2, #2\nadd x9, x1, x2, lsl #3\nldp x10, x11, [x9]\nstp x10, x11, [sp, #-16]!\nb 1b\n"
    "2: .cfi_remember_state\n.cfi_def_cfa sp, 16\nblr x0\n.cfi_restore_state\nmov sp, x29\nldp x29, x30, [sp], #16\n"
    ".cfi_def_cfa sp, 0\nret\n.cfi_endproc\n.size call_on_words, . - call_on_words\n"
    ".globl call_by_other\n.type call_by_other, @function\ncall_by_other:\n.cfi_startproc\n"
    "stp x29, x30, [sp, #-32]!\n.cfi_def_cfa_offset 32\n.cfi_offset x29, -32\n.cfi_offset x30, -24\n"
    "mov x29, sp\n.cfi_def_cfa_register x29\nsub sp, sp, #192\nblr x0\nmov sp, x29\nldp x29, x30, [sp], #32\n"
    ".cfi_def_cfa sp, 0\nret\n.cfi_endproc\n.size call_by_other, . - call_by_other\n"
    ".globl call_without_table\n.type call_without_table, @function\ncall_without_table:\n"
    "stp x29, x30, [sp, #-16]!\nmov x29, sp\nblr x0\nldp x29, x30, [sp], #16\nret\n"
    ".size call_without_table, . - call_without_table\n");
#endif

namespace {

void use(void *p) {
  __asm__ volatile("" : : "r"(p) : "memory");
  free(p);
}

void take_one() { use(malloc(100)); }

__attribute__((noinline)) int deep_with_rooms(int n) {
  char *room = static_cast<char *>(alloca(16 + static_cast<size_t>(n) * 37 % 500));
  memset(room, n, 16);
  take_one();
  int below = n > 0 ? deep_with_rooms(n - 1) : 0;
  return below + room[3];
}

/* A local of 64 bytes' alignment in a function with a variable frame: its frame is found by a word in it. */
__attribute__((noinline)) int aligned_locals(int n) {
  alignas(64) char wide[128];
  char *room = static_cast<char *>(alloca(static_cast<size_t>(n % 7 + 1) * 24));
  memset(wide, n, sizeof wide);
  memset(room, n, 8);
  take_one();
  int below = n > 0 ? aligned_locals(n - 1) : 0;
  __asm__ volatile("" : : "r"(wide), "r"(room) : "memory");
  return below + wide[n % 128];
}

__attribute__((noinline)) void throws(int n) {
  std::string text(static_cast<size_t>(n) + 30, 'x');
  if (n == 0) throw std::runtime_error(text);
  try {
    throws(n - 1);
  } catch (const std::logic_error &) {
    take_one();
  }
  take_one();
}

int exceptions() {
  for (int n = 0; n < 200; n++) {
    try {
      throws(n % 20);
    } catch (const std::exception &e) {
      std::string copy = e.what();
      take_one();
    }
  }
  return 0;
}

/* Interrupted anywhere by a handler that allocates: takes nothing itself. */
__attribute__((noinline)) int quiet(int n, const char *text) {
  char *room = static_cast<char *>(alloca(16 + static_cast<size_t>(n) * 29 % 300));
  room[0] = text[n % 3];
  int below = n > 0 ? quiet(n - 1, text) + quiet(n / 3, text) : 0;
  return below + room[0] + static_cast<int>(strtol(text, nullptr, 10));
}

volatile sig_atomic_t handled;

void handle(int) {
  deep_with_rooms(3);
  handled = handled + 1;
}

/* malloc in a handler, of a signal that a thread sends itself, and of one from a timer, anywhere. */
int signals(bool apart) {
  static char own[1 << 16];
  stack_t stack = {};
  stack.ss_sp = own;
  stack.ss_size = sizeof own;
  struct sigaction action = {};
  action.sa_handler = handle;
  action.sa_flags = apart ? SA_ONSTACK : 0;
  if (apart) sigaltstack(&stack, nullptr);
  sigaction(SIGUSR1, &action, nullptr);
  sigaction(SIGVTALRM, &action, nullptr);
  for (int n = 0; n < 50; n++) raise(SIGUSR1);
  itimerval soon = {{0, 500}, {0, 500}};
  setitimer(ITIMER_VIRTUAL, &soon, nullptr);
  unsigned sum = 0;
  for (int before = handled; handled < before + 100;) sum += static_cast<unsigned>(quiet(8, "12345"));
  soon = {};
  setitimer(ITIMER_VIRTUAL, &soon, nullptr);
  __asm__ volatile("" : : "r"(sum));
  return 0;
}

/* ---- stacks of the program's own ---- */

ucontext_t g_main, g_other;

void on_own_stack() {
  for (int n = 0; n < 20; n++) {
    deep_with_rooms(10);
    swapcontext(&g_other, &g_main);
  }
}

/* Each lies between pages that cannot be read, and goes afterwards. */
int contexts() {
  const size_t bytes = 64 << 10, page = 64 << 10;
  for (int round = 0; round < 20; round++) {
    char *all = static_cast<char *>(mmap(nullptr, bytes + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(all + page, bytes, PROT_READ | PROT_WRITE);
    getcontext(&g_other);
    g_other.uc_stack.ss_sp = all + page;
    g_other.uc_stack.ss_size = bytes;
    g_other.uc_link = &g_main;
    makecontext(&g_other, on_own_stack, 0);
    for (int n = 0; n < 20; n++) swapcontext(&g_main, &g_other);
    munmap(all, bytes + 2 * page);
  }
  return 0;
}

void *in_thread(void *) {
  deep_with_rooms(20);
  return nullptr;
}

/* Threads of stacks of all sizes, libc's and the program's. */
int threads() {
  for (size_t n = 0; n < 60; n++) {
    pthread_attr_t attributes;
    pthread_t thread;
    size_t bytes = (64 << 10) << (n % 6);
    pthread_attr_init(&attributes);
    void *own = n % 2 ? mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) : nullptr;
    if (own != nullptr) pthread_attr_setstack(&attributes, own, bytes);
    else pthread_attr_setstacksize(&attributes, bytes);
    if (pthread_create(&thread, &attributes, in_thread, nullptr) == 0) pthread_join(thread, nullptr);
    if (own != nullptr) munmap(own, bytes);
    pthread_attr_destroy(&attributes);
  }
  return 0;
}

/* ---- words that are no frames ---- */

void take_some() {
  for (int n = 0; n < 4; n++) take_one();
}

/* The words that the walk takes for a return address and a frame are small, unreadable, in no code, in the middle of an
 * instruction, in a module that has gone, on another stack. */
int corrupt(const char *module) {
  void *gone = dlopen(module, RTLD_NOW);
  if (gone == nullptr) return 1;
  auto call = reinterpret_cast<void (*)(void (*)(void))>(dlsym(gone, "module_call"));
  call(take_some);
  auto inside = reinterpret_cast<uintptr_t>(call);
  dlclose(gone);
  char *page = static_cast<char *>(mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  munmap(page + 4096, 4096);
  const auto near_end = reinterpret_cast<uintptr_t>(page) + 4096 - 8, code = reinterpret_cast<uintptr_t>(&take_some);
  static uintptr_t data[2];
  const uintptr_t odd[] = {0, 1, 8, 4096, UINTPTR_MAX, UINTPTR_MAX - 7, 0x7fffffffe000, 0x800000000000, near_end,
                           reinterpret_cast<uintptr_t>(data), inside, inside + 5, inside + 20, code, code + 1, code + 3,
                           reinterpret_cast<uintptr_t>(&malloc) + 2};
  for (uintptr_t one : odd) {
    for (uintptr_t other : odd) {
      const uintptr_t words[] = {one, other, one, other, other, one, code + 9, other, near_end, one, inside + 7, one};
      call_on_words(take_some, words, sizeof words / sizeof words[0]);
      const uintptr_t later[] = {code + 9, one, other, one, other, one, other, one};
      call_on_words(take_some, later, sizeof later / sizeof later[0]);
    }
  }
  return 0;
}

/* ---- modules that come and go ---- */

/* Modules of equal sizes, one in place of the other, whose calls return to the same addresses out of other frames. */
void storm(const std::string &folder, int thread, int rounds) {
  for (int n = 0; n < rounds; n++) {
    std::string path = folder + "/" + (n % 2 ? "odd" : "even") + std::to_string(thread) + ".so";
    void *module = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (module == nullptr) puts(dlerror()), exit(1);
    auto call = reinterpret_cast<void (*)(void (*)(void))>(dlsym(module, "module_call"));
    call(take_some);
    dlclose(module);
  }
}

int storms(const std::string &folder, int threads, int rounds) {
  std::vector<std::thread> all;
  for (int n = 1; n < threads; n++) all.emplace_back(storm, folder, n, rounds);
  storm(folder, 0, rounds);
  for (auto &each : all) each.join();
  return 0;
}

}  // namespace

int main(int count, char **words) {
  std::string how = count > 1 ? words[1] : "";
  if (how == "rooms") return deep_with_rooms(60) < -1000000;
  if (how == "aligned") return aligned_locals(60) < -1000000;
  if (how == "exceptions") return exceptions();
  if (how == "signals") return signals(false);
  if (how == "signals_apart") return signals(true);
  if (how == "contexts") return contexts();
  if (how == "threads") return threads();
  if (how == "other") return call_by_other(take_some), 0;
  if (how == "without_table") return call_without_table(take_some), 0;
  if (how == "corrupt" && count > 2) return corrupt(words[2]);
  return how == "storm" && count > 4 ? storms(words[2], atoi(words[3]), atoi(words[4])) : 2;
}
