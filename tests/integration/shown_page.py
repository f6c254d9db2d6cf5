"""What a page of Tessera's says and loads, and which colours a picture of it has. Imported by tests."""

import collections
import html.parser
import struct
import zlib


class Page(html.parser.HTMLParser):
    """Figures by name, sums and comparisons by name, the text, and all references that would load something."""

    OUTSIDE = ("src", "href", "srcset", "action", "data", "poster")

    def __init__(self, text):
        super().__init__()
        self.figures, self.sums, self.loads, self.words, self.tags = {}, {}, [], [], collections.Counter()
        self.compared = {}
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        known = dict(attrs)
        self.tags[tag] += 1
        self.loads += [f"{tag} {name}" for name in self.OUTSIDE if name in known]
        for kind, where in (("data-figure", self.figures), ("data-sum", self.sums)):
            if kind in known:
                where[known[kind]] = int(known["data-value"])
        if "data-compare" in known:
            self.compared[known["data-compare"]] = (int(known["data-first"]), int(known["data-second"]))

    def handle_data(self, data):
        self.words.append(data)


def colours(png):
    """Counts of each colour in a PNG of 8-bit RGB or RGBA, as written by browsers."""
    data, at, pixels = png.read_bytes(), 8, b""
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + size]
        if kind == b"IHDR":
            width, height, depth, colour = struct.unpack(">IIBB", body[:10])
            assert depth == 8 and colour in (2, 6), (depth, colour)
        if kind == b"IDAT":
            pixels += body
        at += size + 12
    channels = 3 if colour == 2 else 4
    pixels, stride = zlib.decompress(pixels), width * channels
    counts, before = collections.Counter(), bytearray(stride)
    for row in range(height):
        start = row * (stride + 1)
        line = unfiltered(pixels[start], bytearray(pixels[start + 1:start + 1 + stride]), before, channels)
        counts.update(bytes(line[i:i + 3]) for i in range(0, stride, channels))
        before = line
    return counts


def unfiltered(kind, line, above, step):
    for i in range(len(line)):
        left = line[i - step] if i >= step else 0
        up, corner = above[i], above[i - step] if i >= step else 0
        if kind == 1:
            line[i] = (line[i] + left) & 255
        elif kind == 2:
            line[i] = (line[i] + up) & 255
        elif kind == 3:
            line[i] = (line[i] + (left + up) // 2) & 255
        elif kind == 4:
            guess = left + up - corner
            nearest = min((abs(guess - left), 0, left), (abs(guess - up), 1, up), (abs(guess - corner), 2, corner))
            line[i] = (line[i] + nearest[2]) & 255
    return line
