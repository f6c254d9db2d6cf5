"""Ten facts that the design depends on, checked before all other driver probes; no Tessera code is involved."""

from sections import asked

LONGEST = 15  # seconds for one probe

# Defined in bench/gpu/first_light/; run in this order.
NAMES = ["where_reservations_lie", "kernel_handles", "remap_beside_kernel", "remap_under_load", "copies_in_a_batch",
         "launch_depth", "unmap_among_many", "fences_on_each_stream", "stalls_while_pinning", "swap_by_registered_memory"]


def run(place, record):
    asked.ask(place, record, NAMES, LONGEST)
