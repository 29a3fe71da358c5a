#!/usr/bin/env python3
"""Recomputes the digest of a plan read from standard input; exits 1 when it is not submission.payload_digest."""
import json, sys

def keccak256(data, rate=136, mask=(1 << 64) - 1):
    rol = lambda x, n: (x << n % 64 | x >> (64 - n % 64)) & mask
    padded = bytearray(data) + b"\1" + bytes(rate - 1 - len(data) % rate); padded[-1] |= 0x80
    a = [[0] * 5 for _ in range(5)]
    for block in range(0, len(padded), rate):
        for i in range(rate // 8): a[i % 5][i // 5] ^= int.from_bytes(padded[block + 8 * i:][:8], "little")
        lfsr = 1
        for _ in range(24):
            c = [a[x][0] ^ a[x][1] ^ a[x][2] ^ a[x][3] ^ a[x][4] for x in range(5)]
            a = [[a[x][y] ^ c[x - 1] ^ rol(c[(x + 1) % 5], 1) for y in range(5)] for x in range(5)]
            x, y, lane = 1, 0, a[1][0]
            for t in range(24): x, y = y, (2 * x + 3 * y) % 5; lane, a[x][y] = a[x][y], rol(lane, (t + 1) * (t + 2) // 2)
            a = [[a[x][y] ^ (~a[(x + 1) % 5][y] & a[(x + 2) % 5][y]) for y in range(5)] for x in range(5)]
            for j in range(7): a[0][0] ^= (lfsr & 1) << (1 << j) - 1; lfsr = (lfsr << 1) ^ ((lfsr >> 7) * 0x171)
    return b"".join(a[i % 5][i // 5].to_bytes(8, "little") for i in range(4))

once = lambda pairs: dict(pairs) if len(dict(pairs)) == len(pairs) else sys.exit("a member stands twice")
plan = json.load(sys.stdin, object_pairs_hook=once)
claimed = plan["submission"].pop("payload_digest")
digest = "0x" + keccak256(json.dumps(plan, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()).hex()
sys.exit(print(digest) if digest == claimed else f"{digest} is not {claimed}")
