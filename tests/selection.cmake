# Which tests run in which build. A build without a sanitizer runs what only whole, shipped programs can show; the sanitizers
# run what they can find something in. `make check-long` runs all of them (docs/testing.md).
#
# Sets long_tests_of_TARGET and threads_of_TARGET, gtest's filters; `left_out`, the names of files and layers that are not
# built at all; and the functions below.

# The command line and the laboratory run in no process of a user's: the address sanitizer's part of `make check` leaves out
# their tests. Of the laboratory fuzz_command_test remains, whose seeds run the library.
set(not_sanitized unit_cli unit_arena unit_fuzz unit_published unit_replay contract_published_policy_contract_test)

# Under a sanitizer these take minutes together, so `make check-long` runs them. Quicker tests run the same code: other
# replays, seeds and launches. Of whole programs the thread sanitizer gets those listed here: their threads launch, allocate
# or copy beside each other or beside the transfers of all tiers. The others differ in the calls of one thread.
if(TESSERA_SANITIZE STREQUAL "thread")
  set(threads_of_integration_softcuda_graph_test "*")
  set(threads_of_integration_softcuda_stream_test "*")
  set(threads_of_integration_preload_programs_test
    "*.ThreadsWith*:*.AForkLeaves*:*.TrainingGives*:*.TrainingBorrows*:*.WaitsForACopy*:*.ExitHandlers*:*.StatisticsAreWritten*")
  set(threads_of_integration_waiting_kernels_test
    "*.ALaunchThatDoesNotReturn*:*.ABlockBeingEvicted*:*.TwoWaitingKernels*:*.EvictsBlocksOfAStream*:*.CopiesToAnotherDevice*")
  set(threads_of_integration_nccl_programs_test "*.EachThread*:*.ProcessesFind*")
  set(threads_of_integration_torch_allocator_test "TorchAllocator.*:*.ThreadsStreamsAndDevices*")
  set(threads_of_integration_containers_test "*.UsesThreadsWhenIoUringIsRefused:*.UsesTheRing*")
  set(threads_of_integration_shared_device_test "*.ProgramsThatUseMore*:*.AnIdleProgram*")
  set(threads_of_integration_host_memory_test "*.FreedMemory*:*.AllDevices*")
  set(threads_of_integration_machine_faults_test "*.StreamsMayEnd*:*.AFullDisk*")
  set(threads_of_integration_several_programs_test "PreloadedPrograms.*")
  set(long_tests_of_fuzz_block_cache_fuzz_test "*.OneThread*")
  set(long_tests_of_fuzz_residency_fuzz_test "*")
  set(long_tests_of_contract_file_io_contract_test "*.MoreTransfers*")
  set(long_tests_of_unit_api
    "PinningTest.*:VirtualAllocatorTest.*:AllocatorTest.KeepsEveryByte*:AllocatorTest.UsesTheFile*:DeviceShareTest.TurnsAndWaits*")
  set(long_tests_of_unit_block "BundledBlocksTest.*")
  set(long_tests_of_unit_sim
    "*.AnswersWithTheFastestCandidate:*.FindsFasterPlansReportsThemAndEnds:*.AnswersWithEveryPossibleBest:*.SimulatesEqualCandidatesOnce:*.ReportsACandidateFaster*")
elseif(NOT TESSERA_SANITIZE)
  # Calls that fail one by one, and random calls: under the address sanitizer they run in every `make check`, but for the
  # two below that take longest.
  foreach(program fault_every_call_fails_once_test fuzz_block_cache_fuzz_test fuzz_residency_fuzz_test)
    set(long_tests_of_${program} "*")
  endforeach()
else()
  foreach(program IN LISTS not_sanitized)
    set(long_tests_of_${program} "*")
  endforeach()
  foreach(name cli control live_web metrics plan policy_bench report several_sizes traces watch)
    set(long_tests_of_integration_${name}_test "*")
  endforeach()
  set(long_tests_of_fault_every_call_fails_once_test "*Unseen.*/record_event:*Unseen.*/query_event")
  set(long_tests_of_unit_api "DeviceShareTest.TurnsAndWaits*")
  set(long_tests_of_integration_several_programs_test "*SeveralPrograms.*:KilledProgram.*")
  set(long_tests_of_integration_preload_contexts_test
    "*.ThePrimaryContextMayBeReleasedAndRetainedAgain:*.EarlierHelperContextsOfSeveralDevices*")
  set(long_tests_of_integration_preload_mapping_test "*.ManyHandles*:*.SleepModes*")
  set(long_tests_of_integration_preload_addresses_test
    "*.FindsAddressesInAllPlaces:*.NumbersLikeAddresses*:*.UnseenWritesAfterAWake*")
endif()

# Pure functions, commands and virtual time have one thread: the checker of threads has nothing to find there.
# Nor has it in hundreds of runs of one program, which differ in the call that fails.
set(left_out)
if(TESSERA_SANITIZE STREQUAL "thread")
  set(left_out cli planning arena policy published replay fuzz
    auto_policy_contract_test belady_policy_contract_test published_policy_contract_test lru_policy_contract_test
    recency_policy_contract_test cli_test every_call_fails_once_test policy_bench_test
    plan_test report_test fuzz_command_test traces_test)
endif()

if(TESSERA_SANITIZE)
  # A sanitized program takes no library of others in front of its runtime, and that is what these tests put there.
  list(APPEND left_out preload_layers_test)
  # A Python that is not sanitized loads our libraries in these, and a sanitized library cannot start there.
  list(APPEND left_out tinygrad_test cuda_bindings_test cuda_core_test suites_test readme_commands_test tutorials_test)
  # They run nothing of ours.
  list(APPEND left_out entry_points_test plots_test)
  # What whole traces take in replays is no other under a sanitizer, and the code is that of unit_replay and fuzz.
  list(APPEND left_out one_block_test mapped_segment_test)
endif()

# Of files of tests, those that have threads: they start one, or name the class of one that runs in the background.
function(tessera_with_threads result)
  set(found)
  foreach(source IN LISTS ARGN)
    file(STRINGS "${source}" threads REGEX "std::(j?thread|async)|[Pp]ump|HostGrower|pthread_create" LIMIT_COUNT 1)
    if(threads)
      list(APPEND found "${source}")
    endif()
  endforeach()
  set(${result} ${found} PARENT_SCOPE)
endfunction()

# Which tests of a target run: gtest's filter, or nothing. What only `make check-long` runs costs `make check` nothing.
function(tessera_tests_of result target)
  set(filter "*")
  if(NOT TESSERA_LONG_TESTS)
    if(TESSERA_SANITIZE STREQUAL "thread" AND target MATCHES "^integration_")
      set(filter "${threads_of_${target}}")
    elseif(long_tests_of_${target} STREQUAL "*")
      set(filter "")
    elseif(TESSERA_SANITIZED_APART AND target MATCHES "^(unit|contract)_" AND NOT target IN_LIST not_sanitized)
      set(filter "")  # `make check` builds and runs each of these once, with the address sanitizer
    elseif(long_tests_of_${target})
      set(filter "*-${long_tests_of_${target}}")
    endif()
  endif()
  set(${result} "${filter}" PARENT_SCOPE)
endfunction()
