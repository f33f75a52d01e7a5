#!/usr/bin/env python3
"""Finds which tests a name means: a suite, a part of a test's name, a test target, a file or folder of tests, or one
of sources, whose tests stand in the folder of the same name.

usage: find.py NAME...        prints a line a package: folder, targets with commas between, filter with bars between
"""
import os
import re
import sys

SUITE = re.compile(r"^(?:@Suite\b.*\s)?(?:final )?(?:struct|class|actor|enum|extension) (\w+)", re.M)
TEST = re.compile(r"@Test\b[^{]*?\bfunc (`[^`]+`|\w+)", re.S)


def test_targets(package):
    """The folders of a package's test targets, by name."""
    with open(os.path.join(package, "Package.swift"), encoding="utf8") as manifest:
        blocks = re.split(r"\n    \.(?=\w+\()", manifest.read())
    found = {}
    for block in blocks:
        named = re.match(r'testTarget\(\s*name: "(\w+)"', block)
        if named:
            path = re.search(r'\bpath: "([^"]+)"', block)
            found[named[1]] = os.path.normpath(os.path.join(package, path[1] if path else f"Tests/{named[1]}"))
    return found


def swift_files(path):
    if os.path.isfile(path):
        return [path]
    return sorted(
        os.path.join(folder, name) for folder, _, names in os.walk(path) if ".build" not in folder
        for name in names if name.endswith(".swift"))


def suites(path):
    with open(path, encoding="utf8") as file:
        text = file.read()
    return [name for name in SUITE.findall(text) if "@Test" in text]


def of_path(name, targets):
    """The tests in a file or folder, or those of the folder of sources that it is or lies in."""
    folders = [name]
    source = re.match(r"Sources/(\w+)(/.*)?$", name)
    if source:
        inner = source[2] or ""
        inner = os.path.dirname(inner) if inner.endswith(".swift") else inner
        tests = [source[1] + "Tests"] + (["EngineTests"] if source[1] == "Tern" else [])
        folders = [targets[t] + inner for t in tests if t in targets and os.path.isdir(targets[t] + inner)]
    found = {}
    for folder in folders:
        for file in swift_files(folder):
            for target, place in targets.items():
                if file.startswith(place + "/"):
                    found.setdefault(target, set()).update(suites(file))
    return found


def of_word(name, targets):
    """Suites by name or a part of it, and otherwise tests by a part of theirs."""
    whole, parts, tests = {}, {}, {}
    for target, place in targets.items():
        for file in swift_files(place):
            for suite in suites(file):
                if suite == name:
                    whole.setdefault(target, set()).add(suite)
                elif name.lower() in suite.lower():
                    parts.setdefault(target, set()).add(suite)
            with open(file, encoding="utf8") as text:
                if any(name in test for test in TEST.findall(text.read())):
                    tests.setdefault(target, set()).add(name)
    return whole or parts or {target: {None} for target in tests}


def main():
    missed = set(sys.argv[1:])
    packages = [folder for folder in (".", "Examples") if os.path.exists(os.path.join(folder, "Package.swift"))]
    for package in packages:
        targets = test_targets(package)
        chosen, filters = set(), []
        for word in sys.argv[1:]:
            name, before = word.rstrip("/"), len(filters)
            exact = re.match(r"(\w+)\.(\w+)", name)
            if exact and exact[1] in targets:
                chosen.add(exact[1])
                filters.append("^" + re.escape(name) + ("$" if name.endswith(")") else "(/|$)"))
            elif name in targets:
                chosen.add(name)
                filters.append(f"^{name}\\.")
            else:
                path = os.path.relpath(os.path.abspath(name))
                found = of_path(path, targets) if os.path.exists(path) else of_word(name, targets)
                for target, names in found.items():
                    chosen.add(target)
                    filters += [re.escape(name) if n is None else f"^{target}\\.{n}/" for n in sorted(names, key=str)]
            if len(filters) > before:
                missed.discard(word)
        if chosen:
            print(package, ",".join(sorted(chosen)), "|".join(filters), sep="\t")
    # A name that means nothing must not hide behind one that does.
    if missed:
        sys.exit(f"script/test: no test has a name like {', '.join(sorted(missed))}")


if __name__ == "__main__":
    main()
