//! What a reading says that the reading of the unchanged answer does not say.

use std::collections::BTreeSet;

/// Members without which, or with another kind of which, a reading says something else than that something is missing: the
/// beginning of the source, the end of the path, and why that is right.
pub(crate) const REVIEWED: [(&str, &str, &str); 10] = [
    (
        "sourcify.abi",
        ".match",
        "a contract that nobody verified has null there, and is read so",
    ),
    (
        "cryptopanic.posts",
        ".original_url",
        "the aggregator's own link and name stand in",
    ),
    (
        "defillama.protocols",
        ".slug",
        "made of the name, as the site does",
    ),
    (
        "goplus.token-security",
        ".tag",
        "a locked holder without a name is called a locker",
    ),
    (
        "goplus.token-security",
        ".is_locked",
        "what is not said to be locked counts as not locked",
    ),
    (
        "hyperliquid.history",
        ".tid",
        "fills without a number are told apart by their hash",
    ),
    (
        "hyperliquid.markets",
        ".isDelisted",
        "the venue leaves it out when it is false",
    ),
    (
        "okx.balances",
        ".rawBalance",
        "the balance in units stands beside it",
    ),
    (
        "okx.token-scan",
        ".riskLevel",
        "an unknown level counts as high",
    ),
    (
        "sourcify.signatures",
        ".hasVerifiedContract",
        "what is not said to be verified is not",
    ),
];

/// A path that is empty would look at every member of a source, and none would be noticed that reads as something else.
#[test]
fn every_reviewed_member_is_named() {
    for (source, path, why) in REVIEWED {
        assert!(
            path.starts_with('.') && path.len() > 1,
            "{source}: {path:?}"
        );
        assert!(!why.is_empty(), "{source}");
    }
}

/// Whether a change of this member was looked at.
pub(crate) fn reviewed(name: &str, path: &str) -> bool {
    let mut known = REVIEWED.iter();
    known.any(|(source, end, _)| name.starts_with(source) && path.contains(end))
}

/// Words and values of a reading that the reading of the unchanged answer does not have, or has elsewhere. Words that say
/// that something is missing, and values that the changed answer itself states, are none.
pub(crate) fn news(base: &str, told: &str) -> Vec<String> {
    let words = |text: &str| -> Vec<String> {
        text.split(|c: char| !(c.is_alphanumeric() || ".-_$₮".contains(c)))
            .filter(|word| !word.is_empty())
            .map(plain)
            .collect()
    };
    let (base, told) = (words(base), words(told));
    let all: BTreeSet<&String> = base.iter().collect();
    let moved = base.len() == told.len();
    let new: BTreeSet<&String> = told
        .iter()
        .enumerate()
        .filter(|(place, word)| !all.contains(word) || (moved && base[*place] != **word))
        .map(|(_, word)| word)
        .filter(|word| !says_nothing(word))
        .collect();
    new.into_iter().take(4).cloned().collect()
}

/// A number as short as it can be written.
fn plain(word: &str) -> String {
    let number = word.parse::<f64>().is_ok() && word.contains('.');
    match number {
        true => word.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => word.to_owned(),
    }
}

/// Words of a reading that lacks something, or of what a mutation put in its place.
fn says_nothing(word: &str) -> bool {
    let source = word.split_once('.').is_some_and(|(upstream, call)| {
        [upstream, call]
            .iter()
            .all(|part| part.starts_with(|c: char| c.is_ascii_lowercase()))
    });
    let reason =
        word.contains("upstream_") || word.ends_with("_source") || word.ends_with("_unknown");
    let mutated = [
        "None",
        "reason",
        "Missing",
        "part",
        "Unknown",
        "Unparsable",
        "MarkPx",
        "7",
        "x",
        "true",
    ];
    source || reason || mutated.contains(&word)
}
