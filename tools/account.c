/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* account.c: sums up the files of a command's processes in a few lines.
 *
 * what      See account.h.
 * owner     The single thread.
 * failure   A file that cannot be read is skipped; an unfinished record counts for nothing.
 * not here  Running the command: attend.c.
 */
#define _GNU_SOURCE
#include "account.h"
#include "proof.h"
#include <dirent.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { text_bytes = 32, texts = 8, names_most = 128, name_bytes = 24 };

struct count {
  char name[name_bytes];
  uint64_t value;
};

struct account {
  const struct account_of *of;
  const char *library; /* path with symbolic links resolved */
  unsigned served, not_served; /* number of programs */
  bool first_is_known;
  char other[proof_path_bytes], server[proof_path_bytes]; /* the first unserved program; its malloc's library */
  struct proof_end end; /* of the first process, or else of the program with most memory of those that told their end */
  pid_t end_pid;
  char end_exe[proof_path_bytes];
  struct count count[names_most];
  unsigned counts;
};

/* ---- text ---- */

static char *next_text(void)
{
  static char text[texts][text_bytes];
  static unsigned next;
  return text[next++ % texts];
}

const char *grouped(unsigned long long number)
{
  char digits[text_bytes];
  char *text = next_text();
  int length = snprintf(digits, sizeof digits, "%llu", number);
  char *at = text;
  for (int i = 0; i < length; i++) {
    if (i != 0 && (length - i) % 3 == 0)
      *at++ = ',';
    *at++ = digits[i];
  }
  *at = '\0';
  return text;
}

const char *as_bytes(double bytes)
{
  static const char *const unit[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  char *text = next_text();
  unsigned n = 0;
  for (; bytes >= 1024 && n < 4; n++)
    bytes /= 1024;
  snprintf(text, text_bytes, n == 0 ? "%.0f %s" : "%.1f %s", bytes, unit[n]);
  return text;
}

static const char *last_part(const char *path)
{
  const char *slash = strrchr(path, '/');
  return slash != NULL ? slash + 1 : path;
}

/* ---- reading ---- */

static bool is_library(const char *path, const char *library)
{
  char resolved[PATH_MAX];
  return path[0] != '\0' && realpath(path, resolved) != NULL && strcmp(resolved, library) == 0;
}

static uint64_t kept_at(const struct proof_end *end)
{
  return end->caches + end->dirty + end->holes;
}

static bool is_more(const struct account *account, const struct proof *proof)
{
  pid_t first = account->of->first;
  if ((pid_t)proof->pid == first || account->end_pid == first)
    return (pid_t)proof->pid == first;
  return !account->end.told || proof->end.live + kept_at(&proof->end) > account->end.live + kept_at(&account->end);
}

static void add_end(struct account *account, const struct proof *proof)
{
  if (!proof->end.told || !is_more(account, proof))
    return;
  account->end = proof->end;
  account->end_pid = (pid_t)proof->pid;
  memcpy(account->end_exe, proof->exe, sizeof account->end_exe - 1);
}

static void add_proof(struct account *account, const struct proof *proof)
{
  add_end(account, proof);
  bool malloc_is = is_library(proof->malloc_path, account->library);
  bool served = malloc_is && is_library(proof->free_path, account->library);
  account->first_is_known |= (pid_t)proof->pid == account->of->first;
  account->served += served;
  account->not_served += !served;
  if (served || account->not_served > 1)
    return;
  snprintf(account->other, sizeof account->other, "%s", proof->exe);
  snprintf(account->server, sizeof account->server, "%s", malloc_is ? proof->free_path : proof->malloc_path);
}

static void read_proofs(struct account *account, FILE *file)
{
  static struct proof proof;
  while (fread(&proof, sizeof proof, 1, file) == 1) {
    if (memcmp(proof.magic, "HAKPRF01", sizeof proof.magic) == 0)
      add_proof(account, &proof);
    fseek(file, proof_record_bytes - (long)sizeof proof, SEEK_CUR);
  }
}

static void add_count(struct account *account, const struct count *row)
{
  for (unsigned i = 0; i < account->counts; i++)
    if (strncmp(account->count[i].name, row->name, name_bytes) == 0) {
      account->count[i].value += row->value;
      return;
    }
  if (account->counts < names_most)
    account->count[account->counts++] = *row;
}

static void read_counts(struct account *account, FILE *file)
{
  struct {
    char magic[8];
    uint32_t rows, row_bytes;
  } head;
  struct count row;
  if (fread(&head, sizeof head, 1, file) != 1 || memcmp(head.magic, "HAKCNT01", 8) != 0 || head.row_bytes != sizeof row)
    return;
  for (uint32_t n = 0; n < head.rows && fread(&row, sizeof row, 1, file) == 1; n++)
    add_count(account, &row);
}

static void read_file(struct account *account, const char *folder, const char *name)
{
  char path[PATH_MAX];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *file = fopen(path, "rbe");
  if (file == NULL)
    return;
  if (strncmp(name, "proof.", 6) == 0)
    read_proofs(account, file);
  else if (strncmp(name, "counts.", 7) == 0)
    read_counts(account, file);
  fclose(file);
}

static void read_folder(struct account *account, const char *folder)
{
  DIR *open = opendir(folder);
  if (open == NULL)
    return;
  for (struct dirent *entry; (entry = readdir(open)) != NULL;)
    read_file(account, folder, entry->d_name);
  closedir(open);
}

/* ---- writing ---- */

static uint64_t counted(const struct account *account, const char *name)
{
  for (unsigned i = 0; i < account->counts; i++)
    if (strncmp(account->count[i].name, name, name_bytes) == 0)
      return account->count[i].value;
  return 0;
}

static uint64_t counted_all(const struct account *account, const char *prefix)
{
  uint64_t sum = 0;
  for (unsigned i = 0; i < account->counts; i++)
    if (strncmp(account->count[i].name, prefix, strlen(prefix)) == 0)
      sum += account->count[i].value;
  return sum;
}

static void print_served(FILE *to, const struct account *account)
{
  fprintf(to, "  served       ");
  if (account->not_served != 0)
    fprintf(to, "not by HAKMEM: malloc or free of %s is in %s%s", last_part(account->other),
            account->server[0] != '\0' ? account->server : "no library",
            account->not_served > 1 ? ", and of more programs" : "");
  else if (!account->first_is_known)
    fprintf(to, "not known: the program wrote no record");
  else if (account->served == 1)
    fprintf(to, "by HAKMEM: malloc and free are HAKMEM's");
  else
    fprintf(to, "by HAKMEM: malloc and free are HAKMEM's, in %s programs", grouped(account->served));
  fprintf(to, "\n");
}

/* Of the first process, so beside what that process told, or where none told anything. */
static void print_resident(FILE *to, const struct account_of *of)
{
  if (of->last.bytes != 0)
    fprintf(to, "%s resident %.3f s before", as_bytes((double)of->last.bytes), (double)of->before_end_ns / 1e9);
  else
    fprintf(to, "resident not known");
}

static void print_end_memory(FILE *to, const struct account *account)
{
  const struct proof_end *end = &account->end;
  fprintf(to, "  at the end   ");
  if (end->told)
    fprintf(to, "%s live (%s B)", as_bytes((double)end->live), grouped(end->live));
  else
    fprintf(to, "live not known: HAKMEM did not serve, or the program did not end by exit");
  if (account->served + account->not_served > 1 && end->told)
    fprintf(to, " in %s", last_part(account->end_exe));
  if (!end->told || account->end_pid == account->of->first) {
    fprintf(to, "; ");
    print_resident(to, account->of);
  }
  fprintf(to, "\n");
  if (end->told)
    fprintf(to, "               HAKMEM keeps %s free: caches %s, dirty %s, holes %s; and metadata %s\n",
            as_bytes((double)kept_at(end)), as_bytes((double)end->caches), as_bytes((double)end->dirty),
            as_bytes((double)end->holes), as_bytes((double)end->metadata));
}

static void print_calls(FILE *to, const struct account *account)
{
  uint64_t allocs = counted_all(account, "alloc_"), frees = counted_all(account, "free_");
  frees -= counted(account, "free_local") + counted(account, "free_remote");
  if (allocs + frees != 0)
    fprintf(to, "  calls        %s allocations, %s frees\n", grouped(allocs), grouped(frees));
}

static void print_counts(FILE *to, const struct account *account)
{
  double page = (double)sysconf(_SC_PAGESIZE);
  double given = (double)counted(account, "release_bytes") + (double)counted(account, "hole_pages") * page;
  uint64_t maps = counted(account, "kernel_map"), remaps = counted(account, "kernel_remap");
  uint64_t unmaps = counted(account, "kernel_unmap"), advices = counted(account, "kernel_advise");
  fprintf(to, "  HAKMEM       %s kernel calls (%s mmap, %s munmap, %s madvise, %s mremap)\n",
          grouped(maps + remaps + unmaps + advices), grouped(maps), grouped(unmaps), grouped(advices), grouped(remaps));
  fprintf(to, "               %s of free runs and slab pages released; %s big blocks cut from freed big blocks\n",
          as_bytes(given), grouped(counted(account, "big_hits")));
}

void account_print(FILE *to, const char *folder, const struct account_of *of)
{
  char resolved[PATH_MAX];
  static struct account account;
  account = (struct account){.of = of, .library = realpath(of->library, resolved) != NULL ? resolved : of->library};
  read_folder(&account, folder);
  print_served(to, &account);
  print_end_memory(to, &account);
  print_calls(to, &account);
  if (account.counts != 0)
    print_counts(to, &account);
}
