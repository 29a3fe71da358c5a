"""Computes the figures of recorded answers a second time, from the recordings of the upstreams where those state the inputs.

Reads nothing but this repository, and nothing of its Rust code: fixtures/upstreams (what upstreams answered) and
fixtures/vectors/figures.json (what the routes made of it). Run it by hand with `python3 crates/judges/py/figures.py`.

in:  nothing
out: {"compared": {figure: how many}, "differences": [text]}
"""

import json
import sys
from decimal import Decimal

from figure_inputs import ROOT, UPSTREAMS, answer, check, compared, differences, number, objects, perpetuals, raw, words

# ---- perpetuals


def rate_8h():
    for at, row in objects("rate", "interval_hours", "rate_8h"):
        check("rate_8h", row["rate_8h"], number(row["rate"]) * 8 / row["interval_hours"], 12, at)


def apr_pct():
    for at, row in objects("rate", "interval_hours", "apr_pct"):
        a_year = number(row["rate"]) * 24 * 365 * 100 / row["interval_hours"]
        check("apr_pct", row["apr_pct"], a_year, 6, at)


def of_recording(figure, compute, places):
    recorded = perpetuals()
    for row in answer("/hyperliquid-market")["markets"]:
        if row["coin"] in recorded:
            context = {name: number(of) if isinstance(of, (str, int)) else of for name, of in recorded[row["coin"]].items()}
            check(figure, row[figure], compute(context), places, row["coin"])


def funding_apr_pct():
    of_recording("funding_apr_pct", lambda of: of["funding"] * 24 * 365 * 100, 6)


def open_interest_usd():
    of_recording("open_interest_usd", lambda of: of["openInterest"] * of["markPx"], 2)


def change_24h_pct():
    of_recording("change_24h_pct", lambda of: (of["markPx"] / of["prevDayPx"] - 1) * 100, 4)


def markets():
    for at, row in objects("venues", "aggregate", "spread_bps"):
        venues = [venue for venue in row["venues"] if venue["venue"] not in row["conflicting"]]
        yield at, row, venues


def dollars(venue):
    return number((venue["open_interest"] or {}).get("usd"))


def oi_usd():
    for at, row, venues in markets():
        known = [dollars(venue) for venue in venues if dollars(venue) is not None]
        check("oi_usd", row["aggregate"]["oi_usd"], sum(known), 2, at)


def oi_weighted_rate_8h():
    for at, row, venues in markets():
        known = [(dollars(of), number(of["funding"]["rate_8h"])) for of in venues if dollars(of) and of["funding"]]
        if known:
            mean = sum(usd * rate for usd, rate in known) / sum(usd for usd, _ in known)
            check("oi_weighted_rate_8h", row["aggregate"]["oi_weighted_rate_8h"], mean, 10, at)


def spread_bps():
    for at, row, venues in markets():
        rates = [number(of["funding"]["rate_8h"]) for of in venues if of["funding"]]
        if len(rates) > 1:
            check("spread_bps", row["spread_bps"], (max(rates) - min(rates)) * 10_000, 4, at)


def long_pct():
    for at, row in objects("accounts_ratio", "long_pct", "short_pct"):
        ratio = number(row["accounts_ratio"])
        # Venues round the ratio and the shares apart from each other.
        check("long_pct", row["long_pct"], 100 * ratio / (1 + ratio), 1, at)


def book_impact():
    bids, asks = raw("hyperliquid/l2_book_btc.json")["levels"]
    mid = (number(bids[0]["px"]) + number(asks[0]["px"])) / 2
    rows = [row for _, row in objects("usd", "buy_pct", "sell_pct")]
    for row in rows:
        for member, side in [("buy_pct", asks), ("sell_pct", bids)]:
            left, size = number(row["usd"]), Decimal(0)
            for level in side:
                price, there = number(level["px"]), number(level["sz"])
                taken = min(left, price * there)
                size, left = size + taken / price, left - taken
            if left == 0:
                check("buy_pct", row[member], abs(row["usd"] / size / mid - 1) * 100, 4, member)
            elif row[member] is not None:
                differences.append(f"{member} of {row['usd']} is told, and the book is smaller")


def depth():
    bids, asks = raw("hyperliquid/l2_book_btc.json")["levels"]
    mid = (number(bids[0]["px"]) + number(asks[0]["px"])) / 2
    for at, row in objects("bps", "bid_usd", "ask_usd"):
        for member, side in [("bid_usd", bids), ("ask_usd", asks)]:
            near = [of for of in side if abs(number(of["px"]) - mid) * 10_000 / mid <= row["bps"]]
            worth = sum(number(of["px"]) * number(of["sz"]) for of in near)
            check(member, row[member], worth, 2, at)


def candle_figures():
    for at, data in objects("candles", "levels"):
        candles, levels = data["candles"], data["levels"]
        high = max(number(of["high"]) for of in candles)
        low = min(number(of["low"]) for of in candles)
        last = number(candles[-1]["close"])
        volume = sum(number(of["volume_base"]) for of in candles)
        typical = [(number(of["high"]) + number(of["low"]) + number(of["close"])) / 3 for of in candles]
        paid = sum(price * number(of["volume_base"]) for price, of in zip(typical, candles))
        whole = [of for of in candles if not of["running"]]
        ranges = sum(number(of["high"]) - number(of["low"]) for of in whole) / len(whole)
        half = len(whole) // 2
        parts = [sum(number(of["volume_base"]) for of in part) for part in (whole[:half], whole[half:])]
        check("range_position_pct", levels["range_position_pct"], 100 * (last - low) / (high - low), 4, at)
        check("change_pct", levels["change_pct"], (last / number(candles[0]["open"]) - 1) * 100, 4, at)
        check("vwap", levels["vwap"], paid / volume, 2, at)
        check("mean_range_pct", levels["mean_range_pct"], 100 * ranges / last, 4, at)
        check("volume_change_pct", levels["volume_change_pct"], (parts[1] / parts[0] - 1) * 100, 4, at)


def premium_bps():
    """Of a market that is open and traded in; there is none of another one."""
    for at, row in enumerate(json.loads((ROOT / "vectors" / "basis.json").read_text())):
        told = row["oracle_state"] == "open" and number(row["volume_24h_usd"]) != 0
        if told != (row["premium_bps"] is not None):
            differences.append(f"basis.json[{at}]: premium_bps is {row['premium_bps']}")
        mark, oracle = number(row["mark"]), number(row["oracle"])
        check("premium_bps", row["premium_bps"], (mark / oracle - 1) * 10_000, 2, at)


# ---- yields


def apy_pct():
    """Aave states a rate for a year, in 27 digits, that compounds every second."""
    a_year = 31_536_000
    rates = set()
    for reserve in words(raw("aave/positions.json")["result"]):
        if len(reserve) == 12:
            rates |= {reserve[5], reserve[6]}
    computed = [((1 + Decimal(rate) / 10**27 / a_year) ** a_year - 1) * 100 for rate in rates]
    for row in answer("/yield-farming-active")["positions"]:
        if row["apy_source"] == "rpc.xlayer":
            nearest = min(computed, key=lambda apy: abs(apy - number(row["apy_pct"])))
            check("apy_pct", row["apy_pct"], nearest, 6, row["asset"])


def health():
    """Collateral times its liquidation threshold over the debt, from the pool's own sums, and the pool's own factor."""
    account = next(of for of in words(raw("aave/positions.json")["result"]) if len(of) == 6)
    collateral, debt, _, threshold, _, stated = account
    computed = Decimal(collateral) * threshold / 10_000 / debt
    for row in answer("/yield-farming-active")["positions"]:
        if row["health"] is not None:
            check("health", row["health"], Decimal(stated) / 10**18, 4, row["asset"])
            # The pool rounds the threshold, which is a mean over the collateral.
            if abs(number(row["health"]) / computed - 1) > Decimal("0.001"):
                differences.append(f"{row['asset']}: health is {row['health']}, computed {computed:.4f}")


GAS_UNITS = [650_000, 1_200_000]


def est_gas_usd():
    price = raw("defillama/price_eth.json")["coins"]["ethereum:0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2"]["price"]
    wei = {chain: int(raw(f"evm_rpc/gas_price_{chain}.json")["result"], 16) for chain in (1, 8453, 42161, 10)}
    for row in answer("/yield-recommendations")["recommendations"]:
        if row["chain_id"] in wei and row["est_gas_usd"] is not None:
            costs = [Decimal(units * wei[row["chain_id"]]) / 10**18 * price for units in GAS_UNITS]
            nearest = min(costs, key=lambda cost: abs(cost - number(row["est_gas_usd"])))
            check("est_gas_usd", row["est_gas_usd"], nearest, 6, row["pool"])


def recommendations():
    for at, row in objects("apy_after_gas_pct", "est_gas_usd", "amount_usd"):
        if row["est_gas_usd"] is not None:
            yield at, row, number(row["est_gas_usd"]), number(row["amount_usd"]), number(row["apy_pct"])


def apy_after_gas_pct():
    for at, row, gas, amount, apy in recommendations():
        check("apy_after_gas_pct", row["apy_after_gas_pct"], apy - 100 * gas / amount, 3, at)


def net_apy_pct():
    for at, row, gas, amount, apy in recommendations():
        if row["net_apy_pct"] is not None and row["not_counted"]:
            differences.append(f"{at}: called net without {row['not_counted']}")
        check("net_apy_pct", row["net_apy_pct"], apy - 100 * gas / amount, 3, at)


def breakeven_days():
    for at, row, gas, amount, apy in recommendations():
        check("breakeven_days", row["breakeven_days"], gas * 365 * 100 / (amount * apy), 2, at)


def expected_usd_year():
    for at, row in objects("usd", "best"):
        if row["best"] and row["usd"] and row["best"].get("expected_usd_year"):
            best = row["best"]
            a_year = number(row["usd"]) * number(best["apy_pct"]) / 100
            check("expected_usd_year", best["expected_usd_year"], a_year, 2, at)


# ---- tokens and pools


def fdv_usd():
    """The catalogue's own figure, against price times the largest supply."""
    for at, row in objects("fdv_usd", "max_supply", "price_usd"):
        if row["fdv_usd"] and row["max_supply"]:
            computed = number(row["price_usd"]) * number(row["max_supply"])
            told = number(row["fdv_usd"])
            compared["fdv_usd"] = compared.get("fdv_usd", 0) + 1
            # Price and valuation are of different moments, and the largest supply is not what has been issued.
            if abs(told / computed - 1) > Decimal("0.1"):
                differences.append(f"{at}: fdv_usd is {told}, computed {computed:.2f}")


def pool_impact():
    for at, impact in objects("side_usd", "side_basis", "sizes"):
        for row in impact["sizes"]:
            size = Decimal(row["usd"])
            loss = 100 * size / (size + number(impact["side_usd"]))
            check("loss_pct", row["loss_pct"], loss, 4, at)


def side_usd():
    found = {}
    for file in (UPSTREAMS / "dexscreener").glob("*.json"):
        rows = json.loads(file.read_text(), parse_float=Decimal)
        rows = rows.get("pairs") if isinstance(rows, dict) else rows
        for row in rows or []:
            liquidity = row.get("liquidity") or {}
            if row.get("priceUsd") and row.get("priceNative") and liquidity.get("base") and liquidity.get("quote"):
                usd, native = number(row["priceUsd"]), number(row["priceNative"])
                sides = number(liquidity["base"]) * usd, number(liquidity["quote"]) * usd / native
                found.setdefault(row["pairAddress"].lower(), []).append(min(sides))
    for at, impact in objects("side_usd", "side_basis", "sizes"):
        computed = found.get(impact["pair"].lower())
        if computed and impact["side_basis"] == "reserves":
            nearest = min(computed, key=lambda side: abs(side - number(impact["side_usd"])))
            check("side_usd", impact["side_usd"], nearest, 2, at)


def share_of_liquidity_pct():
    for at, data in objects("pools", "liquidity_usd"):
        for row in data["pools"]:
            if row.get("share_of_liquidity_pct"):
                share = 100 * number(row["liquidity_usd"]) / number(data["liquidity_usd"])
                check("share_of_liquidity_pct", row["share_of_liquidity_pct"], share, 4, at)


def volume_to_liquidity_pct():
    for at, data in objects("volume_to_liquidity_pct", "liquidity_usd", "volume_24h_usd"):
        share = 100 * number(data["volume_24h_usd"]) / number(data["liquidity_usd"])
        check("volume_to_liquidity_pct", data["volume_to_liquidity_pct"], share, 4, at)


def difference_pct():
    for at, row in objects("check", "values_usd", "difference_pct"):
        one, other = map(number, row["values_usd"])
        check("difference_pct", row["difference_pct"], (other / one - 1) * 100, 4, at)


def round_trip():
    data = answer("/vet-token")["tradeability"]
    for place, row in enumerate(data["round_trip"]):
        buy, sell = data["buy_quote"][place], data["sell_quote"][place]
        if row["loss_pct"] is not None:
            spent, back = number(buy["amount_in_atoms"]), number(sell["amount_out_atoms"])
            check("loss_pct", row["loss_pct"], (1 - back / spent) * 100, 4, f"round trip of {row['usd']}")


# ---- money on chains


def total_tvl_usd():
    chains = raw("defillama/v2_chains.json")
    check("total_tvl_usd", answer("/defi-analytics")["total_tvl_usd"], sum(number(of["tvl"]) for of in chains), 2, "chains")


def share_pct():
    data = answer("/defi-analytics")
    for row in data["chains"]:
        share = 100 * number(row["tvl_usd"]) / number(data["total_tvl_usd"])
        check("share_pct", row["share_pct"], share, 4, row["name"])


def value_usd():
    for at, row in objects("amount", "price_usd", "value_usd"):
        if row["amount"] and row["price_usd"] and row["value_usd"]:
            check("value_usd", row["value_usd"], number(row["amount"]) * number(row["price_usd"]), 2, at)


def total_usd():
    data = answer("/portfolio")
    known = [number(chain["usd"]) for chain in data["chains"] if chain["usd"] is not None]
    check("total_usd", data["total_usd"], sum(known), 2, "/portfolio")


def total_idle_usd():
    data = answer("/idle-capital")
    known = [number(row["usd"]) for row in data["idle"] if row["usd"] is not None]
    check("total_idle_usd", data["total_idle_usd"], sum(known), 2, "/idle-capital")


def native():
    for at, row in objects("wei", "native"):
        check("native", row["native"], number(row["wei"]) / 10**18, 18, at)


# ---- macro data


def dollar_index():
    """The published formula of the dollar index, from the reference rates."""
    rates = raw("frankfurter/series_usd.json")["rates"]
    rates = rates[max(rates)]
    weights = {"EUR": "0.576", "JPY": "0.136", "GBP": "0.119", "CAD": "0.091", "SEK": "0.042", "CHF": "0.036"}
    logs = sum(Decimal(weight) * number(rates[name]).ln() for name, weight in weights.items())
    computed = Decimal("50.14348112") * logs.exp()
    for _, row in objects("symbol", "value", "basis"):
        if row["symbol"] == "DXY_DERIVED":
            check("value", row["value"], computed, 4, "dollar index")


def spread_2s10s_bp():
    yields = answer("/tradfi-data")["yields"]
    computed = (number(yields["10y"]["value"]) - number(yields["2y"]["value"])) * 100
    check("spread_2s10s_bp", yields["spread_2s10s_bp"], computed, 6, "yields")


# ---- leaders


def score():
    data = answer("/kol-sentiment")
    scores = [number(leader["score"]) for leader in data["leaders"]]
    check("score", data["overall"]["score"], sum(scores) / len(scores), 4, "overall")


# Each figure with what computes it a second time. `docs/DATA.md` marks the same ones.
CHECKS = {
    "rate_8h": rate_8h,
    "apr_pct": apr_pct,
    "funding_apr_pct": funding_apr_pct,
    "open_interest_usd": open_interest_usd,
    "change_24h_pct": change_24h_pct,
    "oi_usd": oi_usd,
    "oi_weighted_rate_8h": oi_weighted_rate_8h,
    "spread_bps": spread_bps,
    "long_pct": long_pct,
    "premium_bps": premium_bps,
    "buy_pct": book_impact,
    "bid_usd": depth,
    "range_position_pct": candle_figures,
    "apy_pct": apy_pct,
    "health": health,
    "est_gas_usd": est_gas_usd,
    "apy_after_gas_pct": apy_after_gas_pct,
    "net_apy_pct": net_apy_pct,
    "breakeven_days": breakeven_days,
    "expected_usd_year": expected_usd_year,
    "fdv_usd": fdv_usd,
    "side_usd": side_usd,
    "loss_pct": lambda: (pool_impact(), round_trip()),
    "share_of_liquidity_pct": share_of_liquidity_pct,
    "volume_to_liquidity_pct": volume_to_liquidity_pct,
    "difference_pct": difference_pct,
    "total_tvl_usd": total_tvl_usd,
    "share_pct": share_pct,
    "value_usd": value_usd,
    "total_usd": total_usd,
    "total_idle_usd": total_idle_usd,
    "native": native,
    "value": dollar_index,
    "spread_2s10s_bp": spread_2s10s_bp,
    "score": score,
}

for figure, compute in CHECKS.items():
    compute()
    # A check that finds nothing to compare says nothing.
    if not compared.get(figure):
        differences.append(f"{figure}: there is no such figure in the recorded answers")
json.dump({"compared": compared, "differences": differences}, sys.stdout, indent=1)
print()
print("\n".join(differences), file=sys.stderr)
sys.exit(1 if differences else 0)
