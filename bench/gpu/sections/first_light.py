"""Plain driver API: the facts that the design depends on, one probe each; all that section `probes` has not run."""

from sections import asked, probes

LONGEST = 60  # seconds for one probe


def run(place, record):
    listed = place.run([place.probe("first_light"), "--list"], 20)
    names = [name for name in listed.out.split() if name not in probes.NAMES]
    if not names:
        record.add("first_light", answer="failed", failed=listed.failure())
        return
    asked.ask(place, record, names, LONGEST)
