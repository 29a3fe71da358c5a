//! The tokens that a search found, with the likeliest first.

use std::cmp::Ordering;

use alloy_primitives::Address;
use serde::Serialize;

use super::{checksummed, larger_first};
use crate::{Figure, symbol::SymbolKey};

/// A token that a search found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FoundToken {
    /// Its contract.
    #[serde(serialize_with = "checksummed")]
    pub address: Address,
    /// Its own symbol. Untrusted text without control characters.
    pub symbol: String,
    /// Its name. Untrusted text without control characters.
    pub name: Option<String>,
    /// The number of its decimals. `None` when it is unknown; it is then not zero.
    pub decimals: Option<u8>,
    /// Dollars for one whole token.
    pub price_usd: Option<Figure>,
    /// Change of the price over a day, in percent.
    pub change_24h_pct: Option<Figure>,
    /// Price times circulating supply, in dollars.
    pub market_cap_usd: Option<Figure>,
    /// Dollars in the token's pools.
    pub liquidity_usd: Option<Figure>,
    /// Accounts that hold it.
    pub holders: Option<u64>,
    /// Whether the source calls it verified. `None` when the source does not say.
    pub verified: Option<bool>,
}

/// One page of a search result, in the source's order.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct FoundPage {
    /// The tokens, each once.
    pub tokens: Vec<FoundToken>,
    /// The source's cursor of the next page. `None` on the last page.
    pub next_cursor: Option<String>,
}

/// How the symbol of a found token compares with the searched one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Likeness {
    /// The same symbol.
    Exact,
    /// Another symbol, or a match by name only.
    Partial,
    /// A symbol that looks like plain letters and is written with others.
    Imitation,
}

/// A found token with its [`Likeness`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RankedToken {
    /// The token.
    #[serde(flatten)]
    pub token: FoundToken,
    /// How its symbol compares with the searched one.
    #[serde(rename = "match")]
    pub likeness: Likeness,
}

/// Sorts `found`: tokens with the exact symbol first, then verified ones, then those with more
/// liquidity, then those with more holders. Imitations come last, whatever their other data is.
#[must_use]
pub fn rank(query: &SymbolKey, found: Vec<FoundToken>) -> Vec<RankedToken> {
    let mut ranked: Vec<RankedToken> = found
        .into_iter()
        .map(|token| RankedToken {
            likeness: likeness(query, &token.symbol),
            token,
        })
        .collect();
    ranked.sort_by(order);
    ranked
}

/// Compares `symbol` with the searched one.
#[must_use]
pub fn likeness(query: &SymbolKey, symbol: &str) -> Likeness {
    if is_imitation(symbol) {
        Likeness::Imitation
    } else if query.names(symbol) {
        Likeness::Exact
    } else {
        Likeness::Partial
    }
}

/// Whether a symbol has letters of another alphabet that look like Latin ones, so that people read
/// it as another symbol. `USD₮0` is none, because everybody reads its `₮` as `T`.
#[must_use]
pub fn is_imitation(symbol: &str) -> bool {
    let Some(key) = SymbolKey::new(symbol) else {
        return false;
    };
    !key.is_plain() && key.as_str().chars().all(|c| c.is_ascii() || looks_latin(c))
}

fn order(a: &RankedToken, b: &RankedToken) -> Ordering {
    let verified = |token: &FoundToken| token.verified == Some(true);
    a.likeness
        .cmp(&b.likeness)
        .then_with(|| verified(&b.token).cmp(&verified(&a.token)))
        .then_with(|| larger_first(a.token.liquidity_usd, b.token.liquidity_usd))
        .then_with(|| b.token.holders.cmp(&a.token.holders))
        .then_with(|| a.token.address.cmp(&b.token.address))
}

/// Whether `c` is an upper-case letter or a digit of another alphabet that looks like one of `A` to
/// `Z` or `0` to `9`. The caller has already folded full-width and mathematical forms.
fn looks_latin(c: char) -> bool {
    const CYRILLIC: &str = "АВЕЗІЇЈКМНОРСТУХЅԌԐԚԜҮҺӀ";
    const GREEK: &str = "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧϹϺ";
    const ARMENIAN: &str = "ՍՏՕԼՈՉ";
    const CHEROKEE: &str = "ᎪᎬᎫᏔᎳᎷᎻᎢᏚᎠᏞᏒᏟᏦᏢᏴᏃᏀᏙᏩ";
    const OTHERS: &str = "ƖȜꓐꓑꓓꓔꓖꓗꓙꓚꓜꓝꓟꓠꓡꓢꓣꓦꓪꓫꓬꓮꓰꓲꓳꓴ₮₳₿ⵔⵏƐƧƦƲØŁĐŦĦ";
    [CYRILLIC, GREEK, ARMENIAN, CHEROKEE, OTHERS].iter().any(|set| set.contains(c))
        // People easily miss an accent on a Latin letter in a short symbol, whether it is composed
        // or not.
        || matches!(c, 'À'..='Ö' | 'Ù'..='Ý' | 'Ā'..='Ž' | 'Ơ' | 'Ư' | 'Ǎ'..='Ǜ' | 'Ḁ'..='Ỹ' | '\u{300}'..='\u{36f}')
}

#[cfg(test)]
mod tests {
    use alloy_primitives::address;

    use super::*;

    fn token(
        last: u8,
        symbol: &str,
        verified: Option<bool>,
        liquidity: Option<&str>,
    ) -> FoundToken {
        let mut address = address!("1000000000000000000000000000000000000000");
        address.0[19] = last;
        FoundToken {
            address,
            symbol: symbol.to_owned(),
            name: None,
            decimals: Some(6),
            price_usd: None,
            change_24h_pct: None,
            market_cap_usd: None,
            liquidity_usd: liquidity.map(|text| text.parse().unwrap()),
            holders: None,
            verified,
        }
    }

    #[test]
    fn exact_and_verified_come_first_and_imitations_last() {
        let found = vec![
            token(1, "USDТ", Some(true), Some("900000000")),
            token(2, "aUSDT", Some(true), Some("100")),
            token(3, "USDT", None, Some("50000000")),
            token(4, "USDT", Some(true), Some("5")),
            token(5, "USDT", Some(true), Some("7")),
            token(6, "usdt", Some(false), None),
        ];
        let ranked = rank(&SymbolKey::new("usdt").unwrap(), found);
        let order: Vec<u8> = ranked.iter().map(|row| row.token.address.0[19]).collect();
        assert_eq!(order, [5, 4, 3, 6, 2, 1]);
        assert_eq!(ranked[0].likeness, Likeness::Exact);
        assert_eq!(ranked[5].likeness, Likeness::Imitation);
    }

    #[test]
    fn a_search_for_the_imitation_itself_does_not_make_it_exact() {
        for imitation in ["USDТ", "ΕTH", "ВТС", "USDT\u{301}", "Ꭺꮩꭺx", "ÜSDC"] {
            let query = SymbolKey::new(imitation).unwrap();
            assert_ne!(likeness(&query, imitation), Likeness::Exact, "{imitation}");
        }
    }

    #[test]
    fn the_tether_sign_and_other_scripts_are_no_imitations() {
        let usdt0 = SymbolKey::new("USDT0").unwrap();
        assert_eq!(likeness(&usdt0, "USD₮0"), Likeness::Exact);
        assert_eq!(likeness(&usdt0, "USDT"), Likeness::Partial);
        let chinese = SymbolKey::new("币安人生").unwrap();
        assert_eq!(likeness(&chinese, "币安人生"), Likeness::Exact);
        // The comparison folds invisible and full-width forms first.
        assert_eq!(likeness(&usdt0, "ＵＳＤＴ０"), Likeness::Exact);
    }

    #[test]
    fn a_row_states_its_likeness() {
        let row = rank(
            &SymbolKey::new("A").unwrap(),
            vec![token(1, "A", None, None)],
        )
        .remove(0);
        let json = serde_json::to_value(row).unwrap();
        assert_eq!(json["match"], "exact");
        assert_eq!(
            json["address"],
            "0x1000000000000000000000000000000000000001"
        );
        assert_eq!(json["verified"], serde_json::Value::Null);
    }
}
