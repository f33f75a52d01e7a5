"""Much work through one page, while the network comes and goes and the program dies:
many.py translations|photographs PROGRAM SERVICE COUNT. TERN_SEED draws when."""

import os
import sys
import tempfile

import photographs
import translations
from browser import Browser, Failed

PARTS = {"translations": translations, "photographs": photographs}


def main(part, program, service, count):
    with tempfile.TemporaryDirectory() as folder, Browser(folder) as browser:
        os.environ["TMPDIR"] = folder
        seed = int(os.environ["TERN_SEED"])
        print(PARTS[part].run(browser, (program, service), folder, int(count), seed), flush=True)


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except Failed as failure:
        sys.exit(f"script/pages-many: {failure}")
