#include "runtime/jit/Process.h"

#include "runtime/base/Interrupt.h"
#include "runtime/base/Text.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <initializer_list>
#include <spawn.h>
#include <string_view>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace hector {

namespace {

std::vector<std::string> environmentFor(const ProcessRequest &request) {
  std::vector<std::string> variables = {"LC_ALL=C", "TMPDIR=" + request.temporaryFolder};
  for (char **variable = environ; variable && *variable; ++variable) {
    const std::string_view text = *variable;
    if (!text.starts_with("LC_ALL=") && !text.starts_with("LANGUAGE=") && !text.starts_with("TMPDIR="))
      variables.emplace_back(text);
  }
  return variables;
}

std::vector<char *> pointersTo(std::vector<std::string> &texts) {
  std::vector<char *> pointers;
  for (std::string &text : texts)
    pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

/// Returns 0 or the error.
int start(const ProcessRequest &request, pid_t &process) {
  std::vector<std::string> words = {request.program};
  words.insert(words.end(), request.arguments.begin(), request.arguments.end());
  std::vector<std::string> variables = environmentFor(request);

  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, request.outputPath.c_str(), O_WRONLY | O_CREAT | O_APPEND,
                                   0600);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  posix_spawn_file_actions_addchdir_np(&actions, request.folder.c_str());
  // Where Ctrl-C ends this process it should end the other one as well; where it is handled here, the other one has a
  // group of its own, so that we can stop all that it starts. Signals that our programs ignore (see Program.h) are not
  // ignored there.
  struct sigaction current = {};
  const bool isHandled = sigaction(SIGINT, nullptr, &current) == 0 && current.sa_handler != SIG_DFL;
  sigset_t none, ignored;
  sigemptyset(&none);
  sigemptyset(&ignored);
  sigaddset(&ignored, SIGPIPE);
  sigaddset(&ignored, SIGXFSZ);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &ignored);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, static_cast<short>(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                                                           (isHandled ? POSIX_SPAWN_SETPGROUP : 0)));
  const int error = posix_spawn(&process, request.program.c_str(), &actions, &attributes, pointersTo(words).data(),
                                pointersTo(variables).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

}  // namespace

Status interrupted(const std::string &what) {
  return Status::failed(what + ": interrupted");
}

Result<int> runProcess(const ProcessRequest &request) {
  pid_t process = 0;
  if (int error = start(request, process))
    return Status::failed(request.program + ": cannot be started: " + std::strerror(error));
  // Looked at from time to time, since a noted interrupt ends no wait.
  constexpr std::chrono::milliseconds kLongest(10);
  bool isStopped = false;
  for (std::chrono::milliseconds pause(1);; pause = std::min(pause * 2, kLongest)) {
    int status = 0;
    const pid_t ended = waitpid(process, &status, isStopped ? 0 : WNOHANG);
    if (ended < 0 && errno != EINTR)
      return Status::failed(request.program + ": its end cannot be waited for: " + std::strerror(errno));
    if (ended == process) {
      if (isStopped)
        return interrupted(request.program);
      return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    }
    if (!isStopped && interruptSignal()) {
      kill(getpgid(process) == process ? -process : process, SIGKILL);
      isStopped = true;
    } else if (!isStopped) {
      std::this_thread::sleep_for(pause);
    }
  }
}

}  // namespace hector
