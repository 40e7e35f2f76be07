/// Runs the built `hector` as users do: a command line in a folder, and what it prints.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <sys/wait.h>

namespace hector::test {

struct Outcome {
  std::string output;  // standard output and standard error, as they came
  int exitCode = -1;   // -1 when a signal ended it
};

/// A new folder that is removed with its contents; in it, `bin/hector` is the program under test.
class Workspace {
public:
  explicit Workspace(const std::string &program) {
    std::string pattern = (std::filesystem::temp_directory_path() / "hector-XXXXXX").string();
    root = mkdtemp(pattern.data()) ? pattern : "";
    std::filesystem::create_directories(root / "bin");
    std::filesystem::create_directories(root / "work");
    std::filesystem::create_symlink(program, root / "bin" / "hector");
  }
  ~Workspace() { std::filesystem::remove_all(root); }
  Workspace(const Workspace &) = delete;
  Workspace &operator=(const Workspace &) = delete;

  std::filesystem::path folder() const { return root / "work"; }

  /// Runs a shell command line in `folder()`.
  Outcome run(const std::string &command) const {
    std::string line = "cd '" + folder().string() + "' && PATH='" + (root / "bin").string() + "':\"$PATH\" && { " +
                       command + "\n} 2>&1";
    Outcome outcome;
    std::FILE *pipe = popen(line.c_str(), "r");
    if (!pipe)
      return outcome;
    char buffer[4096];
    for (size_t count = 0; (count = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;)
      outcome.output.append(buffer, count);
    int status = pclose(pipe);
    outcome.exitCode = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return outcome;
  }

private:
  std::filesystem::path root;
};

inline std::string readText(const std::filesystem::path &path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

inline void writeText(const std::filesystem::path &path, const std::string &text) {
  std::ofstream(path, std::ios::binary) << text;
}

}  // namespace hector::test
