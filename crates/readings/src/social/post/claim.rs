//! The claims of a post, in a form from which we write our own words.

use serde::{Deserialize, Serialize};

use super::super::mood::MoodLabel;
use crate::news::words;

/// The longest price that is quoted, in characters.
const LONGEST_PRICE: usize = 12;

/// A claim.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Claim {
    /// Its kind.
    pub kind: ClaimKind,
    /// The symbol of its token, if it names one.
    pub symbol: Option<String>,
    /// A price in dollars, if it names one.
    pub price: Option<String>,
}

/// The kind of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClaimKind {
    /// A price is named.
    Price,
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
    /// The author is in favour.
    Positive,
    /// The author is against.
    Negative,
}

/// Phrases, as whole words, and which kind of claim each makes.
const PHRASES: &[(ClaimKind, &[&str])] = &[
    (
        ClaimKind::Exploit,
        &["hacked", "exploit", "exploited", "drained", "hack"],
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
        &[
            "sec",
            "lawsuit",
            "regulator",
            "regulators",
            "regulation",
            "sues",
        ],
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

/// Returns the claims of a clause about the tokens that it names.
pub(super) fn stated(clause: &str, symbols: &[String]) -> Vec<Claim> {
    let padded = format!(" {} ", words(clause).join(" "));
    let symbol = match symbols {
        [one] => Some(one.clone()),
        _ => None,
    };
    let carried = PHRASES.iter().filter(|(_, phrases)| {
        phrases
            .iter()
            .any(|phrase| padded.contains(&format!(" {phrase} ")))
    });
    let mut claims: Vec<Claim> = carried
        .map(|(kind, _)| Claim {
            kind: *kind,
            symbol: symbol.clone(),
            price: None,
        })
        .collect();
    // A price belongs to one token. When a clause names two tokens, the price is ambiguous.
    if let (Some(symbol), Some(price)) = (symbol, price_in(clause)) {
        claims.push(Claim {
            kind: ClaimKind::Price,
            symbol: Some(symbol),
            price: Some(price),
        });
    }
    claims
}

/// Returns an author's stance as a claim.
pub(super) fn leaning(symbol: &str, label: MoodLabel) -> Option<Claim> {
    let kind = match label {
        MoodLabel::Bullish => ClaimKind::Positive,
        MoodLabel::Bearish => ClaimKind::Negative,
        MoodLabel::Neutral => return None,
    };
    Some(Claim {
        kind,
        symbol: Some(symbol.to_owned()),
        price: None,
    })
}

/// Returns the first amount of dollars in a text: `$100k`, `$4,200.50`.
fn price_in(text: &str) -> Option<String> {
    let amounts = text.split_whitespace().filter_map(|word| {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric() && c != '$');
        word.strip_prefix('$')
    });
    amounts
        .map(str::to_ascii_lowercase)
        .find(|amount| is_amount(amount))
        .map(|amount| format!("${amount}"))
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

impl Claim {
    /// Writes the claim as the end of a sentence that begins with its authors.
    #[must_use]
    pub fn words(&self) -> String {
        let symbol = self.symbol.as_deref();
        let about = symbol.map_or_else(String::new, |symbol| format!(" concerning {symbol}"));
        let of = symbol.unwrap_or("it");
        match self.kind {
            ClaimKind::Price => {
                let price = self.price.as_deref().unwrap_or("a number");
                format!("names {price} as a price of {of}")
            }
            ClaimKind::Exploit => format!("tells of an exploit{about}"),
            ClaimKind::Depeg => format!("tells of a lost peg{about}"),
            ClaimKind::Halt => format!("tells of a halt{about}"),
            ClaimKind::Flows => format!("tells of flows into or out of funds{about}"),
            ClaimKind::Regulation => format!("tells of acts of authorities{about}"),
            ClaimKind::Listing => format!("tells of a listing or delisting{about}"),
            ClaimKind::Unlock => format!("tells of an unlock of tokens{about}"),
            ClaimKind::Liquidations => format!("tells of liquidations{about}"),
            ClaimKind::Upgrade => format!("tells of an upgrade of a network{about}"),
            ClaimKind::Launch => format!("tells of a launch{about}"),
            ClaimKind::Rates => format!("tells of central banks and their rates{about}"),
            ClaimKind::Positive => format!("speaks well of {of}"),
            ClaimKind::Negative => format!("speaks ill of {of}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claims(clause: &str, symbols: &[&str]) -> Vec<String> {
        let symbols: Vec<String> = symbols.iter().map(|symbol| (*symbol).to_owned()).collect();
        stated(clause, &symbols).iter().map(Claim::words).collect()
    }

    #[test]
    fn claims_are_stated_in_our_own_words() {
        assert_eq!(
            claims("$BTC to $100k once ETF inflows return", &["BTC"]),
            [
                "tells of flows into or out of funds concerning BTC",
                "names $100k as a price of BTC"
            ]
        );
        assert_eq!(claims("Bridge hacked", &[]), ["tells of an exploit"]);
        // Only whole words count, and an ambiguous price is not stated.
        assert_eq!(claims("second secret unlocked", &[]), Vec::<String>::new());
        assert_eq!(
            claims("BTC or ETH at $5,000", &["BTC", "ETH"]),
            Vec::<String>::new()
        );
    }

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
}
