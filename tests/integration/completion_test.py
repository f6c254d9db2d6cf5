"""Completion in real shells, and manual pages that a linter accepts.

Usage: completion_test.py BUILD_FOLDER. A shell that is not installed is left out.
"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

BUILD = pathlib.Path(sys.argv.pop(1)).resolve() if len(sys.argv) > 1 else None
TESSERA = BUILD / "bin/tessera"
SHARE = BUILD / "share"
# What is typed, and words that must be offered for the last one.
TYPED = {
    "tessera ": {"run", "doctor", "policy-bench", "completion"},
    "tessera rep": {"replay", "report"},
    "tessera run --fi": {"--file-dir", "--file-memory", "--file-write-budget", "--fingerprints"},
    "tessera run --unhinted-access ": {"off", "auto", "host-backed"},
    "tessera run --policy lru --explain --host": {"--host-memory", "--host-blocks"},
    "tessera run --file-dir ": {"spill"},
    "tessera stats ": {"spill", "numbers.json"},
    "tessera plan ": {"arena", "split"},
    "tessera plan arena --": {"--help", "--json"},
    "tessera completion ": {"bash", "zsh", "fish"},
    "tessera run --device-memory 8GiB -- tesse": {"tessera"},
    "tessera top --web --int": {"--interval"},
    "tessera run tesse": {"tessera"},
    "tessera run cat num": {"numbers.json"},
}
# The same, and words that must not be.
NOT_OFFERED = {
    "tessera run --file-dir ": {"numbers.json"},
    "tessera plan ": {"run", "--json"},
    "tessera run cat --": {"--device-memory"},
    "tessera doctor --": {"--device-memory"},
}

BASH = """
source /dev/stdin <<<"$SCRIPT"
for typed in "$@"; do
  read -ra COMP_WORDS <<<"$typed"
  [[ $typed == *" " ]] && COMP_WORDS+=("")
  COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
  COMPREPLY=()
  _tessera
  printf '%s\\t' "${COMPREPLY[@]}"
  echo
done
"""
FISH = """
echo $SCRIPT | source
for typed in $argv
    printf '%s\\n' "$(string join \\t -- (complete -C $typed | string split -f1 \\t))"
end
"""

# Matches reach zsh's line editor by compadd, which notes them on their way; calls that only fill arrays have no matches.
ZSH_WIDGET = """
setopt extendedglob
_capture() {
  compadd() {
    local -a found
    case " ${(j: :)@[1,${@[(i)(-|--)]}]} " in
      *' -'([a-zA-Z12])#[OAD]' '*) ;;
      *) builtin compadd -A found "$@"; print -rn -- "${(pj:\\t:)found}"$'\\t' >>$OUT ;;
    esac
    builtin compadd "$@"
  }
  _main_complete
  unfunction compadd
}
capture() { zle matches; BUFFER=; print >>$OUT }
zle -C matches complete-word _capture
zle -N capture
bindkey -e
bindkey '^T' capture
"""
# Its line editor needs a terminal, which this gives to a second zsh.
ZSH = """
zmodload zsh/zpty
: >$OUT
zpty shell PROMPT= zsh -f -i
zpty -w shell 'fpath=($FOLDER $fpath); autoload -U compinit && compinit -u -D; eval "$SCRIPT"; eval "$WIDGET"'
wanted=0
for typed in "$@"; do
  zpty -w -n shell "$typed"$'\\C-t'
  ((++wanted))
  tries=0
  until (($(wc -l <$OUT) >= wanted || ++tries > 600)); do
    while zpty -r -t shell shown; do :; done
    sleep 0.05
  done
done
zpty -d shell
cat $OUT
"""


def offered(command, variables, typed):
    done = subprocess.run(command, env=variables, cwd=variables["HOME"], capture_output=True, text=True, timeout=120,
                          check=False)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    lines = done.stdout.splitlines()
    return {text: {word.rstrip("/ ") for word in line.split("\t")} for text, line in zip(typed, lines, strict=True)}


class Completion(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.scratch.cleanup)
        home = pathlib.Path(cls.scratch.name)
        (home / "spill").mkdir()
        (home / "numbers.json").touch()
        cls.variables = {"HOME": str(home), "PATH": f"{TESSERA.parent}:/usr/bin:/bin", "TERM": "dumb"}

    def script(self, shell):
        return subprocess.run([TESSERA, "completion", shell], capture_output=True, text=True, check=True).stdout

    def check_words(self, found):
        for typed, words in TYPED.items():
            self.assertLessEqual(words, found[typed], typed)
        for typed, words in NOT_OFFERED.items():
            self.assertFalse(words & found[typed], typed)

    def check(self, shell, program, **more):
        if not shutil.which(shell):
            self.skipTest(f"no {shell}")
        typed = [*TYPED, *(set(NOT_OFFERED) - set(TYPED))]
        variables = self.variables | {"SCRIPT": self.script(shell)} | more
        self.check_words(offered([shell, *program, *typed], variables, typed))

    def test_bash(self):
        self.check("bash", ["--norc", "-c", BASH, "bash"])

    def test_fish(self):
        self.check("fish", ["--no-config", "-c", FISH])

    def test_zsh(self):
        self.check("zsh", ["-f", "-c", ZSH, "zsh"], OUT=f"{self.variables['HOME']}/.out", WIDGET=ZSH_WIDGET)

    @unittest.skipUnless(SHARE.exists(), "this build installs no completion")
    def test_zsh_loads_the_installed_file(self):
        self.check("zsh", ["-f", "-c", ZSH, "zsh"], OUT=f"{self.variables['HOME']}/.out", WIDGET=ZSH_WIDGET, SCRIPT="",
                   FOLDER=str(SHARE / "zsh/site-functions"))

    def test_another_shell_is_an_error(self):
        done = subprocess.run([TESSERA, "completion", "tcsh"], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("tcsh", done.stderr)


@unittest.skipUnless(SHARE.exists(), "this build has no manual pages")
class Share(unittest.TestCase):
    def test_the_installed_scripts_are_those_that_are_printed(self):
        for shell, place in (("bash", "bash-completion/completions/tessera"), ("zsh", "zsh/site-functions/_tessera"),
                             ("fish", "fish/vendor_completions.d/tessera.fish")):
            printed = subprocess.run([TESSERA, "completion", shell], capture_output=True, text=True, check=True).stdout
            self.assertEqual((SHARE / place).read_text(encoding="utf-8"), printed, shell)

    def test_each_command_has_a_page_that_names_each_option(self):
        def commands(words):
            shown = subprocess.run([TESSERA, *words, "--help"], capture_output=True, text=True, check=True).stdout
            yield words, set(re.findall(r"^  (?:-h,)?(--[\w-]+)", shown, re.M))
            listed = shown.partition("Subcommands:")[2]
            for name in re.findall(r"^  ([\w-]+) ", listed, re.M):
                yield from commands([*words, name])
        for words, options in commands([]):
            page = (SHARE / "man/man1" / ("-".join(["tessera", *words]) + ".1")).read_text(encoding="utf-8")
            named = set(re.findall(r"\\fB(--[\w-]+)", page.replace("\\-", "-")))
            self.assertEqual(named, options, words)

    def test_the_page_of_run_has_the_sentences_of_the_option_table(self):
        page = (SHARE / "man/man1/tessera-run.1").read_text(encoding="utf-8")
        self.assertIn("Costs addresses, not memory.", page)

    def test_the_pages_are_without_fault(self):
        if not shutil.which("mandoc"):
            self.skipTest("no mandoc")
        pages = sorted((SHARE / "man/man1").glob("*.1"))
        done = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", *pages], capture_output=True, text=True, check=False)
        # Pages have no date: they are the same whenever they are built.
        found = [line for line in done.stdout.splitlines() if "missing date" not in line]
        self.assertFalse(found, "\n".join(found))

    def test_man_shows_a_page(self):
        if not shutil.which("man"):
            self.skipTest("no man")
        shown = subprocess.run(["man", "-l", SHARE / "man/man1/tessera-run.1"], capture_output=True, text=True, check=True,
                               env={"PATH": "/usr/bin:/bin", "MANWIDTH": "120", "LC_ALL": "C"}).stdout
        self.assertIn("--device-memory", shown)


if __name__ == "__main__":
    unittest.main()
