// The preload library among other libraries: thin driver loaders beneath it, a user's tools in front of it, and a
// sanitizer's runtime next to it.
#include <gtest/gtest.h>

#include <filesystem>
#include <vector>

#include "program_run.hpp"

namespace tessera::programs {
namespace {

namespace fs = std::filesystem;

const fs::path kLibraries = fs::path(TESSERA_TEST_BUILD_DIR) / "lib";
const fs::path kThin = kLibraries / "tessera" / "thin";
const std::string kOurs = (kLibraries / "libtessera_preload.so").string();
const std::string kTesseraRun = (fs::path(TESSERA_TEST_BUILD_DIR) / "bin" / "tessera").string() +
                                " run --no-presets --software --software-memory 24MiB --host-memory 256MiB -- ";

// A third of what the programs allocate.
const Environment kSmall = {{"TESSERA_SOFTWARE_MEMORY", "24MiB"}, {"TESSERA_HOST_MEMORY", "256MiB"}};

// Drivers under other names, each in its own folder.
class PreloadLayers : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = scratch("layers");
    fs::remove_all(root_);
  }
  void TearDown() override { fs::remove_all(root_); }

  // The software device, which needs the files next to it.
  std::string driver(const std::string& folder, const std::string& name) {
    const fs::path made = fs::path(root_) / folder;
    fs::create_directories(made);
    for (const auto& file : fs::directory_iterator(kLibraries / "softcuda")) {
      const std::string own = file.path().filename().string();
      fs::create_symlink(file.path(), made / (own == "libcuda.so.1" ? name : own));
    }
    return (made / name).string();
  }

  std::string loader(const std::string& folder, const std::string& name) {
    const fs::path made = fs::path(root_) / folder;
    fs::create_directories(made);
    fs::copy_file(kThin / "libcuda.so.1", made / name);
    return (made / name).string();
  }

  // Chains of two, three and four libraries, starting with libcuda.so.1 in the folder "first".
  std::vector<std::string> chains() {
    const std::string first = loader("first", "libcuda.so.1");
    const std::string numbered = loader("second", "libcuda.so.1.1");
    const std::string layer = loader("third", "libgpu_layer.so");
    const std::string versioned = driver("driver", "libcuda.so.535.54.03");
    const std::string nameless = driver("nameless", "libtrue_driver.so");
    return {first + ":" + versioned, first + ":" + nameless, first + ":" + layer + ":" + versioned,
            first + ":" + numbered + ":" + layer + ":" + versioned, first + ":" + layer + ":" + nameless};
  }

  Environment thin(const std::string& chain) {
    Environment all = kSmall;
    all["THIN_CHAIN"] = chain;
    all["LD_LIBRARY_PATH"] = root_ + "/first:" + kLibraries.string();
    return all;
  }

  std::string root_;
};

void expect_ok(const std::string& command, Environment environment) {
  environment.try_emplace("LD_PRELOAD", kOurs);
  const Outcome ran = run(command, environment);
  EXPECT_EQ(ran.output, "ok\n") << command << ": exit code " << ran.exit_code;
  EXPECT_EQ(ran.message, "");
}

TEST_F(PreloadLayers, AThinLoaderGetsTheDriversFunctionsAndTheProgramGetsOurs) {
  for (const std::string& chain : chains()) {
    SCOPED_TRACE(chain);
    expect_ok("./opened_driver libcuda.so.1 dlsym", thin(chain));
    expect_ok("./opened_driver libcuda.so.1 address", thin(chain));
    expect_ok("./crowd preload_kernels.so", thin(chain));
  }
}

TEST_F(PreloadLayers, AHelperMayLookFunctionsUp) {
  for (const std::string& chain : chains()) {
    SCOPED_TRACE(chain);
    Environment helped = thin(chain);
    helped["THIN_HELPER"] = (kThin / "thin_helper.so").string();
    expect_ok("./opened_driver libcuda.so.1 dlsym", helped);
    expect_ok("./opened_driver libcuda.so.1 address", helped);
  }
}

TEST_F(PreloadLayers, ALateOpenedDriverMayHaveAnotherName) {
  Environment elsewhere = kSmall;
  elsewhere["LD_LIBRARY_PATH"] = "/nowhere";
  const std::string versioned = driver("driver", "libcuda.so.535.54.03");
  const std::string numbered = loader("second", "libcuda.so.1.1");
  for (const char* way : {" dlsym", " address"}) {
    expect_ok("./opened_driver " + versioned + way, elsewhere);
    Environment layered = elsewhere;
    layered["THIN_CHAIN"] = numbered + ":" + versioned;
    expect_ok("./opened_driver " + numbered + way, layered);
  }
}

// The number of calls seen by a tool that wraps cuMemAlloc.
void expect_counted(const std::string& command, Environment environment, const std::string& count) {
  for (const char* from : {"", "libc"}) {
    if (*from != '\0') environment["COUNTER_LOADER"] = from;
    const Outcome ran = run(command, environment);
    EXPECT_EQ(ran.output, "ok\n") << command << ": exit code " << ran.exit_code;
    EXPECT_EQ(ran.message, "counted " + count + "\n");
  }
}

TEST_F(PreloadLayers, AToolOfTheUserIsCalledFirst) {
  Environment counted = {{"LD_PRELOAD", (kThin / "call_counter.so").string()}};
  const std::string& tessera = kTesseraRun;
  expect_counted(tessera + "./opened_driver libcuda.so.1 dlsym", counted, "12");
  expect_counted(tessera + "./large_graph preload_kernels.so", counted,
                 run("./large_graph preload_kernels.so", counted).message.substr(8, 2));
}

TEST_F(PreloadLayers, AToolMayWrapLookUpsBetweenUsAndAThinLoader) {
  for (const std::string& chain : chains()) {
    SCOPED_TRACE(chain);
    Environment counted = thin(chain);
    counted["LD_PRELOAD"] = (kThin / "call_counter.so").string() + ":" + kOurs;
    expect_counted("./opened_driver libcuda.so.1 dlsym", counted, "12");
  }
}

TEST_F(PreloadLayers, AProgramWithTheAddressSanitizerRunsAndIsChecked) {
  if (!fs::exists(kLibraries / "tessera" / "checked"))
    GTEST_SKIP() << "the compiler has no address sanitizer, or we have it";
  const std::string tessera = kTesseraRun + "./checked";
  const Outcome ran = run(tessera, {{"ASAN_OPTIONS", ""}});
  EXPECT_EQ(ran.exit_code, 0) << ran.message;
  EXPECT_EQ(ran.output, "ok\n");
  EXPECT_EQ(
      ran.message,
      "tessera: ./checked uses AddressSanitizer: setting ASAN_OPTIONS so that the preload library can be loaded before "
      "its runtime\n");
  const Outcome found = run(tessera + " overflow", {{"ASAN_OPTIONS", ""}});
  EXPECT_NE(found.exit_code, 0);
  EXPECT_NE(found.message.find("heap-buffer-overflow"), std::string::npos) << found.message;
}

}  // namespace
}  // namespace tessera::programs
