"""What a program and its page hold in memory, again and again, and whether that grows."""

# How much more the last third may hold than the first. What is shown differs from look to look, so
# there is room beside that, for less than a leak of one element for each thing done would take.
MOST = 1.3
ROOM = {"program, MB": 4, "heap, MB": 0.5, "nodes": 150}

# What one collection finds to be unused, the next ones let go.
COLLECTIONS = 3


class Memory:
    def __init__(self, page):
        self.session = page.context.new_cdp_session(page)
        self.session.send("Performance.enable")
        # Of the program with its process: one that was started again begins anew.
        self.program, self.heap, self.nodes = [], [], []

    def look(self, process):
        looks = [self._collected() for _ in range(COLLECTIONS)]
        self.heap.append(min(heap for heap, _ in looks))
        self.nodes.append(min(nodes for _, nodes in looks))
        self.program.append((process, resident(process)))

    def _collected(self):
        self.session.send("HeapProfiler.collectGarbage")
        metrics = self.session.send("Performance.getMetrics")["metrics"]
        nodes = next(one["value"] for one in metrics if one["name"] == "Nodes")
        return self.session.send("Runtime.getHeapUsage")["usedSize"] / 1e6, nodes

    def ends(self, warm_up):
        """By name the most of the first third, and of the last. None of the page's first looks is
        among them. Of the program there are those at the process that lived last."""
        last = self.program[-1][0]
        program = [held for process, held in self.program if process == last]
        looks = {"program, MB": program[1:], "heap, MB": self.heap[warm_up:],
                 "nodes": self.nodes[warm_up:]}
        thirds = {name: max(1, len(held) // 3) for name, held in looks.items()}
        return {name: (max(held[:thirds[name]]), max(held[-thirds[name]:]))
                for name, held in looks.items()}


def resident(process):
    """In MB."""
    with open(f"/proc/{process}/status", encoding="ascii") as status:
        line = next(line for line in status if line.startswith("VmRSS:"))
    return int(line.split()[1]) * 1024 / 1e6


def problems(ends):
    return [f"{name}: {last:.1f} at the end, after {first:.1f}"
            for name, (first, last) in ends.items() if last > MOST * first + ROOM[name]]


def text(ends):
    return "; ".join(f"{name}: {first:.1f} to {last:.1f}" for name, (first, last) in ends.items())
