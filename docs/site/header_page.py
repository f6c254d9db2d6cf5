"""A public header as a page: its sections, and each declaration below the comment that documents it."""

import re

SECTION = re.compile(r"^-{4,} *(.*?) *-{4,}$")
# What a reader of the page does not call.
SKIPPED = re.compile(r"^(#(?!define TESSERA_\w+(?<!_H) )|extern \"C\" \{|\}$|#endif|namespace tessera|\}  // namespace)")


def comment_text(lines):
    """Without the marks of a comment."""
    text = "\n".join(lines)
    text = re.sub(r"^/\*+ ?| ?\*/$", "", text.strip())
    return [re.sub(r"^ ?(\*|//) ?", "", line).rstrip() for line in text.split("\n")]


def chunks(text):
    """(comment lines, code lines) in the order of the header; a comment belongs to the code that follows it directly."""
    comment, code, in_comment = [], [], False
    for line in [*text.split("\n"), ""]:
        bare = line.strip()
        starts = not in_comment and (bare.startswith("/*") or bare.startswith("//")) and not line.startswith("  ")
        if starts and code:
            yield comment, code
            comment, code = [], []
        if starts or in_comment:
            comment.append(line)
            in_comment = not bare.endswith("*/") and (in_comment or bare.startswith("/*"))
        elif bare:
            code.append(line)
        elif comment or code:
            # A blank line inside braces is part of a class.
            if code and "".join(code).count("{") > "".join(code).count("}"):
                code.append("")
                continue
            yield comment, code
            comment, code = [], []


def paragraphs(lines):
    """Comments as Markdown: a list begins after a blank line."""
    text, in_list = [], False
    for line in map(str.strip, lines):
        is_item = re.match(r"\d+\. ", line) is not None
        if is_item and not in_list:
            text.append("")
        in_list = bool(line) and (is_item or in_list)
        text.append(line)
    return "\n".join(text)


def header_page(name, text):
    body = [f"# {name}", f"`#include \"tessera/{name}\"`, as it is in the header."]
    for comment, code in chunks(text):
        words = comment_text(comment) if comment else []
        match = SECTION.match(words[0]) if words else None
        if match is None and words and words[0].startswith("----"):
            match = re.match(r"^-+ *(.*?) *-+$", words[0])
        if match:
            body.append(f"## {match.group(1).strip('- ').capitalize()}")
            words = words[1:]
        if any(words):
            body.append(paragraphs(words).strip())
        shown = [line for line in code if not SKIPPED.match(line)]
        if any(line.strip() for line in shown):
            # Continued lines stay below the first.
            text = re.sub(r"^TESSERA_API (.*(?:\n {12}.*)*)", lambda match: match.group(1).replace("\n" + " " * 12, "\n"),
                          "\n".join(shown).strip("\n"), flags=re.M)
            body.append(f"```c\n{text}\n```")
    return "\n\n".join(body) + "\n"
