// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace weft::test {

/// A program under test, as a child process: its output can be read while it runs, what it says on standard error
/// afterwards.
class spawned_program {
 public:
  explicit spawned_program(std::vector<std::string> command) : errors_(std::tmpfile(), &std::fclose) {
    int output[2];
    if (!errors_ || pipe(output) != 0) throw std::runtime_error("cannot make files for a program under test");
    pid_ = fork();
    if (pid_ < 0) throw std::runtime_error("cannot start a program under test");
    if (pid_ == 0) become(command, output);
    close(output[1]);
    output_.reset(fdopen(output[0], "r"));
  }
  spawned_program(const spawned_program&) = delete;
  spawned_program& operator=(const spawned_program&) = delete;
  ~spawned_program() {
    if (pid_ == 0) return;
    signal(SIGTERM);
    waitpid(pid_, nullptr, 0);
  }

  void signal(int number) const { kill(pid_, number); }

  /// The next line of its output, without its end; empty at the end.
  std::string read_line() {
    std::string line;
    for (int c = std::fgetc(output_.get()); c != EOF && c != '\n'; c = std::fgetc(output_.get()))
      line.push_back(static_cast<char>(c));
    return line;
  }

  struct ended {
    int status = 0;  // as a shell reports it
    std::string output;
    std::string errors;
  };

  /// Waits for its end. `output` is what was not read before.
  ended finish() {
    ended result;
    result.output = read_all(output_.get());
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = 0;
    result.status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    std::rewind(errors_.get());
    result.errors = read_all(errors_.get());
    return result;
  }

 private:
  using file = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

  [[noreturn]] void become(std::vector<std::string>& command, const int (&output)[2]) {
    dup2(output[1], STDOUT_FILENO);
    dup2(fileno(errors_.get()), STDERR_FILENO);
    close(output[0]);
    close(output[1]);
    // A shell traps no signal that it was started to ignore, as it is under nohup.
    for (const int number : {SIGINT, SIGQUIT, SIGHUP}) std::signal(number, SIG_DFL);
    std::vector<char*> words;
    for (std::string& word : command) words.push_back(word.data());
    words.push_back(nullptr);
    execv(words.front(), words.data());
    _exit(125);
  }

  static std::string read_all(std::FILE* from) {
    std::string text;
    for (int c = std::fgetc(from); c != EOF; c = std::fgetc(from)) text.push_back(static_cast<char>(c));
    return text;
  }

  pid_t pid_ = 0;
  file errors_;
  file output_{nullptr, &std::fclose};
};

/// True once the process has ended, whether or not its parent has taken notice; false if it has not after 20 seconds.
inline bool ends(const std::string& pid) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (std::chrono::steady_clock::now() < deadline) {
    std::ifstream stat("/proc/" + pid + "/stat");
    std::string number;
    std::string name;
    std::string state;
    if (!(stat >> number >> name >> state) || state == "Z" || state == "X") return true;
    std::this_thread::yield();
  }
  return false;
}

}  // namespace weft::test
