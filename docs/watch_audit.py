#!/usr/bin/env python3
"""Verifies audits of yield mandates: reads answers of GET /yield-watch/audit, one after the other, from standard input.
Exits 1 at the first record that does not hold; prints the number and the hash of the last one otherwise."""
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
digest = lambda value: "0x" + keccak256(json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()).hex()
text, decoder, records = sys.stdin.read().strip(), json.JSONDecoder(object_pairs_hook=once), []
while text:
    answer, end = decoder.raw_decode(text)
    records += answer.get("data", answer)["records"]
    text = text[end:].lstrip()
last = "0x" + "00" * 32
for number, record in enumerate(records):
    hash = record.pop("hash")
    if record["seq"] != number: sys.exit(f"record {number} has the number {record['seq']}")
    if record["prev_hash"] != last: sys.exit(f"record {number} does not follow the one before it")
    if record["inputs_digest"] != digest(record["action"]["inputs"]): sys.exit(f"record {number} has other inputs")
    if hash != digest(record): sys.exit(f"record {number} was changed")
    last = hash
print(len(records) - 1, last)
