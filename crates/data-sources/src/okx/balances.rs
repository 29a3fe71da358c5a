//! Balances: `GET /api/v6/dex/balance/all-token-balances-by-address` for an account on several
//! chains, and `GET /api/v6/dex/balance/supported/chain` for the covered chains.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use alloy_primitives::Address;
use readings::{
    Decimal, Figure,
    portfolio::{Asset, Holding, Risk, decimals_of},
};
use serde::Deserialize;

use super::{Okx, lower};
use crate::{
    cached::{Ages, Cached},
    error::{Error, SourceErrorKind},
    provenance::{Clock, Sourced},
    text::clean,
    transport::QUOTED_CHARS,
};

const SOURCE: &str = "okx.balances";
/// Source id of the list of chains.
pub(super) const CHAINS: &str = "okx.balance-chains";
/// How old the list of chains may be. It changes when a chain is added.
pub(super) const CHAINS_AGES: Ages = Ages::seconds(24 * 3600, 7 * 24 * 3600).with_floor(300);
/// Most chains that the interface takes.
const MAX_CHAINS: usize = 50;
/// Most rows that are read.
const MAX_ROWS: usize = 5_000;
const MAX_SYMBOL_CHARS: usize = 32;

/// The same account is not asked for again within this time.
const FLOOR: Duration = Duration::from_secs(5);
/// How many accounts are kept: as many as the budget allows at once.
const KEPT: usize = 64;

/// Recent balances, by account and chains.
pub(super) type Balances = Cached<(Address, Vec<u64>), BTreeMap<u64, Vec<Holding>>>;

pub(super) fn kept(clock: Arc<dyn Clock>) -> Balances {
    Cached::new(KEPT, Ages::floor(FLOOR), clock)
}

impl Okx {
    /// The chains whose balances OKX knows, asked for once a day.
    ///
    /// # Errors
    ///
    /// [`Error::Source`].
    pub async fn balance_chains(&self) -> Result<Sourced<Arc<BTreeSet<u64>>>, Error> {
        let okx = self.clone();
        let fetch = || async move {
            let path = "/api/v6/dex/balance/supported/chain";
            let answer: Sourced<Vec<Supported>> = okx.read(CHAINS, path, None).await?;
            let chains =
                supported(&answer.value).map_err(|kind| okx.reject_response(CHAINS, kind))?;
            Ok(Sourced {
                value: Arc::new(chains),
                sources: answer.sources,
            })
        };
        self.balance_chains.get((), None, fetch).await
    }

    /// The balances of an account, by chain, flagged tokens included. A chain without a listed
    /// token is missing; it may also be a chain that OKX does not cover: see
    /// [`Self::balance_chains`]. A repeated request within five seconds gets the same answer, with
    /// its age.
    ///
    /// # Errors
    ///
    /// [`Error::Source`] when OKX cannot answer, or answers about another chain.
    pub async fn balances(
        &self,
        account: Address,
        chains: &[u64],
    ) -> Result<Sourced<BTreeMap<u64, Vec<Holding>>>, Error> {
        let asked: Vec<u64> = chains.iter().copied().take(MAX_CHAINS).collect();
        let (this, of) = (self.clone(), asked.clone());
        let fetch = move || async move { this.read_balances(account, &of).await };
        self.balances.get((account, asked), None, fetch).await
    }

    async fn read_balances(
        &self,
        account: Address,
        asked: &[u64],
    ) -> Result<Sourced<BTreeMap<u64, Vec<Holding>>>, Error> {
        let list: Vec<String> = asked.iter().map(u64::to_string).collect();
        // Flagged tokens are included and shown with their flag. `0` would filter them out.
        let path = format!(
            "/api/v6/dex/balance/all-token-balances-by-address?address={}&chains={}&excludeRiskToken=1",
            lower(account),
            list.join(",")
        );
        let answer: Sourced<Vec<Assets>> = self.read(SOURCE, &path, None).await?;
        let found =
            by_chain(asked, answer.value).map_err(|kind| self.reject_response(SOURCE, kind))?;
        Ok(Sourced {
            value: found,
            sources: answer.sources,
        })
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Assets {
    token_assets: Vec<Row>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    chain_index: String,
    /// The token's contract; empty for the native coin.
    token_contract_address: String,
    #[serde(default)]
    symbol: Option<String>,
    /// The balance in whole units.
    #[serde(default, deserialize_with = "Figure::or_none")]
    balance: Option<Figure>,
    /// The balance in atoms; empty on chains where OKX does not know them.
    #[serde(default)]
    raw_balance: Option<String>,
    #[serde(default, deserialize_with = "Figure::or_none")]
    token_price: Option<Figure>,
    #[serde(default)]
    is_risk_token: Option<bool>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Supported {
    chain_index: String,
}

/// Chains that are not EVM chains also have an index. A list without any chain is refused.
fn supported(rows: &[Supported]) -> Result<BTreeSet<u64>, SourceErrorKind> {
    let chains: Option<BTreeSet<u64>> = rows
        .iter()
        .map(|row| row.chain_index.parse().ok())
        .collect();
    chains
        .filter(|chains| !chains.is_empty())
        .ok_or_else(|| malformed("$.data[].chainIndex", "the numbers of chains", ""))
}

fn by_chain(
    asked: &[u64],
    answer: Vec<Assets>,
) -> Result<BTreeMap<u64, Vec<Holding>>, SourceErrorKind> {
    let mut found: BTreeMap<u64, Vec<Holding>> = BTreeMap::new();
    let rows: usize = answer.iter().map(|assets| assets.token_assets.len()).sum();
    if rows > MAX_ROWS {
        return Err(malformed(
            "$.data[].tokenAssets",
            "at most 5000 rows",
            &rows.to_string(),
        ));
    }
    let mut seen = BTreeSet::new();
    for row in answer.into_iter().flat_map(|assets| assets.token_assets) {
        let chain = row.chain_index.parse::<u64>().ok();
        let Some(chain) = chain.filter(|chain| asked.contains(chain)) else {
            let path = "$.data[].tokenAssets[].chainIndex";
            return Err(malformed(
                path,
                "a chain that was asked for",
                &row.chain_index,
            ));
        };
        let holding = row.holding()?;
        let holdings = found.entry(chain).or_default();
        if seen.insert((chain, holding.asset)) {
            holdings.push(holding);
        } else if let Some(known) = holdings
            .iter_mut()
            .find(|known| known.asset == holding.asset)
            && (known.raw, known.amount) != (holding.raw, holding.amount)
        {
            // Nothing shows which of two contradicting rows is right, so the balance is unknown.
            (known.raw, known.amount) = (None, None);
        }
    }
    Ok(found)
}

impl Row {
    fn holding(self) -> Result<Holding, SourceErrorKind> {
        let asset = match self.token_contract_address.as_str() {
            "" => Asset::Native,
            text => {
                let token = text.parse::<Address>().map_err(|_| {
                    malformed(
                        "$.data[].tokenAssets[].tokenContractAddress",
                        "an address or nothing",
                        text,
                    )
                })?;
                // On other paths OKX writes the native coin like this.
                if token == crate::NATIVE_COIN {
                    Asset::Native
                } else {
                    Asset::Token(token)
                }
            }
        };
        let raw = match self.raw_balance.as_deref() {
            None | Some("") => None,
            Some(text) => Some(exact::parse_digits(text).ok_or_else(|| {
                malformed(
                    "$.data[].tokenAssets[].rawBalance",
                    "a string of decimal digits",
                    text,
                )
            })?),
        };
        // The interface gives no decimals: the two spellings of the balance imply them.
        let decimals = match asset {
            Asset::Native => Some(readings::chain::network::NATIVE_DECIMALS),
            Asset::Token(_) => raw
                .zip(self.balance)
                .and_then(|(raw, balance)| decimals_of(raw, balance)),
        };
        let symbol = self.symbol.map(|symbol| clean(&symbol, MAX_SYMBOL_CHARS));
        Ok(Holding {
            asset,
            symbol: symbol.filter(|symbol| !symbol.is_empty()),
            decimals,
            raw,
            amount: self.balance.filter(|_| raw.is_none()),
            // An unknown price is often written as zero.
            price_usd: self.token_price.filter(|price| price.get() > Decimal::ZERO),
            risk: match self.is_risk_token {
                Some(true) => Risk::High,
                Some(false) => Risk::Low,
                None => Risk::Unknown,
            },
        })
    }
}

fn malformed(path: &str, expected: &'static str, observed: &str) -> SourceErrorKind {
    SourceErrorKind::Malformed {
        path: path.to_owned(),
        expected,
        observed: clean(observed, QUOTED_CHARS),
    }
}

#[cfg(test)]
mod tests {
    use alloy_primitives::U256;
    use serde_json::{Value, json};

    use super::*;

    fn read(rows: Value) -> Result<BTreeMap<u64, Vec<Holding>>, SourceErrorKind> {
        by_chain(
            &[196, 8453],
            serde_json::from_value(json!([{"tokenAssets": rows}])).unwrap(),
        )
    }

    fn row(chain: &str, token: &str, raw: &str) -> Value {
        json!({"chainIndex": chain, "tokenContractAddress": token, "symbol": "X", "balance": "1", "rawBalance": raw, "tokenPrice": "", "isRiskToken": false})
    }

    const TOKEN: &str = "0x779ded0c9e1022225f8e0630b35a9b54be713736";

    #[test]
    fn the_native_coin_has_two_spellings() {
        for native in ["", "0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee"] {
            let found = read(json!([row("196", native, "1000000000000000000")])).unwrap();
            assert_eq!(
                (found[&196][0].asset, found[&196][0].decimals),
                (Asset::Native, Some(18))
            );
            // The answer does not mention the other chain. That does not mean that the account has
            // nothing there.
            assert_eq!(found.get(&8453), None);
        }
    }

    #[test]
    fn a_list_of_chains_is_read_whole_or_not_at_all() {
        let read = |rows: Value| supported(&serde_json::from_value::<Vec<_>>(rows).unwrap());
        let chains = read(json!([
            {"name": "Ethereum", "logoUrl": "x", "shortName": "ETH", "chainIndex": "1"},
            {"name": "X Layer", "logoUrl": "x", "shortName": "OKB", "chainIndex": "196"}
        ]));
        assert_eq!(chains.unwrap(), BTreeSet::from([1, 196]));
        assert!(read(json!([])).is_err());
        assert!(read(json!([{"chainIndex": "1"}, {"chainIndex": "x"}])).is_err());
    }

    #[test]
    fn rows_that_disagree_have_no_balance() {
        let found = read(json!([
            row("196", TOKEN, "5"),
            row("196", TOKEN, "6"),
            row("8453", TOKEN, "5")
        ]))
        .unwrap();
        assert_eq!((found[&196].len(), found[&196][0].raw), (1, None));
        assert_eq!(found[&8453][0].raw, Some(U256::from(5)));
    }

    #[test]
    fn a_balance_without_atoms_is_still_a_balance() {
        let found = read(json!([row("196", TOKEN, ""), row("8453", TOKEN, "5")])).unwrap();
        let whole = &found[&196][0];
        assert_eq!((whole.raw, whole.decimals), (None, None));
        assert_eq!(
            whole.amount.map(|amount| amount.to_string()),
            Some("1".to_owned())
        );
        assert_eq!(found[&8453][0].amount, None);
        // Rows can also disagree in whole units.
        let mut other = row("196", TOKEN, "");
        other["balance"] = json!("2");
        let found = read(json!([row("196", TOKEN, ""), other])).unwrap();
        assert_eq!((found[&196][0].raw, found[&196][0].amount), (None, None));
    }

    #[test]
    fn foreign_chains_and_nonsense_are_refused() {
        for wrong in [
            row("1", TOKEN, "5"),
            row("x", TOKEN, "5"),
            row("196", "0x12", "5"),
            row("196", TOKEN, "-5"),
            row("196", TOKEN, "1e9"),
        ] {
            assert!(read(json!([wrong])).is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_absent_member_is_unknown() {
        let found =
            read(json!([{"chainIndex": "196", "tokenContractAddress": TOKEN, "tokenPrice": "0"}]))
                .unwrap();
        let holding = &found[&196][0];
        assert_eq!(
            (
                holding.raw,
                holding.price_usd,
                holding.decimals,
                holding.risk
            ),
            (None, None, None, Risk::Unknown)
        );
    }
}
