//! Compares `docs/UPSTREAMS.md`, the table of the server's upstreams, with the adapters.

use std::fmt::Write as _;
use std::path::Path;

use api_server::{Config, Sources};
use data_sources::{Families, Family, KeyRule, NAMED_IN_DATA, Rate, UpstreamSpec, Why};

const INTRODUCTION: &str = "\
# Upstreams

Each upstream has a table `[upstreams.NAME]` with `enabled`, `timeout_ms`, `mode`, the limits described below, and the
addresses of the table (the path of an address is a prefix of every request). Keys come from the environment
(`SVC__UPSTREAMS__NAME__API_KEY`) or from files (`api_key_file`), never from the configuration itself. An upstream
without a required key is `disabled`, and `/status` says so. Written by `cargo xtask docs`.

## Limits

**Budgets.** A budget is the weight of calls in any stretch of time of its length, not a bucket with a burst. It is
below the upstream's own limit, and a call counts a second longer than the upstream's window, because it may arrive
late. Every try of a call takes its weight. A call whose weight is known only afterwards is charged the most that it can
weigh, and corrected by the real weight. A call that would have to wait for more than 0.8 s is refused with
`upstream_over_budget` and the time after which it fits. One request for the history of a Hyperliquid account takes at
most 63 percent of the budget that its caller may use; a longer history is shortened to its newest part.

**Reserve.** The paid API leaves half of every budget and quota (`credit.reserved_budget_percent`) to calls that their
payer's own credit covers, and to its own work. Newcomers and free calls share the other half, and are refused beyond it
like all callers beyond the whole. One call that weighs more than their half passes while no other call of theirs is in
the window. Use of before a restart counts as theirs in budgets. The agent rail has no payers and reserves nothing.

**Families.** A budget covers a family: all sources of an upstream, one of its hosts, or the group of sources that the
table names. After `429` only this family gets no call for as long as the upstream says, or for 15 s when it does not
say; the call is tried again only when the upstream named a second or less, and until then the family is held for all
callers. After `402` it gets no call for at least an hour and at most a day, its state is `payment_required`, and calls
are refused with `upstream_payment_required`.

**Quotas.** `monthly_quota` and `daily_quota` bound the calls (tries) of a calendar month or day in UTC. Unless they are
set, the quota of the table below holds; 0 is none. A quota is paced: at any time at most its linear share of the period
so far, plus a tenth of it, has been spent, and never more than the quota. Beyond that calls are refused with
`upstream_quota_spent` and the time of the next possible one. Counters are kept beside the ledger (a file, or the same
PostgreSQL database), and by the agent rail in the file of its `[storage]`. They are written before the calls that they
count, in slices of a thousandth of the quota (at least 1 and at most 100 calls), so a crash counts up to a slice too
much and never too little. A counter that cannot be written refuses calls. An upstream's month may begin on another day
than the first: leave room for that. With a paid plan, set the quota of the plan. OKX publishes no reliable quotas of
its plans, so it has none unless `monthly_quota` is set; a trial key reportedly allows one request a second, less than
the budgets below. CoinGecko's key is one of the free plan unless `plan = \"pro\"` says otherwise: then it goes to
`https://pro-api.coingecko.com` (or `base_url`), and there is no quota unless `monthly_quota` is set.

**Several servers** that use one address or one key set `servers = N` (1 to 8) in the table of the upstream: every
budget and quota is divided by it. `api-server` and `mcp-server` on one machine are two servers for Hyperliquid, LI.FI,
Circle and DefiLlama. Servers on one PostgreSQL database count quotas together: a quota is then that of all of them, and
only budgets are divided.

**Floors.** A value is not fetched again before its floor, whatever `max_age` a caller names. The caller gets the stored
value with its age, or the refusal `older_than_max_age`. The floor is 2 s for values that are fresh for 4 to 40 s
(prices, markets, accounts), half of that time for shorter ones (order books 1 s), a twentieth for longer ones, and at
most 30 s (scans, macro data, news). Longer floors: coins of CoinGecko and CoinPaprika 15 s, DefiLlama's lists and
charts and Hyperliquid's list of dexes 1 minute, token lists, contracts and other lists 5 minutes. Values fetched for
each call have a floor too, but no older value is kept: the history of a Hyperliquid account 10 s (the same kind and
span; one that ends now ends when it was read), the balances of an account at OKX and at an explorer 5 s.
The absence of an item is kept like a value, for at most a minute.

**Restarts.** The use of quotas, and of budgets for a minute or longer, is written down beforehand and counts again
after a restart. Shorter budgets begin anew.

`/status` shows `budget_left`, `budget_limit`, `window_seconds`, `quota_left` and `quota_resets_at` of each source; the metrics
`svc_upstream_budget_left`, `svc_upstream_budget_limit`, `svc_upstream_quota_left` and `svc_upstream_quota_limit` say the same. A recording
(`mode = \"replay\"`) has no limits.

The agent rail has budgets of its own: LI.FI 70 quotes in 2 hours without a key and 90 in a minute with one, Circle 30
requests in a second, Hyperliquid weight 1,100 in a minute, each host of Polymarket 200 requests in 10 seconds. A
smaller rest that LI.FI reports counts instead. There are no quotas unless `daily_quota` or `monthly_quota` set them;
they are paced as above. With `[storage]` quotas and the use of budgets for a minute or longer continue after a restart;
without it they are kept in memory.

## Attribution

Answers name their upstreams in `meta.attribution`, and the page of the server names all of them. Some upstreams ask for certain
words wherever their data is shown, according to CoinGecko's guide and to other projects' quotations of the terms:

ASKED
The others are named, with a link. We know of no words that they ask for:

NAMED
Headlines have their publisher and link, posts their author and link, and generated texts and images the model. Nodes of chains
are not named, because their answers are the chain's.

Every request to an upstream carries the name of the service: the header
`User-Agent` is `BRAND-api-server/VERSION (+CONTACT or PUBLIC_URL)`.

## Terms of use

An attribution is not a permission. Read the terms of every upstream that you switch on before you sell its data; this page quotes
none of them. According to others, these terms restrict the use most:

- `defillama`: by its terms, the free interface is for personal, non-commercial use unless DefiLlama agrees in writing
  ([terms](https://defillama.com/terms)).
- `fred`: levels of the S&P 500, the Dow Jones, the Nasdaq Composite and the VIX belong to S&P Dow Jones Indices, Nasdaq and Cboe,
  and are said to need the owner's permission for more than personal use ([legal notices](https://fred.stlouisfed.org/legal/)).
- `yahoo`: the charts are an interface that nobody guarantees, and are said to be for personal use.
- `coingecko`, `coinpaprika`, `lunarcrush`, `cryptopanic`, `coindesk`: plans differ in whether data may be shown or sold to others.

`enabled = false` in an upstream's table switches it off; its routes then do without it, or refuse without charge.

## Table

";

fn rate(rate: Rate) -> String {
    match rate.seconds {
        60 => format!("{} a minute", rate.weight),
        seconds => format!("{} in {seconds} s", rate.weight),
    }
}

fn limits(spec: &UpstreamSpec) -> String {
    match spec.families {
        Families::One(one) => rate(one),
        Families::EachAddress(each) => format!("{} each address", rate(each)),
        Families::Groups(groups) => {
            let group = |family: &Family| {
                let sources: Vec<_> = family.sources.iter().map(|id| format!("`{id}`")).collect();
                format!(
                    "{}: {} ({})",
                    family.name,
                    rate(family.rate),
                    sources.join(", ")
                )
            };
            groups.iter().map(group).collect::<Vec<_>>().join("<br>")
        }
    }
}

fn table() -> String {
    let attributed = |why: Why| -> String {
        data_sources::attributions()
            .filter(|of| of.why == why)
            .map(|of| format!("- `{}`: [{}]({})\n", of.upstream, of.text, of.url))
            .collect()
    };
    let mut page = INTRODUCTION
        .replace("ASKED\n", &format!("{}\n", attributed(Why::Asked)))
        .replace("NAMED\n", &format!("{}\n", attributed(Why::Named)));
    page.push_str(
        "| Name | Address | Key | Budget | Quota | Sources |\n|---|---|---|---|---|---|\n",
    );
    for spec in Sources::specs() {
        let urls: Vec<_> = spec
            .urls
            .iter()
            .map(|(key, url)| format!("`{key} = \"{url}\"`"))
            .collect();
        let key = match (spec.name, spec.key) {
            ("okx", _) => "`api_key`, `secret_key`, `passphrase`",
            (_, KeyRule::Required) => "`api_key`",
            (_, KeyRule::Optional) => "`api_key`, optional",
            (_, KeyRule::Keyless) => "none",
        };
        let quota = match (spec.quota.daily, spec.quota.monthly) {
            (0, 0) => "none".to_owned(),
            (0, monthly) => format!("{monthly} a month"),
            (daily, 0) => format!("{daily} a day"),
            (daily, monthly) => format!("{daily} a day, {monthly} a month"),
        };
        let sources: Vec<_> = spec.sources.iter().map(|id| format!("`{id}`")).collect();
        writeln!(
            page,
            "| `{}` | {} | {key} | {} | {quota} | {} |",
            spec.name,
            urls.join("<br>"),
            limits(spec),
            sources.join(", ")
        )
        .unwrap();
    }
    page
}

/// Each upstream whose data is shown is named there, by an attribution or in the rows of its data.
#[test]
fn every_upstream_is_named_where_its_data_is_shown() {
    let in_data = |name: &str| NAMED_IN_DATA.iter().any(|(known, _)| *known == name);
    for spec in Sources::specs() {
        for source in spec.sources {
            let named = data_sources::attribution(source).map(|of| of.upstream);
            match in_data(spec.name) {
                true => assert_eq!(named, None, "{source}"),
                false => assert_eq!(named, Some(spec.name), "{source}"),
            }
        }
    }
}

/// A source without a family would share the budget of another one.
#[test]
fn every_source_is_in_one_family() {
    for spec in Sources::specs() {
        let Families::Groups(groups) = spec.families else {
            continue;
        };
        let mut grouped: Vec<_> = groups.iter().flat_map(|family| family.sources).collect();
        let mut sources: Vec<_> = spec.sources.iter().collect();
        grouped.sort_unstable();
        sources.sort_unstable();
        assert_eq!(grouped, sources, "{}", spec.name);
    }
}

#[test]
fn generated_docs_of_upstreams_are_those_of_the_adapters() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/UPSTREAMS.md");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, table()).unwrap();
    }
    let observed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        observed == table(),
        "docs/UPSTREAMS.md is out of date: run `cargo xtask docs`"
    );
}

/// Every address and key that an adapter knows can be configured.
#[test]
fn every_upstream_can_be_configured() {
    for spec in Sources::specs() {
        let name = spec.name.to_ascii_uppercase();
        let mut environment: Vec<(String, String)> = spec
            .urls
            .iter()
            .map(|(key, _)| {
                let variable = format!("SVC__UPSTREAMS__{name}__{}", key.to_ascii_uppercase());
                (variable, "http://127.0.0.1:9/prefix".to_owned())
            })
            .collect();
        for (key, number) in [
            ("MONTHLY_QUOTA", "10000"),
            ("DAILY_QUOTA", "0"),
            ("SERVERS", "2"),
        ] {
            environment.push((format!("SVC__UPSTREAMS__{name}__{key}"), number.to_owned()));
        }
        for key in ["API_KEY", "SECRET_KEY", "PASSPHRASE"] {
            environment.push((format!("SVC__UPSTREAMS__{name}__{key}"), "k".to_owned()));
        }
        let text = "[payment]\npay_to = \"0x1111111111111111111111111111111111111111\"\n\
                    [settlement]\nfacilitator_url = \"http://127.0.0.1:9\"\n";
        let config = Config::parse(text, environment);
        assert!(config.is_ok(), "{}: {:?}", spec.name, config.err());
    }
}
