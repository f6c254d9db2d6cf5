#include "launch_facts.hpp"

namespace tessera::preload::detail {

constinit LaunchFacts launch_facts;

}  // namespace tessera::preload::detail
