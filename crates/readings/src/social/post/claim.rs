//! The claims of a post: sentences in which the post itself states an event or a price.

use serde::{Deserialize, Serialize};

use super::sentence::{Sentence, has_any};

/// The longest sentence that is quoted, in characters.
const LONGEST_QUOTE: usize = 280;
/// The longest price that counts, in characters.
const LONGEST_PRICE: usize = 12;

/// A claim.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Claim {
    /// Its kind.
    pub kind: ClaimKind,
    /// The symbol of its token, if its sentence names exactly one.
    pub symbol: Option<String>,
    /// The whole sentence, word for word.
    pub quote: String,
}

/// The kind of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClaimKind {
    /// An attack happened.
    Exploit,
    /// A peg is lost.
    Depeg,
    /// Withdrawals or a chain are halted.
    Halt,
    /// Money flows into or out of funds.
    Flows,
    /// An authority acts.
    Regulation,
    /// A token is traded somewhere new.
    Listing,
    /// Tokens are unlocked.
    Unlock,
    /// Positions were liquidated.
    Liquidations,
    /// A network changes.
    Upgrade,
    /// A product or network launches.
    Launch,
    /// A central bank acts.
    Rates,
    /// A price is named.
    Price,
}

/// Phrases, as whole words, and which kind of claim each makes.
const PHRASES: &[(ClaimKind, &[&str])] = &[
    (
        ClaimKind::Exploit,
        &["hacked", "exploit", "exploited", "drained"],
    ),
    (ClaimKind::Depeg, &["depeg", "depegged", "lost its peg"]),
    (
        ClaimKind::Halt,
        &[
            "halts",
            "halted",
            "paused withdrawals",
            "pauses withdrawals",
        ],
    ),
    (
        ClaimKind::Flows,
        &["inflow", "inflows", "outflow", "outflows"],
    ),
    (
        ClaimKind::Regulation,
        &["the sec", "lawsuit", "regulator", "regulators", "sues"],
    ),
    (
        ClaimKind::Listing,
        &["listing", "listed", "lists", "delisting", "delisted"],
    ),
    (ClaimKind::Unlock, &["unlock", "unlocks", "vesting"]),
    (
        ClaimKind::Liquidations,
        &["liquidated", "liquidation", "liquidations"],
    ),
    (
        ClaimKind::Upgrade,
        &["upgrade", "upgrades", "hard fork", "mainnet"],
    ),
    (
        ClaimKind::Launch,
        &["launch", "launches", "launched", "airdrop"],
    ),
    (
        ClaimKind::Rates,
        &[
            "rate cut",
            "rate cuts",
            "rate hike",
            "fomc",
            "the fed",
            "cpi",
        ],
    ),
];

/// The things to which an attack happens. A sentence about another thing, or about no token, is a
/// figure of speech.
const ATTACKED: &[&str] = &[
    "bridge", "chain", "contract", "dex", "exchange", "lending", "market", "multisig", "network",
    "oracle", "pool", "pools", "protocol", "treasury", "vault", "vaults", "wallet", "wallets",
];

/// Returns the claim of a sentence: that of the first kind for which it has a phrase. `None` when
/// the post does not state it as a fact of its own, or when it cannot be quoted.
pub(super) fn stated(sentence: &Sentence<'_>) -> Option<Claim> {
    if !sentence.is_own || sentence.is_denied || !is_quotable(sentence.text) {
        return None;
    }
    let symbol = match sentence.symbols.as_slice() {
        [one] => Some(one.clone()),
        _ => None,
    };
    let mut carried = PHRASES
        .iter()
        .filter(|(_, phrases)| has_any(&sentence.padded, phrases));
    let kind = match carried.next() {
        Some((ClaimKind::Exploit, _))
            if sentence.symbols.is_empty() && !has_any(&sentence.padded, ATTACKED) =>
        {
            return None;
        }
        Some((kind, _)) => *kind,
        // A price belongs to one token. When a sentence names two tokens, it is ambiguous.
        None if symbol.is_some() && names_price(sentence.text) => ClaimKind::Price,
        None => return None,
    };
    Some(Claim {
        kind,
        symbol,
        quote: sentence.text.to_owned(),
    })
}

/// Whether a sentence may stand in an answer: plain characters only, so no markup and no text that
/// reads backwards, and no address.
fn is_quotable(text: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || " $#%.,:;!'’&+-–—/()€₮".contains(c);
    text.chars().count() <= LONGEST_QUOTE && text.chars().all(plain) && !text.contains("://")
}

/// Whether a text has an amount of dollars: `$100k`, `$4,200.50`.
fn names_price(text: &str) -> bool {
    let amounts = text.split_whitespace().filter_map(|word| {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric() && c != '$');
        word.strip_prefix('$')
    });
    amounts
        .map(str::to_ascii_lowercase)
        .any(|amount| is_amount(&amount))
}

fn is_amount(text: &str) -> bool {
    let digits = text.trim_end_matches(['k', 'm', 'b']);
    text.len() <= LONGEST_PRICE
        && text.len() - digits.len() <= 1
        && digits.starts_with(|c: char| c.is_ascii_digit())
        && digits.ends_with(|c: char| c.is_ascii_digit())
        && digits
            .chars()
            .all(|c| c.is_ascii_digit() || c == '.' || c == ',')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_amounts_count_as_prices() {
        for good in ["100k", "4,200.50", "1", "0.5", "2.5m"] {
            assert!(is_amount(good), "{good}");
        }
        for bad in [
            "",
            "k",
            "100kk",
            "btc",
            "1e9",
            "100k<b>",
            "1.",
            "1234567890123",
        ] {
            assert!(!is_amount(bad), "{bad}");
        }
    }

    #[test]
    fn markup_and_addresses_are_not_quoted() {
        assert!(is_quotable("Bridge drained of $40M (100 %), it’s over!"));
        for bad in [
            "<script>hacked</script>",
            "\u{202e}hacked",
            "hacked, see https://x.example",
            "`hacked`",
            "hacked {x}",
        ] {
            assert!(!is_quotable(bad), "{bad}");
        }
        assert!(!is_quotable(&"a".repeat(LONGEST_QUOTE + 1)));
    }
}
