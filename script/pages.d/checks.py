"""What is found wrong at the end of a long run, and whether it would have been found."""

import time

from browser import check, eventually


# In milliseconds: for how long what a person can do at once may take on a busy machine.
PATIENCE = 60_000


def difference(found, wanted):
    """In which of them two lists first differ."""
    found, wanted = [tuple(one) for one in found], [tuple(one) for one in wanted]
    for place, (one, other) in enumerate(zip(found, wanted)):
        if one != other:
            return f"{one} in place of {other}, as number {place + 1} of {len(wanted)}"
    return f"{len(found)} in place of {len(wanted)}: {found[len(wanted):] or wanted[len(found):]}"


def reached(look, wanted, seconds=20):
    """What there is once it is as it should be, or after so long."""
    end = time.monotonic() + seconds
    while (found := look()) != wanted and time.monotonic() < end:
        time.sleep(0.02)  # real time: what is under way has no other sign
    return found


def console(page):
    """What the page's console says, but for what the network and the program did."""
    return [f"the console says “{line}”" for line in page.said
            if "Failed to load resource" not in line]


def fail_with(found):
    more = f"; and {len(found) - 5} more" if len(found) > 5 else ""
    check(not found, "; ".join(found[:5]) + more)


def finds(look, words, plant):
    """Plants a fault, of which the look says so. Before, it does not."""
    def says():
        return any(words in one for one in look())
    eventually(lambda: not says(), f"without a fault, too, it is said that {words}", 60)
    plant()
    eventually(says, f"a planted fault is not found: “{words}”", 60)
