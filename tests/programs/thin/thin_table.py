"""Generates the functions of a thin driver loader: one jump for each name that the driver exports.

Usage: thin_table.py DRIVER ASSEMBLY
"""

import subprocess
import sys


def main():
    driver, assembly = sys.argv[1:]
    listing = subprocess.run(["nm", "-D", "--defined-only", "--format=posix", driver],
                             capture_output=True, text=True, check=True).stdout
    names = sorted({line.split()[0].split("@")[0] for line in listing.splitlines() if line.startswith("cu")})
    with open(assembly, "w", encoding="ascii") as out:
        out.write(".section .note.GNU-stack, \"\", @progbits\n.text\n")
        for index, name in enumerate(names):
            out.write(f".globl {name}\n.type {name}, @function\n{name}:\n"
                      f"  endbr64\n  jmpq *{8 * index}+thin_table(%rip)\n.size {name}, . - {name}\n")
        out.write(f".bss\n.balign 8\n.hidden thin_table\n.globl thin_table\nthin_table: .zero {8 * len(names)}\n")
        out.write(".section .rodata\n.hidden thin_names\n.globl thin_names\nthin_names:\n")
        for name in names:
            out.write(f"  .asciz \"{name}\"\n")
        out.write("  .byte 0\n")


if __name__ == "__main__":
    main()
