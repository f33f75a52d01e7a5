#!/usr/bin/env python3
"""Prints where time went, as a Markdown table.

usage: table.py --build SECONDS FILE    what each module's compilers took, from the lines that `timed` wrote
       table.py --tests FILE            what each target's suites took, and those over five seconds, from run.py
"""
import collections
import json
import re
import sys

MINUTE = re.compile(r"(\d+)m([\d.]+)s")


def processor(text):
    return sum(int(minutes) * 60 + float(seconds) for minutes, seconds in MINUTE.findall(text))


def build(seconds, path):
    modules = collections.defaultdict(lambda: [0, 0.0, 0.0])
    with open(path, encoding="utf8") as lines:
        for line in lines:
            compiler, module, start, end, used = line.rstrip("\n").split("\t")
            taken = modules[module]
            taken[0] += 1
            taken[1] += float(end) - float(start)
            taken[2] += processor(used)
    total = sum(taken[2] for taken in modules.values())
    print(f"The build took {seconds} s, and its compilers {total:.0f} s of processor time.\n")
    print("| module | compilers started | wall, s | processor, s |\n| --- | --- | --- | --- |")
    ordered = sorted(modules.items(), key=lambda item: -item[1][2])
    for name, (count, wall, used) in ordered[:25]:
        print(f"| `{name}` | {count} | {wall:.0f} | {used:.0f} |")
    rest = ordered[25:]
    if rest:
        counts, walls, useds = (sum(taken[i] for _, taken in rest) for i in range(3))
        print(f"| {len(rest)} more | {counts} | {walls:.0f} | {useds:.0f} |")


def tests(path):
    with open(path, encoding="utf8") as file:
        record = json.load(file)
    suites = record["suites"]
    targets = collections.defaultdict(lambda: [0, 0, 0.0, 0.0])
    for name, suite in suites.items():
        for index, value in enumerate((1, suite["tests"], suite["wall"], suite["processor"])):
            targets[name.split(".")[0]][index] += value
    whole = sum(target[3] for target in targets.values())
    print(f"\nThe tests took {record['seconds']:.0f} s, and {whole:.0f} s of processor time.\n")
    print("| tests | suites | tests | wall, s | processor, s |\n| --- | --- | --- | --- | --- |")
    for name, (count, number, wall, used) in sorted(targets.items(), key=lambda item: -item[1][2]):
        print(f"| `{name}` | {count} | {number} | {wall:.0f} | {used:.0f} |")
    print("\n| suite over five seconds | wall, s | processor, s |\n| --- | --- | --- |")
    for name, suite in sorted(suites.items(), key=lambda item: -item[1]["wall"]):
        if suite["wall"] >= 5:
            print(f"| `{name}` | {suite['wall']:.1f} | {suite['processor']:.1f} |")


if __name__ == "__main__":
    if sys.argv[1] == "--build":
        build(sys.argv[2], sys.argv[3])
    else:
        tests(sys.argv[2])
