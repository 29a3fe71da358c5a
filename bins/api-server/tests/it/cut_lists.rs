//! Lists every place in the code that shortens a list, and how the answer discloses the total. The
//! test fails for a place that is not listed. It searches the sources for known forms of code, and
//! does not run them.

use std::fs;
use std::path::{Path, PathBuf};

/// How an answer discloses the total of a list that a place in the code shortens.
#[derive(Clone, Copy)]
enum Disclosure {
    /// `meta.cut` names the list and its total; the named test checks that.
    Cut(&'static str),
    /// A member beside the list has the total; the named test checks that.
    Member(&'static str, &'static str),
    /// The list is one page, and `next_cursor` leads to the next one.
    Page,
    /// The source is asked for this many rows, and gives no total.
    Asked,
    /// The place shortens no list of an answer, for this reason.
    No(&'static str),
}
use Disclosure::{Asked, Cut, Member, No, Page};

const OPERATIONS: &str = "bins/api-server/src/operations";
const SOURCES: &str = "crates/data-sources/src";
const READINGS: &str = "crates/readings/src";

/// Each row has the folder, the file, the line of code, and the disclosure.
#[rustfmt::skip]
const PLACES: &[(&str, &str, &str, Disclosure)] = &[
    (OPERATIONS, "filtered_news.rs", "headlines.truncate(MOST)", Cut("every_cut_list_of_a_route_discloses_its_total")),
    (OPERATIONS, "filtered_news.rs", "reports.into_iter().take(MOST)", No("marks in which sources a headline was found")),
    (OPERATIONS, "hyperliquid_market.rs", "book.top(DEPTH)", Cut("every_cut_list_of_a_route_discloses_its_total")),
    (OPERATIONS, "market_alpha.rs", "take(MORE_OF_EACH)", No("how many tokens beside the curated ones are priced")),
    (OPERATIONS, "funding_rates.rs", "take(TOP)", No("coins of which another source is asked")),
    (OPERATIONS, "portfolio/fallback.rs", "tokens.truncate(MAX_TOKENS)", No("tokens that a node is asked for: coverage says listed_tokens")),
    (OPERATIONS, "rwa_pulse.rs", "take(DEXES)", Cut("every_cut_list_of_a_route_discloses_its_total")),
    (OPERATIONS, "rwa_pulse.rs", "headlines.truncate(HEADLINES)", Cut("every_cut_list_of_a_route_discloses_its_total")),
    (OPERATIONS, "token_alpha.rs", "headlines.truncate(MOST)", Cut("every_cut_list_of_a_route_discloses_its_total")),
    (OPERATIONS, "yield_recommendations.rs", "rows.truncate(MAX_ROWS)", Cut("every_cut_list_of_a_route_discloses_its_total")),
    (SOURCES, "coindesk.rs", "limit={LIMIT}", Asked),
    (SOURCES, "defillama/pools.rs", "take(MAX_TOKENS)", No("assets of a pool, compared and not listed")),
    (SOURCES, "defillama/pools.rs", "pools.truncate(MAX_KEPT)", Member("considered", "the_best_pools_are_graded_by_published_rules")),
    (SOURCES, "defillama/protocols.rs", "take(MAX_CHAINS)", No("more chains than there are")),
    (SOURCES, "evm/read.rs", "take(MAX_LOGS)", Member("logs_left_out", "more_logs_than_are_read_are_counted")),
    (SOURCES, "evm/witness.rs", "take(AT_ONCE)", No("nodes that are asked")),
    (SOURCES, "fourbyte.rs", "take(MAX_CANDIDATES)", No("guesses at a signature")),
    (SOURCES, "fred.rs", "limit={DAYS}", No("the newest value is what is wanted")),
    (SOURCES, "hyperliquid_info/history.rs", "take(DETAILS)", No("members of one row")),
    (SOURCES, "lunarcrush.rs", "limit={COINS}", Asked),
    (SOURCES, "okx/balances.rs", "take(MAX_CHAINS)", No("more chains than there are")),
    (SOURCES, "okx/defi.rs", "take(MAX_PRODUCTS)", No("compared with markets that are listed")),
    (SOURCES, "okx/defi.rs", "take(MAX_TOKENS)", No("words that a source is asked for")),
    (SOURCES, "okx/market/info.rs", "take(MAX_TOKENS)", No("tokens that a source is asked for")),
    (SOURCES, "okx/market/origin.rs", "take(MAX_TAGS)", No("tags, read for what they say")),
    (SOURCES, "okx/security/holders.rs", "limit={LIMIT}", Cut("every_cut_list_of_a_route_discloses_its_total")),
    (SOURCES, "okx/security/holders.rs", "take(LIMIT)", Cut("every_cut_list_of_a_route_discloses_its_total")),
    (SOURCES, "okx/social.rs", "news/by-symbol", Asked),
    (SOURCES, "okx/social.rs", "news/search", Asked),
    (SOURCES, "okx/social.rs", "vibe/top-kols", Asked),
    (SOURCES, "okx/social.rs", "news/latest", Asked),
    (SOURCES, "okx/social.rs", "sentiment/ranking", Asked),
    (SOURCES, "okx/swap.rs", "take(MAX_HOPS)", No("more hops than a swap has")),
    (SOURCES, "rss/feed.rs", "take(MOST_CATEGORIES)", No("labels of an article")),
    (SOURCES, "rss/feed.rs", "take(MOST)", Asked),
    (SOURCES, "sourcify.rs", "take(MAX_CANDIDATES)", No("guesses at a signature")),
    (SOURCES, "sourcify.rs", "take(MAX_IMPLEMENTATIONS)", No("contracts behind a proxy, read for their interface")),
    (READINGS, "ai/image.rs", "self.take(N)", No("bytes of an image")),
    (READINGS, "chain/abi/render.rs", "take(MAX_ELEMENTS)", Member("elements", "long_values_are_cut_and_say_so")),
    (READINGS, "chain/builtin/carried.rs", "take(MAX_COMMANDS)", Member("commands_left_out", "a_long_list_of_commands_says_how_many_are_not_named")),
    (READINGS, "chain/explain/action.rs", "take(MAX_NAMED)", No("sentences, and one that says how many more")),
    (READINGS, "chain/explain/action/executions.rs", "take(MAX_NAMED)", No("names in a sentence that has the number")),
    (READINGS, "chain/explain/action/sides.rs", "assets.truncate(MAX_NAMED)", No("names in a sentence that says how many more")),
    (READINGS, "chain/explain.rs", "take(MAX_SHOWN)", Cut("many_logs_stay_bounded")),
    (READINGS, "chain/explain/shown.rs", "take(MAX_SHOWN)", Cut("many_logs_stay_bounded")),
    (READINGS, "chain/explain/shown.rs", "view.changes.iter().take(MAX_SHOWN)", Cut("many_logs_stay_bounded")),
    (READINGS, "chain/explain/shown.rs", "approvals.iter().take(MAX_SHOWN)", Cut("many_logs_stay_bounded")),
    (READINGS, "chain/explain/warnings.rs", "authorizations.take(WARNED)", Member("more signatures", "a_signature_about_code_names_the_account_and_the_contract")),
    (READINGS, "chain/explain/warnings.rs", "unlimited.take(WARNED)", Member("more approvals", "approvals_of_everything_beyond_the_first_are_counted")),
    (READINGS, "chain/knowledge.rs", "take(MAX_ENTRIES)", No("an interface, read for its functions")),
    (READINGS, "chain/abi/canonical.rs", "data.get(WORD..)", No("bytes of one value")),
    (READINGS, "chain/abi/canonical.rs", "data.get(..WORD)", No("bytes of one value")),
    (READINGS, "chain/abi/render.rs", "get(..MAX_BYTES)", No("bytes of one value")),
    (READINGS, "defi/market.rs", "take(most)", Cut("every_cut_list_of_a_route_discloses_its_total")),
    (READINGS, "defi/market/page.rs", "take(limit)", Page),
    (READINGS, "defi/tvl.rs", "take(most)", Cut("every_cut_list_of_a_route_discloses_its_total")),
    (READINGS, "defi/tvl.rs", "chains.truncate(most)", Cut("every_cut_list_of_a_route_discloses_its_total")),
    (READINGS, "defi/tvl.rs", "moved.into_iter().take(most)", Cut("every_cut_list_of_a_route_discloses_its_total")),
    (READINGS, "derivatives/book.rs", "self.bids.truncate(most)", Cut("every_cut_list_of_a_route_discloses_its_total")),
    (READINGS, "derivatives/book.rs", "self.asks.truncate(most)", Cut("every_cut_list_of_a_route_discloses_its_total")),
    (READINGS, "derivatives/history.rs", "rest.truncate(limit)", Page),
    (READINGS, "derivatives/levels.rs", "supports.truncate(most)", Cut("levels_beyond_the_nearest_are_counted")),
    (READINGS, "derivatives/levels.rs", "resistances.truncate(most)", Cut("levels_beyond_the_nearest_are_counted")),
    (READINGS, "derivatives/market.rs", "markets.truncate(most)", Cut("every_cut_list_of_a_route_discloses_its_total")),
    (READINGS, "derivatives/market.rs", "unranked.truncate(MAX_UNRANKED)", Cut("a_coin_without_a_place_in_the_ranking_is_named")),
    (READINGS, "macro_data/calendar.rs", "take(LOOK_BACK_DAYS)", No("days that are searched")),
    (READINGS, "news/brief.rs", "take(QUOTED)", No("titles in a sentence that has the number")),
    (READINGS, "news/brief.rs", "headlines.truncate(MOST_HEADLINES)", Cut("every_cut_list_of_a_route_discloses_its_total")),
    (READINGS, "news/sentiment/vader.rs", "take(MOST_WORDS)", No("words of a text")),
    (READINGS, "portfolio.rs", "tokens.truncate(MAX_SHOWN)", Cut("long_lists_are_cut_and_counted")),
    (READINGS, "security/holding.rs", "counted.truncate(TOP)", No("what is summed up is the ten largest")),
    (READINGS, "security/report.rs", "pools.truncate(MAX_POOLS)", Cut("pools_beyond_the_largest_are_counted")),
    (READINGS, "social/digest.rs", "take(EVIDENCE)", No("links of a row that has the number of posts")),
    (READINGS, "social/digest.rs", "take(NAMED)", No("names in a sentence that says how many more")),
    (READINGS, "social/digest.rs", "claims.truncate(most)", Cut("the_digest_of_a_busy_day_states_the_full_counts")),
    (READINGS, "social/digest.rs", "stances.truncate(most)", Cut("the_digest_of_a_busy_day_states_the_full_counts")),
    (READINGS, "social/digest.rs", "topics.truncate(most)", Cut("the_digest_of_a_busy_day_states_the_full_counts")),
    (READINGS, "social/opinion.rs", "take(EVIDENCE)", No("links of a row that has the number of posts")),
    (READINGS, "social/opinion.rs", "all.truncate(MAX_VOICES)", Member("known", "fifty_leaders_are_the_most")),
    (READINGS, "token/board.rs", "gainers.take(MOVERS)", Cut("movers_beyond_the_first_are_counted")),
    (READINGS, "token/board.rs", "losers.take(MOVERS)", Cut("movers_beyond_the_first_are_counted")),
    (READINGS, "token/coin.rs", "take(MAX_ALTERNATIVES)", Cut("rows_of_one_coin_are_one_and_alternatives_are_bounded")),
    (READINGS, "token/trending.rs", "take(most)", Cut("every_cut_list_of_a_route_discloses_its_total")),
];

#[test]
fn every_cut_list_is_known_and_discloses_its_total() {
    let mut found = Vec::new();
    for folder in [OPERATIONS, SOURCES, READINGS] {
        for (file, line) in shortened(folder) {
            let fits = |place: &&(&str, &str, &str, Disclosure)| {
                (place.0, place.1) == (folder, file.as_str()) && line.contains(place.2)
            };
            let places: Vec<_> = PLACES.iter().filter(fits).collect();
            assert!(
                !places.is_empty(),
                "{folder}/{file} shortens a list: {line}\nsay of how many, and add it to the table"
            );
            found.extend(places.into_iter().map(|place| (place.1, place.2)));
        }
    }
    for (_, file, taken, _) in PLACES {
        assert!(found.contains(&(*file, *taken)), "{file}: {taken} is gone");
    }
}

#[test]
fn every_named_test_exists() {
    let texts: Vec<String> = ["bins/api-server", "crates/data-sources", "crates/readings"]
        .iter()
        .flat_map(|folder| sources(&root().join(folder)))
        .map(|path| fs::read_to_string(path).unwrap())
        .collect();
    for (_, file, taken, told) in PLACES {
        let test = match told {
            Cut(test) => format!("fn {test}("),
            Member(member, test) => {
                let told = |text: &String| text.contains(member);
                assert!(texts.iter().any(told), "{file}: there is no {member}");
                format!("fn {test}(")
            }
            No(why) => {
                assert!(!why.is_empty(), "{file}: {taken}");
                continue;
            }
            Page | Asked => continue,
        };
        assert!(
            texts.iter().any(|text| text.contains(&test)),
            "{file}: {taken}: there is no {test}"
        );
    }
}

/// The lines of a folder's sources, without tests, that take a part of a list: its first or its
/// last rows.
fn shortened(folder: &str) -> Vec<(String, String)> {
    let base = root().join(folder);
    let mut found = Vec::new();
    for path in sources(&base) {
        let file = path.strip_prefix(&base).unwrap().to_str().unwrap();
        if file.contains("tests") {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let lines = text.lines().map(str::trim);
        let code = lines.take_while(|line| !line.starts_with("#[cfg(test)]"));
        for line in code.filter(|line| !line.starts_with("//") && shortens(line)) {
            found.push((file.to_owned(), line.to_owned()));
        }
    }
    found
}

/// Whether a line takes as many rows of a list as a constant or a limit says.
fn shortens(line: &str) -> bool {
    let by = |call: &str| {
        let mut rests = line.split(call).skip(1);
        rests.any(|rest| bounds(rest.split(')').next().unwrap_or_default()))
    };
    // `rows[..MOST]`, `rows.get(..most)`, `rows.get(rows.len() - MOST..)`, `rows.split_at(MOST)`.
    let mut ranges = line.match_indices("..");
    let sliced = ranges.any(|(at, _)| {
        let (before, after) = (&line[..at], &line[at + 2..]);
        let after = after.trim_start_matches('=');
        let ends = after.split([']', ')']).next().unwrap_or_default();
        let opens = before.rfind(['[', '(']).filter(|open| {
            let inside = &before[open + 1..];
            let of = &before[..*open];
            before[*open..].starts_with('[')
                && !of.ends_with([' ', '&', '(', '='])
                && !of.is_empty()
                || of.ends_with("get")
                || of.ends_with("saturating_sub") && !inside.is_empty()
        });
        // A range with both ends is a part in the middle, not the first or the last rows of a list.
        opens.is_some_and(|open| {
            let starts = before[open + 1..].trim_end_matches(')');
            (starts.is_empty() && bounds(ends)) || (ends.trim().is_empty() && bounds(starts))
        })
    });
    [
        ".take(",
        ".truncate(",
        ".top(",
        ".split_at(",
        ".split_off(",
        ".drain(",
    ]
    .into_iter()
    .any(by)
        || sliced
        || line.contains("limit={")
}

/// Whether a count is a constant, or has the name of a limit.
fn bounds(count: &str) -> bool {
    let last = count.trim().rsplit("::").next().unwrap_or_default();
    let constant = !last.is_empty()
        && last
            .bytes()
            .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
        && last.starts_with(|first: char| first.is_ascii_uppercase());
    constant || matches!(last, "limit" | "most")
}

#[test]
fn ranges_shorten_as_well() {
    for line in [
        "rows.truncate(MOST);",
        "let first = &rows[..MOST];",
        "let first = rows.get(..limit)?;",
        "let last = rows.get(rows.len().saturating_sub(LISTED)..);",
        "let (first, _) = rows.split_at(most);",
        "rows.split_off(super::MOST);",
    ] {
        assert!(shortens(line), "{line}");
    }
    for line in [
        "let all = &rows[..];",
        "for at in 0..MOST {",
        "Self { ..Self::default() }",
        "Err(Fault { limit, ..fault })",
        "rows.take(count)",
        "word.get(FLAG..12)",
    ] {
        assert!(!shortens(line), "{line}");
    }
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(sources(&path)),
            false if path.extension().is_some_and(|of| of == "rs") => found.push(path),
            false => {}
        }
    }
    found.sort();
    found
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
