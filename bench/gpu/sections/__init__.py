"""What is measured on a GPU, in sections; each has `run(place, record)` and asks its own questions."""
