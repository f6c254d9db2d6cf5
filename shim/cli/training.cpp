#include "training.hpp"

#include <charconv>
#include <fstream>

std::vector<std::string> Training::command(const std::string& losses, std::uint64_t occupy) const {
  std::vector<std::string> words = {program, "--kernels", kernels, "--losses", losses};
  if (steps > 0) words.insert(words.end(), {"--steps", std::to_string(steps)});
  if (occupy > 0) words.insert(words.end(), {"--occupy", std::to_string(occupy)});
  return words;
}

TrainingResult train(const std::vector<std::string>& command, ChildEnvironment& environment,
                     const std::string& losses) {
  TrainingResult result;
  result.process = run_to_end(command, environment);
  result.error = cuda_error_in(result.process.output);
  result.live_peak = live_peak_in(result.process.output);
  result.step_seconds = step_seconds_in(result.process.output);
  std::ifstream file(losses);
  for (std::string line; std::getline(file, line);) result.losses.push_back(line);
  return result;
}

std::uint64_t live_peak_in(const std::string& output) {
  const std::size_t words = output.rfind("live peak");
  if (words == std::string::npos) return 0;
  const std::size_t digits = output.find_first_of("0123456789", words);
  if (digits == std::string::npos) return 0;
  std::uint64_t bytes = 0;
  const auto parsed = std::from_chars(output.data() + digits, output.data() + output.size(), bytes);
  return parsed.ec == std::errc{} ? bytes : 0;
}

double step_seconds_in(const std::string& output) {
  const std::size_t end = output.rfind(" seconds per step");
  if (end == std::string::npos || end == 0) return 0;
  const std::size_t newline = output.rfind('\n', end);
  const std::size_t start = newline == std::string::npos ? 0 : newline + 1;
  double seconds = 0;
  const auto parsed = std::from_chars(output.data() + start, output.data() + end, seconds);
  return parsed.ec == std::errc{} ? seconds : 0;
}

std::string cuda_error_in(const std::string& output) {
  const std::size_t start = output.find("CUDA_ERROR_");
  if (start == std::string::npos) return "";
  const std::size_t end = output.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789", start);
  return output.substr(start, end == std::string::npos ? end : end - start);
}
