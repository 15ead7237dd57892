/* Preloaded into a process: a disk that fails for as long as the file FAIL_FLAG is there.

   If the file says "sync", syncing a file under FAIL_ROOT fails with EIO; if it says "full", writing does with ENOSPC. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

static int fails(int fd, const char *how) {
    char said[8] = "", link[64], path[PATH_MAX];
    const char *flag = getenv("FAIL_FLAG"), *root = getenv("FAIL_ROOT");
    if (!flag || !root) return 0;
    int file = (int)syscall(SYS_openat, AT_FDCWD, flag, O_RDONLY | O_CLOEXEC, 0);
    if (file < 0) return 0;
    ssize_t n = read(file, said, sizeof said - 1);
    close(file);
    if (n <= 0 || strncmp(said, how, strlen(how))) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    n = readlink(link, path, sizeof path - 1);
    if (n <= 0) return 0;
    path[n] = 0;
    return strncmp(path, root, strlen(root)) == 0;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

int fsync(int fd) { return fails(fd, "sync") ? (errno = EIO, -1) : REAL(fsync)(fd); }
int fdatasync(int fd) { return fails(fd, "sync") ? (errno = EIO, -1) : REAL(fdatasync)(fd); }

ssize_t pwrite64(int fd, const void *data, size_t n, off64_t at) {
    return fails(fd, "full") ? (errno = ENOSPC, -1) : REAL(pwrite64)(fd, data, n, at);
}

ssize_t pwrite(int fd, const void *data, size_t n, off_t at) {
    return fails(fd, "full") ? (errno = ENOSPC, -1) : REAL(pwrite)(fd, data, n, at);
}

ssize_t write(int fd, const void *data, size_t n) {
    return fails(fd, "full") ? (errno = ENOSPC, -1) : REAL(write)(fd, data, n);
}
