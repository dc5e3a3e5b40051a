// SPDX-License-Identifier: Apache-2.0
#include "line_prefixer.hpp"

#include <utility>

namespace weft::run {

line_prefixer::line_prefixer(std::string prefix, std::size_t max_line)
    : prefix_(std::move(prefix)), max_line_(max_line) {}

std::string line_prefixer::feed(std::string_view bytes) {
  std::string lines;
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    const std::string_view line = bytes.substr(0, end);
    const std::size_t room = max_line_ - partial_.size();
    partial_.append(line, 0, room);
    if (line.size() > room) {
      bytes.remove_prefix(room);
    } else if (end != std::string_view::npos) {
      bytes.remove_prefix(end + 1);
    } else {
      return lines;
    }
    end_line(lines);
  }
  return lines;
}

std::string line_prefixer::finish() {
  std::string lines;
  if (!partial_.empty()) end_line(lines);
  return lines;
}

void line_prefixer::end_line(std::string& lines) {
  lines.append(prefix_).append(std::exchange(partial_, {})) += '\n';
}

}  // namespace weft::run
