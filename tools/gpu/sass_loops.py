"""The loops of a kernel around tensor-core instructions, read from its disassembly, and the speed that they allow.

A loop is found by its backward branch. Of the ways through an iteration the one with all products and copies and the
fewest instructions is counted: masks and biases are branches off it. An SM has four schedulers with one warp each:

    tensor   6.35 clocks per HMMA m16n8k16: 63 % of an H100's peak, what mma.sync reaches there
    shared   wavefronts of 128 bytes of the four warps: 4 per LDSM.x4 or 16-byte copy, fewer per narrower access,
             none where a predicate may switch an access off
    issue    1 clock per instruction
    mufu     8 clocks per exponential, logarithm or reciprocal

The largest of them is the least time of an iteration. Latencies, barriers and global memory are not in it.
"""
import bisect
import collections
import re

HMMA_CLOCKS = 4 / 0.63
CLOCKS_PER_SECOND = 132 * 1.75e9  # of all SMs of an H100 under load
FLOPS_PER_HMMA = 2 * 16 * 8 * 16

Instruction = collections.namedtuple("Instruction", "address opcode predicated target")
LINE = re.compile(r"^\s+/\*([0-9a-f]{4,})\*/\s+(?:\{\s*)?(@!?U?P\w+\s+)?([A-Z][\w.]*)([^;]*)")
COUNTED = {"hmma": r"HMMA\b", "ldsm": r"LDSM\b", "copies": r"LDGSTS\b", "lds": r"LDS\b", "sts": r"STS\b",
           "mufu": r"MUFU\b", "local": r"(LDL|STL)\b"}


class Loop(collections.namedtuple("Loop", [*COUNTED, "wavefronts", "all", "body"])):
    """Counts of the shortest iteration with all products; body: instructions of the loop, whatever their branch."""

    def clocks(self):
        return {"tensor": self.hmma * HMMA_CLOCKS, "shared": 4 * self.wavefronts, "issue": self.all,
                "mufu": 8 * self.mufu}

    def least_clocks(self):
        return max(self.clocks().values())


def parse(line):
    """The Instruction of a line of `cuobjdump -sass`, or None."""
    found = LINE.match(line)
    if not found or found[3] == "NOP":
        return None
    target = re.search(r"0x([0-9a-f]+)", found[4]) if found[3].split(".")[0] in ("BRA", "BSSY") else None
    return Instruction(int(found[1], 16), found[3], bool(found[2]), int(target[1], 16) if target else None)


def wavefronts(instruction):
    kind, *modifiers = instruction.opcode.split(".")
    if kind == "LDSM":
        return 4
    if kind == "LDGSTS" or kind in ("LDS", "STS") and not instruction.predicated:
        return 4 if "128" in modifiers else 2 if "64" in modifiers else 1
    return 0


def blocks_of(code):
    """{first address: (instructions, addresses of successors)}"""
    is_branch = lambda i: i.opcode.split(".")[0] in ("BRA", "EXIT", "BREAK", "RET", "BRX", "JMP")
    addresses = [i.address for i in code]
    after_nops = lambda target: addresses[min(bisect.bisect_left(addresses, target), len(addresses) - 1)]
    code = [i if i.target is None else i._replace(target=after_nops(i.target)) for i in code]
    starts = {i.target for i in code if i.target is not None and is_branch(i)}
    starts |= {after.address for i, after in zip(code, code[1:]) if is_branch(i)} | {code[0].address}
    blocks, block = {}, []
    for n, instruction in enumerate(code):
        block.append(instruction)
        after = code[n + 1].address if n + 1 < len(code) else None
        if after is None or after in starts:
            to = [instruction.target] if is_branch(instruction) and instruction.target is not None else []
            if after is not None and (not is_branch(instruction) or instruction.predicated):
                to.append(after)
            blocks[block[0].address] = (block, to)
            block = []
    return blocks


def loops_of(code):
    """Every innermost loop with products in a function's instructions, that with the fewest instructions first."""
    if not code:
        return []
    blocks = blocks_of(code)
    sources = collections.defaultdict(set)
    for source, (_, to) in blocks.items():
        for target in to:
            sources[target].add(source)
    heads = collections.defaultdict(set)  # of a loop: where its backward branches are
    for source, (_, to) in blocks.items():
        for target in to:
            if target <= source and target in blocks:
                heads[target].add(source)
    bodies = {}
    for head, ends in heads.items():
        body, open_blocks = {head}, list(ends)
        while open_blocks:
            block = open_blocks.pop()
            if block not in body:
                body.add(block)
                open_blocks += sources[block]
        bodies[head] = body
    products = lambda block: sum(i.opcode.startswith("HMMA") for i in blocks[block][0])
    with_products = {head: body for head, body in bodies.items() if any(map(products, body))}
    result = []
    for head, body in with_products.items():
        inner = [other for other in with_products if other != head and other in body and with_products[other] < body]
        if not inner:
            result.append(shortest_iteration(blocks, head, body, heads[head]))
    return sorted((loop for loop in result if loop), key=lambda loop: loop.all / max(1, loop.hmma))


def shortest_iteration(blocks, head, body, ends):
    weight = lambda block: (-sum(i.opcode.startswith(("HMMA", "LDGSTS")) for i in blocks[block][0]),
                            len(blocks[block][0]))
    best, stack, done = {}, [], set()

    # The least (-products and copies, instructions) from a block to an end of the loop, and the next block.
    def visit(block):
        stack.append(block)
        choices = [((0, 0), None)] if block in ends else []
        for to in blocks[block][1]:
            if to in body and to != head and to not in stack:
                if to not in done:
                    visit(to)
                if to in best:
                    choices.append((best[to][0], to))
        if choices:
            (wanted, count), to = min(choices, key=lambda choice: choice[0])
            own = weight(block)
            best[block] = ((wanted + own[0], count + own[1]), to)
        done.add(block)
        stack.pop()

    visit(head)
    if head not in best:
        return None
    path, block = [], head
    while block is not None:
        path += blocks[block][0]
        block = best[block][1]
    counts = {name: sum(bool(re.match(pattern, i.opcode)) for i in path) for name, pattern in COUNTED.items()}
    return Loop(**counts, wavefronts=sum(map(wavefronts, path)), all=len(path),
                body=sum(len(blocks[b][0]) for b in body))


def forward_ceiling(loop):
    """TFLOP/s of a forward kernel: all its products count."""
    return 4 * loop.hmma * FLOPS_PER_HMMA / loop.least_clocks() * CLOCKS_PER_SECOND / 1e12


def backward_ceiling(kernels):
    """TFLOP/s of [(loop, products it computes)], whose kernels run one after another. Five products count."""
    clocks = sum(loop.least_clocks() * products / (4 * loop.hmma * FLOPS_PER_HMMA) for loop, products in kernels)
    return 5 / clocks * CLOCKS_PER_SECOND / 1e12
