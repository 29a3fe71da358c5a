//! The difference between the reading of a changed answer and the reading of the unchanged one, and
//! the differences that are reviewed.

use std::collections::BTreeSet;

/// Members whose loss or change makes a reading say something new, other than that something is
/// missing. Each row has the beginning of the source's name, the path or its last member, and why
/// the new reading is right.
pub(crate) const REVIEWED: [(&str, &str, &str); 13] = [
    (
        "sourcify.abi",
        ".match",
        "an unverified contract has null there, and is read so",
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
        "the balance in units is beside it",
    ),
    (
        "okx.token-scan",
        ".riskLevel",
        "an unknown level counts as high",
    ),
    (
        "polymarket.clob-markets",
        "$.ao",
        "a market that does not say that it takes orders takes none",
    ),
    (
        "polymarket.gamma",
        "$[].acceptingOrders",
        "a market that does not say that it takes orders takes none",
    ),
    (
        "polymarket.gamma",
        "$[].enableOrderBook",
        "a market that does not say that it has a book has none",
    ),
    (
        "sourcify.signatures",
        ".hasVerifiedContract",
        "what is not said to be verified is not",
    ),
];

/// The answer with the details of positions. When a detail cannot be read, the reading lists
/// positions by platform instead.
const DETAIL: &str = "okx.defi /api/v6/defi/user/asset/platform/detail";
#[rustfmt::skip]
const OF_DETAIL: [&str; 35] = [
    "$",
    "$.code",
    "$.data",
    "$.data[]",
    "$.data[].platformName",
    "$.data[].walletIdPlatformDetailList",
    "$.data[].walletIdPlatformDetailList[]",
    "$.data[].walletIdPlatformDetailList[].networkHoldVoList",
    "$.data[].walletIdPlatformDetailList[].networkHoldVoList[]",
    "$.data[].walletIdPlatformDetailList[].networkHoldVoList[].chainIndex",
    "$.data[].walletIdPlatformDetailList[].networkHoldVoList[].investMarketTokenBalanceVoList",
    "$.data[].walletIdPlatformDetailList[].networkHoldVoList[].investMarketTokenBalanceVoList[]",
    "$.data[].walletIdPlatformDetailList[].networkHoldVoList[].investMarketTokenBalanceVoList[].assetMap",
    "$.data[].walletIdPlatformDetailList[].networkHoldVoList[].investMarketTokenBalanceVoList[].assetMap.*",
    "$.data[].walletIdPlatformDetailList[].networkHoldVoList[].investMarketTokenBalanceVoList[].assetMap.*[]",
    "$.data[].walletIdPlatformDetailList[].networkHoldVoList[].investMarketTokenBalanceVoList[].assetMap.*[].assetsTokenList",
    "$.data[].walletIdPlatformDetailList[].networkHoldVoList[].investMarketTokenBalanceVoList[].assetMap.*[].assetsTokenList[]",
    "$.data[].walletIdPlatformDetailList[].networkHoldVoList[].investMarketTokenBalanceVoList[].assetMap.*[].assetsTokenList[].coinAmount",
    "$.data[].walletIdPlatformDetailList[].networkHoldVoList[].investMarketTokenBalanceVoList[].assetMap.*[].assetsTokenList[].currencyAmount",
    "$.data[].walletIdPlatformDetailList[].networkHoldVoList[].investMarketTokenBalanceVoList[].assetMap.*[].assetsTokenList[].tokenSymbol",
    "$.data[].walletIdPlatformDetailList[].networkHoldVoList[].investMarketTokenBalanceVoList[].assetMap.*[].investmentId",
    "$.data[].walletIdPlatformDetailList[].networkHoldVoList[].investMarketTokenBalanceVoList[].assetMap.*[].investmentName",
    "$.data[].walletIdPlatformDetailList[].networkHoldVoList[].investMarketTokenBalanceVoList[].assetMap.*[].totalValue",
    "$.data[].walletIdPlatformDetailList[].networkHoldVoList[].investTokenBalanceVoList",
    "$.data[].walletIdPlatformDetailList[].networkHoldVoList[].investTokenBalanceVoList[]",
    "$.data[].walletIdPlatformDetailList[].networkHoldVoList[].investTokenBalanceVoList[].investmentId",
    "$.data[].walletIdPlatformDetailList[].networkHoldVoList[].investTokenBalanceVoList[].investmentName",
    "$.data[].walletIdPlatformDetailList[].networkHoldVoList[].investTokenBalanceVoList[].positionList",
    "$.data[].walletIdPlatformDetailList[].networkHoldVoList[].investTokenBalanceVoList[].positionList[]",
    "$.data[].walletIdPlatformDetailList[].networkHoldVoList[].investTokenBalanceVoList[].positionList[].assetsTokenList",
    "$.data[].walletIdPlatformDetailList[].networkHoldVoList[].investTokenBalanceVoList[].positionList[].assetsTokenList[]",
    "$.data[].walletIdPlatformDetailList[].networkHoldVoList[].investTokenBalanceVoList[].positionList[].assetsTokenList[].coinAmount",
    "$.data[].walletIdPlatformDetailList[].networkHoldVoList[].investTokenBalanceVoList[].positionList[].assetsTokenList[].currencyAmount",
    "$.data[].walletIdPlatformDetailList[].networkHoldVoList[].investTokenBalanceVoList[].positionList[].assetsTokenList[].tokenSymbol",
    "$.data[].walletIdPlatformDetailList[].networkHoldVoList[].investTokenBalanceVoList[].totalValue",
];

/// Returns every reviewed member.
pub(crate) fn all_reviewed() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    let of_detail = OF_DETAIL
        .iter()
        .map(|path| (DETAIL, *path, "positions are told by platform"));
    REVIEWED.into_iter().chain(of_detail)
}

/// Whether `path` is the reviewed path, or ends with the reviewed member.
pub(crate) fn is_at(path: &str, looked_at: &str) -> bool {
    path == looked_at || (looked_at.starts_with('.') && path.ends_with(looked_at))
}

/// An empty path would match every member of a source, and so hide every change in it.
#[test]
fn every_reviewed_member_is_named() {
    for (source, path, why) in all_reviewed() {
        let named = path.len() > 1 && path.starts_with('.') || path.starts_with('$');
        assert!(named, "{source}: {path:?}");
        assert!(!why.is_empty(), "{source}");
    }
    assert!(!reviewed("polymarket.gamma /markets", "$[].question"));
    assert!(!reviewed(
        "okx.defi /api/v6/defi/user/asset/platform/list",
        "$.code"
    ));
}

/// Whether somebody has reviewed a change of this member.
pub(crate) fn reviewed(name: &str, path: &str) -> bool {
    let mut known = all_reviewed();
    known.any(|(source, at, _)| name.starts_with(source) && is_at(path, at))
}

/// Returns at most four words and values that the changed reading has, and that the unchanged one
/// does not have or has elsewhere. Leaves out words that report something missing, and values that
/// the mutation itself wrote.
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

/// Shortens a decimal number to its shortest form.
fn plain(word: &str) -> String {
    let number = word.parse::<f64>().is_ok() && word.contains('.');
    match number {
        true => word.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => word.to_owned(),
    }
}

/// Whether the word only reports something missing, or comes from the mutation itself.
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
