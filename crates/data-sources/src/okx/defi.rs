//! `POST /api/v6/defi/…`: products that accept deposits, and the positions of an account.
//!
//! A `rate` is a fraction, not a percentage. Lists come as an object or as a list of one, ids as
//! numbers or as text; both are read.

mod positions;
mod wire;

use std::{sync::Arc, time::Duration};

use alloy_primitives::Address;
use readings::{
    Decimal, Figure,
    defi::{apy, market::Quoted, position::Position},
};
use serde::Deserialize;
use serde_json::json;

use self::wire::Id;
use super::Okx;
use crate::{
    cached::{Ages, Cached},
    error::{Error, SourceErrorKind},
    provenance::Sourced,
    text::clean,
};

const SOURCE: &str = "okx.defi";
const SEARCH: &str = "/api/v6/defi/product/search";
/// The most tokens of one search.
const MAX_TOKENS: usize = 10;
/// Products of one search that are kept; a page has 20.
const MAX_PRODUCTS: usize = 100;
/// Verbs before the asset in a product's name.
const VERBS: [&str; 5] = ["Supply ", "Deposit ", "Lend ", "Stake ", "Earn "];

/// The key of a search: chain and symbols.
type ProductKey = (u64, Vec<String>);

/// OKX's DeFi interface. Clones share everything.
#[derive(Clone, Debug)]
pub struct OkxDefi {
    okx: Okx,
    products: Cached<ProductKey, Arc<Vec<Quoted>>>,
    positions: Cached<(Address, Vec<u64>), Arc<Vec<Position>>>,
}

#[derive(Deserialize)]
struct Products {
    list: Vec<Product>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Product {
    investment_id: Id,
    name: String,
    platform_name: String,
    #[serde(default, deserialize_with = "Figure::or_none")]
    rate: Option<Figure>,
    #[serde(default, deserialize_with = "Figure::or_none")]
    tvl: Option<Figure>,
    chain_index: Id,
}

impl OkxDefi {
    /// Wraps an adapter.
    #[must_use]
    pub fn new(okx: Okx) -> Self {
        let clock = okx.source().clock();
        Self {
            okx,
            products: Cached::new(200, Ages::seconds(600, 6 * 3600), clock.clone()),
            positions: Cached::new(2_000, Ages::seconds(60, 600), clock),
        }
    }

    /// Markets of one asset on a chain, for tokens by their symbols. A product whose yield or value
    /// is not stated is left out.
    ///
    /// # Errors
    ///
    /// When the answer is unusable, for example because it has a product of another chain.
    pub async fn products(
        &self,
        chain_id: u64,
        tokens: &[String],
        max_age: Option<Duration>,
    ) -> Result<Sourced<Arc<Vec<Quoted>>>, Error> {
        let tokens: Vec<_> = tokens.iter().take(MAX_TOKENS).cloned().collect();
        let this = self.clone();
        let asked = tokens.clone();
        let fetch = move || async move {
            let body = json!({
                "tokenKeywordList": asked,
                "chainIndex": chain_id.to_string(),
                "productGroup": "SINGLE_EARN",
                "pageNum": 1,
            });
            let body = body.to_string();
            let found: Sourced<Products> = this.okx.read(SOURCE, SEARCH, Some(&body)).await?;
            let Sourced { value, sources } = found;
            let value =
                quoted(value, chain_id).map_err(|kind| this.okx.reject_response(SOURCE, kind))?;
            Ok(Sourced {
                value: Arc::new(value),
                sources,
            })
        };
        self.products.get((chain_id, tokens), max_age, fetch).await
    }

    /// The positions of `account` in protocols on `chains`, debts included.
    ///
    /// # Errors
    ///
    /// When the answer is unusable. When only the details are missing, each protocol becomes one
    /// position with a value only.
    pub async fn positions(
        &self,
        account: Address,
        chains: &[u64],
        max_age: Option<Duration>,
    ) -> Result<Sourced<Arc<Vec<Position>>>, Error> {
        let this = self.clone();
        let asked = chains.to_vec();
        let fetch = move || async move { positions::fetch(&this.okx, account, &asked).await };
        self.positions
            .get((account, chains.to_vec()), max_age, fetch)
            .await
    }
}

fn quoted(products: Products, chain_id: u64) -> Result<Vec<Quoted>, SourceErrorKind> {
    let mut rows = Vec::new();
    for (at, product) in products.list.into_iter().take(MAX_PRODUCTS).enumerate() {
        if product.chain_index.chain() != Some(chain_id) {
            return Err(SourceErrorKind::Malformed {
                path: format!("$.data.list[{at}].chainIndex"),
                expected: "the chain that was asked for",
                observed: product.chain_index.shown(),
            });
        }
        rows.extend(product.quoted(chain_id));
    }
    Ok(rows)
}

impl Product {
    fn quoted(self, chain_id: u64) -> Option<Quoted> {
        let name = clean(&self.name, 64);
        let asset = VERBS
            .iter()
            .find_map(|verb| name.strip_prefix(verb))
            .unwrap_or(&name);
        let rate = self.rate.filter(|rate| rate.0 >= Decimal::ZERO)?;
        let project = clean(&self.platform_name, 64);
        (!asset.is_empty() && !project.is_empty()).then_some(Quoted {
            pool: format!("okx-{}", self.investment_id.digits()?),
            chain_id,
            chain: chain_name(chain_id),
            project,
            symbol: asset.to_owned(),
            underlying: None,
            apy_pct: apy::of_fraction(rate.0)?,
            is_base: false,
            tvl_usd: self.tvl?.0,
            // The interface does not state it.
            il_risk: None,
            source: SOURCE,
        })
    }
}

fn chain_name(chain_id: u64) -> String {
    readings::defi::chains::name_of(chain_id).map_or_else(|| chain_id.to_string(), str::to_owned)
}
