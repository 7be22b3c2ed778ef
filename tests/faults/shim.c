/* Stands between a process and libc (LD_PRELOAD): counts the calls that touch the watched folders, and at the n-th of
 * them, or the n-th of a name, kills the process, fails the call, or waits. What it shall do stands in a mapped file that the test writes.
 * The layout of `struct control` is mirrored in injection.py. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MAX_NAMES 512
#define NAME_BYTES 16
#define FOLDERS_BYTES 4096
enum { COUNT, KILL, KILL_HALF, FAIL, FAIL_ON, WAIT };

struct control {
    volatile int armed, n_calls, at, action, number, fired, released, n_met, is_behind, round;
    char name[NAME_BYTES], behind[NAME_BYTES];
    char names[MAX_NAMES][NAME_BYTES];
    char folders[FOLDERS_BYTES]; /* the watched ones, separated by ':' */
};

static struct control *control;
static long (*real_syscall)(long, ...);

static void find_syscall(void) { /* other libraries may open files before our turn to start */
    if (!real_syscall) real_syscall = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
}

__attribute__((constructor)) static void start(void) {
    find_syscall();
    const char *path = getenv("FAULTS_CONTROL");
    if (!path) return;
    int fd = (int)real_syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC, 0);
    if (fd < 0) return;
    void *at = mmap(NULL, sizeof(struct control), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    real_syscall(SYS_close, fd);
    if (at != MAP_FAILED) control = at;
}

static int is_watched(const char *path) {
    for (const char *at = control->folders; *at;) {
        const char *end = strchrnul(at, ':');
        size_t n = (size_t)(end - at);
        if (n && !strncmp(path, at, n) && (path[n] == '/' || path[n] == ' ' || !path[n])) return 1;
        at = *end ? end + 1 : end;
    }
    return 0;
}

static int concerns_fd(int fd) {
    char link[48], target[4200];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    long n = real_syscall(SYS_readlinkat, AT_FDCWD, link, target, sizeof target - 1);
    if (n <= 0) return 0;
    target[n] = 0;
    return is_watched(target);
}

static int concerns(int dir_fd, const char *path) {
    if (path && path[0] == '/') return is_watched(path);
    return dir_fd != AT_FDCWD && concerns_fd(dir_fd);
}

static int begins(const char *name, const char *start) { return !strncmp(name, start, strlen(start)); }

/* Whether this call is one of those among which the at-th is meant. */
static int is_meant(const char *name) {
    if (control->is_behind) return begins(name, control->name);
    control->is_behind = begins(name, control->behind);
    return !control->behind[0] && begins(name, control->name);
}

/* The action due at this call, COUNT for none. */
static int due(const char *name) {
    int n = __sync_add_and_fetch(&control->n_calls, 1);
    if (n <= MAX_NAMES) strncpy(control->names[n - 1], name, NAME_BYTES - 1);
    if (control->action == FAIL_ON && control->fired) return FAIL_ON;
    if (!is_meant(name) || __sync_add_and_fetch(&control->n_met, 1) != control->at || control->action == COUNT) return COUNT;
    control->fired = n;
    if (control->action == KILL) {
        kill(getpid(), SIGKILL);
        for (;;) pause();
    }
    if (control->action == WAIT) {
        struct timespec moment = {0, 1000000};
        int round = control->round; /* who wakes up in another one was released long ago */
        while (!control->released && control->armed && control->round == round) nanosleep(&moment, NULL);
        return COUNT;
    }
    return control->action;
}

static int fails(const char *name) {
    int action = due(name);
    if (action != FAIL && action != FAIL_ON) return 0;
    errno = control->number;
    return 1;
}

#define WATCHING (control && control->armed)
#define REAL(type, name, ...) ((type (*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name))

#define ON_FD(type, name, label, declared, given, types)                                  \
    type name declared {                                                                  \
        static type (*real) types;                                                        \
        if (!real) real = (type (*) types)dlsym(RTLD_NEXT, #name);                        \
        if (WATCHING && concerns_fd(fd) && fails(label)) return -1;                       \
        return real given;                                                                \
    }
#define AT_PATH(type, name, label, declared, given, types)                                \
    type name declared {                                                                  \
        static type (*real) types;                                                        \
        if (!real) real = (type (*) types)dlsym(RTLD_NEXT, #name);                        \
        if (WATCHING && concerns(dir_fd, path) && fails(label)) return -1;                \
        return real given;                                                                \
    }

#define WRITING(name, label, declared, given, half, types)                                \
    ssize_t name declared {                                                               \
        static ssize_t (*real) types;                                                     \
        if (!real) real = (ssize_t (*) types)dlsym(RTLD_NEXT, #name);                     \
        if (WATCHING && concerns_fd(fd)) {                                                \
            int action = due(label);                                                      \
            if (action == KILL_HALF) {                                                    \
                if (n > 1) real half;                                                     \
                kill(getpid(), SIGKILL);                                                  \
                for (;;) pause();                                                         \
            }                                                                             \
            if (action == FAIL || action == FAIL_ON) {                                    \
                errno = control->number;                                                  \
                return -1;                                                                \
            }                                                                             \
        }                                                                                 \
        return real given;                                                                \
    }

WRITING(write, "write", (int fd, const void *data, size_t n), (fd, data, n), (fd, data, n / 2), (int, const void *, size_t))
WRITING(pwrite64, "pwrite", (int fd, const void *data, size_t n, off64_t at), (fd, data, n, at), (fd, data, n / 2, at),
        (int, const void *, size_t, off64_t))
WRITING(pwrite, "pwrite", (int fd, const void *data, size_t n, off_t at), (fd, data, n, at), (fd, data, n / 2, at),
        (int, const void *, size_t, off_t))

ON_FD(ssize_t, read, "read", (int fd, void *data, size_t n), (fd, data, n), (int, void *, size_t))
ON_FD(ssize_t, pread64, "pread", (int fd, void *data, size_t n, off64_t at), (fd, data, n, at), (int, void *, size_t, off64_t))
ON_FD(ssize_t, pread, "pread", (int fd, void *data, size_t n, off_t at), (fd, data, n, at), (int, void *, size_t, off_t))
ON_FD(int, ftruncate64, "ftruncate", (int fd, off64_t size), (fd, size), (int, off64_t))
ON_FD(int, ftruncate, "ftruncate", (int fd, off_t size), (fd, size), (int, off_t))
ON_FD(int, fsync, "fsync", (int fd), (fd), (int))
ON_FD(int, fchmod, "fchmod", (int fd, mode_t mode), (fd, mode), (int, mode_t))
ON_FD(int, fchown, "fchown", (int fd, uid_t uid, gid_t gid), (fd, uid, gid), (int, uid_t, gid_t))
ON_FD(int, flock, "flock", (int fd, int how), (fd, how), (int, int))
ON_FD(ssize_t, flistxattr, "flistxattr", (int fd, char *list, size_t n), (fd, list, n), (int, char *, size_t))
ON_FD(ssize_t, fgetxattr, "fgetxattr", (int fd, const char *name, void *value, size_t n), (fd, name, value, n),
      (int, const char *, void *, size_t))
ON_FD(int, fsetxattr, "fsetxattr", (int fd, const char *name, const void *value, size_t n, int flags),
      (fd, name, value, n, flags), (int, const char *, const void *, size_t, int))
ON_FD(int, futimens, "futimens", (int fd, const struct timespec times[2]), (fd, times), (int, const struct timespec *))
ON_FD(int, fstat64, "fstat", (int fd, struct stat64 *status), (fd, status), (int, struct stat64 *))
ON_FD(int, fstat, "fstat", (int fd, struct stat *status), (fd, status), (int, struct stat *))

AT_PATH(int, unlinkat, "unlinkat", (int dir_fd, const char *path, int flags), (dir_fd, path, flags), (int, const char *, int))
AT_PATH(int, mkdirat, "mkdirat", (int dir_fd, const char *path, mode_t mode), (dir_fd, path, mode), (int, const char *, mode_t))
AT_PATH(int, renameat, "renameat", (int dir_fd, const char *path, int new_fd, const char *new), (dir_fd, path, new_fd, new),
        (int, const char *, int, const char *))
AT_PATH(int, renameat2, "renameat2", (int dir_fd, const char *path, int new_fd, const char *new, unsigned flags),
        (dir_fd, path, new_fd, new, flags), (int, const char *, int, const char *, unsigned))
AT_PATH(int, linkat, "linkat", (int dir_fd, const char *path, int new_fd, const char *new, int flags),
        (dir_fd, path, new_fd, new, flags), (int, const char *, int, const char *, int))
AT_PATH(int, fstatat64, "fstatat", (int dir_fd, const char *path, struct stat64 *status, int flags),
        (dir_fd, path, status, flags), (int, const char *, struct stat64 *, int))
AT_PATH(int, fstatat, "fstatat", (int dir_fd, const char *path, struct stat *status, int flags),
        (dir_fd, path, status, flags), (int, const char *, struct stat *, int))
AT_PATH(int, faccessat, "faccessat", (int dir_fd, const char *path, int how, int flags), (dir_fd, path, how, flags),
        (int, const char *, int, int))

#define dir_fd AT_FDCWD
AT_PATH(int, lstat64, "lstat", (const char *path, struct stat64 *status), (path, status), (const char *, struct stat64 *))
AT_PATH(int, lstat, "lstat", (const char *path, struct stat *status), (path, status), (const char *, struct stat *))
#undef dir_fd

int ioctl(int fd, unsigned long what, ...) { /* one argument at most */
    static int (*real)(int, unsigned long, void *);
    if (!real) real = REAL(int, ioctl, int, unsigned long, void *);
    va_list list;
    va_start(list, what);
    void *argument = va_arg(list, void *);
    va_end(list);
    if (WATCHING && concerns_fd(fd) && fails("ioctl")) return -1;
    return real(fd, what, argument);
}

int close(int fd) { /* as Linux does: closed all the same */
    static int (*real)(int);
    if (!real) real = REAL(int, close, int);
    int is_failing = WATCHING && concerns_fd(fd) && fails("close");
    int result = real(fd);
    if (is_failing) errno = control->number;
    return is_failing ? -1 : result;
}

static int allocating(int fd, off64_t at, off64_t size, const char *name) { /* returns the number, leaves errno */
    int (*real)(int, off64_t, off64_t) = (int (*)(int, off64_t, off64_t))dlsym(RTLD_NEXT, name);
    if (WATCHING && concerns_fd(fd) && fails("posix_fallocate")) return control->number;
    return real(fd, at, size);
}
int posix_fallocate64(int fd, off64_t at, off64_t size) { return allocating(fd, at, size, "posix_fallocate64"); }
int posix_fallocate(int fd, off_t at, off_t size) { return allocating(fd, at, size, "posix_fallocate"); }

static int opening(int dir_fd, const char *path, int flags, mode_t mode) {
    find_syscall();
    if (WATCHING && concerns(dir_fd, path) && fails("openat")) return -1;
    return (int)real_syscall(SYS_openat, dir_fd, path, flags, mode);
}
static mode_t mode_of(int flags, va_list list) { return flags & (O_CREAT | __O_TMPFILE) ? va_arg(list, mode_t) : 0; }
#define OPENING(name, declared, dir_fd)                                                   \
    int name declared {                                                                   \
        va_list list;                                                                     \
        va_start(list, flags);                                                            \
        mode_t mode = mode_of(flags, list);                                               \
        va_end(list);                                                                     \
        return opening(dir_fd, path, flags, mode);                                        \
    }
OPENING(openat64, (int dir_fd, const char *path, int flags, ...), dir_fd)
OPENING(openat, (int dir_fd, const char *path, int flags, ...), dir_fd)
OPENING(open64, (const char *path, int flags, ...), AT_FDCWD)
OPENING(open, (const char *path, int flags, ...), AT_FDCWD)

long syscall(long number, ...) {
    va_list list;
    va_start(list, number);
    long a = va_arg(list, long), b = va_arg(list, long), c = va_arg(list, long);
    long d = va_arg(list, long), e = va_arg(list, long), f = va_arg(list, long);
    va_end(list);
    find_syscall();
    if (number == 437 && WATCHING && concerns((int)a, (const char *)b) && fails("openat2")) return -1;
    return real_syscall(number, a, b, c, d, e, f);
}
