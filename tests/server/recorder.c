/* Preloaded into a process: writes down what it does to the files under RECORD_ROOT, in order, to RECORD_LOG.

   Each entry is a line "operation length offset path", and then so many bytes. What goes to stdout is an entry too,
   so that one sees what had been done when something was said. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static int log_fd = -1;
static const char *root;

__attribute__((constructor)) static void begin(void) {
    root = getenv("RECORD_ROOT");
    log_fd = (int)syscall(SYS_openat, AT_FDCWD, getenv("RECORD_LOG"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    unsetenv("LD_PRELOAD");
}

static void note(const char *what, const char *path, const void *data, size_t length, long long offset) {
    char line[2 * PATH_MAX + 100];
    int n = snprintf(line, sizeof line, "%s %zu %lld %s\n", what, length, offset, path);
    syscall(SYS_write, log_fd, line, n);
    if (length) syscall(SYS_write, log_fd, data, length);
}

static int is_ours(const char *path) { return root && strncmp(path, root, strlen(root)) == 0; }

static int path_of(int fd, char *path) {
    char link[64];
    if (fd == 1) return strcpy(path, "stdout"), 1;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, PATH_MAX - 1);
    path[n < 0 ? 0 : n] = 0;
    return n > 0 && is_ours(path);
}

static void whole(int directory, const char *given, char *path) {
    char base[PATH_MAX] = "";
    if (given[0] == '/') { snprintf(path, PATH_MAX, "%s", given); return; }
    if (directory == AT_FDCWD) { if (!getcwd(base, sizeof base)) base[0] = 0; } else path_of(directory, base);
    if (snprintf(path, PATH_MAX, "%s/%s", base, given) >= PATH_MAX) abort();
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define LOCKED(expression) pthread_mutex_lock(&mutex); expression; pthread_mutex_unlock(&mutex)

#define OPEN(name) \
    int name(const char *given, int flags, ...) { \
        char path[PATH_MAX]; va_list list; va_start(list, flags); int mode = va_arg(list, int); va_end(list); \
        pthread_mutex_lock(&mutex); whole(AT_FDCWD, given, path); \
        int is_new = (flags & O_CREAT) && is_ours(path) && access(path, F_OK) != 0; \
        int fd = REAL(name)(given, flags, mode); \
        if (fd >= 0 && is_new) note("create", path, NULL, 0, 0); \
        if (fd >= 0 && (flags & O_TRUNC) && is_ours(path)) note("truncate", path, NULL, 0, 0); \
        pthread_mutex_unlock(&mutex); return fd; }
OPEN(open)
OPEN(open64)

#define PWRITE(name) \
    ssize_t name(int fd, const void *data, size_t length, off_t offset) { \
        char path[PATH_MAX]; \
        LOCKED(ssize_t n = REAL(name)(fd, data, length, offset); if (n > 0 && path_of(fd, path)) note("write", path, data, n, offset)); \
        return n; }
PWRITE(pwrite)
PWRITE(pwrite64)

ssize_t write(int fd, const void *data, size_t length) {
    char path[PATH_MAX];
    LOCKED(ssize_t n = REAL(write)(fd, data, length);
           if (n > 0 && path_of(fd, path)) note("write", path, data, n, fd == 1 ? 0 : lseek(fd, 0, SEEK_CUR) - n));
    return n;
}

#define SYNC(name) \
    int name(int fd) { \
        char path[PATH_MAX]; \
        LOCKED(int r = REAL(name)(fd); if (r == 0 && path_of(fd, path)) note("sync", path, NULL, 0, 0)); \
        return r; }
SYNC(fsync)
SYNC(fdatasync)

#define TRUNCATE(name) \
    int name(int fd, off_t length) { \
        char path[PATH_MAX]; \
        LOCKED(int r = REAL(name)(fd, length); if (r == 0 && path_of(fd, path)) note("truncate", path, NULL, 0, length)); \
        return r; }
TRUNCATE(ftruncate)
TRUNCATE(ftruncate64)

int rename(const char *from, const char *to) {
    char old[PATH_MAX], new[PATH_MAX];
    whole(AT_FDCWD, from, old); whole(AT_FDCWD, to, new);
    LOCKED(int r = REAL(rename)(from, to); if (r == 0 && is_ours(new)) note("rename", old, new, strlen(new), 0));
    return r;
}

int unlink(const char *given) {
    char path[PATH_MAX]; whole(AT_FDCWD, given, path);
    LOCKED(int r = REAL(unlink)(given); if (r == 0 && is_ours(path)) note("unlink", path, NULL, 0, 0));
    return r;
}

int unlinkat(int directory, const char *given, int flags) {
    char path[PATH_MAX]; whole(directory, given, path);
    LOCKED(int r = REAL(unlinkat)(directory, given, flags);
           if (r == 0 && is_ours(path)) note(flags & AT_REMOVEDIR ? "rmdir" : "unlink", path, NULL, 0, 0));
    return r;
}

int rmdir(const char *given) {
    char path[PATH_MAX]; whole(AT_FDCWD, given, path);
    LOCKED(int r = REAL(rmdir)(given); if (r == 0 && is_ours(path)) note("rmdir", path, NULL, 0, 0));
    return r;
}

int mkdir(const char *given, mode_t mode) {
    char path[PATH_MAX]; whole(AT_FDCWD, given, path);
    LOCKED(int r = REAL(mkdir)(given, mode); if (r == 0 && is_ours(path)) note("mkdir", path, NULL, 0, 0));
    return r;
}
