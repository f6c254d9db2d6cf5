"""The GPU measurements, in sections; each has `run(place, record)`."""
