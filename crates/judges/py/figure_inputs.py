"""What figures.py computes from: recorded answers of the routes, recordings of the upstreams, and what was found."""

import json
import pathlib
from decimal import Decimal, getcontext

getcontext().prec = 60
ROOT = pathlib.Path(__file__).resolve().parents[3] / "fixtures"
UPSTREAMS = ROOT / "upstreams"
ANSWERS = json.loads((ROOT / "vectors" / "figures.json").read_text())
compared = {}
differences = []


def number(value):
    return None if value is None else Decimal(str(value))


def raw(path):
    return json.loads((UPSTREAMS / path).read_text(), parse_float=Decimal)


def check(figure, told, computed, places, at):
    """`told` is `computed` to so many places, whatever way the last one is rounded."""
    if told is None:
        return
    compared[figure] = compared.get(figure, 0) + 1
    if abs(number(told) - computed) > Decimal(1).scaleb(-places):
        differences.append(f"{at}: {figure} is {told}, computed {computed:.12f}")


def walk(value, at=""):
    """Every object of an answer with its place."""
    if isinstance(value, dict):
        yield at, value
        for name, member in value.items():
            yield from walk(member, f"{at}.{name}")
    elif isinstance(value, list):
        for place, member in enumerate(value):
            yield from walk(member, f"{at}[{place}]")


def objects(*members):
    for target, data in ANSWERS.items():
        for at, value in walk(data, target):
            if all(member in value for member in members):
                yield at, value


def answer(route):
    return next(data for target, data in ANSWERS.items() if target.split("?")[0] == route)


def words(returned):
    """The results of a Multicall3 `aggregate3`, each as its words."""
    data = bytes.fromhex(returned[2:])

    def word(at):
        return int.from_bytes(data[at : at + 32], "big")

    base = word(0)
    found = []
    for place in range(word(base)):
        row = base + 32 + word(base + 32 + 32 * place)
        at = row + word(row + 32)
        found.append([word(at + 32 + 32 * k) for k in range(word(at) // 32)])
    return found


def perpetuals():
    """The venue's own recording, by coin."""
    universe, contexts = raw("hyperliquid/meta_and_asset_ctxs.json")
    return {asset["name"]: context for asset, context in zip(universe["universe"], contexts)}
